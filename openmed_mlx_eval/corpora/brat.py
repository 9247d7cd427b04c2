"""BRAT standoff: a `.txt` and a `.ann` of one name are a document. Text-bound annotations (`T`) are gold.

Relations, events, attributes, normalisations, notes and equivalences are read past. What becomes of
discontinuous annotations is decided where gold is checked. Format: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, is_utf16, text_of
from .surface import MARK, without_mark

_OTHER_KINDS = tuple("REAMN#*")
_PIECES = re.compile(r"-?\d{1,15} -?\d{1,15}(?:;-?\d{1,15} -?\d{1,15})*", re.ASCII)


def read(source: Source) -> Iterator[Made]:
    """The one document of a pair of files."""
    yield attempt(_draft, source)


def _draft(source: Source) -> Draft:
    if source.data is None:
        raise Fault("an .ann file without its .txt", "add the .txt of the same name, or use --skip-bad")
    if source.standoff is None:
        raise Fault("a .txt file without its .ann", "add the .ann; it is empty if there is nothing to annotate")
    lines = text_of(source.standoff, name="the .ann").split("\n")
    mentions = [_mention(line.removesuffix("\r"), number) for number, line in enumerate(lines, start=1)]
    mark = MARK if source.data.startswith(codecs.BOM_UTF8) or is_utf16(source.data) else ""
    text, found = without_mark(mark + text_of(source.data, name="the .txt"), [m for m in mentions if m])
    in_pieces = sum(len(mention.pieces) > 1 for mention in found)
    metadata = {"annotations_in_pieces": in_pieces} if in_pieces else {}
    return Draft(source.stem or None, text, found, metadata=metadata)


def _mention(line: str, number: int) -> Mention | None:
    """The annotation of a line, None for a line of another kind. Raises Fault for a line of no kind."""
    if not line.strip() or line.startswith(_OTHER_KINDS):
        return None
    columns = line.split("\t", 2)
    if not line.startswith("T") or len(columns) < 2:
        remedy = "an .ann line begins with T, R, E, A, M, N, # or *, its columns are parted by tabs"
        raise Fault("a line of no known kind", remedy, line=number)
    label, _, offsets = columns[1].strip(" ").partition(" ")
    if not label or not _PIECES.fullmatch(offsets):
        raise Fault("an annotation without label or offsets", "write T1<tab>LABEL 0 4<tab>text", line=number)
    bounds = [[int(offset) for offset in piece.split(" ")] for piece in offsets.split(";")]
    surface = columns[2] if len(columns) > 2 else None
    return Mention(label, tuple((start, end) for start, end in bounds), surface, number)
