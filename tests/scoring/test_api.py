"""OpenMed's names: every form of a span is one span, unknown labels stay apart, and nothing quotes its input."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.scoring.api import (
    EvalSpan,
    compute_exact_span_f1,
    compute_metrics_bundle,
    compute_relaxed_span_f1,
    normalize_eval_spans,
)
from openmed_mlx_eval.spans import Span

FORMS = [
    Span(0, 5, "NAME"),
    EvalSpan(0, 5, "NAME"),
    {"start": 0, "end": 5, "label": "B-name"},
    {"start": 0, "end": 5, "entity_group": "NAME", "score": 0.5},
    SimpleNamespace(start=0, end=5, entity_type="name"),
]


@pytest.mark.parametrize("gold", FORMS)
@pytest.mark.parametrize("predicted", FORMS)
def test_every_form_of_a_span_is_the_same_span(gold, predicted):
    assert compute_exact_span_f1([gold], [predicted]).f1 == 1.0
    assert compute_metrics_bundle([gold], [predicted], source_text="Quill 7")["exact_span_f1"]["f1"] == 1.0


def test_normalized_fields():
    span = normalize_eval_spans(
        [{"start": 2, "end": 7, "label": "NAME", "probability": 0.25, "lang": "de", "metadata": {"device_tier": "mlx-fp"}}],
        source_text="🩺 Quill",
    )[0]
    assert span == EvalSpan(2, 7, "PERSON", "Quill", "de", "mlx-fp", {"device_tier": "mlx-fp", "confidence": 0.25})
    assert span.length == 5


def test_trap_21_unknown_labels_do_not_match_each_other():
    gold, predicted = [{"start": 0, "end": 4, "label": "TREATMENT"}], [{"start": 0, "end": 4, "label": "HOSPITAL"}]
    assert compute_exact_span_f1(gold, predicted).true_positives == 0
    both = LabelMap({"treatment": "CARE", "hospital": "CARE"})
    assert compute_relaxed_span_f1(gold, predicted, label_map=both).f1 == 1.0


def test_zero_division_is_openmeds_by_default_and_null_on_request():
    assert compute_exact_span_f1([], []).to_dict() == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "true_positives": 0,
        "false_positives": 0,
        "false_negatives": 0,
    }
    assert compute_relaxed_span_f1([], [], zero_division=None).f1 is None
    assert compute_relaxed_span_f1([], [Span(0, 2, "A")], zero_division=0.0)["recall"] == 0.0
    empty = compute_metrics_bundle([], [], source_text="")
    assert (empty["leakage"]["overall"], empty["character_recall"]["rate"]) == (0.0, 1.0)
    null = compute_metrics_bundle([], [], source_text="", zero_division=None)
    assert null["leakage"]["overall"] is null["character_recall"]["rate"] is null["over_redaction_loss"]["rate"] is None


def test_a_metric_reads_as_attributes_and_as_a_mapping():
    metric = compute_exact_span_f1([Span(0, 2, "A")], [Span(0, 2, "A")])
    assert dict(metric) == metric.to_dict() and metric["f1"] == metric.f1 == 1.0 and len(metric) == 6


@pytest.mark.parametrize(
    "span",
    [
        {"start": 0, "end": 5},
        {"start": None, "end": 5, "label": "QZX-7781"},
        {"start": "0", "end": 5, "label": "QZX-7781"},
        {"start": True, "end": 5, "label": "QZX-7781"},
        {"end": 5, "label": "QZX-7781", "text": "QZX-7781"},
        "QZX-7781",
    ],
)
def test_a_span_that_is_none_is_named_by_ordinal_and_not_quoted(span):
    with pytest.raises(InputError) as caught:
        normalize_eval_spans([{"start": 0, "end": 1, "label": "A"}, span])
    assert "span 2" in str(caught.value) and "QZX" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_predictions_that_are_no_spans_are_false_positives_and_such_gold_is_refused():
    gold = [Span(0, 4, "A")]
    for offsets in ((math.nan, 4), (0, math.inf), (3, 3), (5, 2), (-1, 4), (0, 99)):
        predicted = [{"start": offsets[0], "end": offsets[1], "label": "A"}]
        bundle = compute_metrics_bundle(gold, predicted, source_text="x" * 8)
        assert bundle["exact_span_f1"]["false_positives"] == sum(bundle["invalid_predictions"].values()) == 1
        with pytest.raises(InputError):
            compute_metrics_bundle(predicted, gold, source_text="x" * 8)


def test_gold_surfaces_tell_the_clusters_where_there_is_no_text():
    gold = [{"start": 4, "end": 8, "label": "NAME", "text": "e\u0301e\u0301"}]
    leakage = compute_metrics_bundle(gold, [{"start": 4, "end": 6, "label": "NAME"}])["leakage"]
    assert (leakage["leaked_graphemes"], leakage["total_graphemes"], leakage["overall"]) == (1, 2, 0.5)


def test_critical_findings_latency_and_resources():
    gold = [{"start": 0, "end": 4, "label": "ALLERGEN", "metadata": {"critical_category": "allergy"}}]
    bundle = compute_metrics_bundle(
        gold,
        [],
        source_text="x" * 9,
        latencies_ms=[4, 1, 3, 2],
        cold_start_ms=70,
        peak_rss_bytes=2 * 1024 * 1024,
    )
    assert bundle["critical_finding_recall"]["by_category"] == {"drug_allergy": 0.0}
    assert bundle["latency"] == {"p50_ms": 2, "p95_ms": 4, "p99_ms": 4, "count": 4, "cold_start_ms": 70}
    assert bundle["resources"]["peak_rss_mib"] == 2.0
    assert compute_metrics_bundle([], [])["latency"]["p50_ms"] is None
