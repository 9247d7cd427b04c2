"""Windows of words: a text with more words, or tokens, than a span model takes is cut into overlapping pieces, and the scores
of its spans are put together again.

Pure arithmetic. Every span that fits into a window is whole in one; it is scored by the one in which it stands furthest
from an edge, of two the earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UsageError
from .safetensors import Array
from .windows import DEFAULT_STRIDE


@dataclass(frozen=True, slots=True)
class WordWindow:
    """Words [start, end) go through the model together."""

    start: int
    end: int


def word_stride_for(words: int, width: int, stride: int | None) -> int:
    """The overlap in words for windows of at most `words` and spans of at most `width`; the default is 64, or less in a small one.

    Raises UsageError for one that leaves no step, or in which a span can be in no window whole.
    """
    least = min(width - 1, words - 1)
    if stride is None:
        return max(least, min(DEFAULT_STRIDE, words // 4))
    if not least <= stride < words:
        raise UsageError(
            f"--stride {stride}: windows of this model have {words} words and its spans up to {width} – windows must share "
            f"{least} to {words - 1} words"
        )
    return stride


def word_windows(sizes: Sequence[int], words: int, tokens: int, stride: int) -> list[WordWindow]:
    """Windows over words of `sizes` tokens: each as many as `words` and `tokens` allow, one at least; the next begins `stride` words
    before it ends, or as soon as it reaches further.
    """
    ends = np.cumsum((0, *sizes))
    found: list[WordWindow] = []
    start = 0
    while start < len(sizes):
        fitting = int(np.searchsorted(ends, ends[start] + tokens, side="right")) - 1
        end = min(len(sizes), start + words, max(start + 1, fitting))
        if found and end <= found[-1].end:  # long words: all of it was in the one before
            start += 1
            continue
        found.append(WordWindow(start, end))
        if end == len(sizes):
            break
        start = max(start + 1, end - stride)
    return found


def span_places(words: int, width: int) -> tuple[Array, Array]:
    """(first word, words after it) of every span of at most `width` words, in order of both."""
    first, more = np.indices((words, width)).reshape(2, -1)
    whole = first + more < words
    return first[whole], more[whole]


class Stitched:
    """Scores of a document's spans, (words, width, labels), from those of its windows in whatever order they come."""

    def __init__(self, windows: Sequence[WordWindow], words: int, width: int, labels: int) -> None:
        self._windows, self._words = windows, words
        self._scores = np.zeros((words, width, labels), dtype=np.float32)
        self._best = np.full((words, width), -1, dtype=np.int64)

    def add(self, place: int, scores: Array) -> None:
        """scores: of the window at `place`, (its words, width, labels)."""
        window = self._windows[place]
        first, more = np.indices(scores.shape[:2])
        last = first + more
        before = first if window.start else np.full_like(first, self._words)
        after = window.end - window.start - 1 - last
        inside = after >= 0
        if window.end == self._words:
            after = np.full_like(after, self._words)
        # One number to compare: the distance from the nearer edge, then the earlier window.
        rank = np.where(inside, np.minimum(before, after) * len(self._windows) + len(self._windows) - 1 - place, -2)
        rows = slice(window.start, window.end)
        better = rank > self._best[rows]
        self._best[rows][better] = rank[better]
        self._scores[rows][better] = scores[better]

    def rows(self) -> Array:
        """float32 (spans, labels), in the order of `span_places`."""
        return np.asarray(self._scores[span_places(*self._best.shape)])
