"""The one sentence a label gets, and that its causes share all strict errors out."""

from __future__ import annotations

import pytest
from hypothesis import given

from openmed_mlx_eval.scoring.causes import cause_of, shares_of, shift_name
from openmed_mlx_eval.scoring.errors import BEYOND
from openmed_mlx_eval.scoring.scorecard import score_document
from openmed_mlx_eval.spans import Span

from .strategies import flat_spans
from .test_errors import analysed


@given(flat_spans(), flat_spans())
def test_the_causes_share_out_the_strict_errors(gold, predicted):
    counts = analysed(gold, predicted)[0]
    score = score_document(gold, predicted, 40)
    for label, errors in counts.by_label().items():
        strict = score.by_label[label].counts("exact")
        total = strict.false_positives + strict.false_negatives
        assert sum(shares_of(errors).values()) == total
        cause = cause_of(label, counts, errors)
        assert (cause.kind is None) is (cause.share is None) is (total == 0)
        assert total == 0 or 1 / 3 <= cause.share <= 1


def said(gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]], label: str = "A") -> str:
    counts = analysed([Span(*span) for span in gold], [Span(*span) for span in predicted], 1000)[0]
    return cause_of(label, counts, counts.by_label()[label]).sentence


ROW = [(10 * n, 10 * n + 5, "A") for n in range(1, 9)]


@pytest.mark.parametrize(
    ("predicted", "sentence"),
    [
        (ROW, "No errors."),
        (
            [*ROW[2:], (7, 9, "A")],
            "Detection: 100 % of its errors are spans missed (2) or made up (1); exact F1 0.80, relaxed F1 0.80.",
        ),
        (
            [(start - 1, end, label) for start, end, label in ROW[:6]],
            "Boundary: 86 % of its errors are spans found with other bounds (6), most often start -1 (6); "
            "exact F1 0.00, relaxed F1 0.86.",
        ),
        (
            [(start, end + n, label) for n, (start, end, label) in enumerate(ROW[:5])] + ROW[5:],
            "Boundary: 100 % of its errors are spans found with other bounds (4); exact F1 0.50, relaxed F1 1.00.",
        ),
        (
            [*ROW[3:], *((start, end, "B") for start, end, _ in ROW[:3])],
            "Confusion: 100 % of its errors are spans under another label, predicted as B (3); exact F1 0.77, relaxed F1 0.77.",
        ),
    ],
)
def test_the_sentence_names_the_dominant_cause(predicted, sentence):
    assert said(ROW, predicted) == sentence


def test_a_label_that_takes_from_another_is_confused_too():
    gold = [*ROW, (200, 205, "B"), (210, 215, "B"), (220, 225, "C")]
    predicted = [*ROW, (200, 205, "A"), (210, 215, "A"), (220, 225, "A")]
    assert "spans under another label, most often B predicted as A (2)" in said(gold, predicted)


def test_a_percent_sign_in_a_label_stays_one():
    assert "predicted as %B (2)" in said(ROW[:2], [(start, end, "%B") for start, end, _ in ROW[:2]])


def test_shifts_are_written_with_their_sign():
    assert [shift_name(shift) for shift in (-BEYOND, -10, 0, 1, BEYOND)] == ["< -10", "-10", "0", "+1", "> 10"]
