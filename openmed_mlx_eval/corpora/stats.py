"""What a corpus holds, in numbers: documents, spans, lengths, labels, languages, overlaps. No text, no ids.

Counts only; whether gold is right is `gold.py`'s to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from ..spans import Span
from .document import Corpus, Document, language_code

PERCENTILES = {"p50": 50, "p90": 90, "p99": 99, "max": 100}


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Counts of one corpus.

    characters: code points of all texts.
    labels, languages: {name: spans, or documents}, the most frequent first.
    document_characters, span_characters: {"p50": …, "p90", "p99", "max"} in code points, by nearest rank;
    empty where there is nothing to measure.
    overlapping: spans that share a character with another one of their document.
    nested: those of them that lie wholly within another one; of two equal spans, one.
    in_pieces: annotations that the file gives in several pieces.
    skipped: documents left out as bad.
    mismatched: documents kept although an annotation's own text is not the text at its offsets.
    """

    name: str
    format: str
    sha256: str
    documents: int
    documents_without_spans: int
    characters: int
    spans: int
    labels: Mapping[str, int]
    languages: Mapping[str, int]
    document_characters: Mapping[str, int]
    span_characters: Mapping[str, int]
    overlapping: int
    nested: int
    in_pieces: int
    skipped: int
    mismatched: int

    @classmethod
    def of(cls, corpus: Corpus) -> CorpusStats:
        """Takes O(n log n) in the spans of a document."""
        spans = [span for document in corpus for span in document.gold_spans]
        overlaps = [overlaps_of(document.gold_spans) for document in corpus]
        return cls(
            name=corpus.name,
            format=corpus.format,
            sha256=corpus.sha256,
            documents=len(corpus),
            documents_without_spans=sum(not document.gold_spans for document in corpus),
            characters=sum(len(document.text) for document in corpus),
            spans=len(spans),
            labels=_ranked(Counter(span.label for span in spans)),
            languages=_ranked(Counter(language_code(document.language) for document in corpus)),
            document_characters=_percentiles([len(document.text) for document in corpus]),
            span_characters=_percentiles([span.end - span.start for span in spans]),
            overlapping=sum(overlapping for overlapping, _ in overlaps),
            nested=sum(nested for _, nested in overlaps),
            in_pieces=sum(_in_pieces(document) for document in corpus),
            skipped=len(corpus.skipped),
            mismatched=len(corpus.mismatched),
        )

    def to_json(self) -> dict[str, Any]:
        """The same as JSON-ready values."""
        return asdict(self)


def overlaps_of(spans: Sequence[Span]) -> tuple[int, int]:
    """(overlapping, nested) of one document's spans, by one sweep in the order of their starts."""
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    overlapping = nested = 0
    reach = -1
    for span, following in zip_longest(ordered, ordered[1:]):
        meets_next = following is not None and following.start < span.end
        overlapping += span.start < reach or meets_next
        nested += span.end <= reach
        reach = max(reach, span.end)
    return overlapping, nested


def _in_pieces(document: Document) -> int:
    count = document.metadata.get("annotations_in_pieces", 0)
    return count if isinstance(count, int) else 0


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _percentiles(values: Sequence[int]) -> dict[str, int]:
    """Nearest rank: the smallest value that at least p percent of the values do not exceed."""
    ordered = sorted(values)
    return {name: ordered[-(-p * len(ordered) // 100) - 1] for name, p in PERCENTILES.items()} if ordered else {}
