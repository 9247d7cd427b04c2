"""Four schemes: the traps, arithmetic that must hold, and no dependence on order or on the pool."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from openmed_mlx_eval.scoring import pool
from openmed_mlx_eval.scoring.semeval import SemevalScore, semeval_score
from openmed_mlx_eval.scoring.sides import Sides
from openmed_mlx_eval.spans import Span

from .strategies import spans


def triples(spans_: list[Span]) -> list[tuple[int, int, str]]:
    return sorted((span.start, span.end, span.label) for span in spans_)


def of_one_label(*offsets: tuple[int, int]) -> list[tuple[int, int, str]]:
    return sorted((start, end, "PERSON") for start, end in offsets)


@given(spans())
def test_gold_against_itself_is_all_correct(gold):
    for scheme in semeval_score(Sides.of(triples(gold), triples(gold))).to_dict().values():
        assert scheme["correct"] == len(gold)
        assert scheme["f1"] == (1.0 if gold else None)


@given(spans(), spans())
def test_possible_and_actual_add_up_in_every_scheme(gold, predicted):
    schemes = semeval_score(Sides.of(triples(gold), triples(predicted))).to_dict()
    for one in schemes.values():
        paired = one["correct"] + one["incorrect"] + one["partial"]
        assert paired + one["missed"] == one["possible"] == len(gold)
        assert paired + one["spurious"] == one["actual"] == len(predicted)
        assert min(one[key] for key in ("correct", "incorrect", "partial", "missed", "spurious")) >= 0
    assert schemes["strict"]["correct"] <= schemes["exact"]["correct"] == schemes["partial"]["correct"]
    assert schemes["strict"]["correct"] <= schemes["type"]["correct"]


@given(spans(most=30), spans(most=30))
@settings(max_examples=150)
def test_the_tree_pairs_what_the_list_pairs(gold, predicted):
    expected = semeval_score(Sides.of(triples(gold), triples(predicted)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_COMPARISONS_PER_QUERY", 0)
        assert semeval_score(Sides.of(triples(gold), triples(predicted))) == expected


@pytest.mark.parametrize(
    ("predicted", "partial", "spurious"),
    [(((0, 4), (5, 9)), 1, 1), (((5, 9), (0, 4)), 1, 1), (((0, 4), (2, 6), (5, 9)), 1, 2)],
)
def test_trap_15_a_gold_span_in_pieces_is_one_partial_match(predicted, partial, spurious):
    score = semeval_score(Sides.of(of_one_label((0, 9)), of_one_label(*predicted))).to_dict()["partial"]
    assert (score["correct"], score["partial"], score["missed"]) == (0, partial, 0)
    assert score["spurious"] == spurious


def test_the_four_schemes_on_one_span_each():
    """Right; right bounds, wrong label; wrong bounds, right label; both wrong; missed; spurious."""
    gold = [(0, 5, "A"), (10, 15, "A"), (20, 25, "A"), (30, 35, "A"), (40, 45, "A")]
    predicted = [(0, 5, "A"), (10, 15, "B"), (20, 24, "A"), (30, 34, "B"), (50, 55, "A")]
    keys = ("correct", "incorrect", "partial", "missed", "spurious")
    schemes = semeval_score(Sides.of(gold, predicted)).to_dict()
    assert {name: tuple(one[key] for key in keys) for name, one in schemes.items()} == {
        "strict": (1, 3, 0, 1, 1),
        "exact": (2, 2, 0, 1, 1),
        "partial": (2, 0, 2, 1, 1),
        "type": (2, 2, 0, 1, 1),
    }
    assert schemes["partial"]["precision"] == pytest.approx(3 / 5)


def test_an_invalid_prediction_is_spurious():
    assert semeval_score(Sides.of([], []), invalid=2).to_dict()["strict"]["spurious"] == 2
    assert SemevalScore().to_dict()["type"]["f1"] is None
