"""The confusion matrix: it adds up to the scorecard, whatever the spans, and each error goes by its right name."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.errors import BEYOND, ErrorCounts, Finding, LabelErrors, document_errors, total_errors
from openmed_mlx_eval.scoring.scorecard import score_document, total
from openmed_mlx_eval.scoring.validity import checked_gold, checked_predictions
from openmed_mlx_eval.spans import Span

from .strategies import documents, flat_spans, lines_run, overlap, spans
from .test_matching import _adversaries


def analysed(gold: list[Span], predicted: list[Span], length: int = 40) -> tuple[ErrorCounts, list[Finding]]:
    return document_errors(checked_gold(gold, length), *checked_predictions(predicted, length))


anywhere = st.lists(
    st.builds(Span, st.integers(-3, 50), st.integers(-3, 50), st.sampled_from(["PERSON", "DISEASE", "DATE"])), max_size=8
)
"""Predictions of which many cannot stand."""


@given(st.lists(st.tuples(spans(), anywhere | spans()), max_size=4))
@settings(max_examples=300)
def test_rows_columns_and_diagonal_are_those_of_the_scorecard(corpus):
    counts = total_errors(analysed(gold, predicted)[0] for gold, predicted in corpus)
    score = total(score_document(gold, predicted, 40) for gold, predicted in corpus)
    labels = counts.by_label()
    assert labels.keys() == score.by_label.keys()
    for label, expected in score.by_label.items():
        row = sum(n for (gold, _), n in counts.matrix.items() if gold == label)
        column = sum(n for (_, predicted), n in counts.matrix.items() if predicted == label)
        assert (row, column) == (expected.support, expected.predicted)
        assert counts.matrix.get((label, label), 0) == expected.relaxed
        found = labels[label]
        assert found.exact + found.boundary == expected.relaxed
        assert found.exact <= expected.exact
        assert found.support == found.exact + found.boundary + found.label_confusion + found.missed == expected.support
        parts = found.exact + found.boundary + found.label_confusion_predicted + found.spurious
        assert found.predicted == parts == expected.predicted
        assert 0 <= found.invalid <= found.spurious
    assert sum(label.invalid for label in labels.values()) == sum(score.invalid.values())
    assert sum(counts.shifts.values()) == sum(label.boundary for label in labels.values())
    assert (None, None) not in counts.matrix
    overall = counts.overall()
    assert overall.label_confusion == overall.label_confusion_predicted
    assert (overall.support, overall.predicted) == (score.overall.support, score.overall.predicted)


@given(flat_spans(), flat_spans())
def test_exact_pairs_of_flat_spans_are_the_exact_true_positives(gold, predicted):
    counts = analysed(gold, predicted)[0]
    assert counts.overall().exact == score_document(gold, predicted, 40).overall.exact


@given(spans(), spans())
@settings(max_examples=300)
def test_every_span_stands_in_one_place(gold, predicted):
    counts, findings = analysed(gold, predicted)
    for side, given_spans in ((0, gold), (1, predicted)):
        found = Counter(finding[side] for finding in findings if finding[side] is not None)
        rest = Counter((span.start, span.end, span.label) for span in given_spans) - found
        assert rest.total() == counts.overall().exact
        assert found <= Counter((span.start, span.end, span.label) for span in given_spans)
    for finding in findings:
        if finding.gold and finding.predicted:
            assert overlap(finding.gold[:2], finding.predicted[:2])
            assert finding.gold != finding.predicted


@given(spans(), spans())
def test_nothing_is_left_alone_beside_something_it_overlaps(gold, predicted):
    findings = analysed(gold, predicted)[1]
    missed = [finding.gold for finding in findings if finding.kind == "missed"]
    spurious = [finding.predicted for finding in findings if finding.kind == "spurious"]
    assert not any(overlap(one[:2], other[:2]) for one in missed for other in spurious)


@given(spans(), spans(), st.randoms(use_true_random=False))
def test_order_does_not_matter(gold, predicted, rng):
    again = analysed(rng.sample(gold, len(gold)), rng.sample(predicted, len(predicted)))
    assert again == analysed(gold, predicted)


@given(documents(), st.randoms(use_true_random=False))
def test_documents_add_up_in_any_order(corpus, rng):
    counts = [analysed(gold, predicted)[0] for gold, predicted, _ in corpus]
    together = total_errors(counts)
    assert total_errors(rng.sample(counts, len(counts))) == together == sum(counts, ErrorCounts())
    assert together.documents == len(corpus)


@given(spans(), spans())
@settings(max_examples=200)
def test_pieces_and_mergers_are_what_overlaps_more_than_one(gold, predicted):
    counts, findings = analysed(gold, predicted)
    golds = [finding.gold for finding in findings if finding.gold]
    predictions = [finding.predicted for finding in findings if finding.predicted]
    touches = {one: sum(overlap(one[:2], other[:2]) > 0 for other in predictions) for one in golds}
    touched = {one: sum(overlap(one[:2], other[:2]) > 0 for other in golds) for one in predictions}
    assert sum(counts.fragmented.values()) == sum(touches[one] > 1 for one in golds)
    assert sum(counts.merged.values()) == sum(touched[one] > 1 for one in predictions)
    for finding in findings:
        if finding.gold is None:
            assert finding.fragmented is (touched[finding.predicted] > 0)
        if finding.predicted is None:
            assert finding.merged is (touches[finding.gold] > 0)


def kinds(gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]]) -> list[tuple[str, str]]:
    findings = analysed([Span(*span) for span in gold], [Span(*span) for span in predicted])[1]
    return sorted((finding.kind, finding.span[2]) for finding in findings)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(0, 5, "A")], [(0, 5, "A")], []),
        ([(0, 10, "A")], [(3, 4, "A")], [("boundary", "A")]),  # openmed 3.1.0 counts that as correct
        ([(0, 5, "A")], [(0, 5, "B")], [("label_confusion", "A")]),
        ([(0, 5, "A")], [(5, 9, "A")], [("missed", "A"), ("spurious", "A")]),  # touching is not overlapping
        # The right label goes before the longer overlap, which openmed 3.1.0 prefers.
        ([(8, 18, "A")], [(8, 17, "A"), (8, 18, "B")], [("boundary", "A"), ("spurious", "B")]),
        # The exact one of two overlaps of equal length, though the other one starts earlier.
        ([(2, 6, "A")], [(0, 8, "A"), (2, 6, "A")], [("spurious", "A")]),
        ([(3, 5, "A"), (3, 9, "A")], [(3, 9, "A")], [("missed", "A")]),
        # … but not at the price of a pair: (0, 6) has only (4, 8) to go with.
        ([(0, 6, "A"), (4, 8, "A")], [(4, 8, "A"), (7, 9, "A")], [("boundary", "A"), ("boundary", "A")]),
        # What is left of the first step goes by overlap, not by order.
        ([(0, 9, "A")], [(0, 2, "B"), (2, 9, "C")], [("label_confusion", "A"), ("spurious", "B")]),
    ],
)
def test_each_error_has_its_name(gold, predicted, expected):
    assert kinds(gold, predicted) == sorted(expected)


def test_one_gold_in_pieces_and_one_prediction_over_two():
    counts, findings = analysed([Span(0, 9, "A")], [Span(0, 4, "A"), Span(5, 9, "A")])
    assert counts.overall() == LabelErrors(support=1, predicted=2, boundary=1, spurious=1, fragmented=1)
    assert [(finding.kind, finding.fragmented) for finding in findings] == [("boundary", True), ("spurious", True)]
    counts, findings = analysed([Span(0, 4, "A"), Span(5, 9, "B")], [Span(0, 9, "B")])
    assert counts.overall()._asdict() | {"missed": 1, "boundary": 1, "merged": 1} == counts.overall()._asdict()
    assert [(finding.kind, finding.merged) for finding in findings] == [("missed", True), ("boundary", True)]


def test_nested_gold_found_layer_by_layer_is_in_no_pieces():
    nested = [Span(0, 20, "A"), Span(0, 5, "B"), Span(6, 20, "A")]
    assert analysed(nested, nested)[1] == []
    counts, findings = analysed(nested, nested[1:])
    assert findings == [Finding((0, 20, "A"), None)]
    assert not counts.fragmented


def test_shifts_are_counted_up_to_ten():
    gold = [Span(100 * n, 100 * n + 50, "A") for n in range(1, 5)]
    moved = [(-1, 0), (0, 1), (-11, 30), (10, -20)]
    predicted = [Span(span.start + a, span.end + b, "A") for span, (a, b) in zip(gold, moved, strict=True)]
    counts = analysed(gold, predicted, 1000)[0]
    assert counts.shift_of("start") == {-BEYOND: 1, -1: 1, 0: 1, 10: 1}
    assert counts.shift_of("end") == counts.shift_of("end", "A") == {-BEYOND: 1, 0: 1, 1: 1, BEYOND: 1}
    assert counts.shift_of("end", "B") == {}


def test_nothing_gives_zeros():
    assert total_errors([]).overall() == LabelErrors()
    assert analysed([], [])[0] == ErrorCounts(1)


@pytest.mark.parametrize("name", _adversaries(1))
def test_cost_stays_near_linear_on_piled_up_spans(name):
    """Eight times the spans, at most twelve times the lines of Python."""

    def cost(n: int) -> int:
        sides = [sorted(side) for side in _adversaries(n)[name]]
        labels = random.Random(3).choices("AB", k=2 * n)
        gold, predicted = ([(start, end, label) for (start, end), label in zip(side, labels, strict=False)] for side in sides)
        return lines_run(lambda: document_errors(sorted(gold), sorted(predicted)))

    assert cost(4000) < 12 * cost(500)
