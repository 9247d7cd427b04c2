"""Scores by corpus and language: rows that add up, their macro average, and the gate that each must pass.

Only integers and names come in, so one row's documents never touch another's. See multilingual.py for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ..errors import UsageError
from .counts import Rate, mean
from .scorecard import DocumentScore, total

RULES = ("exact", "relaxed")
PARTS = ("precision", "recall", "f1")
METRICS = tuple(f"{rule}_{part}" for rule in RULES for part in PARTS)
"""What a gate may name: exact_precision, exact_recall, exact_f1, relaxed_precision, relaxed_recall, relaxed_f1."""


@dataclass(frozen=True, slots=True)
class GateFailure:
    """Why a row does not pass. reason: no_gold, nothing_to_measure or below_threshold; value None for the former two."""

    metric: str
    threshold: float
    value: Rate
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {"metric": self.metric, "threshold": self.threshold, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """One corpus in one language; "*" where a row is over all of them. score: the sum of its documents'.

    passed: None where no gate was asked for.
    """

    benchmark: str
    language: str
    score: DocumentScore
    passed: bool | None = None
    failures: tuple[GateFailure, ...] = ()

    def rate(self, metric: str) -> Rate:
        """metric: a name of METRICS. None where there is nothing to measure."""
        rule, _, part = metric.partition("_")
        value: Rate = getattr(self.score.counts(rule), part)
        return value

    def to_dict(self) -> dict[str, Any]:
        """OpenMed's keys (`precision`, `recall` and `f1` are the exact ones), and what the gate says."""
        exact, relaxed = (self.score.counts(rule).to_dict() for rule in RULES)
        overall = self.score.overall
        return {
            "benchmark": self.benchmark,
            "language": self.language,
            "fixture_count": self.score.documents,
            "span_count": overall.support,
            "predicted": overall.predicted,
            "invalid_predictions": sum(self.score.invalid.values()),
            "precision": exact["precision"],
            "recall": exact["recall"],
            "f1": exact["f1"],
            "exact_span_f1": exact,
            "relaxed_span_f1": relaxed,
            "gate": {"passed": self.passed, "failures": [failure.to_dict() for failure in self.failures]},
        }


def rows_of(
    scores: Iterable[tuple[tuple[str, str], DocumentScore]], gates: Mapping[str, float] | None = None
) -> tuple[LanguageRow, ...]:
    """A row for each (benchmark, language), sorted, from the scores of its documents; gates as checked_gates gives them."""
    groups: dict[tuple[str, str], list[DocumentScore]] = {}
    for key, score in scores:
        groups.setdefault(key, []).append(score)
    rows = (LanguageRow(*key, total(groups[key])) for key in sorted(groups))
    return tuple(_judged(row, gates or {}) for row in rows)


def _judged(row: LanguageRow, gates: Mapping[str, float]) -> LanguageRow:
    failures = tuple(failure for metric in gates if (failure := _failure(row, metric, gates[metric])) is not None)
    return LanguageRow(row.benchmark, row.language, row.score, not failures if gates else None, failures)


def _failure(row: LanguageRow, metric: str, threshold: float) -> GateFailure | None:
    """A row without gold cannot pass: a gate that measured nothing would open for a corpus that was not read."""
    value = row.rate(metric)
    if not row.score.overall.support:
        return GateFailure(metric, threshold, None, "no_gold")
    if value is None:
        return GateFailure(metric, threshold, None, "nothing_to_measure")
    return None if value >= threshold else GateFailure(metric, threshold, value, "below_threshold")


def checked_gates(gates: Mapping[str, float]) -> dict[str, float]:
    """{metric: least value}. Raises UsageError for an unknown metric or what is no number from 0 to 1."""
    for metric, threshold in gates.items():
        if metric not in METRICS:
            raise UsageError(f"gates: unknown metric – choose among {', '.join(METRICS)}")
        if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise UsageError(f"gates: {metric} needs a number from 0 to 1")
    return {metric: float(threshold) for metric, threshold in gates.items()}


def macro(rows: Sequence[LanguageRow]) -> dict[str, Any]:
    """The plain mean of each rate over the rows that have it; `rows` says over how many F1 runs."""
    averages: dict[str, Any] = {
        rule: {
            **{part: mean(row.rate(f"{rule}_{part}") for row in rows) for part in PARTS},
            "rows": sum(row.rate(f"{rule}_f1") is not None for row in rows),
        }
        for rule in RULES
    }
    return averages
