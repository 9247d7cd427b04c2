"""Gold and predictions of one document side by side, cut once for all measures: what is equal, and the rest in groups.

Three spans in four of a good tagger equal a gold span and touch nothing else. Every measure treats such a pair alike, so
they are taken out in one set operation, and only the rest is walked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter, le

from .matching import Group, components
from .validity import Triple

_START, _END = itemgetter(0), itemgetter(1)


@dataclass(frozen=True, slots=True)
class Sides:
    """One document's checked spans, both lists in document order.

    same: spans that stand on both sides, and that nothing else overlaps. gold_left, predicted_left: all others, in
    order; groups: the components of those two. flat: no two spans of one list overlap, and none of gold_left equals
    one of predicted_left.
    """

    gold: Sequence[Triple]
    predicted: Sequence[Triple]
    same: Sequence[Triple]
    gold_left: Sequence[Triple]
    predicted_left: Sequence[Triple]
    groups: Sequence[Group]
    flat: bool

    @classmethod
    def of(cls, gold: Sequence[Triple], predicted: Sequence[Triple]) -> Sides:
        """gold, predicted: checked, sorted triples. Where a list overlaps itself they are left uncut."""
        if not (is_flat(gold) and is_flat(predicted)):
            return cls.uncut(gold, predicted)
        if not (gold and predicted):
            return cls(gold, predicted, (), gold, predicted, (), True)
        equal = set(gold).intersection(predicted)
        gold_left = [span for span in gold if span not in equal]
        predicted_left = [span for span in predicted if span not in equal]
        same = [span for span in gold if span in equal]
        return cls(gold, predicted, same, gold_left, predicted_left, list(components(gold_left, predicted_left)), True)

    @classmethod
    def uncut(cls, gold: Sequence[Triple], predicted: Sequence[Triple]) -> Sides:
        """As `of`, for any lists: nothing is taken out, and all measures give the same."""
        return cls(gold, predicted, (), gold, predicted, list(components(gold, predicted)), False)


def is_flat(spans: Sequence[Triple]) -> bool:
    """No two of the sorted spans overlap."""
    return all(map(le, map(_END, spans), islice(map(_START, spans), 1, None)))
