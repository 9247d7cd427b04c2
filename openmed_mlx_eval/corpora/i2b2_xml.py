"""i2b2-2014 and MEDDOCAN XML: a file is a document, `<TEXT>` its text, each element of `<TAGS>` a gold span.

An XML parser turns \\r\\n into \\n, which moves offsets that were made on the bytes; the annotations' own
texts say which of the two a file means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, text_of
from .surface import agreeing, without_mark
from .xml_parser import parse, safe_parser, stand_in_for_cr

_TEXT_ELEMENT = re.compile(r"(<TEXT\b[^>]*>)(.*?)(</TEXT\s*>)", re.DOTALL)
_OFFSET = re.compile(r"-?\d{1,15}", re.ASCII)


def read(source: Source) -> Iterator[Made]:
    """The one document of a file."""
    yield attempt(_draft, source)


def _draft(source: Source) -> Draft:
    markup = text_of(source.data or b"")
    stand_in = stand_in_for_cr(markup)
    if stand_in:
        markup = _TEXT_ELEMENT.sub(lambda m: m[1] + m[2].replace("\r", stand_in) + m[3], markup)
    found = _parse(markup)
    raw = found.text().replace(stand_in, "\r") if stand_in else found.text()
    text, mentions = without_mark(_as_annotated(raw, found.mentions), found.mentions)
    return Draft(source.stem or None, text, mentions)


def _as_annotated(raw: str, mentions: Sequence[Mention]) -> str:
    """The text with the line ends that the offsets were made for; XML's own (section 2.11) if both fit."""
    if "\r" not in raw:
        return raw
    normalised = raw.replace("\r\n", "\n").replace("\r", "\n")
    return max((normalised, raw), key=lambda text: agreeing(text, mentions))


@dataclass(slots=True)
class _Found:
    """What the parser has met so far."""

    path: list[str] = field(default_factory=list)
    in_cdata: bool = False
    has_text: bool = False
    marked: list[str] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)

    def text(self) -> str:
        """The CDATA section's characters; the element's own where it has no section, or more beside it."""
        beside = "".join(part for part, marked in zip(self.around, self.marked, strict=True) if not marked)
        sections = "".join(self.marked)
        return sections if sections and not beside.strip() else "".join(self.around)


def _parse(markup: str) -> _Found:
    found = _Found()
    parser = safe_parser()

    def start(name: str, attributes: dict[str, str]) -> None:
        if found.path[-1:] == ["TAGS"]:
            mention = _mention(name, attributes, len(found.mentions) + 1, parser.CurrentLineNumber)
            found.mentions += [mention] if mention else []
        if name == "TEXT" and len(found.path) == 1:
            if found.has_text:
                raise Fault("a second TEXT element", "a file holds one document", line=parser.CurrentLineNumber)
            found.has_text = True
        found.path.append(name)

    def end(name: str) -> None:
        found.path.pop()

    def characters(data: str) -> None:
        if found.path[1:2] == ["TEXT"]:
            found.around.append(data)
            found.marked.append(data if found.in_cdata else "")

    def cdata(begins: bool) -> None:
        found.in_cdata = begins

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartCdataSectionHandler = lambda: cdata(True)
    parser.EndCdataSectionHandler = lambda: cdata(False)
    parse(parser, markup)
    if not found.has_text:
        raise Fault("no TEXT element", "the root holds TEXT and TAGS")
    return found


def _mention(name: str, attributes: dict[str, str], number: int, line: int) -> Mention | None:
    """The span of a TAGS element, None for one about the whole document, which has no offsets."""
    offsets = [attributes.get(key) for key in ("start", "end")]
    if offsets == [None, None] and "spans" not in attributes:
        return None
    label = attributes.get("TYPE") or name
    if not all(offset is not None and _OFFSET.fullmatch(offset) for offset in offsets):
        remedy = 'write start="0" end="5"'
        raise Fault("an annotation without integers in start and end", remedy, line=line, span=number)
    start, end = (int(offset) for offset in offsets if offset is not None)
    return Mention(label, ((start, end),), attributes.get("text"), line)
