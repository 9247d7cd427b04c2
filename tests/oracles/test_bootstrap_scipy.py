"""scipy's BCa and percentile intervals of a ratio, on a skewed sample and many resamples."""

from __future__ import annotations

import pytest

from openmed_mlx_eval.scoring.bootstrap import METHODS, Bootstrap, intervals

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_interval_of_a_recall_is_scipys(method, seed):
    rng = np.random.default_rng(seed)
    support = rng.integers(1, 12, 40)
    found = rng.binomial(support, rng.beta(4, 1, 40))
    theirs = stats.bootstrap(
        (found, support),
        lambda found, support, axis: found.sum(axis) / support.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=method,
        rng=rng,
    ).confidence_interval
    counts = np.stack([found, support], axis=1).astype(float)
    how = Bootstrap(resamples=20_000, seed=seed, method=method)
    ours = intervals(counts, lambda sums: {"recall": sums[:, 0] / sums[:, 1]}, how)["recall"]
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=0.006)
