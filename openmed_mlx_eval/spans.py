"""Span: a labelled piece of a document. The ground floor: it knows nothing of corpora, models or scores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open piece `text[start:end]` with a label.

    start, end: offsets in Python code points into the document's raw text.
    label: label name. score: the model's confidence in [0, 1], None where there is none.
    """

    start: int
    end: int
    label: str
    score: float | None = None

    def overlap(self, other: Span) -> int:
        """Number of code points both spans cover; 0 where they only touch, or where one is empty or inverted."""
        if self.start >= self.end or other.start >= other.end:
            return 0
        return max(0, min(self.end, other.end) - max(self.start, other.start))


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The same piece without leading and trailing white space; (start, start) where nothing else is in it."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
