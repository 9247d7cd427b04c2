"""Counts add like integers, and a rate without a denominator is None."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.counts import Counts, TwoSidedCounts, mean

SMALL = st.integers(0, 50)
COUNTS = st.builds(Counts, SMALL, SMALL, SMALL)


@given(COUNTS, COUNTS, COUNTS)
def test_addition_is_that_of_integers(a, b, c):
    assert a + b == b + a and (a + b) + c == a + (b + c) and a + Counts() == a
    assert sum([a, b, c]) == a + b + c


@given(COUNTS)
def test_f1_is_the_harmonic_mean_where_both_rates_exist(counts):
    precision, recall = counts.precision, counts.recall
    if precision and recall:
        assert counts.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    elif counts.support or counts.predicted:
        assert counts.f1 == 0.0


def test_what_cannot_be_measured_is_none():
    assert (Counts().precision, Counts().recall, Counts().f1) == (None, None, None)
    assert (Counts(0, 2, 0).precision, Counts(0, 2, 0).recall, Counts(0, 2, 0).f1) == (0.0, None, 0.0)
    assert (Counts(0, 0, 2).precision, Counts(0, 0, 2).recall, Counts(0, 0, 2).f1) == (None, 0.0, 0.0)
    assert (TwoSidedCounts().precision, TwoSidedCounts().recall, TwoSidedCounts().f1) == (None, None, None)


def test_zero_division_fills_rates_as_openmed_does():
    assert Counts().to_dict(1.0)["f1"] == 1.0
    assert Counts(0, 2, 0).to_dict(1.0) == {
        "precision": 0.0,
        "recall": 1.0,
        "f1": 0.0,
        "true_positives": 0,
        "false_positives": 2,
        "false_negatives": 0,
    }


@given(st.lists(st.tuples(st.none() | st.floats(0, 1), st.integers(0, 9)), max_size=8))
def test_mean_is_over_the_rates_that_exist(items):
    known = [(rate, weight) for rate, weight in items if rate is not None and weight]
    got = mean([rate for rate, _ in items], [weight for _, weight in items])
    if known:
        assert got == pytest.approx(sum(r * w for r, w in known) / sum(w for _, w in known))
    else:
        assert got is None
