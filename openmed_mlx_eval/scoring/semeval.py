"""SemEval-2013 task 9.1: strict, exact, partial and type, each with its COR, INC, PAR, MIS, SPU, POS and ACT.

The categories are those of MUC-5 (Chinchor and Sundheim 1993) as the task's scorer uses them. Spans are
paired across labels: first what agrees in bounds and label, then what agrees in bounds; each prediction left,
in document order, takes the first free gold span it overlaps. strict, exact and partial read that one
pairing; type prefers a gold span of the prediction's own label, of the nearest bounds. Where the spans of a
list neither touch nor overlap, and no gold span is longer than 100 code points (below 1 % of overlap it sees
none), the counts are nervaluate's; elsewhere nervaluate's depend on the order of the input and ours do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .counts import ratio
from .pool import Bounds, Pool, Preference, Value, pool_of
from .sides import Sides
from .validity import Triple

Triples = Sequence[Triple]


class SemevalScore(NamedTuple):
    """The integers from which all four schemes follow; one document's, or a sum.

    gold, predicted: spans (invalid predictions too). paired, same_bounds, same_bounds_and_label: of the
    pairing. type_paired, same_label: of the pairing that prefers the prediction's label.
    """

    gold: int = 0
    predicted: int = 0
    paired: int = 0
    same_bounds: int = 0
    same_bounds_and_label: int = 0
    type_paired: int = 0
    same_label: int = 0

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{scheme: {precision, recall, f1, correct, incorrect, partial, missed, spurious, possible, actual}}."""
        wrong_bounds = self.paired - self.same_bounds
        return {
            "strict": self._scheme(self.same_bounds_and_label, self.paired - self.same_bounds_and_label, 0),
            "exact": self._scheme(self.same_bounds, wrong_bounds, 0),
            "partial": self._scheme(self.same_bounds, 0, wrong_bounds),
            "type": self._scheme(self.same_label, self.type_paired - self.same_label, 0),
        }

    def _scheme(self, correct: int, incorrect: int, partial: int) -> dict[str, Any]:
        """Precision and recall as in the task: COR over ACT and POS, where PAR counts one half of a COR."""
        right = correct + 0.5 * partial
        paired = correct + incorrect + partial
        return {
            "precision": ratio(right, self.predicted),
            "recall": ratio(right, self.gold),
            "f1": ratio(2 * right, self.gold + self.predicted),
            "correct": correct,
            "incorrect": incorrect,
            "partial": partial,
            "missed": self.gold - paired,
            "spurious": self.predicted - paired,
            "possible": self.gold,
            "actual": self.predicted,
        }


def semeval_score(sides: Sides, invalid: int = 0) -> SemevalScore:
    """Score one document; `invalid` predictions are spurious."""
    if not sides.predicted:
        return SemevalScore(len(sides.gold), invalid)
    paired = same_bounds = perfect = type_paired = same_label = len(sides.same)
    gold, predicted = sides.gold_left, sides.predicted_left
    for i0, i1, j0, j1 in sides.groups:
        if i1 - i0 == 1 == j1 - j0:
            one, other = gold[i0], predicted[j0]
            paired += 1
            type_paired += 1
            if one == other:
                perfect += 1
                same_bounds += 1
                same_label += 1
            elif one[2] == other[2]:
                same_label += 1
            elif one[:2] == other[:2]:
                same_bounds += 1
            continue
        if sides.flat and (
            i1 - i0 == 1 or j1 - j0 == 1
        ):  # nothing of equal bounds is left: the first prediction takes a gold span
            label = predicted[j0][2]
            paired += 1
            type_paired += 1
            same_label += any(span[2] == label for span in gold[i0:i1])
            continue
        agreed, golds, predictions = _without_equals(gold[i0:i1], predicted[j0:j1], width=3)
        in_bounds, golds_left, predictions_left = _without_equals(golds, predictions, width=2)
        perfect += agreed
        same_bounds += agreed + in_bounds
        paired += agreed + in_bounds + _first_overlaps(golds_left, predictions_left)
        of_label, of_any = _preferring_the_label(golds, predictions)
        same_label += agreed + of_label
        type_paired += agreed + of_any
    of_lists = len(sides.gold), len(sides.predicted) + invalid
    return SemevalScore(*of_lists, paired, same_bounds, perfect, type_paired, same_label)


def _without_equals(gold: Triples, predicted: Triples, width: int) -> tuple[int, list[Triple], list[Triple]]:
    """(number of pairs equal in their first `width` fields, gold left, predictions left); a merge of sorted lists."""
    pairs = i = j = 0
    golds, predictions = [], []
    while i < len(gold) and j < len(predicted):
        ours, theirs = gold[i][:width], predicted[j][:width]
        if ours == theirs:
            pairs += 1
            i += 1
            j += 1
        elif ours < theirs:
            golds.append(gold[i])
            i += 1
        else:
            predictions.append(predicted[j])
            j += 1
    return pairs, golds + list(gold[i:]), predictions + list(predicted[j:])


def _first_overlaps(gold: Triples, predicted: Triples) -> int:
    """Predictions in order, each takes the first free gold span it overlaps.

    Starts only grow, so a gold span that ends before one prediction starts is out for all that follow.
    """
    pairs = first = 0
    for start, end, _ in predicted:
        while first < len(gold) and gold[first][1] <= start:
            first += 1
        if first == len(gold):
            break
        if gold[first][0] < end:
            pairs += 1
            first += 1
    return pairs


def _preferring_the_label(gold: Triples, predicted: Triples) -> tuple[int, int]:
    """(pairs of one label, all pairs): as `_first_overlaps`, but the prediction's own label goes first."""
    positions: dict[str, list[int]] = {}
    for position, (_, _, label) in enumerate(gold):
        positions.setdefault(label, []).append(position)
    pools: dict[str, Pool] = {
        label: pool_of([gold[position][:2] for position in where], len(predicted)) for label, where in positions.items()
    }
    used = [False] * len(gold)
    of_label = of_any = first = 0
    for start, end, label in predicted:
        place = pools[label].take(nearest_bounds(start, end)) if label in pools else None
        if place is not None:
            used[positions[label][place]] = True
            of_label += 1
            of_any += 1
            continue
        while first < len(gold) and (used[first] or gold[first][1] <= start):
            first += 1
        if first < len(gold) and gold[first][0] < end:
            used[first] = True
            pools[gold[first][2]].discard(gold[first][:2])
            of_any += 1
    return of_label, of_any


def nearest_bounds(start: int, end: int) -> Preference:
    """Of what overlaps [start, end), the smallest distance of the starts plus that of the ends."""

    def value(other_start: int, other_end: int) -> Value | None:
        if other_start >= end or other_end <= start:
            return None
        return (abs(other_start - start) + abs(other_end - end), other_start, other_end)

    def optimistic(bounds: Bounds) -> Value | None:
        if bounds.start_min >= end or bounds.end_max <= start:
            return None
        apart = max(bounds.start_min - start, start - bounds.start_max, 0)
        apart += max(bounds.end_min - end, end - bounds.end_max, 0)
        return (apart, bounds.start_min, bounds.end_min)

    return Preference(value, optimistic)
