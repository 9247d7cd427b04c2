"""Offsets that count UTF-16 code units (JavaScript, Java) or UTF-8 bytes (C, BioC), made to count code points.

Surfaces are the evidence: offsets are converted only where every annotation that says its own text then stands on that
text, and as code points not every one does. Takes time in proportion to text and annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from .draft import Mention
from .surface import agrees


@dataclass(frozen=True, slots=True)
class Unit:
    """code: a key of notes.NOTES, "" for code points. length: of a text in these units."""

    code: str
    length: Callable[[str], int]


# surrogatepass: half a pair is refused elsewhere, with its place.
CODE_POINTS = Unit("", len)
UTF16 = Unit("utf16_offsets", lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2)
BYTES = Unit("byte_offsets", lambda text: len(text.encode("utf-8", "surrogatepass")))


def recounted(text: str, mentions: Sequence[Mention], unit: Unit) -> tuple[Mention, ...] | None:
    """The annotations with offsets in code points; None where one is beyond the text or within a character."""
    if unit.length(text) == len(text):
        return tuple(mentions)
    bounds = {at: number for number, at in enumerate(accumulate(map(unit.length, text), initial=0))}
    moved = []
    for mention in mentions:
        pieces = [(bounds.get(start), bounds.get(end)) for start, end in mention.pieces]
        known = tuple((start, end) for start, end in pieces if start is not None and end is not None)
        if len(known) < len(pieces):
            return None
        moved.append(replace(mention, pieces=known))
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
