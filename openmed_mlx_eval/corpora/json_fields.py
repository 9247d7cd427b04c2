"""The fields of a document in JSON: text, id, language, metadata, spans, each under any of its usual keys.

What has the wrong type is a Fault that names the keys and the kind of the value, never the value. Offsets are not checked
against the text here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..labels.critical import category_in
from .draft import Fault, Mention

IDS = ("id", "fixture_id")
TEXTS = ("text", "full_text")
LANGUAGES = ("language", "lang")
LABELS = ("canonical_label", "label", "entity_type", "entity_group", "entity")
STARTS = ("start", "start_position", "start_offset")
ENDS = ("end", "end_position", "end_offset")
SURFACES = ("text", "entity_value", "word")


def object_of(value: Any, line: int | None, shape: str) -> Mapping[str, Any]:
    """The document as an object. shape: what to write, for the Fault."""
    if not isinstance(value, dict):
        raise Fault(f"a document is {kind_of(value)}, not an object", shape, line=line)
    return value


def text_in(row: Mapping[str, Any], line: int | None, keys: Sequence[str] = TEXTS) -> str:
    text = first(row, keys)
    if not isinstance(text, str):
        raise Fault(*wrong("the text", text, keys, "a string"), line=line)
    return text


def list_in(row: Mapping[str, Any], keys: Sequence[str], line: int | None, thing: str = "the gold") -> list[Any]:
    """The list under one of the keys; an empty one where a key is there and null. Raises Fault where none is."""
    entries = first(row, keys)
    if entries is None and any(key in row for key in keys):
        return []
    if not isinstance(entries, list):
        what, remedy = wrong(thing, entries, keys, "a list")
        raise Fault(what, remedy + "; a document without entities has an empty list", line=line)
    return entries


def id_in(row: Mapping[str, Any], line: int | None, keys: Sequence[str] = IDS) -> str | None:
    value = first(row, keys)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Fault(*wrong("the id", value, keys, "a string or an integer"), line=line)
    return str(value)


def language_in(row: Mapping[str, Any], line: int | None) -> str:
    language = first(row, LANGUAGES)
    if not isinstance(language, str | None):
        raise Fault(*wrong("the language", language, LANGUAGES, "a string"), line=line)
    return language or "en"


def metadata_in(row: Mapping[str, Any], known: Collection[str], key: str = "metadata") -> dict[str, Any]:
    """What stands under `key`, and beside it every plain value under a key that is not known."""
    given = row.get(key)
    plain = {k: v for k, v in row.items() if k not in known and k != key and isinstance(v, (str, int, float))}
    if isinstance(given, dict):
        return {**plain, **given}
    return plain if given is None else {**plain, "value": given}


def mention_of(entry: Any, number: int, line: int | None) -> Mention:
    """The gold span that an object is. number: its own among the document's, from 1."""

    def fault(thing: str, value: Any, keys: Sequence[str], wanted: str) -> Fault:
        return Fault(*wrong(thing, value, keys, wanted), line=line, span=number)

    if not isinstance(entry, dict):
        remedy = 'write {"start": 0, "end": 5, "label": "NAME"}'
        raise Fault(f"a gold span is {kind_of(entry)}, not an object", remedy, line=line, span=number)
    offsets = []
    for thing, keys in (("the start", STARTS), ("the end", ENDS)):
        value = first(entry, keys)
        if isinstance(value, bool) or not isinstance(value, int):
            raise fault(thing, value, keys, "an integer")
        offsets.append(value)
    label = first(entry, LABELS)
    if not isinstance(label, str) or not label.strip():
        raise fault("the label", label, LABELS, "a string that is not empty")
    surface = first(entry, SURFACES)
    if not isinstance(surface, str | None):
        raise fault("the span's text", surface, SURFACES, "a string")
    loose = surface is not None and surface is entry.get("word")
    said = entry.get("metadata")
    category = category_in(entry) or (category_in(said) if isinstance(said, dict) else None)
    return Mention(label, ((offsets[0], offsets[1]),), surface, line, loose, category)


def first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of these keys that has one; None if none has."""
    for key in keys:
        value = row.get(key)
        if value is not None:
            return value
    return None


def wrong(thing: str, value: Any, keys: Sequence[str], wanted: str) -> tuple[str, str]:
    """What is wrong with the value that was looked for under these keys, and the remedy."""
    names = " or ".join(f'"{key}"' for key in keys)
    if value is None:
        return f"{thing} is missing or null", f"write it as {wanted} under {names}"
    return f"{thing} is {kind_of(value)}, not {wanted}", f"correct the value under {names}"


def kind_of(value: Any) -> str:
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
