"""The faithful alignment: an answer and its document are walked together, from left to right, and nothing is lost in silence.

Where the text is unchanged offsets are the answer's own; where spacing, case or characters were changed the two texts are
aligned first. So a mention goes to its own occurrence however often its text occurs.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..spans import Span, trimmed
from .answers import Body, dissect, response_of, without_reasoning
from .outcome import CLEAN, Outcome
from .sequences import Matching, character_matches, folded

ENOUGH = 0.5
"""How much of the document and of the answer, or of a mention and of its place, must be the same characters."""
WHOLE = 0.9
"""The same, for an answer without <response> to be taken for the document's text."""


def align(answer: str, source: str, labels: Mapping[str, str]) -> Outcome:
    """The spans of an answer in `source`, whose offsets are code points. labels: {tag: label}, tags in lower case.

    Pure; takes time in proportion to the lengths where the answer is nearly the source.
    """
    text, finished = without_reasoning(answer, source, labels)
    if not text.strip():
        return Outcome("truncated" if not finished else "empty")
    found, wrapped, closed = response_of(text, source)
    body = dissect(found, source, labels, wrapped=wrapped, closed=closed)
    if not body.text.strip() and source.strip():
        return _unusable("no_response" if not wrapped else "empty" if closed else "truncated", body)
    place = Place.of(body.text, source)
    unusable = _why_unusable(body, place)
    if unusable:
        return _unusable(unusable, body)
    lost: Counter[str] = Counter(unclosed=body.unclosed, unopened=body.unopened, unknown_type=body.unknown)
    placed: list[tuple[int, int, int, str]] = []
    for mention, at in zip(body.mentions, place.spans([(m.start, m.end) for m in body.mentions]), strict=True):
        if mention.label is None:
            lost["unknown_type"] += 1
        elif not body.text[mention.start : mention.end].strip():
            lost["empty"] += 1
        elif at is None:
            lost["changed"] += 1
        else:
            placed.append((at[0], at[1], mention.order, mention.label))
    spans = most_specific(placed)
    lost["overlapping"] = len(placed) - len(spans)
    return Outcome(_state(body, place), tuple(spans), body.tags, {reason: n for reason, n in lost.items() if n})


def _unusable(state: str, body: Body) -> Outcome:
    return Outcome(state, (), body.tags, {"unusable_answer": body.tags} if body.tags else {})


def _why_unusable(body: Body, place: Place) -> str | None:
    if not body.wrapped:
        return None if min(place.of_answer, place.of_source) >= WHOLE else "no_response"
    if not body.closed and place.ends_early and (place.of_answer >= ENOUGH or place.shorter):
        return "truncated"
    return None if min(place.of_answer, place.of_source) >= ENOUGH else "rewritten"


def _state(body: Body, place: Place) -> str:
    if place.change:
        return place.change
    if not body.wrapped:
        return "unwrapped"
    return "unclosed" if not body.closed or body.unclosed or body.unopened or body.misnamed else CLEAN


