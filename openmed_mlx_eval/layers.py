"""Layers of nested spans: which of them are scored.

A span is nested in another when that one covers all of it and more. Two spans of equal bounds are not nested,
whatever their labels: both stand. Spans that only cross, each with a part of its own, are not nested either and
every rule keeps them. Labels play no part, so it is the same before labels meet and after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index

from .errors import UsageError
from .spans import Span

Bounds = tuple[int, int]


def _within_none(bounds: Sequence[Bounds]) -> set[Bounds]:
    """From the left, the longest first: what ends no later than something before it lies within that."""
    kept, reach = set(), -1
    for start, end in sorted(bounds, key=lambda pair: (pair[0], -pair[1])):
        if end > reach:
            kept.add((start, end))
            reach = end
    return kept


def _around_none(bounds: Sequence[Bounds]) -> set[Bounds]:
    """From the right, the shortest first: what ends no earlier than something behind it lies around that."""
    kept: set[Bounds] = set()
    nearest: int | None = None
    for start, end in sorted(bounds, key=lambda pair: (-pair[0], pair[1])):
        if nearest is None or end < nearest:
            kept.add((start, end))
            nearest = end
    return kept


ALL = "all"
LAYERS: Mapping[str, Callable[[Sequence[Bounds]], set[Bounds]]] = {
    ALL: set,
    "outermost": _within_none,
    "innermost": _around_none,
}
"""{rule: distinct bounds to those it keeps}: every span, none that lies within another, none that has another within."""


def kept(spans: Sequence[Span], rule: str, length: int | None = None) -> list[int]:
    """Positions of the spans that a rule keeps, ascending; in O(n log n).

    rule: a name of LAYERS. length: code points of the document, where it is known. What cannot stand in the document
    (no whole number, negative, empty, inverted, past the end) is kept and nests nothing, so that it is still counted
    for what it is. Raises UsageError for a rule that is none.
    """
    if rule not in LAYERS:
        raise UsageError(f"--layers: unknown rule – choose one of {', '.join(LAYERS)}")
    if rule == ALL:
        return list(range(len(spans)))
    bounds = [_bounds(span, length) for span in spans]
    stay = LAYERS[rule](list({pair for pair in bounds if pair is not None}))
    return [position for position, pair in enumerate(bounds) if pair is None or pair in stay]


def layered(spans: Sequence[Span], rule: str, length: int | None = None) -> tuple[Span, ...]:
    """The spans that a rule keeps, in the order given; see `kept`."""
    return tuple(spans) if rule == ALL else tuple(spans[position] for position in kept(spans, rule, length))


def _bounds(span: Span, length: int | None) -> Bounds | None:
    """The bounds of a span that can stand; None for one that cannot."""
    if isinstance(span.start, bool) or isinstance(span.end, bool):
        return None
    try:
        start, end = index(span.start), index(span.end)
    except TypeError:
        return None
    return (start, end) if 0 <= start < end and (length is None or end <= length) else None
