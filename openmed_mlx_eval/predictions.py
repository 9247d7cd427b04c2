"""Predictions made elsewhere: a file to one list of spans for each document of a corpus.

Read are this program's predictions.jsonl (keyed by the document's ordinal, from 0), JSON and JSONL keyed by the
document's id, and any corpus format. What a model predicted is not checked here: an offset that cannot stand is
scored as the error it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .corpora import load_corpus
from .corpora.document import Document
from .corpora.draft import Fault
from .corpora.formats import FORMATS
from .corpora.source import STDIN, sources_of
from .errors import InputError, UsageError
from .evaluation import Warning
from .spans import Span

FORMAT = "predictions"
_SPANS = ("spans", "predictions", "predicted_spans", "entities", "gold_spans")
_LABEL = ("label", "canonical_label", "entity_type", "entity_group", "entity")
_START, _END = ("start", "start_position"), ("end", "end_position")
_SCORE = ("score", "confidence", "probability")


@dataclass(frozen=True, slots=True)
class Predictions:
    """spans: one tuple a document of the corpus, in its order; warnings: what did not fit."""

    spans: tuple[tuple[Span, ...], ...]
    warnings: tuple[Warning, ...]

    def first(self, documents: int) -> Predictions:
        """Those of the first documents alone."""
        return Predictions(self.spans[:documents], self.warnings)


@dataclass(frozen=True, slots=True)
class _Row:
    """One document's predictions as the file has them: `ordinal` from 0, or `id`, or neither."""

    ordinal: int | None
    id: str | None
    spans: tuple[Span, ...]


def load_predictions(
    path: str | Path, documents: Sequence[Document], format: str | None = None, *, discontinuous: str = "hull"
) -> Predictions:
    """Read predictions for the documents of a corpus.

    A document the file does not have has no predictions, and is warned of. Raises UsageError for a path that is
    not there, InputError for a file that is no predictions file.
    """
    if format in (None, FORMAT) and _is_json(path):
        rows = list(_json_rows(path))
    elif format == FORMAT:
        raise UsageError("--predictions-format predictions: give a .json or .jsonl file")
    else:
        corpus = load_corpus(path, format, discontinuous=discontinuous)
        rows = [_Row(None, document.fixture_id, document.gold_spans) for document in corpus]
    return _matched(rows, documents)


def _is_json(path: str | Path) -> bool:
    return str(path) == STDIN or Path(path).suffix.lower() in (".json", ".jsonl", ".ndjson")


def _matched(rows: Sequence[_Row], documents: Sequence[Document]) -> Predictions:
    """Rows to documents: by ordinal, by id, or – where no row has a name – in order."""
    by_id = {document.fixture_id: index for index, document in enumerate(documents)}
    found: list[tuple[Span, ...] | None] = [None] * len(documents)
    strangers = 0
    nameless = all(row.ordinal is None and row.id is None for row in rows)
    if nameless and len(rows) != len(documents) and rows:
        raise InputError(
            FORMAT,
            f"{len(rows)} rows without ids for {len(documents)} documents",
            remedy='give every row an "id" or a "document" ordinal',
        )
    for number, row in enumerate(rows):
        index = number if nameless else row.ordinal if row.ordinal is not None else by_id.get(row.id or "")
        if index is None or not 0 <= index < len(documents):
            strangers += 1
        elif found[index] is not None:
            raise InputError(FORMAT, "a document has predictions twice", document=index + 1, remedy="keep one row a document")
        else:
            found[index] = row.spans
    absent = sum(spans is None for spans in found)
    warnings = []
    if absent:
        what = "documents without a row in the predictions; their gold counts as missed"
        warnings.append(Warning("missing_predictions", absent, what))
    if strangers:
        warnings.append(Warning("unknown_documents", strangers, "rows of predictions for documents the gold does not have"))
    wrong = sum(span.score is not None and not 0 <= span.score <= 1 for spans in found for span in spans or ())
    if wrong:
        warnings.append(Warning("scores_out_of_range", wrong, "scores that are no number between 0 and 1"))
    return Predictions(tuple(spans or () for spans in found), tuple(warnings))


def _json_rows(path: str | Path) -> Iterator[_Row]:
    for number, value in enumerate(_objects(path), start=1):
        if not isinstance(value, dict):
            raise InputError(FORMAT, "a row that is no object", document=number, remedy=_SHAPE)
        ordinal, name = value.get("document"), value.get("id", value.get("fixture_id"))
        if ordinal is not None and (type(ordinal) is not int or ordinal < 0):
            raise InputError(FORMAT, '"document" is no ordinal (0, 1, …)', document=number, remedy=_SHAPE)
        if name is not None and not isinstance(name, (str, int)):
            raise InputError(FORMAT, '"id" is no string', document=number, remedy=_SHAPE)
        spans = _first(value, _SPANS)
        if not isinstance(spans, list):
            raise InputError(FORMAT, "a row without a list of spans", document=number, remedy=_SHAPE)
        made = tuple(_span(span, number, place) for place, span in enumerate(spans, start=1))
        yield _Row(ordinal, None if name is None else str(name), made)


_SHAPE = 'a row is {"document": 0, "spans": [{"start": 0, "end": 4, "label": "DATE", "score": 0.9}]}, or has an "id"'


def _span(value: Any, document: int, place: int) -> Span:
    label = _first(value, _LABEL) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(label, str) or not label:
        raise InputError(FORMAT, "a span that is no object with a label", document=document, span=place, remedy=_SHAPE)
    score = _first(value, _SCORE)
    number = float(score) if isinstance(score, (int, float)) and not isinstance(score, bool) else None
    start: Any = _first(value, _START)
    end: Any = _first(value, _END)
    return Span(start, end, label, number)


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _objects(path: str | Path) -> list[Any]:
    """The rows of a JSON list, of {"predictions"|"fixtures": […]}, or of a JSONL file."""
    try:
        data = sources_of(str(path), FORMATS["openmed"].suffixes, False)[0].data or b""
    except Fault as fault:
        raise fault.at(FORMAT, None) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = error.start
        raise InputError(FORMAT, f"not UTF-8 at byte {place}", remedy="convert the file to UTF-8") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [_line(line, number) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if isinstance(value, dict):
        rows = next((value[name] for name in ("predictions", "fixtures") if isinstance(value.get(name), list)), None)
        return rows if rows is not None and _first(value, ("id", "document", "fixture_id")) is None else [value]
    return value if isinstance(value, list) else [value]


def _line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(FORMAT, "not valid JSON", line=number, remedy=_SHAPE) from None


def prediction_lines(predictions: Sequence[Sequence[Span]]) -> Iterator[str]:
    """The lines of a predictions.jsonl: ordinals, offsets, labels and scores; never text, never an id."""
    for ordinal, spans in enumerate(predictions):
        rows = [{"start": s.start, "end": s.end, "label": s.label, "score": rounded(s.score)} for s in spans]
        yield json.dumps({"document": ordinal, "spans": rows}, ensure_ascii=False, separators=(",", ":")) + "\n"


def rounded(score: float | None) -> float | None:
    """Six digits: what float32 arithmetic can hold from engine to engine."""
    return None if score is None else round(score, 6)
