"""TokenClassifier: a model directory and texts in, spans out – the runtime's one front door.

Texts are taken a chunk at a time, so memory is bounded by the chunk and not by the corpus; within a chunk all
windows are sorted by length, filled into batches of about `batch_tokens` and computed `workers` at a time, those of the
next chunk while one is decoded. Which window shares a batch with which changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, UsageError
from ..spans import Span
from .artifact import Artifact, opening
from .crf import transitions_of
from .decoding import Decoder
from .engines import open_engine
from .engines.base import Inputs, Ops
from .families.base import Network
from .footprint import check_fits
from .options import AGGREGATIONS
from .pipeline import Compute, workers
from .safetensors import Array
from .tokenization import Encoded, TextEncoder
from .windows import Window, stride_for, windows

CHUNK = 32
"""Characters of text in a chunk for each token of a batch, a document always whole: some eight batches, enough to sort by
length, few enough that the first chunk, which nothing is computed beside, is soon tokenised."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One window of one document of the chunk."""

    document: int
    window: Window


@dataclass(frozen=True, slots=True)
class _Batch:
    """Windows of one chunk that are computed together; of a chunk without any, none. last: of its chunk.

    logits: of every token of each document, filled in as batches are done.
    """

    documents: Sequence[Encoded]
    logits: list[Array]
    pieces: Sequence[_Piece]
    last: bool


