"""Which prediction belongs to which gold span of the same label: one core, the rules on top.

Everything below takes the intervals of one label, sorted, half-open, non-empty. `components` cuts them into
groups that overlap; in real notes nearly every group is one gold span and one prediction, which all rules
pair alike. What remains goes to the rule: exact bounds, longest overlap, IoU, or a maximum matching. All run
in O(n log n) on flat and on nested spans; `pool.py` is what keeps 20,000 nested spans from costing
400,000,000 comparisons.

Touching intervals do not overlap. Input order never matters: intervals are sorted before they come here, and
equal intervals of one label are interchangeable. Nothing is counted here over documents; see scorecard.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

from ..errors import UsageError
from ..spans import Span
from .pool import Bounds, Interval, Preference, Value, pool_of
from .validity import Triple

Intervals = Sequence[Interval]
Pairs = list[tuple[int, int]]
"""(position in gold, position in predicted); each position stands in one pair at most."""
Rule = Callable[[Intervals, Intervals], Pairs]
Group = tuple[int, int, int, int]
"""(gold from, gold to, predicted from, predicted to): slices of two sorted lists."""


class Matches(NamedTuple):
    """What the rules found among the intervals of one label.

    exact, relaxed, relaxed_maximum: pairs. found: gold spans that some prediction touches. right: predictions
    that touch some gold span.
    """

    exact: int
    relaxed: int
    relaxed_maximum: int
    found: int
    right: int


NO_MATCHES = Matches(0, 0, 0, 0, 0)


def components(gold: Intervals | Sequence[Triple], predicted: Intervals | Sequence[Triple]) -> Iterator[Group]:
    """Each group of spans that hang together by overlapping, where it has both sides.

    What overlaps is in one group, whatever its label; so every measure may go group by group.
    """
    i = j = 0
    n, m = len(gold), len(predicted)
    while i < n and j < m:
        i0, j0 = i, j
        if gold[i][0] <= predicted[j][0]:
            reach = gold[i][1]
            i += 1
        else:
            reach = predicted[j][1]
            j += 1
        while True:
            if i < n and gold[i][0] < reach:
                reach = max(reach, gold[i][1])
                i += 1
            elif j < m and predicted[j][0] < reach:
                reach = max(reach, predicted[j][1])
                j += 1
            else:
                break
        if i > i0 and j > j0:
            yield i0, i, j0, j


def count_matches(gold: Intervals, predicted: Intervals) -> Matches:
    """All rules' counts for one label of one document, in one sweep."""
    exact = relaxed = maximum = found = right = 0
    for i0, i1, j0, j1 in components(gold, predicted):
        if i1 - i0 == 1 == j1 - j0:
            exact += gold[i0] == predicted[j0]
            relaxed += 1
            maximum += 1
            found += 1
            right += 1
            continue
        golds, predictions = gold[i0:i1], predicted[j0:j1]
        exact += len(exact_pairs(golds, predictions))
        if len(golds) == 1 or len(predictions) == 1:
            relaxed += 1
            maximum += 1
        else:
            relaxed += len(assign(golds, predictions, longest_overlap))
            maximum += len(maximum_pairs(golds, predictions))
        found += touched(golds, predictions)
        right += touched(predictions, golds)
    return Matches(exact, relaxed, maximum, found, right)


def exact_pairs(gold: Intervals, predicted: Intervals) -> Pairs:
    """Equal start and end, one to one: a merge of two sorted lists."""
    pairs: Pairs = []
    i = j = 0
    while i < len(gold) and j < len(predicted):
        if gold[i] == predicted[j]:
            pairs.append((i, j))
            i += 1
            j += 1
        elif gold[i] < predicted[j]:
            i += 1
        else:
            j += 1
    return pairs


def relaxed_pairs(gold: Intervals, predicted: Intervals) -> Pairs:
    """Gold in order, each takes the free prediction of the longest overlap, ties to the earliest (start, end)."""
    return _by_component(gold, predicted, partial(assign, preference=longest_overlap))


def iou_pairs(gold: Intervals, predicted: Intervals, threshold: float) -> Pairs:
    """Intersection over union of at least `threshold` (in code points, 0 < threshold <= 1), one to one.

    Equal intervals are paired first, then gold in order takes the free prediction of the greatest IoU, ties
    to the earliest (start, end).
    """
    if not 0 < threshold <= 1:
        raise UsageError("IoU threshold: must lie above 0 and at most at 1")
    return _by_component(gold, predicted, partial(_iou_pairs_of_component, threshold=threshold))


def maximum_pairs(gold: Intervals, predicted: Intervals) -> Pairs:
    """A maximum matching of overlapping intervals, in one sweep by end.

    Of all intervals the one that ends first takes the overlapping interval of the other side that ends next.
    No other choice pairs more: whatever overlaps the first-ending interval x reaches at least to x's end, so
    of two candidates for x the one that ends earlier overlaps a subset of what the other one overlaps among
    the rest.
    """
    sides = (gold, predicted)
    by_start = [iter(enumerate(intervals)) for intervals in sides]
    ahead = [next(items, None) for items in by_start]
    waiting: list[list[tuple[int, int]]] = [[], []]  # (end, position) of what has started, on either side
    done = [[False] * len(intervals) for intervals in sides]
    pairs: Pairs = []
    by_end = sorted((end, side, position) for side, intervals in enumerate(sides) for position, (_, end) in enumerate(intervals))
    for end, side, position in by_end:
        if done[side][position]:
            continue
        done[side][position] = True
        other = 1 - side
        item = ahead[other]
        while item is not None and item[1][0] < end:
            heappush(waiting[other], (item[1][1], item[0]))
            item = ahead[other] = next(by_start[other], None)
        while waiting[other] and done[other][waiting[other][0][1]]:
            heappop(waiting[other])
        if waiting[other]:
            partner = heappop(waiting[other])[1]
            done[other][partner] = True
            pairs.append((position, partner) if side == 0 else (partner, position))
    return sorted(pairs)


