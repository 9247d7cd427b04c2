"""compare: two runs of one corpus, number by number. A is the baseline or parent, B the candidate; differences are B − A.

Both runs must have scored the same gold, document by document; what then differs is the models. `max_loss` turns the
comparison into a verdict on each label, and a label that shows nothing fails it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .errors import UsageError
from .saved_runs import SavedRun, load_run
from .scoring.bootstrap import Bootstrap
from .scoring.coverage import NOTHING
from .scoring.scorecard import LabelScore, total
from .scoring.significance import Difference, benjamini_hochberg, paired_differences
from .scoring.uncertainty import Place, Row, count_matrix, rates

SCHEMA = "openmed-mlx-eval/comparison"
SCHEMA_VERSION = 1

METRICS = {f"{rule}_{rate}": (rule, rate) for rule in ("exact", "relaxed") for rate in ("precision", "recall", "f1")}
"""{name of what a label may be judged by: its keys in the label's block}."""
DEFAULT_METRIC = "exact_recall"

_OVERALL = (
    *(Place((rule,), (rate,)) for rule in ("exact_span_f1", "relaxed_span_f1") for rate in ("precision", "recall", "f1")),
    Place(("macro", "exact"), ("f1",)),
    Place(("leakage",), ("overall",)),
    Place(("leakage",), ("any_label",)),
    Place(("character_recall",), ("rate",)),
    Place(("over_redaction_loss",), ("rate",)),
)
_ABSENT = Difference(None, None, None, None, None)
_ROUNDING = 1e-9
"""0.9 − 0.895 is a little more than 0.005."""


def compare(
    a: SavedRun | str | Path,
    b: SavedRun | str | Path,
    how: Bootstrap | None = None,
    *,
    labels: str | Iterable[str] | None = None,
    max_loss: float | None = None,
    metric: str = DEFAULT_METRIC,
) -> dict[str, Any]:
    """The comparison as the dict that is written; its schema is reporting/comparison.schema.json.

    a, b: what `load_run` gave, or the folder. how: resamples for intervals and p-values; None for neither. labels: the labels
    to list, adjust and judge; None for all that either run has. metric: a key of METRICS, what is shown first. max_loss:
    how much of it each label may lose. Raises UsageError for runs that did not score the same gold, and as load_run does.
    """
    a, b = (run if isinstance(run, SavedRun) else load_run(run, name) for run, name in ((a, "A"), (b, "B")))
    labels = [labels] if isinstance(labels, str) else labels
    if metric not in METRICS:
        raise UsageError(f"metric: must be one of {', '.join(METRICS)}")
    if max_loss is not None and not 0 <= max_loss <= 1:
        raise UsageError("max loss: must lie between 0 and 1")
    _require_one_corpus(a, b)
    found = differences(a.rows, b.rows, how, labels)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "runs": {"a": _run_block(a.report), "b": _run_block(b.report)},
        "corpus": {key: a.report["corpus"][key] for key in ("name", "format", "sha256", "documents_scored")},
        "documents_that_differ": found["documents_that_differ"],
        "uncertainty": found["uncertainty"],
        "metrics": found["metrics"],
        "metric": metric,
        "by_label": found["by_label"],
        "verdict": None if max_loss is None else _verdict(found["by_label"], max_loss, metric),
    }


def differences(
    a: Sequence[Row], b: Sequence[Row], how: Bootstrap | None = None, labels: Iterable[str] | None = None
) -> dict[str, Any]:
    """What two models scored on the same documents, in the same order: their numbers and the differences B − A.

    Keys `documents_that_differ`, `uncertainty`, `metrics`, `by_label`, as in comparison.json.
    """
    of_a, of_b = (total(spans for spans, *_ in rows).by_label for rows in (a, b))
    known = sorted({*of_a, *of_b})
    chosen = known if labels is None else sorted(set(labels))
    wanted = {*_OVERALL, *(place for label in chosen for place in _places(label).values())}

    def numbers(sums: Any) -> dict[Place, Any]:
        return {place: values for place, values in rates(sums, known).items() if place in wanted}

    counts = count_matrix(a, known), count_matrix(b, known)
    found = paired_differences(*counts, numbers, how)
    by_label = {label: _label_block(label, of_a.get(label), of_b.get(label), found) for label in chosen}
    _adjust(by_label)
    return {
        "documents_that_differ": int((counts[0] != counts[1]).any(axis=1).sum()),
        "uncertainty": None if how is None else {**asdict(how), "unit": "document"},
        "metrics": _nested(found),
        "by_label": by_label,
    }


