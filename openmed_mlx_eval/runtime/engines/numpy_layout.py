"""How the numpy engine cuts its work: packed batches in groups of one length, elementwise passes in blocks that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = 1 << 16
"""Float32 values worked on at once: 256 KiB, which a second-level cache holds (measured on two threads: with half of it
activations and norms take up to a tenth longer, since each call hands Python's lock from thread to thread)."""


@dataclass(frozen=True, slots=True)
class Group:
    """`count` neighbouring sequences of one `length`, from row `start` on."""

    start: int
    count: int
    length: int


def blocks(rows: int, width: int) -> list[slice]:
    """Cuts of `rows` rows, `width` values each, of about one BLOCK."""
    return cuts(rows, max(1, BLOCK // width))


def cuts(size: int, step: int) -> list[slice]:
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]


def pieces(group: Group, heads: int) -> Iterator[tuple[tuple[slice, slice], list[slice]]]:
    """Cuts of (sequences, heads), each with cuts of query rows, whose attention weights are about BLOCK each."""
    square = group.length * group.length
    row_cuts = cuts(group.length, max(1, BLOCK // group.length))
    for some in cuts(group.count, max(1, BLOCK // (square * heads))):
        for part in cuts(heads, max(1, BLOCK // square)):
            yield (some, part), row_cuts
