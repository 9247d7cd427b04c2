"""Offsets that count UTF-16 code units (JavaScript, Java) or UTF-8 bytes (C, BioC), made to count code points.

Surfaces are the evidence: offsets are converted only where every annotation that says its own text then stands on that
text, and as code points not every one does. Takes time in proportion to text and annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .draft import Mention
from .surface import agrees


@dataclass(frozen=True, slots=True)
class Unit:
    """code: a key of notes.NOTES, "" for code points. length: of a text in these units. widths: of its code points."""

    code: str
    length: Callable[[str], int]
    widths: Callable[[str], Iterator[int]]


# surrogatepass: half a pair is refused elsewhere, with its place.
CODE_POINTS = Unit("", len, lambda text: (1 for _ in text))
UTF16 = Unit(
    "utf16_offsets",
    lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    lambda text: (2 if c > "\uffff" else 1 for c in text),
)
BYTES = Unit(
    "byte_offsets",
    lambda text: len(text.encode("utf-8", "surrogatepass")),
    lambda text: (1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4 for c in text),
)


def recounted(text: str, mentions: Sequence[Mention], unit: Unit) -> tuple[Mention, ...] | None:
    """The annotations with offsets in code points; None where one is beyond the text or within a character."""
    if unit.length(text) == len(text):
        return tuple(mentions)
    bounds = {at: number for number, at in enumerate(accumulate(unit.widths(text), initial=0))}
    moved = []
    for mention in mentions:
        pieces = [(bounds.get(start), bounds.get(end)) for start, end in mention.pieces]
        known = tuple((start, end) for start, end in pieces if start is not None and end is not None)
        if len(known) < len(pieces):
            return None
        moved.append(mention if known == mention.pieces else mention._replace(pieces=known))
    return tuple(moved)


def as_counted(text: str, mentions: Sequence[Mention]) -> tuple[tuple[Mention, ...], str]:
    """The annotations, and the code of the unit that they turned out to count; as they are, and "", otherwise."""
    for unit in (UTF16, BYTES):
        if unit.length(text) == len(text) or not any(mention.surface and not mention.loose for mention in mentions):
            continue
        moved = recounted(text, mentions, unit)
        if moved is not None and all(agrees(text, mention) for mention in moved):
            return moved, unit.code
    return tuple(mentions), ""
