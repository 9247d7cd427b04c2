"""Paired differences: alike is no difference, order is nothing, and the p-value is that of all swaps there are."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.bootstrap import Bootstrap, intervals
from openmed_mlx_eval.scoring.significance import benjamini_hochberg, paired_differences

np = pytest.importorskip("numpy")

HOW = Bootstrap(resamples=200, seed=3)


def numbers(sums):
    """recall and precision from columns support, predicted, right."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"recall": sums[:, 2] / sums[:, 0], "precision": np.where(sums[:, 1] > 0, sums[:, 2] / sums[:, 1], np.nan)}


@st.composite
def runs(draw, least: int = 1, most: int = 9):
    """(a, b): counts of two models on the same gold."""
    rows = draw(st.lists(st.tuples(st.integers(1, 4), *[st.integers(0, 4)] * 4), min_size=least, max_size=most))
    a = np.array([(support, predicted, min(support, predicted, right)) for support, predicted, right, _, _ in rows], float)
    b = np.array([(support, predicted, min(support, predicted, right)) for support, _, _, predicted, right in rows], float)
    return a, b


@given(runs())
@settings(max_examples=50)
def test_a_run_against_itself_does_not_differ(pair):
    a, _ = pair
    for found in paired_differences(a, a, numbers, HOW).values():
        if found.a is None:
            assert found == (None, None, None, None, None)
        else:
            assert (found.a, found.difference, found.p_value) == (found.b, 0.0, 1.0)
            assert (found.interval.lower, found.interval.upper) == (0.0, 0.0)


@given(runs(), st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_the_order_of_documents_changes_no_digit(pair, rng):
    order = list(range(len(pair[0])))
    rng.shuffle(order)
    shuffled = [one[order] for one in pair]
    assert paired_differences(*shuffled, numbers, HOW) == paired_differences(*pair, numbers, HOW)


@given(runs())
@settings(max_examples=50)
def test_exchanging_the_runs_turns_the_sign(pair):
    a, b = pair
    there, back = paired_differences(a, b, numbers, None), paired_differences(b, a, numbers, None)
    for name, found in there.items():
        assert (found.a, found.b) == (back[name].b, back[name].a)
        assert found.difference is None or found.difference == -back[name].difference
        assert found.interval is None is found.p_value


def exact_p_value(a, b, name: str) -> float:
    """Of all 2^n swaps, the share that parts the sums at least as far; those without a number count."""
    seen = []
    for swaps in product([False, True], repeat=len(a)):
        swapped = np.array(swaps)[:, None]
        sums = [np.where(swapped, b, a).sum(axis=0, keepdims=True), np.where(swapped, a, b).sum(axis=0, keepdims=True)]
        seen.append(abs(numbers(sums[1])[name][0] - numbers(sums[0])[name][0]))
    return float(np.mean(~(np.array(seen) < seen[0] - 1e-12)))


@given(runs(least=4))
@settings(max_examples=25)
def test_the_p_value_is_near_that_of_all_swaps(pair):
    how = Bootstrap(resamples=4000, seed=1)
    for name, found in paired_differences(*pair, numbers, how).items():
        if found.difference is not None:
            exact = exact_p_value(*pair, name)
            assert found.p_value == pytest.approx(exact, abs=4.5 * (exact * (1 - exact) / 4000) ** 0.5 + 1 / 4000)


def test_one_document_less_or_more_is_never_significant_and_many_are():
    a = np.array([[1.0, 1.0, 1.0]] * 40)
    b = a.copy()
    b[0, 2] = 0
    assert paired_differences(a, b, numbers, HOW)["recall"].p_value == 1.0
    b[:20, 2] = 0
    found = paired_differences(a, b, numbers, HOW)["recall"]
    assert found.p_value == 1 / 201
    assert found.difference == -0.5
    assert -0.7 < found.interval.lower < -0.5 < found.interval.upper < -0.3


def test_a_number_that_one_run_lacks_has_no_difference():
    a, b = np.array([[2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    found = paired_differences(a, b, numbers, HOW)
    assert found["precision"] == (2 / 3, None, None, None, None)
    assert found["recall"][:3] == (2 / 3, 0.0, -2 / 3)


def test_documents_are_drawn_together():
    """Two models that vary much from document to document and by the same step between them: the interval is narrow."""
    rng = np.random.default_rng(0)
    support = np.full(80, 20.0)
    right = rng.integers(2, 18, 80).astype(float)
    a, b = (np.stack([support, support, right + step], axis=1) for step in (0, 1))
    paired = paired_differences(a, b, numbers, HOW)["recall"].interval
    alone = intervals(a, numbers, HOW)["recall"]
    assert paired.upper - paired.lower < 1e-9 < 0.05 < alone.upper - alone.lower
    assert paired.lower == pytest.approx(0.05)


def test_false_positives_come_at_the_rate_asked_for():
    """Of 200 pairs of models that are alike, about a tenth have a p-value of at most 0.1."""
    rng = np.random.default_rng(5)
    low = 0
    for seed in range(200):
        support = rng.integers(1, 6, 50)
        a, b = (np.stack([support, support, rng.binomial(support, 0.7)], axis=1).astype(float) for _ in range(2))
        low += paired_differences(a, b, numbers, Bootstrap(resamples=99, seed=seed, method="percentile"))["recall"].p_value <= 0.1
    assert 8 <= low <= 34


def test_benjamini_and_hochberg_s_own_example():
    """Section 3.2 of the paper: 15 p-values, of which 4 are rejected at 0.05."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p_values += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    adjusted = benjamini_hochberg(p_values)
    assert sum(value <= 0.05 for value in adjusted) == 4
    assert adjusted[:2] == pytest.approx([0.0015, 0.003])


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_adjusted_p_values_keep_the_order_and_are_no_smaller(p_values):
    adjusted = benjamini_hochberg(p_values)
    pairs = sorted((p, q) for p, q in zip(p_values, adjusted, strict=True) if p is not None)
    assert [q is None for q in adjusted] == [p is None for p in p_values]
    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in pairs] == sorted(q for _, q in pairs)