def touched(intervals: Intervals, others: Intervals) -> int:
    """How many of `intervals` overlap at least one of `others`."""
    starts = [start for start, _ in others]
    reach = [0, *accumulate((end for _, end in others), max)]
    return sum(reach[bisect_left(starts, end)] > start for start, end in intervals)


def assign(queries: Intervals, targets: Intervals, preference: Callable[[int, int], Preference]) -> Pairs:
    """Each query in turn takes the free target it prefers."""
    pool = pool_of(targets, len(queries))
    taken = [pool.take(preference(start, end)) for start, end in queries]
    return [(query, target) for query, target in enumerate(taken) if target is not None]


def longest_overlap(start: int, end: int) -> Preference:
    """Most code points in common with [start, end)."""

    def value(other_start: int, other_end: int) -> Value | None:
        overlap = min(end, other_end) - max(start, other_start)
        return (-overlap, other_start, other_end) if overlap > 0 else None

    def optimistic(bounds: Bounds) -> Value | None:
        overlap = _most_overlap(start, end, bounds)
        return (-overlap, bounds.start_min, bounds.end_min) if overlap > 0 else None

    return Preference(value, optimistic)


def greatest_iou(threshold: float, start: int, end: int) -> Preference:
    """Greatest intersection over union with [start, end), at least `threshold`."""
    length = end - start

    def value(other_start: int, other_end: int) -> Value | None:
        overlap = min(end, other_end) - max(start, other_start)
        if overlap <= 0:
            return None
        iou = overlap / (length + other_end - other_start - overlap)
        return (-iou, other_start, other_end) if iou >= threshold else None

    def optimistic(bounds: Bounds) -> Value | None:
        overlap = _most_overlap(start, end, bounds)
        if overlap <= 0:
            return None
        iou = overlap / (length + max(bounds.length_min, overlap) - overlap)
        return (-iou, bounds.start_min, bounds.end_min) if iou >= threshold else None

    return Preference(value, optimistic)


def _most_overlap(start: int, end: int, bounds: Bounds) -> int:
    return min(min(end, bounds.end_max) - max(start, bounds.start_min), bounds.length_max)


def _iou_pairs_of_component(gold: Intervals, predicted: Intervals, threshold: float) -> Pairs:
    pairs = exact_pairs(gold, predicted)
    paired_gold, paired_predicted = {i for i, _ in pairs}, {j for _, j in pairs}
    rest = [i for i in range(len(gold)) if i not in paired_gold]
    free = [j for j in range(len(predicted)) if j not in paired_predicted]
    more = assign([gold[i] for i in rest], [predicted[j] for j in free], partial(greatest_iou, threshold))
    return sorted(pairs + [(rest[i], free[j]) for i, j in more])


def _by_component(gold: Intervals, predicted: Intervals, rule: Rule) -> Pairs:
    return [(i0 + i, j0 + j) for i0, i1, j0, j1 in components(gold, predicted) for i, j in rule(gold[i0:i1], predicted[j0:j1])]


RULES: dict[str, Rule] = {
    "exact": exact_pairs,
    "relaxed": relaxed_pairs,
    "relaxed_maximum": maximum_pairs,
}


def pairs(gold: Sequence[Span], predicted: Sequence[Span], rule: str = "exact", *, iou: float | None = None) -> Pairs:
    """Positions in `gold` and `predicted` (as given) of the spans that the rule pairs, sorted.

    rule: a key of RULES; with `iou` the rule is IoU of at least that value instead. Empty and inverted spans
    match nothing. Raises UsageError for an unknown rule or an IoU outside (0, 1].
    """
    if iou is None and rule not in RULES:
        raise UsageError(f"matching rule: must be one of {', '.join(RULES)}")
    matcher = RULES[rule] if iou is None else partial(iou_pairs, threshold=iou)
    sides = (_positions_by_label(gold), _positions_by_label(predicted))
    found: Pairs = []
    for label in sides[0].keys() & sides[1].keys():
        golds, predictions = sides[0][label], sides[1][label]
        matched = matcher([item[0] for item in golds], [item[0] for item in predictions])
        found += [(golds[i][1], predictions[j][1]) for i, j in matched]
    return sorted(found)


def _positions_by_label(spans: Sequence[Span]) -> dict[str, list[tuple[Interval, int]]]:
    groups: dict[str, list[tuple[Interval, int]]] = {}
    for position, span in enumerate(spans):
        if span.start < span.end:
            groups.setdefault(span.label, []).append(((span.start, span.end), position))
    for items in groups.values():
        items.sort(key=lambda item: (item[0], -_confidence(spans[item[1]]), item[1]))
    return groups


def _confidence(span: Span) -> float:
    return 0.0 if span.score is None else span.score
