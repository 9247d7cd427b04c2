"""Calibration, threshold sweep, risk and coverage, abstention: by hand on small input, by definition on random."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.scoring import Case, Options, metrics, parsed_thresholds, score_case
from openmed_mlx_eval.scoring.calibration import calibration
from openmed_mlx_eval.scoring.confidence import Confidences, judge, problem_of_score, total_confidences
from openmed_mlx_eval.spans import Span


def confidences_of(pairs: list[tuple[float, bool]], support: int) -> Confidences:
    """One prediction a pair; the right ones stand on gold, of which there is as much as `support`."""
    gold = [(10 * at, 10 * at + 5, "A") for at in range(support)]
    places = iter(gold)
    predicted = []
    for at, (confidence, right) in enumerate(pairs):
        start, end, label = next(places) if right else (10 * at + 6, 10 * at + 9, "A")
        predicted.append(Span(start, end, label, confidence))
    return judge(gold, predicted, "en")


JUDGED = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.55, 0.9, 1.0]), st.booleans()), min_size=1, max_size=15)


@given(JUDGED, st.integers(0, 5), st.randoms(use_true_random=False))
def test_every_figure_is_its_definition_and_no_order_matters(pairs, missed, rng):
    support = sum(right for _, right in pairs) + missed
    block = calibration(confidences_of(pairs, support))
    assert calibration(confidences_of(rng.sample(pairs, len(pairs)), support)) == block
    n = len(pairs)
    assert block["brier_score"] == pytest.approx(sum((conf - right) ** 2 for conf, right in pairs) / n)
    gaps = []
    for one in block["reliability_bins"]:
        last = one["bin_index"] == 9
        inside = [pair for pair in pairs if min(int(pair[0] * 10), 9) == one["bin_index"] or (last and pair[0] == 1.0)]
        assert one["count"] == len(inside)
        if inside:
            assert one["accuracy"] == pytest.approx(sum(right for _, right in inside) / len(inside))
            gaps.append((abs(one["accuracy"] - one["mean_confidence"]), len(inside)))
        else:
            assert one["accuracy"] is one["mean_confidence"] is None
    assert block["expected_calibration_error"] == pytest.approx(sum(gap * count for gap, count in gaps) / n)
    assert block["maximum_calibration_error"] == pytest.approx(max(gap for gap, _ in gaps))
    for point in block["threshold_sweep"]["points"]:
        kept = [right for confidence, right in pairs if confidence >= point["threshold"]]
        assert point["true_positives"] == sum(kept)
        assert point["false_positives"] == len(kept) - sum(kept)
        assert point["false_negatives"] == support - sum(kept)
    points = [point["f1"] or 0.0 for point in block["threshold_sweep"]["points"]]
    assert block["threshold_sweep"]["best_f1"]["f1"] >= max(points)


def test_the_threshold_for_a_recall_is_the_highest_that_reaches_it():
    pairs = [(0.9, True), (0.8, False), (0.7, True), (0.6, True), (0.1, False)]
    sweep = calibration(confidences_of(pairs, 4), wanted_recalls=(0.5, 0.75, 0.9))["threshold_sweep"]
    assert [(row["recall_wanted"], row["threshold"]) for row in sweep["for_recall"]] == [
        (0.5, 0.7),
        (0.75, 0.6),
        (0.9, None),
    ]
    assert sweep["best_f1"]["threshold"] == 0.6


def test_risk_and_its_area_by_hand_and_with_ties():
    block = calibration(confidences_of([(0.9, True), (0.8, False), (0.7, True)], 2))["risk_coverage"]
    assert block["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert block["points"][-1] == {"coverage": 1.0, "risk": pytest.approx(1 / 3)}
    tied = calibration(confidences_of([(0.5, True), (0.5, False)], 1))["risk_coverage"]
    assert tied["aurc"] == pytest.approx(0.5)  # expected risk: one half of the first, one half of both


def test_of_equal_predictions_the_most_confident_is_right():
    gold = [(0, 4, "A")]
    judged = judge(gold, [Span(0, 4, "A", 0.2), Span(0, 4, "A", 0.9), Span(0, 4, "A")], "en")
    assert [row[3] for row in judged.rows()] == [False, True, False]


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (None, "without_score"),
        (math.nan, "not_finite"),
        (math.inf, "not_finite"),
        (1.2, "out_of_range"),
        (-0.1, "out_of_range"),
        ("0.5", "not_a_number"),
        (True, "not_a_number"),
        (0, None),
        (1.0, None),
    ],
)
def test_an_unusable_confidence_is_named(score, name):
    assert problem_of_score(score) == name
    block = metrics([score_case(Case([Span(0, 2, "A")], [Span(0, 2, "A", score), Span(4, 6, "A", 0.5)], "x" * 9))])
    assert block["exact_span_f1"]["true_positives"] == 1  # it still counts
    calibrated = block["calibration"]
    assert calibrated["predictions"] == (1 if name else 2)
    assert calibrated["without_score"] == (name == "without_score")
    assert calibrated["invalid_scores"] == ({name: 1} if name and name != "without_score" else {})
    assert calibrated["threshold_sweep"]["points"][0]["true_positives"] == 1


def test_no_confidence_at_all_is_no_calibration():
    assert metrics([score_case(Case([], [Span(0, 2, "A")], "xyz"))])["calibration"] is None
    with pytest.raises(UsageError):
        calibration(Confidences(), bins=0)


def test_confidences_add_up():
    parts = [confidences_of([(0.4, True)], 1), confidences_of([(0.6, False)], 2), Confidences()]
    assert sum(parts) == total_confidences(parts)
    assert total_confidences(parts).support == 3


def test_abstention_by_hand():
    gold = [Span(0, 2, "SSN"), Span(4, 6, "PERSON"), Span(8, 9, "PERSON")]
    predicted = [
        Span(0, 2, "SSN", 0.4),  # declined: redacted
        Span(4, 6, "PERSON", 0.9),  # accepted, right
        Span(11, 12, "PERSON", 0.8),  # accepted, wrong
        Span(8, 9, "PERSON", 0.1),  # declined: reviewed
        Span(14, 16, "PIN"),  # no confidence: accepted, wrong, critical
    ]
    thresholds = parsed_thresholds({"PERSON": 0.5, "*": 0.7})
    block = metrics([score_case(Case(gold, predicted, "x" * 20))], Options(thresholds=thresholds))["abstention"]
    assert block["abstention_rate"] == {
        "overall": 0.4,
        "by_label": {"PERSON": pytest.approx(1 / 3), "PIN": 0.0, "SSN": 1.0},
        "by_language": {"en": 0.4},
        "abstained": 2,
        "total": 5,
    }
    assert block["residual_risk"] == {
        "overall": pytest.approx(2 / 3),
        "critical": 1.0,
        "by_label": {"PERSON": 0.5, "PIN": 1.0},
        "by_language": {"en": pytest.approx(2 / 3)},
        "residual_errors": 2,
        "accepted": 3,
        "critical_residual_errors": 1,
        "accepted_critical": 1,
    }
    assert block["route_counts"] == {"accept": 3, "redact": 1, "review": 1}
    assert block["accepted_span_f1"]["true_positives"] == 1


@pytest.mark.parametrize("value", ["0.5", None, 1.5, math.nan, True, {"A": "x"}, {"A": -1}])
def test_senseless_thresholds_are_a_usage_error(value):
    with pytest.raises(UsageError):
        parsed_thresholds(value)


def test_thresholds_as_a_number_or_a_table():
    assert parsed_thresholds(0.5) == {"*": 0.5}
    assert parsed_thresholds({"A": 1}) == {"A": 1.0}


@pytest.mark.parametrize("start", [[], {}, "0", 0.0, None, True, -1, 10**30])
def test_an_offset_that_is_none_is_wrong_and_ends_no_run(start: object) -> None:
    """An offset of a predictions file may be a list, which no set can hold."""
    score = score_case(Case([Span(1, 2, "A")], [Span(start, 2, "A", 0.9)], "xx"))  # type: ignore[arg-type]
    assert [right for *_, right in score.confidences.rows()] == [False]
