"""The functions that carry OpenMed's names: one document's spans in any form, results with OpenMed's keys.

Differences from openmed 3.1.0, all on purpose: an unknown label keeps its own name (it does not become
OTHER); the order of spans changes nothing; only labels that occur are listed; gold that cannot stand in the
text is refused. Where there is nothing to measure `zero_division` stands, by default OpenMed's 1.0 for a
recall and 0.0 for a loss; None leaves it null. For a corpus use bundle.py, which adds documents up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from ..labels import LabelMap
from ..labels.critical import category_in
from .bundle import Case, CaseScore, score_case
from .counts import Counts, Rate, ratio
from .cover import merged
from .coverage import Covered, score_coverage
from .eval_spans import EvalSpan, as_spans, normalize_eval_spans, reach_of
from .scorecard import score_document, scorecard
from .sides import Sides
from .validity import checked_gold, checked_predictions

__all__ = [
    "EvalSpan",
    "F1Metrics",
    "compute_exact_span_f1",
    "compute_metrics_bundle",
    "compute_relaxed_span_f1",
    "normalize_eval_spans",
]

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class F1Metrics(Mapping[str, Any]):
    """precision, recall, f1 and the three counts; read as attributes or as keys."""

    precision: Rate
    recall: Rate
    f1: Rate
    true_positives: int
    false_positives: int
    false_negatives: int

    @classmethod
    def of(cls, counts: Counts, zero_division: Rate) -> F1Metrics:
        return cls(**counts.to_dict(zero_division))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())


def compute_exact_span_f1(
    gold_spans: Iterable[Any],
    predicted_spans: Iterable[Any],
    *,
    zero_division: Rate = 1.0,
    source_text: str | None = None,
    label_map: LabelMap | Mapping[str, str] | None = None,
) -> F1Metrics:
    """Label, start and end equal, one to one, in one document. See normalize_eval_spans for what a span may be."""
    return _span_f1("exact", gold_spans, predicted_spans, zero_division, source_text, label_map)


def compute_relaxed_span_f1(
    gold_spans: Iterable[Any],
    predicted_spans: Iterable[Any],
    *,
    zero_division: Rate = 1.0,
    source_text: str | None = None,
    label_map: LabelMap | Mapping[str, str] | None = None,
) -> F1Metrics:
    """Same label and at least one code point in common, one to one, in one document; see matching.relaxed_pairs."""
    return _span_f1("relaxed", gold_spans, predicted_spans, zero_division, source_text, label_map)


def _span_f1(
    rule: str,
    gold: Iterable[Any],
    predicted: Iterable[Any],
    zero_division: Rate,
    source_text: str | None,
    label_map: LabelMap | Mapping[str, str] | None,
) -> F1Metrics:
    names = LabelMap.of(label_map)
    golds, predictions = (normalize_eval_spans(side, label_map=names) for side in (gold, predicted))
    length = reach_of([*golds, *predictions]) if source_text is None else len(source_text)
    score = score_document(as_spans(golds), as_spans(predictions), length)
    return F1Metrics.of(score.counts(rule), zero_division)


def compute_metrics_bundle(
    gold_spans: Iterable[Any],
    predicted_spans: Iterable[Any],
    *,
    latencies_ms: Sequence[float] = (),
    cold_start_ms: float | None = None,
    peak_rss_bytes: int | None = None,
    model_size_bytes: int | None = None,
    default_language: str = "en",
    default_device: str = "cpu",
    source_text: str | None = None,
    label_map: LabelMap | Mapping[str, str] | None = None,
    zero_division: Rate = 1.0,
) -> dict[str, Any]:
    """OpenMed's standard bundle for one document.

    Keys as OpenMed's (`leakage, character_recall, recall_slices, critical_finding_recall, exact_span_f1,
    relaxed_span_f1, over_redaction_loss, latency, resources`; in these `chars` counts what `unit` says, as
    there), and `relaxed_maximum, relaxed_two_sided, semeval, macro, weighted, by_label, invalid_predictions`
    of the scorecard. Without source_text the gold spans' own texts tell the grapheme clusters, and
    over-redaction is a share of what was predicted. Raises InputError for a gold span that cannot stand in
    the text.
    """
    names = LabelMap.of(label_map)
    golds, predictions = (
        normalize_eval_spans(
            side,
            default_language=default_language,
            default_device=default_device,
            source_text=source_text,
            label_map=names,
        )
        for side in (gold_spans, predicted_spans)
    )
    text = source_text if source_text is not None else _text_from(golds, reach_of([*golds, *predictions]))
    case = Case(as_spans(golds), as_spans(predictions), text, categories=[category_in(span.metadata) for span in golds])
    score = score_case(case)
    loss = None if zero_division is None else 1 - zero_division
    card = scorecard(score.spans)
    return {
        **{key: card[key] for key in ("relaxed_maximum", "relaxed_two_sided", "macro", "weighted", "by_label")},
        "invalid_predictions": card["invalid_predictions"],
        "semeval": score.semeval.to_dict(),
        "exact_span_f1": score.spans.counts("exact").to_dict(zero_division),
        "relaxed_span_f1": score.spans.counts("relaxed").to_dict(zero_division),
        **_coverage_blocks(golds, case, score, zero_division, loss),
        "critical_finding_recall": _filled(score.critical.to_dict(), "overall", zero_division),
        "over_redaction_loss": _over_redaction(case, score, loss, of_predicted=source_text is None),
        "latency": {**latency_summary(latencies_ms), "cold_start_ms": cold_start_ms},
        "resources": {
            "peak_rss_bytes": peak_rss_bytes,
            "peak_rss_mib": None if peak_rss_bytes is None else peak_rss_bytes / _MEBIBYTE,
            "model_size_bytes": model_size_bytes,
            "model_size_mib": None if model_size_bytes is None else model_size_bytes / _MEBIBYTE,
        },
    }


def _text_from(golds: Sequence[EvalSpan], length: int) -> str:
    """A text of blanks with the gold surfaces at their places, where a surface has its span's length."""
    characters = [" "] * length
    for span in golds:
        if len(span.text) == span.length and 0 <= span.start <= span.end <= length:
            characters[span.start : span.end] = span.text
    return "".join(characters)


def _coverage_blocks(golds: Sequence[EvalSpan], case: Case, score: CaseScore, zero_division: Rate, loss: Rate) -> dict[str, Any]:
    coverage = score.coverage
    groups: dict[str, Mapping[str, Covered]] = {
        "label": dict(sorted(coverage.by_label.items())),
        "language": _grouped(golds, case, lambda span: span.language),
        "device": _grouped(golds, case, lambda span: span.device),
        "script": dict(sorted(coverage.by_script.items())),
    }
    whole = coverage.overall
    leaked = whole.clusters - whole.clusters_own
    leakage: dict[str, Any] = {
        "overall": ratio(leaked, whole.clusters, loss),
        "any_label": ratio(whole.clusters - whole.clusters_any, whole.clusters, loss),
        "unit": coverage.unit,
        "leaked_graphemes": leaked,
        "total_graphemes": whole.clusters,
        "leaked_chars": leaked,
        "total_chars": whole.clusters,
    }
    recall: dict[str, Any] = {
        "overall": ratio(whole.clusters_own, whole.clusters, zero_division),
        "unit": coverage.unit,
        "covered_graphemes": whole.clusters_own,
        "total_graphemes": whole.clusters,
        "covered_chars": whole.clusters_own,
        "total_chars": whole.clusters,
    }
    for name, parts in groups.items():
        missing = {key: part.clusters - part.clusters_own for key, part in parts.items()}
        totals = {key: part.clusters for key, part in parts.items()}
        leakage[f"by_{name}"] = {key: ratio(missing[key], totals[key], loss) for key in parts}
        leakage[f"leaked_chars_by_{name}"] = missing
        leakage[f"total_chars_by_{name}"] = totals
        recall[f"by_{name}"] = {key: ratio(part.clusters_own, part.clusters, zero_division) for key, part in parts.items()}
    character_recall = {
        "rate": recall["overall"],
        "numerator": whole.clusters_own,
        "denominator": whole.clusters,
    }
    return {"leakage": leakage, "character_recall": character_recall, "recall_slices": recall}


def _grouped(golds: Sequence[EvalSpan], case: Case, key: Callable[[EvalSpan], str]) -> dict[str, Covered]:
    """Coverage of the gold spans of each language or device, which OpenMed keeps by span."""
    length = len(case.text or "")
    predictions = checked_predictions(case.predicted, length)[0]
    groups: dict[str, list[EvalSpan]] = {}
    for span in golds:
        groups.setdefault(key(span), []).append(span)
    covered = {}
    for name, members in sorted(groups.items()):
        spans = checked_gold(as_spans(members), length)
        part = score_coverage(Sides.of(spans, predictions), length, case.text)
        covered[name] = part.overall
    return covered


def _over_redaction(case: Case, score: CaseScore, loss: Rate, *, of_predicted: bool) -> dict[str, Any]:
    numerator, denominator = score.coverage.over_redacted, score.coverage.redactable
    if of_predicted:
        pieces = merged(checked_predictions(case.predicted, len(case.text or ""))[0])
        denominator = sum(end - start for start, end in pieces)
    return {"rate": ratio(numerator, denominator, loss), "numerator": numerator, "denominator": denominator}


def _filled(block: dict[str, Any], key: str, value: Rate) -> dict[str, Any]:
    return {**block, key: value if block[key] is None else block[key]}


def latency_summary(latencies_ms: Sequence[float]) -> dict[str, Any]:
    """Nearest-rank percentiles, as OpenMed's; None without a measurement."""
    ordered = sorted(latencies_ms)
    return {
        **{f"p{percent}_ms": ordered[ceil(percent * len(ordered) / 100) - 1] if ordered else None for percent in (50, 95, 99)},
        "count": len(ordered),
    }
