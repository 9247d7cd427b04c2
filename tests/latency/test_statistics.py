"""Order statistics against numpy's, and what the bootstrap must say of samples whose answer is known."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.latency.statistics import P99_SAMPLES, deviation, median, percentile, ratio, summary

samples = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


@given(samples, st.floats(0, 1))
def test_percentiles_are_numpys(values: list[float], share: float) -> None:
    assert math.isclose(percentile(sorted(values), share), np.percentile(values, share * 100), rel_tol=1e-9, abs_tol=1e-9)


@given(samples)
def test_a_summary_is_numpys(values: list[float]) -> None:
    found = summary(values)
    expected = {"min": 0, "median": 50, "p90": 90, "p95": 95, "max": 100}
    assert found["count"] == len(values)
    for key, share in expected.items():
        assert math.isclose(found[key], np.percentile(values, share), rel_tol=1e-9, abs_tol=1e-9)
    assert (found["p99"] is None) is (len(values) < P99_SAMPLES)
    assert math.isclose(found["mad"], np.median(np.abs(np.array(values) - np.median(values))), rel_tol=1e-9, abs_tol=1e-9)
    if len(values) > 1:
        assert found["min"] <= found["interval"]["lower"] <= found["interval"]["upper"] <= found["max"]
    else:
        assert found["interval"] is None


@given(samples, st.randoms())
def test_the_order_of_samples_changes_nothing(values: list[float], generator: random.Random) -> None:
    shuffled = list(values)
    generator.shuffle(shuffled)
    assert summary(shuffled) == summary(values)


def test_nothing_measured_is_null_everywhere() -> None:
    assert summary([]) == {"count": 0, **dict.fromkeys(("min", "median", "p90", "p95", "p99", "max", "mad", "interval"))}
    assert median([]) is None
    assert deviation([]) is None


@pytest.mark.parametrize("size", [9, 10, 51, 200])
def test_the_interval_is_the_one_that_drawing_gives(size: int) -> None:
    """The Beta short cut against plain resampling with numpy."""
    generator = np.random.default_rng(size)
    values = np.sort(generator.gamma(2.0, 3.0, size))
    drawn = np.median(generator.choice(values, (20_000, size)), axis=1)
    interval = summary(list(values))["interval"]
    # An end lies between the values of the plain bootstrap's quantiles 1.5 % to either side, and a value more.
    for end, share in (("lower", 2.5), ("upper", 97.5)):
        near = np.searchsorted(values, np.percentile(drawn, [share - 1.5, share + 1.5])) + np.array([-1, 1])
        low, high = values[np.clip(near, 0, size - 1)]
        assert low <= interval[end] <= high


@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=40), st.floats(0.1, 10))
def test_a_run_that_is_slower_by_a_factor_is_so_by_that_ratio(values: list[float], factor: float) -> None:
    slower = [value * factor for value in values]
    for paired in (True, False):
        found = ratio(values, slower, paired=paired)
        assert found is not None
        assert math.isclose(found["ratio"], factor, rel_tol=1e-9)
        assert (found["interval"] is None) is (len(values) == 1)
    if len(values) > 1:
        pairs = ratio(values, slower, paired=True)
        assert pairs is not None
        assert math.isclose(pairs["interval"]["upper"], factor, rel_tol=1e-9)


def test_pairs_see_what_unpaired_samples_hide() -> None:
    old = [float(2**number) for number in range(12)]
    new = [value * 1.1 for value in old]
    pairs, apart = ratio(old, new, paired=True), ratio(old, new, paired=False)
    assert pairs is not None
    assert apart is not None
    assert pairs["interval"]["lower"] > 1.05
    assert apart["interval"]["lower"] < 1 < apart["interval"]["upper"]


@pytest.mark.parametrize(("old", "new"), [([], [1.0]), ([1.0], []), ([0.0, 0.0], [1.0, 2.0]), ([], [])])
def test_nothing_to_divide_by_is_no_ratio(old: list[float], new: list[float]) -> None:
    assert ratio(old, new, paired=False) is None
    if len(old) == len(new):
        assert ratio(old, new, paired=True) is None
