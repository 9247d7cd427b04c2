"""Texts that come in blocks, each with its offset in the document (BioC's passages, WebAnno's sentences), put together.

Between two blocks stand as many fillers as the offsets leave room for, so that offsets need no change but for their unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .draft import Fault, Mention
from .surface import agrees
from .units import Unit, recounted

_ROOM = 100_000
"""How many fillers a document may have beyond its own length: an offset is a number of the file's, text is memory."""


@dataclass(frozen=True, slots=True)
class Block:
    """offset: where the text begins, in the unit of the file. filler: what stands before it, after another block."""

    offset: int
    text: str
    filler: str = "\n"
    line: int | None = None


def laid_out(
    blocks: Sequence[Block], mentions: Sequence[Mention], units: Sequence[Unit]
) -> tuple[str, tuple[Mention, ...], Unit]:
    """The text, the annotations in code points of it, and the unit that the file counts in.

    That is the first of the units under which every annotation stands on its own text; where none is, the first under
    which the blocks have room, and the annotations are as the file says. The first block begins the text, whatever its
    offset. Raises Fault where blocks overlap under every unit, or lie too far apart.
    """
    base = blocks[0].offset if blocks else 0
    moved = [_shifted(mention, base) for mention in mentions] if base else mentions
    best: tuple[str, tuple[Mention, ...], Unit] | None = None
    problem: Fault | None = None
    for unit in units:
        try:
            text = _joined(blocks, unit)
        except Fault as fault:
            problem = problem or fault
            continue
        found = recounted(text, moved, unit)
        if found is not None and all(agrees(text, mention) for mention in found):
            return text, found, unit
        best = best or (text, tuple(moved) if found is None else found, unit)
    if best is None:
        raise problem or Fault("no text")
    return best


def _shifted(mention: Mention, base: int) -> Mention:
    return mention._replace(pieces=tuple((start - base, end - base) for start, end in mention.pieces))


def _joined(blocks: Sequence[Block], unit: Unit) -> str:
    parts: list[str] = []
    room = _ROOM + sum(len(block.text) for block in blocks)
    end = blocks[0].offset if blocks else 0
    for number, block in enumerate(blocks, start=1):
        gap = block.offset - end
        room -= gap
        if gap < 0:
            raise Fault(
                f"text {number} of the document begins before the one before it ends", "correct its offset", line=block.line
            )
        if room < 0:
            raise Fault(f"text {number} of the document begins far from all others", "correct its offset", line=block.line)
        parts += [block.filler * gap, block.text]
        end = block.offset + unit.length(block.text)
    return "".join(parts)
