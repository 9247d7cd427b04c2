"""i2b2-2006 de-identification XML: records of a file, PHI marked in the text itself: `<PHI TYPE="DOCTOR">…</PHI>`.

A record's text is all that stands in its TEXT, without the marks and otherwise as it is, line ends too.
Format: https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .draft import Draft, Fault, Made, Mention
from .source import Source, text_of
from .xml_parser import parse, safe_parser, stand_in_for_cr

_TAG_OR_CR = re.compile(r"<[^<>]*>|\r")
_RECORDS = re.compile(r"<RECORD\b.*</RECORD\s*>", re.DOTALL)
"""From the first record to the end of the last: before and after, only white space may stand."""


def read(source: Source) -> Iterator[Made]:
    """The records of one file. Raises Fault for what is no XML."""
    markup = text_of(source.data or b"")
    stand_in = stand_in_for_cr(markup)
    if stand_in:  # the parser would turn \r\n into \n; within a tag it may
        markup = _RECORDS.sub(lambda records: _without_cr(records[0], stand_in), markup, count=1)
    for record in _records(markup):
        if record.fault is not None:
            yield record.fault
            continue
        text = "".join(record.parts)
        text = text.replace(stand_in, "\r") if stand_in else text
        yield Draft(record.id or None, text, tuple(record.mentions), line=record.line)


def _without_cr(markup: str, stand_in: str) -> str:
    return _TAG_OR_CR.sub(lambda match: stand_in if match[0] == "\r" else match[0], markup)


@dataclass(slots=True)
class _Record:
    """What the parser has met of a record: its text's parts, their length together, and where an open mark began."""

    id: str
    line: int
    parts: list[str] = field(default_factory=list)
    length: int = 0
    mentions: list[Mention] = field(default_factory=list)
    opened: tuple[str, int, int] | None = None
    has_text: bool = False
    fault: Fault | None = None


def _records(markup: str) -> list[_Record]:
    parser = safe_parser()
    records: list[_Record] = []
    opened: Counter[str] = Counter()

    def start(name: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if name == "RECORD":
            records.append(_Record(attributes.get("ID", ""), line))
        elif name == "TEXT" and opened["RECORD"]:
            records[-1].has_text = True
        elif name == "PHI" and opened["TEXT"] and records:
            record = records[-1]
            label = attributes.get("TYPE", "").strip()
            if not label or record.opened:
                what = "PHI within PHI" if label else "PHI without a TYPE"
                record.fault = record.fault or Fault(what, 'write <PHI TYPE="DOCTOR">…</PHI>', line=line)
            record.opened = (label, record.length, line)
        opened[name] += 1

    def end(name: str) -> None:
        opened[name] -= 1
        if name == "PHI" and records and records[-1].opened:
            record = records[-1]
            label, begin, line = record.opened or ("", 0, 0)
            record.mentions.append(Mention(label, ((begin, record.length),), line=line))
            record.opened = None
        elif name == "RECORD" and not records[-1].has_text:
            records[-1].fault = Fault("a record without TEXT", "put its text into <TEXT>", line=records[-1].line)

    def characters(data: str) -> None:
        if opened["TEXT"] and records:
            records[-1].parts.append(data)
            records[-1].length += len(data)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parse(parser, markup)
    if not records:
        raise Fault("no RECORD element", "the root holds RECORD elements, each with an ID and a TEXT")
    return records
