"""Answers on disk: the journal of a run, which resumes from it, and files of answers made elsewhere.

A journal holds what a model wrote, and so the documents' text: it is made only where a user asks for it, with the rights
that the user's umask gives. One line an answer, by document ordinal; the first line says which run it belongs to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..corpora.document import Document
from ..corpora.draft import Fault
from ..corpora.json_fields import IDS
from ..corpora.source import decoded
from ..errors import EvaluationError, InputError, UsageError
from ..evaluation import Warning
from ..row_places import RowName, places_of
from .answering import Answer

FORMAT = "answers"
NAME = "answers.jsonl"
KIND = "openmed-mlx-eval/answers"
_SHAPE = 'a row is {"id": "the document\'s id", "answer": "<response>…</response>"}, or has a "document" ordinal from 0'
_ANSWERS = ("answer", "response", "output", "completion")
_NUMBERS = ("prompt_tokens", "tokens", "seconds", "first_token_s")


class Journal:
    """The journal of one run. key: what the answers depend on; a journal of another key is refused.

    answers: {ordinal: answer} of an earlier run. dropped: half a line at its end, of a run that was killed.
    """

    def __init__(self, path: Path, key: str, documents: int) -> None:
        self.path = path
        self.answers: dict[int, Answer] = {}
        self.dropped = False
        whole = self._read(key, documents)
        try:
            with path.open("ab") as file:
                file.truncate(whole)
                if not whole:
                    file.write(_line({"kind": KIND, "version": 1, "key": key}))
        except OSError as error:
            raise EvaluationError(f"the journal cannot be written ({error.strerror}) – give another --output") from None

    def _read(self, key: str, documents: int) -> int:
        """How many bytes of the file are whole lines of this run."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise EvaluationError(f"the journal cannot be read ({error.strerror}) – give another --output") from None
        whole = data.rfind(b"\n") + 1
        self.dropped = whole < len(data)
        lines = data[:whole].split(b"\n")[:-1]
        if not lines:
            return 0
        head = _object(lines[0], 1)
        if head.get("kind") != KIND or head.get("key") != key:
            raise UsageError(
                f"--keep-answers: {NAME} in that folder is of another run (model, corpus, protocol or options differ) – "
                "give another --output, or move it away"
            )
        for number, line in enumerate(lines[1:], start=2):
            row = _object(line, number)
            ordinal = row.get("document")
            if type(ordinal) is not int or not 0 <= ordinal < documents:
                raise InputError(FORMAT, "a row of no document of this run", line=number, remedy="move the journal away")
            self.answers[ordinal] = _answer(row, number)
        return whole

    def write(self, answers: Iterable[tuple[int, Answer]]) -> None:
        """Append answers, whole lines in one write: a kill leaves at most half of the last."""
        data = b"".join(_line({"document": ordinal, "answer": a.text, **_costs(a)}) for ordinal, a in answers)
        try:
            with self.path.open("ab") as file:
                file.write(data)
        except OSError as error:
            raise EvaluationError(f"the journal cannot be written ({error.strerror})") from None


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row) + "\n").encode("ascii")


def _costs(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in asdict(answer).items() if name != "text" and value not in (None, False)}


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(FORMAT, "not valid JSON, or no object", line=number, remedy=_SHAPE)
    return value


def _answer(row: Mapping[str, Any], number: int) -> Answer:
    name = next((name for name in _ANSWERS if name in row), None)
    text = row[name] if name else None
    if name is None or not isinstance(text, str | None):
        raise InputError(FORMAT, "a row without an answer that is a string", line=number, remedy=_SHAPE)
    costs = {name: row[name] for name in _NUMBERS if isinstance(row.get(name), int | float) and row[name] >= 0}
    return Answer(text or "", cut=row.get("cut") is True, **costs)


@dataclass(frozen=True, slots=True)
class MadeElsewhere:
    """answers: one a document scored, None where the file has none. warnings: what did not fit."""

    answers: tuple[Answer | None, ...]
    warnings: tuple[Warning, ...]


def load_answers(
    path: str | os.PathLike[str], documents: Sequence[Document], *, scored: int | None = None, skipped: Sequence[int] = ()
) -> MadeElsewhere:
    """A JSONL file of answers, by id or by ordinal (as a journal has them), or neither: then in order.

    scored, skipped: as in `places_of`. Raises UsageError for a file that is not there, InputError for
    one that is no file of answers, by line.
    """
    scored = len(documents) if scored is None else scored
    rows = [(number, row) for number, row in _rows(path) if row.get("kind") != KIND]
    names = [RowName(number, _ordinal(row, number), _id(row)) for number, row in rows]
    places = places_of(names, documents, FORMAT, scored=scored, skipped=skipped, row="line")
    found: list[Answer | None] = [None] * len(documents)
    for index, (number, row) in zip(places.indices, rows, strict=True):
        answer = _answer(row, number)
        if index is not None:
            found[index] = answer
    del found[scored:]
    absent = sum(answer is None for answer in found)
    warnings = []
    if absent:
        what = "documents without an answer; they count as answered by nothing"
        warnings.append(Warning("missing_answers", absent, what))
    if places.strangers:
        warnings.append(Warning("unknown_documents", places.strangers, "answers for documents the gold does not have"))
    return MadeElsewhere(tuple(found), tuple(warnings))


def _ordinal(row: Mapping[str, Any], number: int) -> int | None:
    ordinal = row.get("document")
    if ordinal is not None and type(ordinal) is not int:
        raise InputError(FORMAT, '"document" is no ordinal (0, 1, …)', line=number, remedy=_SHAPE)
    return ordinal


def _id(row: Mapping[str, Any]) -> str | None:
    value = next((row[name] for name in IDS if row.get(name) is not None), None)
    return str(value) if isinstance(value, str | int) else None


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = decoded(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"--answers: the file cannot be read ({error.strerror})") from None
    except ValueError:
        raise UsageError("--answers: the file cannot be read") from None
    except Fault as fault:
        raise fault.at(FORMAT, None) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _object(line.encode("utf-8", "surrogatepass"), number)
