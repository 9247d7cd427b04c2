"""A document's tokens, and spans as tags on them: what the benchmark's scores and evalscope's alignment are made of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ..spans import Span

_WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """starts, ends: half-open offsets of each token in the document's text."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str, *, given: bool) -> Tokens:
        """given: the corpus is one of tokens joined by single spaces (CoNLL); else words and single marks are taken."""
        if given:
            pieces = [match.span() for match in re.finditer(r"[^ ]+", text)]
        else:
            pieces = [match.span() for match in _WORDS.finditer(text)]
        return cls(text, tuple(start for start, _ in pieces), tuple(end for _, end in pieces))

    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]

    def tags(self, spans: Sequence[Span]) -> list[str]:
        """One BIO tag a token. A token belongs to the first span, in document order, that has a character of it."""
        tags = ["O"] * len(self.starts)
        for span in sorted(spans, key=lambda span: (span.start, span.end, span.label)):
            inside = False
            for number in range(bisect_right(self.ends, span.start), bisect_left(self.starts, span.end)):
                if tags[number] == "O":
                    tags[number] = f"{'I' if inside else 'B'}-{span.label}"
                    inside = True
        return tags

    def cuts(self, spans: Sequence[Span]) -> int:
        """How many spans begin or end inside a token."""
        starts, ends = set(self.starts), set(self.ends)
        return sum(span.start not in starts or span.end not in ends for span in spans)

    def span(self, first: int, last: int, label: str) -> Span:
        """Tokens first … last-1 as a span of the text."""
        return Span(self.starts[first], self.ends[last - 1], label)
