"""A run folder read back beside its corpus: the documents as they were scored and the spans that were predicted.

report.json says how the corpus was read and what each label was called, so nobody has to repeat the options of a run.
A corpus that is not the one of the run is refused: its offsets would point at other words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .corpora import DISCONTINUOUS, FORMATS, load_corpus
from .corpora.document import Document
from .errors import InputError
from .evaluation import Warning, in_layers
from .layers import LAYERS
from .predictions import FORMAT as PREDICTIONS
from .predictions import load_predictions
from .saved_runs import REPORT, load_report, refuse_shard
from .spans import Span

_REMEDY = "give a folder that `run --output` or `score --output` of this version wrote"


@dataclass(frozen=True, slots=True)
class Recorded:
    """report: report.json. documents: with gold under the labels it was scored by. predictions: one tuple a document."""

    report: dict[str, Any]
    documents: tuple[Document, ...]
    predictions: tuple[tuple[Span, ...], ...]
    warnings: tuple[Warning, ...]


def load_recorded(folder: str | Path, corpus: str | Path) -> Recorded:
    """Read a run folder and the corpus it was made from.

    Raises UsageError where there is no run folder, InputError for files that are not what a run wrote, for a corpus that
    is not the run's, and for a run that was scored tag by tag.
    """
    report = _checked(load_report(Path(folder) / REPORT))
    said, config = report["corpus"], report["config"]
    read = load_corpus(
        corpus,
        said["format"],
        skip_bad=config["skip_bad"],
        discontinuous=config["discontinuous"],
        keep_mismatched=any(warning.get("code") == "surface_mismatch" for warning in report["warnings"]),
    )
    if read.sha256 != said["sha256"]:
        what = "its files are not those of the run: their SHA-256 is another"
        raise InputError("corpus", what, remedy="give the corpus that the run was made with")
    documents = tuple(_as_scored(document, config) for document in read.documents[: config["limit"]])
    made = load_predictions(Path(folder) / "predictions.jsonl", read.documents, PREDICTIONS, scored=len(documents))
    counted = said["spans"], report["metrics"]["predicted"]
    found = sum(len(one.gold_spans) for one in documents), sum(map(len, made.spans))
    if found != counted:
        what = "{} gold spans and {} predictions".format(*found)
        counts = "{} and {}".format(*counted)
        raise InputError(
            "run folder", f"{what}, where {REPORT} counts {counts}", remedy="its files are of two runs; make it again"
        )
    return Recorded(report, documents, made.spans, made.warnings)


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    refuse_shard(report)
    if isinstance(report.get("config"), dict) and report["config"].get("tags") is not None:
        raise InputError(REPORT, "a run scored tag by tag, whose documents a corpus does not have", remedy="score it as spans")
    for place, fits in _NEEDED.items():
        value: Any = report
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not fits(value):
            raise InputError(REPORT, f"no report of a run that this version can read: see its {place}", remedy=_REMEDY)
    return report


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def _among(names: Mapping[str, Any]) -> Callable[[Any], bool]:
    return lambda value: type(value) is str and value in names


_NEEDED: dict[str, Callable[[Any], bool]] = {
    "corpus.format": _among(FORMATS),
    "corpus.documents": _is(int),
    "corpus.spans": _is(int),
    "config.skip_bad": _is(bool),
    "config.discontinuous": _among(DISCONTINUOUS),
    "config.layers": lambda value: value is None or _among(LAYERS)(value),  # None: a run that has no such choice
    "config.limit": lambda value: value is None or (type(value) is int and value > 0),
    "config.labels.mapped": lambda value: type(value) is dict and all(type(name) is str for name in value.values()),
    "metrics.predicted": _is(int),
    "warnings": lambda value: type(value) is list and all(type(warning) is dict for warning in value),
}
"""What is read here beyond what load_report has checked."""


def _as_scored(document: Document, config: Mapping[str, Any]) -> Document:
    names = config["labels"]["mapped"]
    gold = tuple(Span(span.start, span.end, names.get(span.label, span.label), span.score) for span in document.gold_spans)
    return in_layers(replace(document, gold_spans=gold), config.get("layers") or "all")
