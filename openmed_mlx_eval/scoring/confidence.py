"""Predictions judged right or wrong, with their confidence: what calibration and abstention read.

A prediction is right where it is paired with gold of equal label, start and end; of equal predictions the
most confident takes the gold span. A confidence that is missing, not finite or outside [0, 1] is none: it is
counted under its name, and the prediction still counts in every F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isfinite
from operator import attrgetter, index
from typing import NamedTuple

from ..spans import Span
from .validity import Triple, reason_of

WITHOUT_SCORE = "without_score"
_KEY = attrgetter("start", "end", "label")


class Judged(NamedTuple):
    """One document's predictions, column by column; a confidence is None where there is none to use."""

    language: str
    labels: tuple[str, ...]
    confidences: tuple[float | None, ...]
    right: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Confidences:
    """The judged predictions of one document or several, and the number of gold spans. Adds with `+`."""

    documents: tuple[Judged, ...] = ()
    support: int = 0
    unusable: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Confidences) -> Confidences:
        return total_confidences((self, other))

    def __radd__(self, other: int) -> Confidences:
        return self if other == 0 else NotImplemented

    def rows(self) -> Iterator[tuple[float | None, str, str, bool]]:
        """(confidence, label, language, right) of each prediction."""
        for language, labels, confidences, right in self.documents:
            yield from zip(confidences, labels, repeat(language), right, strict=False)


def total_confidences(parts: Iterable[Confidences]) -> Confidences:
    """The sum of many."""
    documents: list[Judged] = []
    support = 0
    unusable: Counter[str] = Counter()
    for part in parts:
        documents += part.documents
        support += part.support
        unusable.update(dict(part.unusable))
    return Confidences(tuple(documents), support, tuple(sorted(unusable.items())))


def judge(gold: Sequence[Triple], predicted: Sequence[Span], language: str) -> Confidences:
    """Judge one document's predictions. Invalid ones equal no valid gold span, so they are wrong."""
    if not predicted:
        return Confidences((Judged(language, (), (), ()),), len(gold))
    scores = [span.score for span in predicted]
    confidences = [score if type(score) is float and 0.0 <= score <= 1.0 else _usable(score) for score in scores]
    unusable: Counter[str] = Counter()
    if None in confidences:
        problems = (problem_of_score(score) for score in scores)
        unusable.update(problem for problem in problems if problem)
    keys = list(map(_KEY, predicted))
    right = _right(gold, keys, confidences)
    judged = Judged(language, tuple(key[2] for key in keys), tuple(confidences), tuple(right))
    return Confidences((judged,), len(gold), tuple(sorted(unusable.items())))


def _place(offset: object) -> int:
    """An offset as an integer; −1, where no gold can be, for what is none."""
    if type(offset) is int:
        return offset
    return -1 if isinstance(offset, bool) or not hasattr(offset, "__index__") else index(offset)


def _right(gold: Sequence[Triple], keys: Sequence[Triple], confidences: Sequence[float | None]) -> list[bool]:
    """Which predictions get a gold span. Only where predictions repeat does confidence decide."""
    known = set(gold)
    try:
        claims = set(keys)
    except TypeError:  # an offset of a predictions file may be a list
        keys = [(_place(start), _place(end), label) for start, end, label in keys]
        claims = set(keys)
    hits = [key in known and (type(key[0]) is type(key[1]) is int or not reason_of(*key[:2], key[1])) for key in keys]
    if len(claims) == len(keys):
        return hits
    free = Counter(gold)
    order = sorted(range(len(keys)), key=lambda place: -_or_none_at_all(confidences[place]))
    for place in order:
        if hits[place]:
            hits[place] = free[keys[place]] > 0
            free[keys[place]] -= 1
    return hits


def _usable(score: object) -> float | None:
    return None if problem_of_score(score) else float(score)  # type: ignore[arg-type]


def _or_none_at_all(confidence: float | None) -> float:
    return -1.0 if confidence is None else confidence


def problem_of_score(score: object) -> str | None:
    """Why a confidence cannot be used: without_score, not_a_number, not_finite, out_of_range; None where it can."""
    if score is None:
        return WITHOUT_SCORE
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return "not_a_number"
    if not isfinite(score):
        return "not_finite"
    return None if 0 <= score <= 1 else "out_of_range"
