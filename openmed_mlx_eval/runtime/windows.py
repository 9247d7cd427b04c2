"""Windows: a document longer than the model is cut into overlapping pieces, and its logits are put together again.

Pure arithmetic on token positions. Every token is in at least one window, and its logits come from the window in
which it stands furthest from an edge, so that no token is judged with context on one side only if it can be helped.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError

DEFAULT_STRIDE = 64

UNBOUNDED = 1 << 30
"""The window of a model that needs none: more tokens than any document has."""


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, end) go through the model together; the logits of [kept_from, kept_to) are used."""

    start: int
    end: int
    kept_from: int
    kept_to: int


def stride_for(size: int, stride: int | None) -> int:
    """The overlap in tokens for windows of `size` content tokens; the default is 64, or a quarter of a small window.

    Raises UsageError for a stride that leaves no step.
    """
    if stride is None:
        return min(DEFAULT_STRIDE, size // 4)
    if not 0 <= stride < size:
        raise UsageError(f"--stride {stride}: the overlap must be at least 0 and less than the window of {size} content tokens")
    return stride


def windows(tokens: int, size: int, stride: int) -> list[Window]:
    """Windows of at most `size` tokens, each beginning `size - stride` after the one before; none for no tokens.

    Two neighbours share `stride` tokens and meet in the middle of them; a token equally far from both edges
    stays with the earlier window.
    """
    if tokens == 0:
        return []
    step = size - stride
    starts = list(range(0, max(tokens - stride, 1), step))
    cuts = [0, *(start + (stride + 1) // 2 for start in starts[1:]), tokens]
    return [
        Window(start, min(start + size, tokens), kept_from, kept_to)
        for start, kept_from, kept_to in zip(starts, cuts, cuts[1:], strict=False)
    ]
