"""The best unused interval for a query, among thousands that overlap it: a k-d tree over the (start, end)
plane.

Greedy matching asks the same question again and again: which free interval suits this one best? In ordinary
documents a handful of candidates is compared one by one; where thousands of spans lie over each other that is
quadratic. Here an interval is a point, a node knows the bounds of the free points below it, and a branch
whose best conceivable value cannot beat the value in hand is not entered. What "best" means is the caller's:
a `Preference` gives the value of an interval and an optimistic value for a node. This module matches nothing
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Interval = tuple[int, int]
Value = tuple[float, int, int]
"""(badness, start, end): the smallest is best, ties go to the earliest (start, end)."""

_BUCKET = 8


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
    """value: of one interval, None where it is no candidate.

    optimistic: at most the value of every candidate within the bounds, None where there can be no candidate.
    """

    value: Callable[[int, int], Value | None]
    optimistic: Callable[[Bounds], Value | None]


class Plane:
    """Free intervals, addressed by their position in `intervals`; `take` returns the best and removes it.

    Of equal intervals the first is taken first.
    """

    def __init__(self, intervals: Sequence[Interval]) -> None:
        stacks: dict[Interval, list[int]] = {}
        for position in range(len(intervals) - 1, -1, -1):
            stacks.setdefault(intervals[position], []).append(position)
        self._points = list(stacks)
        self._stacks = list(stacks.values())
        self._free: list[list[int] | None] = []  # of each node: its points, None for an inner node
        self._bounds: list[Bounds | None] = []  # None: nothing free below
        self._children: list[tuple[int, int]] = []
        self._parent: list[int] = []
        self._leaf_of: dict[int, int] = {}
        self._build(list(range(len(self._points))), -1)

    def _build(self, members: list[int], parent: int) -> int:
        node = len(self._bounds)
        bounds = self._around(members)
        self._bounds.append(bounds)
        self._parent.append(parent)
        self._children.append((0, 0))
        if bounds is None or len(members) <= _BUCKET:
            self._free.append(members)
            self._leaf_of.update(dict.fromkeys(members, node))
            return node
        self._free.append(None)
        by_start = bounds.start_max - bounds.start_min >= bounds.end_max - bounds.end_min
        axis = 0 if by_start else 1
        members.sort(key=lambda member: self._points[member][axis])
        half = len(members) // 2
        self._children[node] = (self._build(members[:half], node), self._build(members[half:], node))
        return node

    def _around(self, members: list[int]) -> Bounds | None:
        if not members:
            return None
        starts = [self._points[member][0] for member in members]
        ends = [self._points[member][1] for member in members]
        lengths = [end - start for start, end in zip(starts, ends, strict=True)]
        return Bounds(min(starts), max(starts), min(ends), max(ends), min(lengths), max(lengths))

    def _take_one(self, member: int) -> int:
        position = self._stacks[member].pop()
        if not self._stacks[member]:
            self._remove(member)
        return position

    def _remove(self, member: int) -> None:
        node = self._leaf_of.pop(member)
        bucket = self._free[node]
        if bucket is None:
            raise KeyError(member)
        bucket.remove(member)
        new = self._around(bucket)
        while node >= 0 and self._bounds[node] != new:
            self._bounds[node] = new
            node = self._parent[node]
            if node >= 0:
                new = _joined(*(self._bounds[child] for child in self._children[node]))

    def take(self, preference: Preference) -> int | None:
        """The free interval of the smallest value, removed; None where no free interval is a candidate."""
        found: int | None = None
        best: Value | None = None
        open_nodes = [(self._promise(0, preference), 0)]
        while open_nodes:
            promise, node = open_nodes.pop()
            if promise is None or (best is not None and promise >= best):
                continue
            bucket = self._free[node]
            if bucket is not None:
                for member in bucket:
                    value = preference.value(*self._points[member])
                    if value is not None and (best is None or value < best):
                        best, found = value, member
                continue
            left, right = ((self._promise(child, preference), child) for child in self._children[node])
            if left[0] is not None and (right[0] is None or left[0] < right[0]):
                left, right = right, left
            open_nodes += (left, right)  # the more promising one is popped first
        return None if found is None else self._take_one(found)

    def _promise(self, node: int, preference: Preference) -> Value | None:
        bounds = self._bounds[node]
        return None if bounds is None else preference.optimistic(bounds)


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
