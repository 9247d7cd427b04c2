"""Predictions made elsewhere: a file to one list of spans for each document of a corpus.

Read are this program's predictions.jsonl (keyed by the document's ordinal, from 0), JSON and JSONL keyed by the
document's id, and any corpus format. What a model predicted is not checked here: an offset that cannot stand is
scored as the error it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from .corpora import load_corpus
from .corpora.document import Document
from .corpora.draft import Fault
from .corpora.formats import FORMATS, detect_format
from .corpora.heads import HEAD, keys_by_depth
from .corpora.json_fields import ENDS, IDS, LABELS, STARTS, TEXTS
from .corpora.source import STDIN, decoded, existing, sources_of
from .errors import InputError
from .evaluation import Warning
from .row_places import RowName, places_of
from .spans import Span

FORMAT = "predictions"
_SPANS = ("spans", "predictions", "predicted_spans", "entities", "gold_spans")
_SCORE = ("score", "confidence", "probability")


@dataclass(frozen=True, slots=True)
class Predictions:
    """spans: one tuple a document of the corpus, in its order; warnings: what did not fit."""

    spans: tuple[tuple[Span, ...], ...]
    warnings: tuple[Warning, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """One document's predictions as the file has them: `ordinal` from 0, or `id`, or neither; `text` if it has one."""

    ordinal: int | None
    id: str | None
    spans: tuple[Span, ...]
    text: str | None = None


def load_predictions(
    path: str | Path,
    documents: Sequence[Document],
    format: str | None = None,
    *,
    scored: int | None = None,
    skipped: Sequence[int] = (),
    discontinuous: str = "hull",
) -> Predictions:
    """Read predictions for the documents of a corpus.

    skipped: the ordinals, from 1, of documents that were left out of `documents`; predictions by ordinal may count them
    or not. scored: how many of the documents, from the first, are wanted; predictions for the others are known, but left
    out. A document the file does not have has no predictions, and is warned of. Raises UsageError for a path that
    is not there, InputError for a file that is no predictions file.
    """
    if str(path) != STDIN:
        existing(path, "the predictions")
    if format is None and _is_json(path):
        format = _corpus_format(path) or FORMAT
    if format == FORMAT:
        rows = list(_json_rows(path))
    else:
        corpus = load_corpus(path, format, discontinuous=discontinuous)
        rows = [_Row(None, document.fixture_id, document.gold_spans, document.text) for document in corpus]
    return _matched(rows, documents, len(documents) if scored is None else scored, skipped)


def _is_json(path: str | Path) -> bool:
    return str(path) == STDIN or Path(path).suffix.lower() in (".json", ".jsonl", ".ndjson")


def _corpus_format(path: str | Path) -> str | None:
    """The format of a JSON file that only an annotation tool writes; None for rows of predictions, which fixtures are too."""
    if str(path) == STDIN or not Path(path).is_file():
        return None
    shown = detect_format(path)
    if shown == "doccano":  # its other dialect keeps spans under one of our names, and is read with scores
        with Path(path).open("rb") as file:
            outer = keys_by_depth(file.read(HEAD).decode("utf-8", "replace"))[:1]
        return None if outer and outer[0] & {*_SPANS} else shown
    return None if shown == "openmed" else shown


def _matched(rows: Sequence[_Row], documents: Sequence[Document], scored: int, skipped: Sequence[int] = ()) -> Predictions:
    """Rows to documents, and what did not fit."""
    found: list[tuple[Span, ...] | None] = [None] * len(documents)
    names = [RowName(number, row.ordinal, row.id) for number, row in enumerate(rows, start=1)]
    places = places_of(names, documents, FORMAT, scored=scored, skipped=skipped)
    other_text = 0
    for index, row in zip(places.indices, rows, strict=True):
        if index is not None:
            found[index] = row.spans
            other_text += index < scored and row.text is not None and row.text != documents[index].text
    del found[scored:]
    absent = sum(spans is None for spans in found)
    warnings = []
    if absent:
        what = "documents without a row in the predictions; their gold counts as missed"
        warnings.append(Warning("missing_predictions", absent, what))
    if places.strangers:
        what = "rows of predictions for documents the gold does not have"
        warnings.append(Warning("unknown_documents", places.strangers, what))
    if other_text:
        what = "documents whose text in the predictions is not the gold's; their offsets mean nothing"
        warnings.append(Warning("different_text", other_text, what))
    wrong = sum(span.score is not None and not 0 <= span.score <= 1 for spans in found for span in spans or ())
    if wrong:
        warnings.append(Warning("scores_out_of_range", wrong, "scores that are no number between 0 and 1"))
    return Predictions(tuple(spans or () for spans in found), tuple(warnings))


