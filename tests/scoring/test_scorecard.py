"""One document at a time, added up: identity, invariance, the traps, and what is null."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.scoring.scorecard import DocumentScore, score_document, scorecard, total
from openmed_mlx_eval.spans import Span

from .strategies import documents, spans

RULES = ("exact", "relaxed", "relaxed_maximum")


def spans_of(label: str, *offsets: tuple[int, int]) -> list[Span]:
    return [Span(start, end, label) for start, end in offsets]


def counts_of(gold: list[Span], predicted: list[Span], rule: str = "relaxed") -> tuple[int, int, int]:
    counts = score_document(gold, predicted, 100).counts(rule)
    return counts.true_positives, counts.false_positives, counts.false_negatives


@given(spans())
def test_gold_against_itself_is_perfect(gold):
    score = score_document(gold, gold, 24)
    for rule in RULES:
        assert score.counts(rule).true_positives == len(gold)
        assert score.counts(rule).f1 == (1.0 if gold else None)
    assert score.overall.two_sided().f1 == (1.0 if gold else None)


@given(spans(), spans(), st.randoms(use_true_random=False))
def test_order_of_spans_changes_nothing(gold, predicted, rng):
    shuffled = score_document(rng.sample(gold, len(gold)), rng.sample(predicted, len(predicted)), 24)
    assert shuffled == score_document(gold, predicted, 24)


@given(documents(), st.randoms(use_true_random=False))
def test_documents_may_be_permuted_split_and_doubled(cases, rng):
    scores = [score_document(*case) for case in cases]
    whole = total(scores)
    assert total(rng.sample(scores, len(scores))) == whole
    cut = rng.randint(0, len(scores))
    assert total(scores[:cut]) + total(scores[cut:]) == whole
    assert sum(scores) == (whole if scores else 0)
    once, twice = scorecard(whole), scorecard(total(scores * 2))
    for key in ("exact_span_f1", "relaxed_span_f1", "relaxed_maximum", "relaxed_two_sided"):
        for rate in ("precision", "recall", "f1"):
            assert twice[key][rate] == pytest.approx(once[key][rate])
        assert twice[key]["true_positives"] == 2 * once[key]["true_positives"]


@given(documents(most=3))
def test_rules_rank_as_their_definitions_do(cases):
    overall = total(score_document(*case) for case in cases).overall
    assert overall.exact <= overall.relaxed_maximum
    assert overall.relaxed <= overall.relaxed_maximum <= min(overall.found, overall.right)


@given(spans(labels=("PERSON",)), spans(labels=("DISEASE",)))
def test_two_labels_never_match(gold, predicted):
    assert score_document(gold, predicted, 24).counts("relaxed_maximum").true_positives == 0


@pytest.mark.parametrize("seed", range(6))
def test_trap_16_counts_do_not_depend_on_the_order_of_either_list(seed):
    gold, predicted = spans_of("PERSON", (0, 10), (8, 20)), spans_of("PERSON", (5, 12), (0, 3))
    rng = random.Random(seed)
    rng.shuffle(gold)
    rng.shuffle(predicted)
    assert counts_of(gold, predicted) == (1, 1, 1)  # (0, 10) takes (5, 12): five code points against three
    assert counts_of(gold, predicted, "relaxed_maximum") == (2, 0, 0)


def test_trap_17_one_prediction_is_never_two_true_positives():
    gold, predicted = spans_of("PERSON", (0, 8), (9, 20)), spans_of("PERSON", (0, 20))
    for rule in ("relaxed", "relaxed_maximum"):
        assert counts_of(gold, predicted, rule) == (1, 0, 1)
    assert score_document(gold, predicted, 20).overall.two_sided().to_dict() == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "true_positives": 2,
        "true_predictions": 1,
        "false_positives": 0,
        "false_negatives": 0,
    }


def test_trap_18_touching_spans_do_not_match():
    assert counts_of(spans_of("PERSON", (0, 4)), spans_of("PERSON", (4, 8))) == (0, 1, 1)


def test_trap_19_no_gold_and_one_prediction_is_one_false_positive_and_nothing_is_null():
    card = scorecard(score_document([], spans_of("PERSON", (0, 4)), 9))
    assert card["exact_span_f1"] == {
        "precision": 0.0,
        "recall": None,
        "f1": 0.0,
        "true_positives": 0,
        "false_positives": 1,
        "false_negatives": 0,
    }
    for empty in (DocumentScore(), score_document([], [], 9)):
        card = scorecard(empty)
        for key in ("exact_span_f1", "relaxed_span_f1", "relaxed_maximum", "relaxed_two_sided"):
            assert [card[key][rate] for rate in ("precision", "recall", "f1")] == [None] * 3
        assert card["macro"]["exact"] == {"precision": None, "recall": None, "f1": None, "labels": 0}
        assert card["by_label"] == {}


def test_trap_20_a_prediction_past_its_document_touches_no_other():
    first = score_document([], spans_of("PERSON", (0, 19)), 10)
    second = score_document(spans_of("PERSON", (2, 6)), [], 12)
    both = first + second
    assert both.overall[2:] == (0, 0, 0, 0, 0)
    assert both.invalid == {"past_end": 1}
    assert both.counts("exact").false_positives == 1


def test_trap_21_two_unknown_labels_are_two_labels():
    assert counts_of(spans_of("TREATMENT", (0, 4)), spans_of("HOSPITAL", (0, 4))) == (0, 1, 1)


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (-1, 3, "negative_offset"),
        (4, 4, "empty"),
        (6, 4, "inverted"),
        (4, 11, "past_end"),
        (math.nan, 4, "not_an_offset"),
        (1, math.inf, "not_an_offset"),
        (1.5, 4, "not_an_offset"),
        ("1", 4, "not_an_offset"),
        (None, 4, "not_an_offset"),
        (True, 4, "not_an_offset"),
    ],
)
def test_an_invalid_prediction_is_named_and_a_false_positive_and_invalid_gold_is_refused(start, end, reason):
    gold = spans_of("PERSON", (0, 10))
    score = score_document(gold, [Span(start, end, "PERSON")], 10)
    assert score.invalid == {reason: 1}
    assert score.by_label["PERSON"] == (1, 1, 0, 0, 0, 0, 0)
    with pytest.raises(InputError) as caught:
        score_document([*gold, Span(start, end, "PERSON")], [], 10)
    assert "span 2" in str(caught.value) and "PERSON" not in str(caught.value)


def test_numpy_offsets_are_offsets():
    numpy = pytest.importorskip("numpy")
    gold = [Span(numpy.int64(0), numpy.int32(4), "PERSON")]
    assert score_document(gold, spans_of("PERSON", (0, 4)), 10).counts("exact").f1 == 1.0


def test_macro_and_weighted_leave_out_what_does_not_exist():
    gold = spans_of("PERSON", (0, 2), (4, 6), (8, 10)) + spans_of("DISEASE", (12, 14))
    predicted = spans_of("PERSON", (0, 2), (4, 6), (8, 10)) + spans_of("DRUG", (20, 22))
    card = scorecard(score_document(gold, predicted, 30))
    # PERSON 1, 1, 1; DISEASE no precision, recall 0, F1 0; DRUG precision 0, no recall, F1 0
    macro = {"precision": 0.5, "recall": 0.5, "f1": pytest.approx(1 / 3), "labels": 3}
    assert card["macro"]["exact"] == macro
    assert card["weighted"]["exact"] == {"precision": 1.0, "recall": 0.75, "f1": 0.75, "labels": 2}
    assert list(card["by_label"]) == ["DISEASE", "DRUG", "PERSON"]
    assert card["by_label"]["DISEASE"]["exact"]["precision"] is None
