"""SpanClassifier: a GLiNER model, the labels to look for, and texts in; spans out. TokenClassifier's surface and its batches.

What differs: a text is read as words, its labels stand before each window, and what comes back from the engine is a
score for each span and label instead of a row for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..asked_labels import asked_labels
from ..errors import UsageError
from .artifact import Artifact, open_artifact
from .classifier import TokenClassifier, _Batch, _Piece, network_on
from .engines.base import Inputs
from .families.gliner import ZERO_SHOT, SpanInputs
from .families.gliner_config import GlinerConfig
from .pipeline import Compute
from .safetensors import Array
from .span_decoding import SpanDecoder
from .tokenization import Encoded, TextEncoder
from .windows import Window
from .word_encoding import WordEncoder, word_starts
from .word_windows import Stitched, WordWindow, word_stride_for, word_windows

THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class _WordPiece(_Piece):
    """One window of words. window: its tokens. place: which of the document's windows it is. starts: its words' first tokens."""

    place: int
    starts: Array


@dataclass(frozen=True, slots=True)
class _WordBatch(_Batch):
    """Windows of words of one chunk. stitched: the scores of each document, filled in as batches are done; `logits` are not."""

    stitched: Sequence[Stitched]


@dataclass(frozen=True)
class SpanClassifier(TokenClassifier):
    """A loaded model with its labels. window: content tokens a window may have; stride: overlap of two windows, words.

    words: words a window may have.
    """

    encoder: WordEncoder
    decoder: SpanDecoder
    words: int = field(default=1, kw_only=True)

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
        labels: Sequence[str] = (),
        threshold: float | None = None,
    ) -> SpanClassifier:
        """As TokenClassifier.load. labels: what to look for, as text. threshold: the probability a span must exceed; None for 0.5.

        rename has nothing to name here. Raises UsageError for options that are of no meaning, or no labels.
        """
        if aggregation != "simple":
            raise UsageError(f"--aggregation {aggregation}: a GLiNER model scores whole spans – leave it out")
        threshold = THRESHOLD if threshold is None else threshold
        if not 0 <= threshold <= 1:
            raise UsageError("--gliner-threshold must be a probability, from 0 to 1")
        if batch_tokens is not None and batch_tokens < 1:
            raise UsageError("--batch-tokens must be at least 1")
        artifact = artifact or open_artifact(directory, verify=verify)
        if artifact.family.task != ZERO_SHOT:
            raise UsageError("this is no GLiNER model, and has labels of its own – load it as a TokenClassifier")
        config = GlinerConfig.of(artifact.config)
        decoder = SpanDecoder.to_find(asked_labels(labels), threshold, config.width)
        lap("weights")
        plain = TextEncoder.load(artifact.tokenizer)
        plain.check_vocabulary(artifact.config["vocab_size"])
        encoder = WordEncoder.of(plain, decoder.labels, config, artifact.window)
        stride = word_stride_for(config.length, config.width, stride)
        lap("tokenizer")
        ops, network = network_on(artifact, engine, device, dtype, compile)
        lap("engine")
        size = artifact.window - encoder.special_tokens
        tokens = batch_tokens or ops.batch_tokens
        return cls(artifact, ops, encoder, decoder, size, stride, tokens, network, words=config.length)

    @property
    def entity_labels(self) -> tuple[str, ...]:
        """The labels that were given, sorted."""
        return tuple(sorted(self.decoder.labels))

    @property
    def asked(self) -> dict[str, Any]:
        return {"gliner_labels": list(self.decoder.labels), "gliner_threshold": self.decoder.threshold}

    def seams(self, text: str) -> tuple[int, ...]:
        """Code points in the middle of what two windows share; () for a text of one window."""
        encoded = self.encoder.encode([text])[0]
        starts, found = self._windows(encoded)
        middles = [(later.start + earlier.end) // 2 for earlier, later in pairwise(found)]
        return tuple(encoded.offsets[starts[word]][0] for word in middles)

    def _windows(self, encoded: Encoded) -> tuple[Array, list[WordWindow]]:
        """The places of its words' first tokens, and its windows."""
        starts = word_starts(encoded)
        sizes = np.diff(np.append(starts, len(encoded.ids)))
        return starts, word_windows(sizes.tolist(), self.words, self.window, self.stride)

    def _computed(
        self, chunks: Iterable[Sequence[Encoded]], compute: Compute[_Batch]
    ) -> Iterator[tuple[Sequence[Encoded], list[Array]]]:
        """Each chunk with the scores of every span of each document, float32 (spans, labels)."""
        width, labels = self.decoder.width, len(self.decoder.labels)
        for batch, begun in compute(self._begin, self._tasks(chunks)):
            assert isinstance(batch, _WordBatch)
            scores: Any = self._finished(*begun).reshape(-1, width, labels) if begun else None
            first = 0
            for piece in batch.pieces:
                assert isinstance(piece, _WordPiece)
                last = first + len(piece.starts)
                batch.stitched[piece.document].add(piece.place, scores[first:last])
                first = last
            if batch.last:
                yield batch.documents, [one.rows() for one in batch.stitched]

    def _tasks(self, chunks: Iterable[Sequence[Encoded]]) -> Iterator[_Batch]:
        for documents in chunks:
            pieces: list[_Piece] = []
            stitched = []
            for number, encoded in enumerate(documents):
                starts, found = self._windows(encoded)
                ends = np.append(starts, len(encoded.ids))
                for place, window in enumerate(found):
                    first, last = int(ends[window.start]), int(ends[window.end])
                    tokens = Window(first, last, first, last)
                    pieces.append(_WordPiece(number, tokens, place, starts[window.start : window.end] - first))
                stitched.append(Stitched(found, len(starts), self.decoder.width, len(self.decoder.labels)))
            batches = list(self._batches(pieces)) or [[]]
            for batch in batches:
                yield _WordBatch(documents, [], batch, last=batch is batches[-1], stitched=stitched)

    def _begin(self, batch: _Batch) -> tuple[Any, Inputs] | None:
        """A batch's windows on their way through the network: the scores of its words' spans, and what words they are of."""
        if not batch.pieces:
            return None
        prefix, suffix = self.encoder.prefix, self.encoder.suffix
        ids = [
            np.concatenate([prefix, batch.documents[piece.document].ids[piece.window.start : piece.window.end], suffix])
            for piece in batch.pieces
        ]
        positions = [self.artifact.family.positions(self.artifact.config, sequence) for sequence in ids]
        places = [(len(prefix) + piece.starts).astype(np.int32) for piece in batch.pieces if isinstance(piece, _WordPiece)]
        with np.errstate(all="ignore"):  # overflow is looked for once, in the result
            tokens = self.ops.inputs(ids, positions)
            words = self.ops.chosen(tokens, places)
            labels = self.ops.chosen(tokens, [self.encoder.label_places] * len(places))
            return self._network(SpanInputs(tokens, words, labels)), words
