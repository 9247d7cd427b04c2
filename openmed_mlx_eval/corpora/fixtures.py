"""OpenMed fixtures: a JSON list of documents, `{"fixtures": […]}`, or one document a line (JSONL).

All spellings that OpenMed and presidio-research write are understood. The shape decides between JSON and
JSONL, the name only where the shape leaves it open. Checks of offsets against text are not made here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..labels.critical import category_in
from .draft import Draft, Fault, Mention, attempt
from .source import Source, decoded

IDS = ("id", "fixture_id")
TEXTS = ("text", "full_text")
LANGUAGES = ("language", "lang")
GOLD = ("gold_spans", "entities", "spans")
LABELS = ("canonical_label", "label", "entity_type", "entity_group", "entity")
STARTS = ("start", "start_position")
ENDS = ("end", "end_position")
SURFACES = ("text", "entity_value", "word")

LINES = (".jsonl", ".ndjson")
_KNOWN = {*IDS, *TEXTS, *LANGUAGES, *GOLD, "metadata"}
_SHAPE = 'write a list of documents, {"fixtures": [documents]}, or one document a line'


def read(source: Source) -> Iterator[Draft | Fault]:
    """The documents of one fixtures file. Raises Fault where the file as a whole is no such list."""
    data = source.data or b""
    if source.suffix in LINES or is_one_document_a_line(data):
        yield from _read_lines(data)
        return
    value = json_value(decoded(data))
    rows = value.get("fixtures") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise Fault("the JSON is not a list of documents", _SHAPE)
    for row in rows:
        yield attempt(_draft, row, None)


def _read_lines(data: bytes) -> Iterator[Draft | Fault]:
    # Split as bytes and at \n alone: a line that is not UTF-8 spoils only itself, and U+2028 may stand in
    # a string.
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip(b" \t\r\xef\xbb\xbf"):
            yield attempt(_draft_of_line, line, number)


def is_one_document_a_line(data: bytes) -> bool:
    """Whether the first line that is not empty is a whole document of its own."""
    first = next((line for line in data.lstrip(b"\xef\xbb\xbf").split(b"\n") if line.strip()), b"")
    if not first.lstrip().startswith(b"{"):
        return False
    try:
        value = json_value(decoded(first))
    except Fault:
        return False
    return isinstance(value, dict) and "fixtures" not in value


def json_value(text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if line else f"line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):  # an integer of thousands of digits, brackets of a thousand levels
        place = "a number too long or a nesting too deep"
    raise Fault(f"the JSON is broken: {place}", "correct the file; was its copy cut short?", line=line)


def _draft_of_line(data: bytes, line: int) -> Draft:
    return _draft(json_value(decoded(data, line=line, name="the line"), line), line)


def _draft(row: Any, line: int | None) -> Draft:
    if not isinstance(row, dict):
        raise Fault(f"a document is {_kind(row)}, not an object", _SHAPE, line=line)
    text = first(row, TEXTS)
    if not isinstance(text, str):
        raise Fault(*_wrong("the text", text, TEXTS, "a string"), line=line)
    entries = first(row, GOLD)
    if entries is None and any(key in row for key in GOLD):
        entries = []
    if not isinstance(entries, list):
        what, remedy = _wrong("the gold", entries, GOLD, "a list of objects")
        raise Fault(what, remedy + "; a document without entities has an empty list", line=line)
    mentions = tuple(_mention(entry, number, line) for number, entry in enumerate(entries, start=1))
    language = first(row, LANGUAGES)
    if not isinstance(language, str | None):
        raise Fault(*_wrong("the language", language, LANGUAGES, "a string"), line=line)
    return Draft(_id(row, line), text, mentions, language or "en", _metadata(row), line)


def _id(row: Mapping[str, Any], line: int | None) -> str | None:
    value = first(row, IDS)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Fault(*_wrong("the id", value, IDS, "a string or an integer"), line=line)
    return str(value)


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """The document's `metadata`, and beside it every plain value under a key of no meaning here."""
    given = row.get("metadata")
    plain = {k: v for k, v in row.items() if k not in _KNOWN and isinstance(v, str | int | float)}
    if isinstance(given, dict):
        return {**plain, **given}
    return plain if given is None else {**plain, "value": given}


def _mention(entry: Any, number: int, line: int | None) -> Mention:
    def fault(thing: str, value: Any, keys: Sequence[str], wanted: str) -> Fault:
        return Fault(*_wrong(thing, value, keys, wanted), line=line, span=number)

    if not isinstance(entry, dict):
        remedy = 'write {"start": 0, "end": 5, "label": "NAME"}'
        raise Fault(f"a gold span is {_kind(entry)}, not an object", remedy, line=line, span=number)
    offsets = []
    for thing, keys in (("the start", STARTS), ("the end", ENDS)):
        value = first(entry, keys)
        if isinstance(value, bool) or not isinstance(value, int):
            raise fault(thing, value, keys, "an integer")
        offsets.append(value)
    label = first(entry, LABELS)
    if not isinstance(label, str) or not label.strip():
        raise fault("the label", label, LABELS, "a string that is not empty")
    key = next((key for key in SURFACES if entry.get(key) is not None), None)
    surface = entry[key] if key else None
    if not isinstance(surface, str | None):
        raise fault("the span's text", surface, SURFACES, "a string")
    said = entry.get("metadata")
    category = category_in(entry) or category_in(said if isinstance(said, dict) else {})
    return Mention(label, ((offsets[0], offsets[1]),), surface, line, loose=key == "word", category=category)


def first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of these keys that has one; None if none has."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _wrong(thing: str, value: Any, keys: Sequence[str], wanted: str) -> tuple[str, str]:
    names = " or ".join(f'"{key}"' for key in keys)
    if value is None:
        return f"{thing} is missing or null", f"write it as {wanted} under {names}"
    return f"{thing} is {_kind(value)}, not {wanted}", f"correct the value under {names}"


def _kind(value: Any) -> str:
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a decimal number",
        str: "a string",
        list: "a list",
    }
    if value is None:
        return "null"
    return names.get(type(value), "an object")
