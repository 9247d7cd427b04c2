"""Free intervals from which a query takes the best: a plain list for a few, a k-d tree for thousands.

Greedy matching asks the same question again and again: which free interval suits this one best? In ordinary
documents a handful of candidates is compared one by one; where thousands of spans lie over each other that is
quadratic. In the tree an interval is a point of the (start, end) plane, a node knows the bounds of the free
points below it, and a branch whose best conceivable value does not beat the value in hand is not entered.
What "best" means is the caller's: a `Preference` gives the value of an interval and an optimistic value for a
node. This module matches nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

Interval = tuple[int, int]
Value = tuple[float, int, int]
"""(badness, start, end): the smallest is best, ties go to the earliest (start, end)."""

_COMPARISONS_PER_QUERY = 64
"""What a query may cost in a list before the tree is cheaper (measured: a tree query is worth some 60)."""

_BUCKET = 8
"""Intervals in a leaf of the tree."""


class Bounds(NamedTuple):
    """Smallest and largest start, end and length of the intervals below a node."""

    start_min: int
    start_max: int
    end_min: int
    end_max: int
    length_min: int
    length_max: int


@dataclass(frozen=True, slots=True)
class Preference:
    """What a query is looking for.

    value: of one interval, None where it is no candidate.
    optimistic: at most the value of any candidate within the bounds, None where there can be no candidate.
    """

    value: Callable[[int, int], Value | None]
    optimistic: Callable[[Bounds], Value | None]


class Pool(Protocol):
    """Intervals are known by their position in the sequence given; of equal ones the first is taken first."""

    def take(self, preference: Preference) -> int | None:
        """Remove the interval of the smallest value; None where no free one is a candidate."""

    def discard(self, interval: Interval) -> None:
        """Remove the first free interval that equals this one, if there is one."""


def pool_of(intervals: Sequence[Interval], queries: int) -> Pool:
    """The cheaper pool for so many queries; both answer the same. `intervals` are sorted."""
    if len(intervals) * queries > _COMPARISONS_PER_QUERY * (len(intervals) + queries):
        return TreePool(intervals)
    return ListPool(intervals)


class ListPool:
    """Compares one by one."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        self._free = list(enumerate(intervals))

    def take(self, preference: Preference) -> int | None:
        found, best = -1, None
        value_of = preference.value
        for place, (_, (start, end)) in enumerate(self._free):
            value = value_of(start, end)
            if value is not None and (best is None or value < best):
                best, found = value, place
        return None if best is None else self._free.pop(found)[0]

    def discard(self, interval: Interval) -> None:
        for place, (_, free) in enumerate(self._free):
            if free == interval:
                del self._free[place]
                return


class TreePool:
    """Enters a branch only where it can hold something better."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        stacks: dict[Interval, list[int]] = {}
        for position in range(len(intervals) - 1, -1, -1):
            stacks.setdefault(intervals[position], []).append(position)
        self._points = list(stacks)
        self._stacks = stacks
        self._leaf_of: dict[Interval, int] = {}
        self._parent: list[int] = []
        self._children: list[tuple[int, int]] = []
        self._bucket: list[list[Interval] | None] = []  # None for an inner node
        self._bounds: list[Bounds | None] = []  # None where nothing below is free
        self._build(self._points, -1)

    def take(self, preference: Preference) -> int | None:
        found: Interval | None = None
        best: Value | None = None
        open_nodes = [(self._promise(0, preference), 0)]
        while open_nodes:
            promise, node = open_nodes.pop()
            if promise is None or (best is not None and promise >= best):
                continue
            bucket = self._bucket[node]
            if bucket is not None:
                for interval in bucket:
                    value = preference.value(*interval)
                    if value is not None and (best is None or value < best):
                        best, found = value, interval
                continue
            worse, better = ((self._promise(child, preference), child) for child in self._children[node])
            if worse[0] is not None and (better[0] is None or worse[0] < better[0]):
                worse, better = better, worse
            open_nodes += (worse, better)
        return None if found is None else self._pop(found)

    def discard(self, interval: Interval) -> None:
        if self._stacks.get(interval):
            self._pop(interval)

    def _build(self, points: list[Interval], parent: int) -> int:
        node = len(self._bounds)
        bounds = _around(points)
        self._bounds.append(bounds)
        self._parent.append(parent)
        self._children.append((0, 0))
        if bounds is None or len(points) <= _BUCKET:
            self._bucket.append(points)
            self._leaf_of.update(dict.fromkeys(points, node))
            return node
        self._bucket.append(None)
        wider = 0 if bounds.start_max - bounds.start_min >= bounds.end_max - bounds.end_min else 1
        points = sorted(points, key=lambda point: point[wider])
        half = len(points) // 2
        self._children[node] = (self._build(points[:half], node), self._build(points[half:], node))
        return node

    def _pop(self, interval: Interval) -> int:
        stack = self._stacks[interval]
        position = stack.pop()
        if not stack:
            self._close(interval)
        return position

    def _close(self, interval: Interval) -> None:
        node = self._leaf_of.pop(interval)
        points = [point for point in self._bucket[node] or () if point != interval]
        self._bucket[node] = points
        bounds = _around(points)
        while self._bounds[node] != bounds:
            self._bounds[node] = bounds
            if node == 0:
                break
            node = self._parent[node]
            left, right = self._children[node]
            bounds = _joined(self._bounds[left], self._bounds[right])

    def _promise(self, node: int, preference: Preference) -> Value | None:
        bounds = self._bounds[node]
        return None if bounds is None else preference.optimistic(bounds)


def _around(points: Sequence[Interval]) -> Bounds | None:
    if not points:
        return None
    starts = [start for start, _ in points]
    ends = [end for _, end in points]
    lengths = [end - start for start, end in points]
    return Bounds(min(starts), max(starts), min(ends), max(ends), min(lengths), max(lengths))


def _joined(left: Bounds | None, right: Bounds | None) -> Bounds | None:
    if left is None or right is None:
        return left or right
    return Bounds(
        min(left.start_min, right.start_min),
        max(left.start_max, right.start_max),
        min(left.end_min, right.end_min),
        max(left.end_max, right.end_max),
        min(left.length_min, right.length_min),
        max(left.length_max, right.length_max),
    )