def _require_one_corpus(a: SavedRun, b: SavedRun) -> None:
    if a.report["corpus"]["sha256"] != b.report["corpus"]["sha256"]:
        raise UsageError("the two runs are of different corpora (corpus.sha256) – score both models on the same files")
    if len(a.rows) != len(b.rows):
        remedy = "give both runs the same --limit and --skip-bad"
        raise UsageError(f"the two runs scored {len(a.rows):,} and {len(b.rows):,} documents – {remedy}")
    for ordinal, (one, other) in enumerate(zip(a.rows, b.rows, strict=True), start=1):
        if _gold(one) != _gold(other):
            remedy = "give both runs the same --label-map, --layers and --discontinuous"
            raise UsageError(f"document {ordinal}: the two runs scored different gold – {remedy}")


def _gold(row: Row) -> tuple[Any, ...]:
    """All that a document's counts say of its gold alone."""
    spans, _, coverage, critical = row
    labels = {
        label: (score.support, part.clusters, part.characters)
        for label, score in spans.by_label.items()
        if score.support
        for part in (coverage.by_label.get(label, NOTHING),)
    }
    findings = {category: every for category, (_, every) in critical.by_category.items()}
    return spans.length, labels, findings, coverage.documents_with_gold, coverage.redactable, coverage.without_text


def _places(label: str) -> dict[tuple[str, ...], Place]:
    """{keys in the label's block: place in a report}."""
    places: dict[tuple[str, ...], Place] = {("leakage",): Place(("leakage",), ("by_label", label))}
    for rule, rate in METRICS.values():
        places[rule, rate] = Place(("by_label", label, rule), (rate,))
    return places


def _label_block(label: str, a: LabelScore | None, b: LabelScore | None, found: Mapping[Place, Difference]) -> dict[str, Any]:
    """Counts and differences of a label; null differences for one that neither run has."""
    a, b = a or LabelScore(), b or LabelScore()
    block: dict[str, Any] = {"support": a.support, "predicted_a": a.predicted, "predicted_b": b.predicted}
    for keys, place in _places(label).items():
        _put(block, keys, _difference(found.get(place, _ABSENT)))
    return block


def _difference(value: Difference) -> dict[str, Any]:
    return {
        "a": value.a,
        "b": value.b,
        "difference": value.difference,
        "confidence_interval": None if value.interval is None else value.interval._asdict(),
        "p_value": value.p_value,
    }


def _put(block: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        block = block.setdefault(key, {})
    block[keys[-1]] = value


def _nested(found: Mapping[Place, Difference]) -> dict[str, Any]:
    """The overall numbers under the keys that they have in a report."""
    block: dict[str, Any] = {}
    for place in _OVERALL:
        _put(block, (*place.block, *place.rate), _difference(found[place]))
    return block


def _adjust(by_label: Mapping[str, dict[str, Any]]) -> None:
    """Put p_adjusted beside every p_value of a label: one family for each number, over the labels."""
    for keys in _places(""):
        blocks = [block[keys[0]] if len(keys) == 1 else block[keys[0]][keys[1]] for block in by_label.values()]
        for block, adjusted in zip(blocks, benjamini_hochberg([block["p_value"] for block in blocks]), strict=True):
            block["p_adjusted"] = adjusted


def _run_block(report: Mapping[str, Any]) -> dict[str, Any]:
    model, environment = report["model"], report["environment"]
    return {
        "suite": report["suite"],
        "model": {key: model.get(key) for key in ("name", "family", "parameters", "dtype", "quantization")},
        "environment": {key: environment.get(key) for key in ("engine", "device", "dtype")},
    }


def _verdict(by_label: Mapping[str, Any], max_loss: float, metric: str) -> dict[str, Any]:
    """passed: there are labels, and each of them is covered and lost at most max_loss."""
    labels = {label: _judged(block, max_loss, METRICS[metric]) for label, block in by_label.items()}
    passed = bool(labels) and all(one["verdict"] == "passed" for one in labels.values())
    return {"max_loss": max_loss, "passed": passed, "labels": labels}


def _judged(block: Mapping[str, Any], max_loss: float, keys: tuple[str, str]) -> dict[str, Any]:
    nothing = (("support", "no gold"), ("predicted_a", "never predicted by A"), ("predicted_b", "never predicted by B"))
    reason = next((why for key, why in nothing if not block[key]), None)
    change = block[keys[0]][keys[1]]["difference"]
    loss = None if change is None else 0.0 - change  # no -0.0
    if reason or loss is None:
        return {"verdict": "not_covered", "loss": loss, "reason": reason}
    return {"verdict": "passed" if loss <= max_loss + _ROUNDING else "failed", "loss": loss, "reason": None}
