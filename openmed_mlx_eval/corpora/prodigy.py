"""Prodigy: the JSONL of `db-out`, a task a line with `text`, `spans` and the annotator's `answer`.

As Prodigy's own training does, tasks that were rejected or ignored are read past; they are counted. Offsets count code
points. Format: https://prodi.gy/docs/api-interfaces
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .draft import Draft, Fault, Made, Note
from .json_fields import IDS, LANGUAGES, id_in, language_in, list_in, mention_of, metadata_in, object_of, text_in
from .json_rows import read_rows
from .source import Source

_SHAPE = 'write one task a line: {"text": "…", "spans": [{"start": 0, "end": 5, "label": "NAME"}], "answer": "accept"}'
_KNOWN = {*IDS, *LANGUAGES, "text", "spans", "answer"}


def read(source: Source) -> Iterator[Made]:
    """The accepted tasks of one file. Raises Fault where the file as a whole is no list of tasks."""
    return read_rows(source, _draft, _SHAPE)


def _draft(value: Any, line: int | None) -> Draft | Note:
    row = object_of(value, line, _SHAPE)
    if row.get("answer") in ("reject", "ignore"):
        return Note("not_accepted")
    text = text_in(row, line, ("text",))
    if not {"spans", "answer", "_task_hash"} & row.keys():
        what = "a task without spans, an answer or Prodigy's hashes"
        raise Fault(what, "export it with db-out; if it is another tool's, give its --format", line=line)
    entries = list_in(row, ("spans",), line) if "spans" in row else []
    mentions = tuple(mention_of(entry, number, line) for number, entry in enumerate(entries, start=1))
    own = {key for key in row if key.startswith("_")}  # hashes and sessions of the tool
    return Draft(id_in(row, line), text, mentions, language_in(row, line), metadata_in(row, _KNOWN | own, "meta"), line)
