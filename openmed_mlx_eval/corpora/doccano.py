"""doccano: JSONL of sequence labelling, spans as `[start, end, label]` or as objects with start_offset and end_offset.

Triples stand under `label` (`labels` in older exports), objects under `entities` (the export of a project with
relations) or `annotations`. Relations and comments are read past. Offsets count code points.
Format: https://doccano.github.io/doccano/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .draft import Draft, Fault, Made, Mention
from .json_fields import IDS, LANGUAGES, id_in, language_in, list_in, mention_of, metadata_in, object_of, text_in
from .json_rows import read_rows
from .source import Source

TEXTS = ("text", "data")
GOLD = ("label", "labels", "entities", "annotations")

_KNOWN = {*IDS, *TEXTS, *LANGUAGES, *GOLD, "meta", "relations", "Comments", "comments"}
_SHAPE = 'write one document a line: {"id": 1, "text": "…", "label": [[0, 5, "NAME"]]}'


def read(source: Source) -> Iterator[Made]:
    """The documents of one export. Raises Fault where the file as a whole is no list of them."""
    return read_rows(source, _draft, _SHAPE)


def _draft(value: Any, line: int | None) -> Draft:
    row = object_of(value, line, _SHAPE)
    text = text_in(row, line, TEXTS)
    entries = list_in(row, GOLD, line)
    mentions = tuple(_mention(entry, number, line) for number, entry in enumerate(entries, start=1))
    meta = row.get("meta")
    metadata = {**(meta if isinstance(meta, dict) else {}), **metadata_in(row, _KNOWN)}
    return Draft(id_in(row, line), text, mentions, language_in(row, line), metadata, line)


def _mention(entry: Any, number: int, line: int | None) -> Mention:
    if not isinstance(entry, list):
        return mention_of(entry, number, line)
    if len(entry) != 3:
        raise Fault(f"a span of {len(entry)} parts", 'write [0, 5, "NAME"]', line=line, span=number)
    return mention_of(dict(zip(("start", "end", "label"), entry, strict=True)), number, line)
