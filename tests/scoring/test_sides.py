"""Taking equal pairs out first is a shortcut: every measure gives what it gives without it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.coverage import score_coverage
from openmed_mlx_eval.scoring.scorecard import score_spans
from openmed_mlx_eval.scoring.semeval import semeval_score
from openmed_mlx_eval.scoring.sides import Sides, is_flat

LENGTH = 30
TEXT = "ab cé\r\nd e\u0301fg 你好 h" * 2
LABELS = st.sampled_from("AB")


@st.composite
def flat(draw) -> list[tuple[int, int, str]]:
    """Spans that may touch and never overlap."""
    bounds = sorted(draw(st.sets(st.integers(0, LENGTH), max_size=14)))
    pieces = list(pairwise(bounds))
    return [(start, end, draw(LABELS)) for start, end in pieces if draw(st.integers(0, 3))]


@st.composite
def nested(draw) -> list[tuple[int, int, str]]:
    ends = st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH)).filter(lambda pair: pair[0] != pair[1])
    return sorted((min(pair), max(pair), label) for pair, label in draw(st.lists(st.tuples(ends, LABELS), max_size=8)))


@given(st.one_of(st.tuples(flat(), flat()), st.tuples(flat(), nested()), st.tuples(nested(), nested())))
def test_shortcut_changes_no_measure(lists) -> None:
    short, whole = Sides.of(*lists), Sides.uncut(*lists)
    assert score_spans(short, (), LENGTH) == score_spans(whole, (), LENGTH)
    assert semeval_score(short) == semeval_score(whole)
    for text in (None, "x" * LENGTH, TEXT):
        assert score_coverage(short, LENGTH, text) == score_coverage(whole, LENGTH, text)


@given(flat(), st.data())
def test_shortcut_of_a_list_against_itself_with_some_spans_changed(gold, data) -> None:
    predicted = [(start, end, data.draw(LABELS)) for start, end, _ in gold if data.draw(st.booleans())]
    short, whole = Sides.of(gold, predicted), Sides.uncut(gold, predicted)
    assert short.flat and not whole.flat
    assert score_spans(short, (), LENGTH) == score_spans(whole, (), LENGTH)
    assert semeval_score(short) == semeval_score(whole)


@pytest.mark.parametrize(
    ("spans", "flatness"),
    [([], True), ([(0, 3, "A")], True), ([(0, 3, "A"), (3, 5, "A")], True), ([(0, 3, "A"), (2, 5, "B")], False)],
)
def test_touching_spans_are_flat(spans, flatness) -> None:
    assert is_flat(spans) is flatness


def test_equal_pairs_are_taken_out_and_the_rest_is_grouped() -> None:
    sides = Sides.of([(0, 2, "A"), (4, 6, "A")], [(0, 2, "A"), (4, 6, "B")])
    assert sides.same == [(0, 2, "A")]
    assert (sides.gold_left, sides.predicted_left, sides.groups) == ([(4, 6, "A")], [(4, 6, "B")], [(0, 1, 0, 1)])
