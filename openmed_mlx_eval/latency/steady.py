"""Steady state: texts of one length, so many at a time, with tokenising, computing and decoding timed apart.

A cell is one length and one batch; cells are never pooled. Every call hands a cell's texts over together, as a
caller does, and what the engine then computes at once is its own affair. Results are on the host before a clock
is read, so that nothing lazy is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, pairwise
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..runtime.windows import UNBOUNDED
from .memory import peak_rss_mib
from .statistics import median, summary

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier
    from ..runtime.tokenization import Encoded

LENGTHS = (32, 128, 512)
BATCHES = (1, 8, 32)
PARTS = ("tokenization", "forward", "decoding", "total")


@dataclass(frozen=True, slots=True)
class Steady:
    """lengths: model tokens, special ones included; those the window cannot hold are left out and the window itself is
    added where there is one, if `lengths` is None. Raises UsageError for a number below 1.
    """

    lengths: tuple[int, ...] | None = None
    batches: tuple[int, ...] = BATCHES
    warmups: int = 10
    iterations: int = 10
    seconds: float = 1.0

    def __post_init__(self) -> None:
        if min((*(self.lengths or (1,)), *(self.batches or (1,)), self.iterations)) < 1:
            raise UsageError("--lengths, --batches and --iterations: give numbers of at least 1")

    def cells(self, window: int, special_tokens: int) -> list[tuple[int, int]]:
        """(length, batch) of every cell. window: model tokens. Raises UsageError for a length that cannot be."""
        lengths = self.lengths
        if lengths is None:
            bounded = {window} if window < UNBOUNDED else set()
            lengths = tuple(sorted({length for length in LENGTHS if special_tokens < length <= window} | bounded))
        for length in lengths:
            if not special_tokens < length <= window:
                raise UsageError(
                    f"--lengths: {length} does not lie between {special_tokens + 1} and the window of {window} tokens"
                )
        return [(length, batch) for length in lengths for batch in self.batches]


@dataclass(slots=True)
class CellTimes:
    """One cell. tokens: of all its texts, special ones included; spans: found in them. Times in milliseconds, one an iteration.

    peak_rss_mib: the most the process ever had until the cell's end.
    """

    length: int
    batch: int
    tokens: int
    spans: int = 0
    peak_rss_mib: float | None = None
    tokenization: list[float] = field(default_factory=list)
    forward: list[float] = field(default_factory=list)
    decoding: list[float] = field(default_factory=list)

    @property
    def total(self) -> list[float]:
        return [sum(parts) for parts in zip(self.tokenization, self.forward, self.decoding, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        middle = median(self.total)

        def per_second(count: int) -> float | None:
            return round(count * 1000 / middle, 3) if middle else None

        return {
            "length": self.length,
            "batch": self.batch,
            "tokens": self.tokens,
            "spans": self.spans,
            "iterations": len(self.forward),
            "peak_rss_mib": self.peak_rss_mib,
            **{f"{part}_ms": summary(getattr(self, part)) for part in PARTS},
            "documents_per_second": per_second(self.batch),
            "tokens_per_second": per_second(self.tokens),
            "spans_per_second": per_second(self.spans),
            "samples_ms": {part: [round(sample, 4) for sample in getattr(self, part)] for part in PARTS[:3]},
        }


def measure_cell(classifier: TokenClassifier, source: Encoded, length: int, batch: int, how: Steady) -> CellTimes:
    """Warm up, then call until there are enough iterations and enough seconds have passed. source: of `source_of`."""
    documents = cut(source, length - classifier.encoder.special_tokens, batch)
    texts = [document.text for document in documents]
    cell = CellTimes(length, batch, length * batch)
    for _ in range(how.warmups):
        _iteration(classifier, texts, documents)
    until = time.perf_counter() + how.seconds
    while len(cell.forward) < how.iterations or time.perf_counter() < until:
        (tokenization, forward, decoding), cell.spans = _iteration(classifier, texts, documents)
        cell.tokenization.append(tokenization)
        cell.forward.append(forward)
        cell.decoding.append(decoding)
    cell.peak_rss_mib = peak_rss_mib()
    return cell


def _iteration(classifier: TokenClassifier, texts: Sequence[str], documents: Sequence[Encoded]) -> tuple[list[float], int]:
    """([tokenisation, forward, decoding] in milliseconds, spans). A text cut out of another may tokenise to a token more
    or less, so what is computed on is the exact documents.
    """
    ends = [time.perf_counter()]
    classifier.encoder.encode(texts)
    ends.append(time.perf_counter())
    logits = classifier.forward(documents)
    ends.append(time.perf_counter())
    spans = sum(
        len(classifier.decoder.spans(document, rows, classifier.encoder))
        for document, rows in zip(documents, logits, strict=True)
    )
    ends.append(time.perf_counter())
    return [(end - before) * 1000 for before, end in pairwise(ends)], spans


SOURCE_CHARACTERS = 1 << 18
"""Of a corpus as much as this is cut up: enough not to repeat itself within a batch, little enough to tokenise at once."""


def source_of(classifier: TokenClassifier, texts: Sequence[str], longest: int) -> Encoded:
    """What cells are cut from: the texts end to end, repeated to `longest` content tokens.

    Without a token in them, the embedded notes.
    """
    text = "\n".join(texts)[:SOURCE_CHARACTERS]
    source = classifier.encoder.encode([text])[0]
    if not len(source.ids):
        from ..corpora import load_corpus
        from ..demo import corpus_path

        return source_of(classifier, [document.text for document in load_corpus(corpus_path())], longest)
    while len(source.ids) < longest:
        text = f"{text}\n{text}"
        source = classifier.encoder.encode([text])[0]
    return source


def cut(source: Encoded, tokens: int, count: int) -> list[Encoded]:
    """`count` documents of `tokens` content tokens each, one behind the other, from the start again when they run out."""
    starts = cycle(range(0, len(source.ids) - tokens + 1, tokens))
    return [_piece(source, first, first + tokens) for first in islice(starts, count)]


def _piece(source: Encoded, first: int, last: int) -> Encoded:
    start, end = source.offsets[first][0], source.offsets[last - 1][1]
    offsets, reported = ([(a - start, b - start) for a, b in part[first:last]] for part in (source.offsets, source.reported))
    return replace(source, text=source.text[start:end], ids=source.ids[first:last], offsets=offsets, reported=reported)
