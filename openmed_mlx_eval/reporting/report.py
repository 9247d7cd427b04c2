"""report.json: its keys in one place, and the numbers in it as text.

The keys are fixed by `report.schema.json` beside this file; keys of metrics that were not computed are absent.
Nothing here is rounded but time; what is shown to people is rounded where it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpora.document import Corpus, CorpusStream
from ..evaluation import Evaluation, Warning
from ..overlap import TrainingOverlap
from ..scoring.scorecard import DocumentScore

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier

SCHEMA = "openmed-mlx-eval/report"
SCHEMA_VERSION = 1
DEFAULT_SUITE = "corpus"


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of report.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
    return loaded


def build_report(
    *,
    suite: str | None,
    model: Mapping[str, Any],
    corpus: Corpus | CorpusStream,
    evaluation: Evaluation,
    environment: Mapping[str, Any],
    config: Mapping[str, Any],
    timing: Mapping[str, Any],
    warnings: Iterable[Warning] = (),
    partial: bool = False,
    overlap: TrainingOverlap | None = None,
) -> dict[str, Any]:
    """One run as the dict that is written. suite: None for the default. warnings: those beside the evaluation's own
    and the overlap's. overlap: what a training manifest holds of the documents scored; None where none was given.
    """
    trained = {} if overlap is None else {"training_overlap": overlap.to_dict()}
    said = (*warnings, *(overlap.warnings() if overlap is not None else ()), *evaluation.warnings)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "suite": suite or DEFAULT_SUITE,
        "model": dict(model),
        "corpus": {
            "name": corpus.name,
            "format": corpus.format,
            "sha256": corpus.sha256,
            "documents": len(corpus) + len(corpus.skipped),
            **gold_counts(evaluation.score),
            **trained,
        },
        "environment": dict(environment),
        "config": {**config, "labels": evaluation.label_map},
        "metrics": evaluation.metrics,
        "timing": dict(timing),
        "warnings": [warning.to_dict() for warning in said],
        "partial": partial,
    }


def gold_counts(score: DocumentScore) -> dict[str, Any]:
    """Of a report's `corpus`: what was scored."""
    return {
        "documents_scored": score.documents,
        "spans": score.overall.support,
        "labels": {label: counts.support for label, counts in sorted(score.by_label.items()) if counts.support},
    }


def model_block(classifier: TokenClassifier) -> dict[str, Any]:
    """A report's `model`: what was run, with the hash of every file of it that was opened."""
    artifact = classifier.artifact
    quantization = None
    if artifact.quantization is not None:
        quantization = {**asdict(artifact.quantization), "layers": len(artifact.checkpoint.quantized())}
    return {
        "name": artifact.name,
        "family": artifact.family.name,
        "parameters": artifact.checkpoint.parameters(),
        "dtype": artifact.dtype,
        "quantization": quantization,
        "labels": list(classifier.entity_labels),
        "tag_scheme": classifier.decoder.scheme.name,
        "window": artifact.window,
        "files": artifact.hashes(),
    }


def now() -> str:
    """The time of a report: UTC, to the second, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def to_json(report: Mapping[str, Any]) -> str:
    """Keys in the order in which they are read; NaN is a fault of this program, not of JSON."""
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