@dataclass(frozen=True)
class TokenClassifier:
    """A loaded model. Made by `TokenClassifier.load`; used by `predict`.

    window: content tokens a window may have. stride: overlap of two windows, tokens. batch_tokens: content and
    special tokens of one batch, about.
    """

    artifact: Artifact
    ops: Ops
    encoder: TextEncoder
    decoder: Decoder
    window: int
    stride: int
    batch_tokens: int
    _network: Network = field(repr=False)

    @classmethod
    def load(
        cls,
        directory: str | Path,
        *,
        engine: str = "auto",
        device: str = "auto",
        dtype: str = "auto",
        aggregation: str = "simple",
        stride: int | None = None,
        batch_tokens: int | None = None,
        compile: bool | None = None,
        verify: bool = True,
        artifact: Artifact | None = None,
        rename: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda labels: labels,
        lap: Callable[[str], Any] = lambda phase: None,
    ) -> TokenClassifier:
        """Open a model directory for an engine.

        compile: whether mlx compiles the network; None: where it needs no C++ compiler for that, which is on a GPU.
        verify: as in open_artifact. artifact: the directory, opened before. rename: gives names to the labels of a
        checkpoint that has none. lap: called with `weights`, `tokenizer` and `engine` as each is ready. Raises ModelError
        for a directory that cannot be run, UsageError for an option that cannot be met here.
        """
        if aggregation not in AGGREGATIONS:
            raise UsageError(f"--aggregation: {aggregation!r} is none of {', '.join(AGGREGATIONS)}")
        if batch_tokens is not None and batch_tokens < 1:
            raise UsageError("--batch-tokens must be at least 1")
        with nullcontext(artifact) if artifact else opening(directory, verify=verify) as artifact:
            chain = transitions_of(artifact.checkpoint, artifact.family.chain) if artifact.family.chain else None
            decoder = Decoder.of(rename(artifact.labels), aggregation, artifact.transition_biases, chain)
            lap("weights")
            encoder = TextEncoder.load(artifact.tokenizer)
            encoder.check_vocabulary(artifact.config["vocab_size"])  # the table has that many rows: `opening` checked it
            size = artifact.window - encoder.special_tokens
            if size < 1:
                raise ModelError(
                    f"a window of {artifact.window} positions has no room between {encoder.special_tokens} special tokens"
                )
            stride = stride_for(size, stride)
            lap("tokenizer")
            ops, network = network_on(artifact, engine, device, dtype, compile)
        lap("engine")
        return cls(artifact, ops, encoder, decoder, size, stride, batch_tokens or ops.batch_tokens, network)

    @property
    def entity_labels(self) -> tuple[str, ...]:
        """The labels a span of this model can have, sorted."""
        return tuple(sorted({self.decoder.scheme.split(tag)[1] for tag in self.decoder.labels} - {""}))

    @property
    def asked(self) -> dict[str, Any]:
        """Options that only some models have, as they are in force, by their names in a report's `config`."""
        return {"gliner_labels": None, "gliner_threshold": None}

    def predict(self, texts: Iterable[str], progress: Callable[[int], Any] = lambda done: None) -> Iterator[list[Span]]:
        """Spans of each text, in order. progress: called with the number of documents just finished.

        Raises ModelError where the model gives numbers that are none, UsageError for one text in the place of several.
        """
        with workers(self.ops.workers) as compute:
            chunks = (self.encoder.encode(chunk) for chunk in _chunks(texts, CHUNK * self.batch_tokens))
            for documents, logits in self._computed(chunks, compute):
                for document, rows in zip(documents, logits, strict=True):
                    yield self.decoder.spans(document, rows, self.encoder)
                progress(len(documents))

    def logits(self, text: str) -> tuple[Encoded, Array]:
        """A text's tokens and their stitched logits, float32 (tokens, labels)."""
        encoded = self.encoder.encode([text])
        return encoded[0], self.forward(encoded)[0]

    def forward(self, documents: Sequence[Encoded]) -> list[Array]:
        """The stitched logits of each document, on the host; float32 (tokens, labels)."""
        with workers(self.ops.workers) as compute:
            return next(self._computed([documents], compute))[1]

    def seams(self, text: str) -> tuple[int, ...]:
        """Code points at which the next window's logits take over; () for a text of one window."""
        encoded = self.encoder.encode([text])[0]
        later = windows(len(encoded.ids), self.window, self.stride)[1:]
        return tuple(encoded.offsets[window.kept_from][0] for window in later)

    def _computed(
        self, chunks: Iterable[Sequence[Encoded]], compute: Compute[_Batch]
    ) -> Iterator[tuple[Sequence[Encoded], list[Array]]]:
        """Each chunk with the logits of every token, from the window in which it stands furthest from an edge.

        While a chunk is handed out, batches of the next one are computed.
        """
        for batch, begun in compute(self._begin, self._tasks(chunks)):
            rows: Any = self._finished(*begun) if begun else None
            first = len(self.encoder.prefix)
            for piece in batch.pieces:
                w = piece.window
                kept = slice(first + w.kept_from - w.start, first + w.kept_to - w.start)
                batch.logits[piece.document][w.kept_from : w.kept_to] = rows[kept]
                first += w.end - w.start + self.encoder.special_tokens
            if batch.last:
                yield batch.documents, batch.logits

    def _tasks(self, chunks: Iterable[Sequence[Encoded]]) -> Iterator[_Batch]:
        for documents in chunks:
            pieces = [
                _Piece(number, window)
                for number, encoded in enumerate(documents)
                for window in windows(len(encoded.ids), self.window, self.stride)
            ]
            logits = [np.empty((len(encoded.ids), len(self.decoder.labels)), dtype=np.float32) for encoded in documents]
            batches = list(self._batches(pieces)) or [[]]
            for batch in batches:
                yield _Batch(documents, logits, batch, last=batch is batches[-1])

    def _batches(self, pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
        """Longest first, so that the threads end together; each batch as full as `batch_tokens` and padding allow, and no
        fuller than leaves a batch for every thread.
        """
        total = sum(piece.window.end - piece.window.start + self.encoder.special_tokens for piece in pieces)
        most = self.batch_tokens if self.ops.workers == 1 else min(self.batch_tokens, -(-total // self.ops.workers))
        ordered = sorted(pieces, key=lambda piece: piece.window.start - piece.window.end)
        batch: list[_Piece] = []
        tokens = longest = 0
        for piece in ordered:
            length = piece.window.end - piece.window.start + self.encoder.special_tokens
            size = self.ops.size(len(batch) + 1, longest, tokens + length)
            if batch and (size > most or length < self.ops.least_share * longest):
                yield batch
                batch, tokens = [], 0
            longest = longest if batch else length
            batch.append(piece)
            tokens += length
        if batch:
            yield batch

    def _begin(self, batch: _Batch) -> tuple[Any, Inputs] | None:
        """A batch's windows on their way through the network: its logits, in the engine's hands, and what they are of."""
        if not batch.pieces:
            return None
        prefix, suffix = self.encoder.prefix, self.encoder.suffix
        ids = [
            np.concatenate([prefix, batch.documents[piece.document].ids[piece.window.start : piece.window.end], suffix])
            for piece in batch.pieces
        ]
        positions = [self.artifact.family.positions(self.artifact.config, sequence) for sequence in ids]
        with np.errstate(all="ignore"):  # overflow is looked for once, in the result
            inputs = self.ops.inputs(ids, positions)
            return self._network(inputs), inputs

    def _finished(self, logits: Any, inputs: Inputs) -> Array:
        """Logits of a batch's windows end to end, special tokens included; float32 (tokens, labels)."""
        rows = self.ops.host(logits, inputs)
        if not np.isfinite(rows).all():
            remedy = (
                "run it with --dtype float32" if self.ops.dtype != "float32" else "the weights are damaged; convert them again"
            )
            raise ModelError(f"the model gave numbers that are not finite, computing in {self.ops.dtype} – {remedy}")
        return rows


def network_on(artifact: Artifact, engine: str, device: str, dtype: str, compile: bool | None) -> tuple[Ops, Network]:
    """The engine asked for, and the artifact's network on it; options as TokenClassifier.load takes them."""
    half = "bfloat16" if artifact.dtype == "bfloat16" else artifact.family.half
    if not artifact.family.compiles(artifact.config):
        if compile:
            raise UsageError("--compile: the network of this model is not one graph for all texts – leave it out")
        compile = False
    ops = open_engine(engine, device, dtype, half=half, compile=compile)
    check_fits(artifact, ops)
    return ops, ops.started(artifact.family.network(ops, artifact.checkpoint, artifact.config))


def _chunks(texts: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Texts of about so many characters together, at least one."""
    if isinstance(texts, str):  # whose characters would each be a text
        raise UsageError("predict takes texts, and was given one str – write predict([text])")
    chunk: list[str] = []
    size = 0
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"predict takes texts of type str, and one is of type {type(text).__name__}")
        if chunk and size + len(text) > characters:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        yield chunk
