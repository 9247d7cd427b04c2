"""How the numpy engine cuts its work: packed batches in groups of one length, elementwise passes in blocks that stay in cache."""

from __future__ import annotations

from dataclasses import dataclass

BLOCK = 1 << 15
"""Float32 values worked on at once: 128 KiB, of which three arrays fit a second-level cache of 512 KiB."""


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