def _json_rows(path: str | Path) -> Iterator[_Row]:
    for number, value in enumerate(_objects(path), start=1):
        if not isinstance(value, dict):
            raise InputError(FORMAT, "a row that is no object", document=number, remedy=_SHAPE)
        ordinal, name = value.get("document"), _first(value, IDS)
        if ordinal is not None and (type(ordinal) is not int or ordinal < 0):
            raise InputError(FORMAT, '"document" is no ordinal (0, 1, …)', document=number, remedy=_SHAPE)
        if name is not None and not isinstance(name, (str, int)):
            raise InputError(FORMAT, '"id" is no string', document=number, remedy=_SHAPE)
        spans = _first(value, _SPANS)
        if spans is None and any(key in value for key in _SPANS):
            spans = []  # null, as fixtures may have it: no spans
        if not isinstance(spans, list):
            raise InputError(FORMAT, "a row without a list of spans", document=number, remedy=_SHAPE)
        made = tuple(_span(span, number, place) for place, span in enumerate(spans, start=1))
        text = _first(value, TEXTS)
        yield _Row(ordinal, None if name is None else str(name), made, text if isinstance(text, str) else None)


_SHAPE = 'a row is {"document": 0, "spans": [{"start": 0, "end": 4, "label": "DATE", "score": 0.9}]}, or has an "id"'


def _span(value: Any, document: int, place: int) -> Span:
    label = _first(value, LABELS) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(label, str) or not label:
        raise InputError(FORMAT, "a span that is no object with a label", document=document, span=place, remedy=_SHAPE)
    start: Any = _first(value, STARTS)
    end: Any = _first(value, ENDS)
    return Span(start, end, label, _number(_first(value, _SCORE)))


def _number(score: Any) -> float | None:
    """A score as a float, NaN for one that is none; None where there is no score."""
    if score is None:
        return None
    try:
        return float(score) if isinstance(score, (int, float)) and not isinstance(score, bool) else math.nan
    except OverflowError:  # an integer beyond any float
        return math.inf


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _objects(path: str | Path) -> list[Any]:
    """The rows of a JSON list, of {"predictions"|"fixtures": […]}, or of a JSONL file."""
    try:
        text = decoded(sources_of(str(path), FORMATS["openmed"].suffixes, False)[0].data or b"")
    except Fault as fault:
        raise fault.at(FORMAT, None) from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _lines(text, error.lineno if isinstance(error, json.JSONDecodeError) else None)
    if isinstance(value, dict):
        rows = next((value[name] for name in ("predictions", "fixtures") if isinstance(value.get(name), list)), None)
        return rows if rows is not None and _first(value, ("document", *IDS)) is None else [value]
    return value if isinstance(value, list) else [value]


def _lines(text: str, broken: int | None) -> list[Any]:
    """The values of a text with one a line. broken: where it breaks as one value, if its first line is none either."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            raise InputError(FORMAT, "not valid JSON", line=number if values else broken, remedy=_SHAPE) from None
    return values


def prediction_rows(path: str | Path, where: str) -> list[tuple[int, tuple[Span, ...]]]:
    """(ordinal, spans) of each line that `prediction_lines` wrote. Raises InputError for a file that is none.

    where: what messages call the file.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        return [_written(json.loads(line)) for line in lines if line]
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError, RecursionError):
        what = "no predictions as a run writes them"
    raise InputError(where, what, remedy="give a run folder as this version of the program wrote it")


def _written(row: Mapping[str, Any]) -> tuple[int, tuple[Span, ...]]:
    spans = tuple(Span(span["start"], span["end"], span["label"], _number(span["score"])) for span in row["spans"])
    if type(row["document"]) is not int or not all(type(span.label) is str for span in spans):
        raise ValueError("no row of a run")
    return row["document"], spans


def prediction_lines(predictions: Iterable[Sequence[Span]]) -> Iterator[str]:
    """The lines of a predictions.jsonl of a whole corpus."""
    return starmap(prediction_line, enumerate(predictions))


def prediction_line(ordinal: int, spans: Sequence[Span]) -> str:
    """A document's line in a predictions.jsonl: ordinal, offsets, labels and scores; never text, never an id.

    ordinal: from 0 in the whole corpus.
    """
    if not spans:
        return f'{{"document":{ordinal},"spans":[]}}\n'
    rows = [{"start": _offset(s.start), "end": _offset(s.end), "label": s.label, "score": rounded(s.score)} for s in spans]
    line = {"document": ordinal, "spans": rows}
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _offset(value: Any) -> int | None:
    """An offset as it is written; null for what is none: a string in its place may be a piece of a document."""
    return value if type(value) is int else None


def rounded(score: float | None) -> float | None:
    """Six digits: what float32 arithmetic can hold from engine to engine. None for what no JSON can hold."""
    return None if score is None or not math.isfinite(score) else round(score, 6)
