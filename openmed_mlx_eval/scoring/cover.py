"""The union of predictions, and how much of a span lies in it: code points, and grapheme clusters that are covered whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from .graphemes import Clusters
from .pool import Interval
from .validity import Triple


class Cover:
    """The union of predictions; says how much of a span lies in it, in O(log n)."""

    def __init__(self, intervals: Iterable[Interval | Triple], clusters: Clusters | None = None) -> None:
        """intervals: (start, end, …), sorted. clusters: None where every code point is one."""
        self.pieces = merged(intervals)
        self._clusters = clusters

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.pieces]

    @cached_property
    def _ends(self) -> list[int]:
        return [end for _, end in self.pieces]

    @cached_property
    def _characters(self) -> list[int]:
        return [0, *accumulate(end - start for start, end in self.pieces)]

    @cached_property
    def _whole(self) -> list[int]:
        """Clusters that lie whole in the first n pieces."""
        clusters = self._clusters
        return [] if clusters is None else [0, *accumulate(_whole(clusters, *piece) for piece in self.pieces)]

    def lengths(self, intervals: Iterable[Interval | Triple]) -> list[int]:
        """Covered code points of each interval; sorted, so that one walk along the pieces does."""
        pieces, piece, covered = self.pieces, 0, []
        for interval in intervals:
            start, end = interval[0], interval[1]
            while piece < len(pieces) and pieces[piece][1] <= start:
                piece += 1
            if piece == len(pieces) or pieces[piece][0] >= end:
                covered.append(0)
            elif pieces[piece][1] >= end:
                covered.append(end - max(start, pieces[piece][0]))
            else:
                covered.append(self.characters(start, end))
        return covered

    def characters(self, start: int, end: int) -> int:
        """Covered code points of [start, end)."""
        return self._until(end) - self._until(start)

    def _until(self, offset: int) -> int:
        piece = bisect_left(self._starts, offset)
        if piece == 0:
            return 0
        return self._characters[piece] - max(0, self._ends[piece - 1] - offset)

    def clusters(self, start: int, end: int) -> int:
        """Clusters of [start, end) that are covered whole; a cluster that the span cuts counts with its part."""
        clusters = self._clusters
        if clusters is None:
            return self.characters(start, end)
        first = bisect_left(self._ends, start + 1)
        last = bisect_left(self._starts, end)  # pieces [first, last) overlap the span
        if first >= last:
            return 0
        edges = {first, last - 1}
        inner = self._whole[last - 1] - self._whole[first + 1] if last - first > 2 else 0
        return inner + sum(self._of_piece(clusters, piece, start, end) for piece in edges)

    def _of_piece(self, clusters: Clusters, piece: int, start: int, end: int) -> int:
        before_span = clusters.before(start + 1)
        from_, to = self.pieces[piece]
        first = 0 if from_ <= start else 1 + clusters.before(from_) - before_span
        last = clusters.count(start, end) if to >= end else clusters.before(to + 1) - before_span
        return max(0, last - first)

    def holds(self, start: int, end: int) -> bool:
        """One piece covers [start, end)."""
        piece = bisect_left(self._ends, end)
        return piece < len(self._ends) and self._starts[piece] <= start


def _whole(clusters: Clusters, start: int, end: int) -> int:
    """Clusters that lie whole in [start, end)."""
    return max(0, clusters.before(end + 1) - clusters.before(start) - 1)


def merged(intervals: Iterable[Interval | Triple]) -> list[Interval]:
    """The union of sorted intervals as disjoint pieces; touching ones become one."""
    pieces: list[Interval] = []
    start = end = -1
    for interval in intervals:
        if interval[0] > end:
            if end >= 0:
                pieces.append((start, end))
            start, end = interval[0], interval[1]
        elif interval[1] > end:
            end = interval[1]
    if end >= 0:
        pieces.append((start, end))
    return pieces
