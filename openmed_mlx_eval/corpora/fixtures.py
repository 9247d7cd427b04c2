"""OpenMed fixtures: a JSON list of documents, `{"fixtures": […]}`, or one document a line (JSONL).

All spellings that OpenMed and presidio-research write are understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .draft import Draft, Made
from .json_fields import IDS, LANGUAGES, TEXTS, id_in, language_in, list_in, mention_of, metadata_in, object_of, text_in
from .json_rows import read_rows
from .source import Source

GOLD = ("gold_spans", "entities", "spans")

_KNOWN = {*IDS, *TEXTS, *LANGUAGES, *GOLD}
_SHAPE = 'write a list of documents, {"fixtures": [documents]}, or one document a line'


def read(source: Source) -> Iterator[Made]:
    """The documents of one fixtures file. Raises Fault where the file as a whole is no such list."""
    return read_rows(source, _draft, _SHAPE, ("fixtures",))


def _draft(value: Any, line: int | None) -> Draft:
    row = object_of(value, line, _SHAPE)
    text = text_in(row, line)
    entries = list_in(row, GOLD, line)
    mentions = tuple(mention_of(entry, number, line) for number, entry in enumerate(entries, start=1))
    return Draft(id_in(row, line), text, mentions, language_in(row, line), metadata_in(row, _KNOWN), line)
