"""Recall over the gold spans that must not be missed: critical diagnoses, drug allergies, critical results.

Which gold span is critical is not in a Span: it comes as a sequence of categories beside the gold (the words
of labels/critical.py), None for what is not critical. A finding counts as found where a prediction of its label overlaps it. Misses are listed
by document ordinal and offsets in that document, without text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

from ..labels.critical import normalized_category
from ..spans import Span
from .counts import ratio
from .cover import Cover
from .pool import Interval


class Miss(NamedTuple):
    """A critical finding that no prediction of its label touches; `document` is an ordinal from 1."""

    category: str
    document: int
    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class CriticalScore:
    """{category: (found, total)} and the misses, of one document or several. Adds with `+`."""

    by_category: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    missed: tuple[Miss, ...] = ()

    def __add__(self, other: CriticalScore) -> CriticalScore:
        return total_critical((self, other))

    def __radd__(self, other: int) -> CriticalScore:
        return self if other == 0 else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """The block of a report; `overall` is None where no gold span is critical. Documents count from 0, as in all JSON."""
        found = {category: counts[0] for category, counts in sorted(self.by_category.items())}
        totals = {category: counts[1] for category, counts in sorted(self.by_category.items())}
        return {
            "overall": ratio(sum(found.values()), sum(totals.values())),
            "by_category": {category: ratio(found[category], totals[category]) for category in totals},
            "covered": sum(found.values()),
            "total": sum(totals.values()),
            "covered_by_category": found,
            "total_by_category": totals,
            "missed_findings": [
                {**miss._asdict(), "document": miss.document - 1} for miss in sorted(self.missed, key=lambda miss: miss[1:])
            ],
        }


NO_FINDINGS = CriticalScore()


def total_critical(scores: Iterable[CriticalScore]) -> CriticalScore:
    """The sum of many."""
    by_category: dict[str, tuple[int, int]] = {}
    missed: list[Miss] = []
    for score in scores:
        for category, counts in score.by_category.items():
            found, total = map(add, by_category.get(category, (0, 0)), counts)
            by_category[category] = (found, total)
        missed += score.missed
    return CriticalScore(by_category, tuple(missed))


def score_critical(
    gold: Sequence[Span],
    categories: Sequence[str | None],
    predicted: Mapping[str, Sequence[Interval]],
    document: int,
) -> CriticalScore:
    """Score one document.

    categories: parallel to gold. predicted: {label: valid intervals, sorted}. document: ordinal from 1.
    Raises ValueError where gold and categories differ in length.
    """
    covers: dict[str, Cover] = {}
    scores = []
    for span, raw in zip(gold, categories, strict=True):
        category = normalized_category(raw) if raw is not None else None
        if category is None:
            continue
        if span.label not in covers:
            covers[span.label] = Cover(predicted.get(span.label, ()))
        found = covers[span.label].characters(span.start, span.end) > 0
        miss = () if found else (Miss(category, document, span.start, span.end, span.label),)
        scores.append(CriticalScore({category: (int(found), 1)}, miss))
    return total_critical(scores) if scores else NO_FINDINGS
