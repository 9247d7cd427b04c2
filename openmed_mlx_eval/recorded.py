"""A run folder read back beside its corpus: the documents as they were scored and the spans that were predicted.

report.json says how the corpus was read and what each label was called, so nobody has to repeat the options of a run.
A corpus that is not the one of the run is refused: its offsets would point at other words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .corpora import DISCONTINUOUS, FORMATS, load_corpus
from .corpora.document import Document
from .errors import InputError, UsageError
from .evaluation import Warning
from .predictions import FORMAT as PREDICTIONS
from .predictions import load_predictions
from .reporting.report import SCHEMA, SCHEMA_VERSION
from .spans import Span

REPORT = "report.json"
_REMEDY = "give a folder as `run` or `score` wrote it with --output"


@dataclass(frozen=True, slots=True)
class Recorded:
    """report: report.json. documents: with gold under the labels it was scored by. predictions: one tuple a document."""

    report: dict[str, Any]
    documents: tuple[Document, ...]
    predictions: tuple[tuple[Span, ...], ...]
    warnings: tuple[Warning, ...]


def load_recorded(folder: str | Path, corpus: str | Path) -> Recorded:
    """Read a run folder and the corpus it was made from.

    Raises UsageError where there is no run folder, InputError for files that are not what a run wrote and for a corpus
    that is not the run's.
    """
    report = load_report(folder)
    said, config = report["corpus"], report["config"]
    read = load_corpus(
        corpus,
        said["format"],
        skip_bad=config["skip_bad"],
        discontinuous=config["discontinuous"],
        keep_mismatched=any(warning.get("code") == "surface_mismatch" for warning in report["warnings"]),
    )
    if read.sha256 != said["sha256"]:
        raise InputError(
            "corpus", "its files are not those of the run: the SHA-256 is another", remedy="give the corpus the run was made with"
        )
    documents = tuple(_renamed(document, config["labels"]["mapped"]) for document in read.documents[: config["limit"]])
    made = load_predictions(Path(folder) / "predictions.jsonl", read.documents, PREDICTIONS, scored=len(documents))
    gold, predicted = sum(len(one.gold_spans) for one in documents), sum(map(len, made.spans))
    if (gold, predicted) != (said["spans"], report["metrics"]["predicted"]):
        what = f"{gold} gold spans and {predicted} predictions, where {REPORT} counts {said['spans']} and {report['metrics']['predicted']}"
        raise InputError("run folder", what, remedy="its files are of two runs; make it again")
    return Recorded(report, documents, made.spans, made.warnings)


def load_report(folder: str | Path) -> dict[str, Any]:
    """The report.json of a run folder, as far as it is needed to read the corpus again. Raises UsageError, InputError."""
    try:
        report = json.loads((Path(folder) / REPORT).read_bytes().decode("utf-8"))
    except OSError as error:
        raise UsageError(f"the run folder has no {REPORT} that can be read ({error.strerror}) – {_REMEDY}") from None
    except (ValueError, RecursionError):
        raise InputError(REPORT, "the file is not JSON", remedy=_REMEDY) from None
    for place, fits in _NEEDED.items():
        value: Any = report
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not fits(value):
            raise InputError(REPORT, f"{place} is not what this version of the program writes there", remedy=_REMEDY)
    return dict(report)


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


_NEEDED: Mapping[str, Callable[[Any], bool]] = {
    "schema": lambda value: value == SCHEMA,
    "schema_version": lambda value: value == SCHEMA_VERSION,
    "suite": _is(str),
    "model.name": _is(str),
    "corpus.name": _is(str),
    "corpus.format": lambda value: type(value) is str and value in FORMATS,
    "corpus.sha256": _is(str),
    "corpus.documents": _is(int),
    "corpus.documents_scored": _is(int),
    "corpus.spans": _is(int),
    "config.skip_bad": _is(bool),
    "config.discontinuous": lambda value: type(value) is str and value in DISCONTINUOUS,
    "config.limit": lambda value: value is None or (type(value) is int and value > 0),
    "config.labels.mapped": lambda value: type(value) is dict and all(type(name) is str for name in value.values()),
    "metrics.predicted": _is(int),
    "warnings": lambda value: type(value) is list and all(type(warning) is dict for warning in value),
}
"""What the rest of this file relies on, and what makes a value fit."""


def _renamed(document: Document, names: Mapping[str, str]) -> Document:
    gold = tuple(Span(span.start, span.end, names.get(span.label, span.label), span.score) for span in document.gold_spans)
    return replace(document, gold_spans=gold)
