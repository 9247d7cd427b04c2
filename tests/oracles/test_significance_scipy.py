"""scipy's paired permutation test, paired bootstrap and control of false discoveries, on the same numbers."""

from __future__ import annotations

import pytest

from openmed_mlx_eval.scoring.bootstrap import METHODS, Bootstrap
from openmed_mlx_eval.scoring.significance import benjamini_hochberg, paired_differences

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")


def sample(seed: int, documents: int):
    rng = np.random.default_rng(seed)
    support = rng.integers(1, 12, documents)
    return support, rng.binomial(support, 0.75), rng.binomial(support, 0.70)


def of_a_and_b(support, a, b, how: Bootstrap):
    counts = (np.stack([right, support], axis=1).astype(float) for right in (a, b))
    return paired_differences(*counts, lambda sums: {"recall": sums[:, 0] / sums[:, 1]}, how)["recall"]


@pytest.mark.parametrize(("seed", "documents"), [(0, 8), (1, 12), (2, 60), (3, 200)])
def test_p_value_is_scipys(seed, documents):
    support, a, b = sample(seed, documents)
    theirs = stats.permutation_test(
        (b, a),
        lambda b, a, axis: (b.sum(axis) - a.sum(axis)) / support.sum(),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(seed),
    )
    ours = of_a_and_b(support, a, b, Bootstrap(resamples=20_000, seed=seed, method="percentile"))
    assert ours.difference == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_interval_of_a_difference_is_scipys(method):
    support, a, b = sample(7, 50)
    theirs = stats.bootstrap(
        (support, a, b),
        lambda support, a, b, axis: (b.sum(axis) - a.sum(axis)) / support.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=method,
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = of_a_and_b(support, a, b, Bootstrap(resamples=20_000, method=method)).interval
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=0.004)


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_are_scipys(seed):
    p_values = np.random.default_rng(seed).beta(0.5, 2, 40)
    p_values[3] = p_values[9]
    assert benjamini_hochberg(list(p_values)) == pytest.approx(list(stats.false_discovery_control(p_values)))
