"""Which spans can be scored in a document of a given length, and the name of the reason where one cannot.

A gold span that cannot stand is an error of the corpus and refused. A prediction that cannot stand is the
model's error: it is counted under its reason and as a false positive, and matches and covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

from ..errors import InputError
from ..spans import Span
from .pool import Interval

Triple = tuple[int, int, str]
"""(start, end, label), the form in which the matchers see a span: tuples of it sort into document order."""

REASONS = {
    "not_an_offset": "offset that is no whole number",
    "negative_offset": "negative offset",
    "inverted": "end before start",
    "empty": "empty span",
    "past_end": "span past the end of its document",
}


def reason_of(start: object, end: object, length: int) -> str | None:
    """The key in REASONS under which [start, end) cannot stand in `length` code points; None where it can."""
    try:
        first, last = _offset(start), _offset(end)
    except (TypeError, ValueError):
        return "not_an_offset"
    if first < 0 or last < 0:
        return "negative_offset"
    if last < first:
        return "inverted"
    if last == first:
        return "empty"
    return "past_end" if last > length else None


def _offset(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError
    return index(value)  # type: ignore[arg-type]


def checked_gold(spans: Sequence[Span], length: int, document: int | None = None) -> list[Triple]:
    """Gold as triples in document order. Raises InputError (span ordinal and offsets) for one that cannot stand."""
    triples = []
    for number, span in enumerate(spans, start=1):
        start, end = span.start, span.end
        if not (type(start) is type(end) is int and 0 <= start < end <= length):
            reason = reason_of(start, end, length)
            if reason is not None:
                offsets = None if reason == "not_an_offset" else (index(start), index(end))
                raise InputError(
                    "gold",
                    f"{REASONS[reason]} (text of {length} code points)",
                    document=document,
                    span=number,
                    offsets=offsets,
                    remedy="offsets are half-open and count Unicode code points; correct the gold",
                )
            start, end = index(start), index(end)
        triples.append((start, end, span.label))
    triples.sort()
    return triples


def checked_predictions(spans: Sequence[Span], length: int) -> tuple[list[Triple], list[tuple[str, str]]]:
    """(valid predictions as triples in document order, (label, reason) of each that cannot stand)."""
    triples, invalid = [], []
    for span in spans:
        start, end = span.start, span.end
        if type(start) is type(end) is int and 0 <= start < end <= length:
            triples.append((start, end, span.label))
            continue
        reason = reason_of(start, end, length)
        if reason is None:
            triples.append((index(start), index(end), span.label))
        else:
            invalid.append((span.label, reason))
    triples.sort()
    return triples, invalid


def by_label(triples: Iterable[Triple]) -> dict[str, list[Interval]]:
    """{label: intervals}, in the order of the triples."""
    groups: dict[str, list[Interval]] = {}
    for start, end, label in triples:
        group = groups.get(label)
        if group is None:
            groups[label] = [(start, end)]
        else:
            group.append((start, end))
    return groups
