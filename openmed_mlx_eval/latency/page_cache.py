"""The operating system's page cache: drop a file from it, and ask how much of a file it holds. Linux alone.

posix_fadvise(DONTNEED) is advice: pages that some process has mapped stay, and a file in memory-backed storage
cannot leave. So what was asked for is not what was got until it has been looked at.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

EMPTY = 0.01
"""Up to this share of a file in the cache it counts as dropped: its first page may come back with a look at it."""


def can_drop() -> bool:
    return sys.platform.startswith("linux") and hasattr(os, "posix_fadvise")


def files_of(directory: str | Path) -> list[Path]:
    """Every file of a model directory, symbolic links followed."""
    return [path for path in sorted(Path(directory).rglob("*")) if path.is_file()]


def drop(files: Iterable[Path]) -> None:
    """Advise the system to drop the files' pages; where it takes no such advice nothing happens, nor to a file that cannot be
    read: beside a model's own there may be others.
    """
    for path in files if can_drop() else ():
        with suppress(OSError), path.open("rb") as file:
            if sys.platform == "linux":  # said again for the type checker, which knows the call there alone
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(files: Iterable[Path]) -> float | None:
    """The share of the files' pages that is in the cache; None where that cannot be known.

    mincore(2) tells of a file only to those who may write it, and says "all" to everyone else.
    """
    if not can_drop():
        return None
    held = total = 0
    for path in files:
        try:
            size = path.stat().st_size
            found = _held(path, size) if size else (0, 0)
        except (OSError, ValueError):  # not ours to read, or shorter by now
            return None
        if found is None:
            return None
        held, total = held + found[0], total + found[1]
    return held / total if total else None


def _held(path: Path, size: int) -> tuple[int, int] | None:
    """(pages in the cache, pages) of one file; mapping it touches none of them."""
    pages = -(-size // mmap.PAGESIZE)
    table = (ctypes.c_ubyte * pages)()
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
        first = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), table)
        del first  # or the map cannot be closed
    return None if failed else (sum(state & 1 for state in table), pages)
