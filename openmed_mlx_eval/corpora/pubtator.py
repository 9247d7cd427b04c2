"""PubTator: records of `id|t|title`, `id|a|abstract`, then one tab-separated mention a line.

The text is the title, a line break, the abstract: offsets count one character between them. Relations and
concept ids are read past. Format: https://www.ncbi.nlm.nih.gov/research/pubtator/ and BioCreative V CDR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, text_of

_TEXT = re.compile(r"([^|\t]*)\|([ta])\|(.*)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d*)?", re.ASCII)
_SEVERAL = 3
_Lines = list[tuple[int, str]]


def read(source: Source) -> Iterator[Made]:
    """The records of one file."""
    lines = text_of(source.data or b"").split("\n")
    record: _Lines = []
    widths: list[list[int]] = []
    for number, line in enumerate((line.removesuffix("\r") for line in lines), start=1):
        begins = _TEXT.fullmatch(line)
        if record and (not line.strip() or (begins and begins[2] == "t")):
            yield attempt(_draft, record)
            widths.append(_widths(record))
            record = []
        if line.strip():
            record.append((number, line))
    if record:
        cut = _cut(record, widths) if lines[-1] else None
        yield attempt(_draft, record) if cut is None else cut


def _widths(record: _Lines) -> list[int]:
    """How many columns each mention of a record has."""
    columns = (line.split("\t") for _, line in record if not _TEXT.fullmatch(line))
    return [len(one) for one in columns if len(one) > 1 and _NUMBER.fullmatch(one[1])]


def _cut(record: _Lines, before: Sequence[Sequence[int]]) -> Fault | None:
    """What shows that a file without a line end at its end was cut short: it ends in a mention of fewer columns than any
    before, or in a text where each of the records before, and there are several, has mentions."""
    number, last = record[-1]
    others = [width for widths in before for width in widths] + _widths(record[:-1])
    is_narrow = any(width < min(others) for width in _widths(record[-1:]) if others)
    if is_narrow or (len(before) >= _SEVERAL and all(before) and _TEXT.fullmatch(last)):
        what = f"the file ends within a {'mention' if is_narrow else 'text'}, without a line end"
        return Fault(what, "was its copy cut short? If it is whole, end it with a line break", line=number)
    return None


def _draft(record: _Lines) -> Draft:
    first = record[0][0]
    texts: dict[str, str] = {}
    mentions: list[Mention] = []
    name: str | None = None
    for number, line in record:
        match = _TEXT.fullmatch(line)
        key = match[1] if match else line.split("\t", 1)[0]
        if name is None:
            name = key
        if key != name:
            raise Fault("a line with another id than its record", "part records by an empty line", line=number)
        if match:
            if match[2] in texts:
                raise Fault("a second title or abstract in one record", "part records by an empty line", line=number)
            texts[match[2]] = match[3]
        else:
            mention = _mention(line.split("\t"), number)
            mentions += [mention] if mention else []
    if "t" not in texts:
        raise Fault("a record without title", "begin each record with id|t|title", line=first)
    text = "\n".join(texts[part] for part in "ta" if part in texts)
    return Draft(name or None, text, tuple(mentions), line=first)


def _mention(columns: list[str], number: int) -> Mention | None:
    """The mention of a line, None for a relation (`id CID D1 D2`)."""
    offsets = columns[1:3]
    numeric = sum(_NUMBER.fullmatch(offset) is not None for offset in offsets)
    if numeric == 0 and len(columns) >= 4:
        return None
    if numeric < 2 or any("." in offset for offset in offsets) or len(columns) < 5 or not columns[4].strip():
        remedy = "write id, start, end, text, label, concept, parted by tabs"
        raise Fault("a line that is neither mention nor relation", remedy, line=number)
    return Mention(columns[4].strip(), ((int(offsets[0]), int(offsets[1])),), columns[3], number)
