"""A training manifest: what a model was trained on, as a file says it. Read for comparison with gold, never shown.

JSON or JSONL rows as OpenMed's training manifests have them – an id, a text, a SHA-256 of the text, or some of these –
or a corpus of any format (train.tsv), of which only ids and texts matter: bad gold there is no fault here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from .draft import Draft, Fault, Note
from .formats import FORMATS, Format, detect_format
from .json_fields import first
from .json_rows import LINES, is_one_document_a_line, json_value
from .source import STDIN, Source, decoded, existing, sources_of

FORMAT = "training manifest"
IDS = ("id", "fixture_id", "record_id", "source_record_id", "document_id")
TEXTS = ("text", "document_text", "note_text", "full_text")
HASHES = ("sha256", "text_hash", "content_hash", "document_hash", "source_hash")
LISTS = ("records", "documents", "rows", "examples", "fixtures")

_JSON = (".json", *LINES)
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_SHAPE = 'a row is {"id": "…", "text": "…"}, with "sha256" of the text beside the text or in its place'


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One document of a manifest. ids: every name the row has. text: None where the row has none.

    hashes: SHA-256 of the text's UTF-8, lower-case hexadecimal, as the row gives them; another kind of hash is none.
    """

    ids: tuple[str, ...] = ()
    text: str | None = None
    hashes: tuple[str, ...] = ()

    @property
    def is_comparable(self) -> bool:
        """Whether it says anything of a text. An id alone does not: "1" is an id in any corpus."""
        return self.text is not None or bool(self.hashes)


def load_training_manifest(path: str | os.PathLike[str]) -> tuple[TrainingRow, ...]:
    """The rows of a JSON or JSONL manifest, or the documents of a corpus file or folder.

    Raises UsageError for a path that is not there or of no known kind, InputError for a file that is not what its
    kind wants, for a row without id, text and hash, and where no row has a text or a hash.
    """
    if os.fspath(path) == STDIN:
        raise UsageError("--training-manifest: give a file or a folder, not -")
    try:
        rows = tuple(_rows(path))
    except UsageError as error:
        raise UsageError(f"--training-manifest: {error}") from None
    except Fault as fault:
        raise fault.at(FORMAT, None) from None
    if not any(row.is_comparable for row in rows):
        what = "no row has a text or a SHA-256, so nothing can be compared" if rows else "there is no row in it"
        raise InputError(FORMAT, what, remedy=_SHAPE)
    return rows


def _rows(path: str | os.PathLike[str]) -> Iterator[TrainingRow]:
    try:
        existing(path)
    except UsageError:
        raise UsageError("no such file or folder – check its spelling") from None
    if Path(path).suffix.lower() in _JSON and not Path(path).is_dir():
        (source,) = sources_of(path, _JSON, False)
        values = _lines(source) if _is_lines(source) else ((None, value) for value in _list(source))
        for number, (line, value) in enumerate(values, start=1):
            yield _row(value, number, line)
        return
    format = _format(path)
    for source in sources_of(path, format.suffixes, format.pairs, format.beside):
        drafts = (made for made in format.read(source) if not isinstance(made, Note))
        for number, made in enumerate(drafts, start=1):
            if isinstance(made, Fault):
                raise made.at(FORMAT, source.ordinal, number)
            yield _of_draft(made)


def _format(path: str | os.PathLike[str]) -> Format:
    with suppress(UsageError):
        return FORMATS[detect_format(path)]
    raise UsageError("nothing tells what it is – give JSON, JSONL, or a corpus whose names or first lines tell its format")


def _of_draft(made: Draft) -> TrainingRow:
    return TrainingRow((made.id,) if made.id else (), made.text)


def _is_lines(source: Source) -> bool:
    """By its name, or by its shape; one line alone may be a whole list."""
    data = source.data or b""
    return source.suffix in LINES or (is_one_document_a_line(data) and b"\n" in data.strip())


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate((source.data or b"").split(b"\n"), start=1):
        if line.strip(b" \t\r\xef\xbb\xbf"):
            yield number, json_value(decoded(line, line=number, name="the line"), number)


def _list(source: Source) -> list[Any]:
    """The rows of a JSON list, of an object that holds one, or the one row that the object is."""
    value = json_value(decoded(source.data or b""))
    if isinstance(value, Mapping):
        value = next((value[key] for key in LISTS if isinstance(value.get(key), list)), [value])
    if not isinstance(value, list):
        raise Fault("the JSON is not a list of rows", _SHAPE)
    return value


def _row(value: Any, number: int, line: int | None) -> TrainingRow:
    problem = None
    text = first(value, TEXTS) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping):
        problem = "a row that is no object"
    elif not isinstance(text, str | None):
        problem = "a text that is no string"
    else:
        ids = tuple(str(value[key]) for key in IDS if type(value.get(key)) in (str, int) and value[key] != "")
        found = (_SHA256.fullmatch(value[key].strip().lower()) for key in HASHES if isinstance(value.get(key), str))
        row = TrainingRow(ids, text, tuple(match[1] for match in found if match))
        if row.ids or row.is_comparable:
            return row
        problem = "a row without id, text and SHA-256"
    raise InputError(FORMAT, problem, document=number, line=line, remedy=_SHAPE)
