"""Steady state: texts of one length, so many at a time, with tokenising, computing and decoding timed apart.

A cell is one length and one batch; cells are never pooled. Every call hands a cell's texts over together, as a
caller does, and what the engine then computes at once is its own affair. Results are on the host before a clock
is read, so that nothing lazy is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, UsageError
from ..runtime.windows import UNBOUNDED
from .memory import peak_rss_mib
from .statistics import median, summary

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier
    from ..runtime.tokenization import Encoded

LENGTHS = (32, 128, 512)
BATCHES = (1, 8, 32)
MOST_TEXTS = 1 << 16
"""Of a batch: beyond what any caller hands over at once, and held in memory with its logits."""
PARTS = ("tokenization", "forward", "decoding")


@dataclass(frozen=True, slots=True)
class Steady:
    """lengths: model tokens, special ones included; those the window cannot hold are left out and the window itself is
    added where there is one, if `lengths` is None. Raises UsageError for a number below 1, and for seconds that are
    none or have no end.
    """

    lengths: tuple[int, ...] | None = None
    batches: tuple[int, ...] = BATCHES
    warmups: int = 10
    iterations: int = 10
    seconds: float = 1.0

    def __post_init__(self) -> None:
        if min((*(self.lengths or (1,)), *(self.batches or (1,)), self.iterations)) < 1:
            raise UsageError("--lengths, --batches and --iterations: give numbers of at least 1")
        if max(self.batches, default=0) > MOST_TEXTS:
            raise UsageError(f"--batches: give at most {MOST_TEXTS:,} texts at a time")
        if not 0 <= self.seconds < float("inf"):
            raise UsageError("--seconds: give a number of at least 0")

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
    """One cell. tokens: of all its texts, special ones included; spans: found in them.

    peak_rss_mib: the most the process ever had until the cell's end. times: of each iteration, tokenisation, forward and
    decoding in milliseconds – together, so that none is half there whenever Ctrl-C comes.
    """

    length: int
    batch: int
    tokens: int
    spans: int = 0
    peak_rss_mib: float | None = None
    times: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def total(self) -> list[float]:
        return [sum(parts) for parts in self.times]

    def to_dict(self) -> dict[str, Any]:
        columns = {part: [one[place] for one in self.times] for place, part in enumerate(PARTS)}
        middle = median(self.total)

        def per_second(count: int) -> float | None:
            return round(count * 1000 / middle, 3) if middle else None

        return {
            "length": self.length,
            "batch": self.batch,
            "tokens": self.tokens,
            "spans": self.spans,
            "iterations": len(self.times),
            "peak_rss_mib": self.peak_rss_mib,
            **{f"{part}_ms": summary(samples) for part, samples in (*columns.items(), ("total", self.total))},
            "documents_per_second": per_second(self.batch),
            "tokens_per_second": per_second(self.tokens),
            "spans_per_second": per_second(self.spans),
            "samples_ms": {part: [round(sample, 4) for sample in samples] for part, samples in columns.items()},
        }


def measure_cell(
    classifier: TokenClassifier,
    source: Encoded,
    length: int,
    batch: int,
    how: Steady,
    begun: Callable[[CellTimes], Any] = lambda cell: None,
) -> CellTimes:
    """Warm up, then call until there are enough iterations and enough seconds have passed. source: of `source_of`.

    begun: called with the cell when it has its first iteration, so that it is not lost to Ctrl-C in a later one.
    """
    documents = cut(source, length - classifier.encoder.special_tokens, batch)
    texts = [document.text for document in documents]
    cell = CellTimes(length, batch, length * batch)
    for _ in range(how.warmups):
        _iteration(classifier, texts, documents)
    until = time.perf_counter() + how.seconds
    while len(cell.times) < how.iterations or time.perf_counter() < until:
        times, cell.spans = _iteration(classifier, texts, documents)
        cell.times.append(times)
        if len(cell.times) == 1:
            begun(cell)
    cell.peak_rss_mib = peak_rss_mib()
    return cell


def _iteration(
    classifier: TokenClassifier, texts: Sequence[str], documents: Sequence[Encoded]
) -> tuple[tuple[float, float, float], int]:
    """((tokenisation, forward, decoding) in milliseconds, spans). A text cut out of another may tokenise to a token more
    or less, so what is computed on is the exact documents.
    """
    started = time.perf_counter()
    classifier.encoder.encode(texts)
    tokenized = time.perf_counter()
    logits = classifier.forward(documents)
    computed = time.perf_counter()
    spans = sum(
        len(classifier.decoder.spans(document, rows, classifier.encoder))
        for document, rows in zip(documents, logits, strict=True)
    )
    decoded = time.perf_counter()
    return ((tokenized - started) * 1000, (computed - tokenized) * 1000, (decoded - computed) * 1000), spans


SOURCE_CHARACTERS = 1 << 18
"""Of a corpus as much as this is cut up: enough not to repeat itself within a batch, little enough to tokenise at once."""

MOST_CHARACTERS = 1 << 8
"""For each token that is asked for; beyond any language's words."""


def source_of(classifier: TokenClassifier, texts: Sequence[str], longest: int) -> Encoded:
    """What cells are cut from: the texts end to end, repeated to `longest` content tokens.

    Without a token in them, or with so few in so much text that there would be no end to repeating it – a million characters
    and no space are one token to some tokenizers – the embedded notes. Raises ModelError for a tokenizer to which those are
    nothing too.
    """
    source = _repeated(classifier, texts, longest)
    if source is None:
        from ..corpora import load_corpus
        from ..demo import corpus_path

        source = _repeated(classifier, [document.text for document in load_corpus(corpus_path())], longest)
    if source is None:
        raise ModelError("the tokenizer makes too few tokens of text to measure a steady state – give --lengths that are shorter")
    return source


def _repeated(classifier: TokenClassifier, texts: Sequence[str], longest: int) -> Encoded | None:
    """The texts' start as often as `longest` content tokens need; None where that would be more than MOST_CHARACTERS a token."""
    text = "\n".join(texts)[:SOURCE_CHARACTERS]
    source = classifier.encoder.encode([text])[0]
    while source.ids.size and len(source.ids) < longest and len(text) <= MOST_CHARACTERS * longest:
        text = f"{text}\n{text}"
        source = classifier.encoder.encode([text])[0]
    return source if len(source.ids) >= longest else None


def cut(source: Encoded, tokens: int, count: int) -> list[Encoded]:
    """`count` documents of `tokens` content tokens each, one behind the other, from the start again when they run out."""
    starts = cycle(range(0, len(source.ids) - tokens + 1, tokens))
    return [_piece(source, first, first + tokens) for first in islice(starts, count)]


def _piece(source: Encoded, first: int, last: int) -> Encoded:
    start, end = source.offsets[first][0], source.offsets[last - 1][1]
    offsets, reported = ([(a - start, b - start) for a, b in part[first:last]] for part in (source.offsets, source.reported))
    return replace(source, text=source.text[start:end], ids=source.ids[first:last], offsets=offsets, reported=reported)
