"""BioC, XML or JSON: collections of documents of passages (of sentences), each text with its offset in the document.

A document's text is that of its passages in their places; passages are parted by line breaks. An annotation's label is
its infon `type`; one of several locations is discontinuous. Offsets are bytes by the format's definition and code points
in most files: the annotations' own texts say which. Relations are read past. Format: http://bioc.sourceforge.net/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .bioc_xml import LINE, documents_of
from .blocks import Block, laid_out
from .draft import Draft, Fault, Made, Mention, Note, attempt
from .json_fields import kind_of, object_of
from .json_rows import values_of
from .source import Source, text_of
from .units import BYTES, CODE_POINTS, UTF16

TYPES = ("type", "label", "class")
"""The infons that name an annotation's type; the first that is there."""

_INSIDE = ("documents", "PubTator3")
_SHAPE = 'write {"documents": [{"id": "…", "passages": [{"offset": 0, "text": "…", "annotations": []}]}]}'
_OFFSET = 'write {"offset": 0} of a passage, {"offset": 0, "length": 5} of a location'
_START = 100
_MOST = 10**15
"""Larger numbers are no offsets."""


def read(source: Source) -> Iterator[Made]:
    """The documents of one collection. Raises Fault where the file as a whole is none."""
    data = source.data or b""
    if source.suffix == ".xml" or data[:_START].translate(None, b"\0\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<"):
        values: Iterator[Any] = ((document, None) for document in documents_of(text_of(data)))
    else:
        values = _json_documents(source)
    for value in values:
        made = value if isinstance(value, Fault) else attempt(_draft, *value)
        if isinstance(made, tuple):
            draft, unit = made
            if unit:
                yield Note(unit)
            yield draft
        else:
            yield made


def _json_documents(source: Source) -> Iterator[tuple[Any, int | None] | Fault]:
    """The documents of a collection, of a list of collections or documents, or of lines of either."""
    for made in values_of(source, _SHAPE, _INSIDE, alone=True):
        inner = None
        if not isinstance(made, Fault) and isinstance(made[0], dict):
            inner = next((made[0][key] for key in _INSIDE if isinstance(made[0].get(key), list)), None)
        if isinstance(made, Fault) or inner is None:
            yield made
        else:
            yield from ((document, made[1]) for document in inner)


def _draft(value: Any, line: int | None) -> tuple[Draft, str]:
    """The document and the code of the unit that its offsets count, "" for code points."""
    document: Mapping[Any, Any] = object_of(value, line, _SHAPE)
    blocks: list[Block] = []
    mentions: list[Mention] = []
    for passage in _objects(document, "passages", line):
        _read_texts(passage, line, blocks, mentions)
    if not blocks:
        raise Fault("a document without a text", _SHAPE, line=line or document.get(LINE))
    text, found, unit = laid_out(blocks, mentions, (CODE_POINTS, UTF16, BYTES))
    in_pieces = sum(len(mention.pieces) > 1 for mention in found)
    metadata = {"annotations_in_pieces": in_pieces} if in_pieces else {}
    name = next((document[key] for key in ("id", "_id") if type(document.get(key)) in (str, int)), None)
    return Draft(None if name is None else str(name) or None, text, found, metadata=metadata, line=line), unit.code


def _read_texts(passage: Mapping[Any, Any], line: int | None, blocks: list[Block], mentions: list[Mention]) -> None:
    """Append a passage's text, or those of its sentences where it has none of its own, and the annotations of both."""
    line = passage.get(LINE, line)
    sentences = _objects(passage, "sentences", line)
    text = passage.get("text")
    if not isinstance(text, str | None):
        raise Fault(f"a text is {kind_of(text)}, not a string", _SHAPE, line=line)
    if text or not sentences:
        blocks.append(Block(_integer(passage.get("offset"), line), text or "", line=line))
    else:
        for number, sentence in enumerate(sentences):
            said = sentence.get("text")
            if not isinstance(said, str):
                raise Fault(f"a sentence's text is {kind_of(said)}, not a string", _SHAPE, line=line)
            blocks.append(Block(_integer(sentence.get("offset"), line), said, " " if number else "\n", line))
    for holder in (passage, *sentences):
        for annotation in _objects(holder, "annotations", line):
            mentions.append(_mention(annotation, len(mentions) + 1, annotation.get(LINE, line)))


def _objects(holder: Mapping[Any, Any], key: str, line: int | None) -> list[Mapping[Any, Any]]:
    found = holder.get(key)
    values = [] if found is None else found
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Fault(f"the {key} are no list of objects", _SHAPE, line=line)
    return values


def _mention(annotation: Mapping[Any, Any], number: int, line: int | None) -> Mention:
    infons = annotation.get("infons")
    label = next((infons[key] for key in TYPES if infons.get(key)), None) if isinstance(infons, dict) else None
    if not isinstance(label, str) or not label.strip():
        raise Fault("an annotation without a type", 'write {"infons": {"type": "NAME"}}', line=line, span=number)
    surface = annotation.get("text")
    if not isinstance(surface, str | None):
        raise Fault(f"an annotation's text is {kind_of(surface)}, not a string", _SHAPE, line=line, span=number)
    pieces = []
    for location in _objects(annotation, "locations", line):
        start, length = _integer(location.get("offset"), line), _integer(location.get("length"), line)
        pieces.append((start, start + length))
    if not pieces:
        raise Fault("an annotation without a location", _OFFSET, line=line, span=number)
    return Mention(label, tuple(pieces), surface, line)


def _integer(value: Any, line: int | None) -> int:
    """An offset or a length, which some writers give as a string."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 16:
        value = int(value)
    if type(value) is not int or not 0 <= value < _MOST:
        raise Fault("an offset or a length that is no integer, or none of a text's", _OFFSET, line=line)
    return value