def most_specific(placed: Iterable[tuple[int, int, int, str]]) -> list[Span]:
    """Of (start, end, order, label) that overlap the shortest, of equally long ones the one opened last: the innermost."""
    kept: list[tuple[int, int, str]] = []
    for start, end, _, label in sorted(placed, key=lambda one: (one[1] - one[0], -one[2])):
        at = bisect_left(kept, (start, end, ""))
        if (at == 0 or kept[at - 1][1] <= start) and (at == len(kept) or kept[at][0] >= end):
            insort(kept, (start, end, label))
    return [Span(start, end, label) for start, end, label in kept]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text of an answer stands in its document.

    change: None, or spacing, case or characters. of_answer, of_source: the share of either's characters, white space
    not counted, that the other has. ends_early: letters or digits of the document come after all that the answer has.
    shorter: the answer is less than half as long. matching: None where the characters are the same, one by one.
    """

    text: str
    source: str
    change: str | None
    of_answer: float = 1.0
    of_source: float = 1.0
    ends_early: bool = False
    shorter: bool = False
    matching: Matching | None = None

    @classmethod
    def of(cls, text: str, source: str) -> Place:
        if text == source:
            return cls(text, source, None)
        a, b = "".join(text.split()), "".join(source.split())
        if a == b:
            return cls(text, source, "spacing")
        if len(a) == len(b) and folded(a) == folded(b):
            return cls(text, source, "case")
        if min(len(a), len(b)) < ENOUGH * max(len(a), len(b)):  # too little can be in both, however it is aligned
            shorter = len(a) < len(b)
            return cls(text, source, "characters", 0.0, 0.0, shorter, shorter)
        matching = character_matches(text, source)
        ends_early = any(character.isalnum() for character in b[matching.end_b :])
        known = matching.size
        return cls(text, source, "characters", known / len(a), known / len(b), ends_early, False, matching)

    def spans(self, mentions: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
        """Half-open offsets in the source of pieces of the answer's text, in any order; None for one that has no place."""
        if self.change is None:
            pieces = (trimmed(self.text, start, end) for start, end in mentions)
            return [(start, end) if start < end else None for start, end in pieces]
        numbers = _character_numbers(self.text, mentions)
        solid = _Solid(self.source)
        if self.matching is None:
            return [(solid.offset(a), solid.offset(b - 1) + 1) if a < b else None for a, b in numbers]
        made = []
        for (start, end), (a, b) in zip(mentions, numbers, strict=True):
            found = matched_piece(self.matching, a, b)
            made.append(None if found is None else self._whole_words(solid, self.matching, start, end, *found))
        return made

    def _whole_words(self, solid: _Solid, matching: Matching, start: int, end: int, x: int, y: int) -> tuple[int, int]:
        """Characters x … y-1 of the source as offsets. Letters the answer dropped at the ends of a word belong to it."""
        first, last = trimmed(self.text, start, end)
        low, high = solid.offset(x), solid.offset(y - 1) + 1
        if first == 0 or not self.text[first - 1].isalnum():
            while low > 0 and self.source[low - 1 : low + 1].isalnum() and not matching.has_b(x - 1):
                low, x = low - 1, x - 1
        if last == len(self.text) or not self.text[last].isalnum():
            while self.source[high - 1 : high + 1].isalnum() and high < len(self.source) and not matching.has_b(y):
                high, y = high + 1, y + 1
        return low, high


class _Solid:
    """The offsets of a text's characters, white space not counted, by their number."""

    def __init__(self, text: str) -> None:
        words = text.split()
        self._numbers = list(accumulate(map(len, words), initial=0))
        if " ".join(words) == text:  # as most corpora of sentences are, and found without looking at each word
            self._starts = [number + word for word, number in enumerate(self._numbers)]
        else:
            self._starts = [match.start() for match in _WORD.finditer(text)]

    def offset(self, number: int) -> int:
        word = bisect_right(self._numbers, number) - 1
        return self._starts[word] + number - self._numbers[word]


_WORD = re.compile(r"\S+")


def _character_numbers(text: str, mentions: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offsets as numbers of characters, white space not counted."""
    counted, last, numbers = 0, 0, {}
    for place in sorted({place for mention in mentions for place in mention}):
        counted += len("".join(text[last:place].split()))
        last = place
        numbers[place] = counted
    return [(numbers[start], numbers[end]) for start, end in mentions]


def matched_piece(matching: Matching, a: int, b: int) -> tuple[int, int] | None:
    """The characters of the source for characters a … b-1 of the answer; None where less than half of either is in the other.

    Characters replaced at an end of the piece stand for as many, at most twice as many, of the source that are replaced too.
    """
    count = matching.count(a, b)
    if not count:
        return None
    (first, first_place), (last, last_place) = matching.at_or_after(a), matching.last_before(b)
    (before, before_place), (after, after_place) = matching.last_before(a), matching.at_or_after(b)
    start = first_place - min(first_place - before_place - 1, (first - a) * (1 if before < a - 1 else 2))
    end = last_place + 1 + min(after_place - last_place - 1, (b - 1 - last) * (1 if after > b else 2))
    return (start, end) if count >= ENOUGH * max(b - a, end - start) else None
