"""Numbers about samples of one kind: order statistics, spread, and bootstrap intervals. Pure; standard library alone.

Samples of unlike cells must never meet here: a percentile over a mixture says nothing about either.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

P99_SAMPLES = 20
"""With fewer samples p99 would be an extrapolation from the maximum; it is None then."""

RESAMPLES = 1000
LEVEL = 0.95


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at `share` (0 to 1) of at least one ascending sample, interpolated linearly between neighbours.

    numpy's default, definition 7 of Hyndman and Fan (1996), The American Statistician 50(4).
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(samples: Sequence[float]) -> float | None:
    return percentile(sorted(samples), 0.5) if samples else None


def deviation(samples: Sequence[float]) -> float | None:
    """MAD: the median of the absolute deviations from the median, unscaled."""
    middle = median(samples)
    return None if middle is None else median([abs(sample - middle) for sample in samples])


def summary(samples: Sequence[float], *, seed: int = 0) -> dict[str, Any]:
    """count, min, median, p90, p95, p99, max, mad and interval of the median; None where there is nothing to say."""
    ordered = sorted(samples)

    def at(share: float, least: int = 1) -> float | None:
        return percentile(ordered, share) if len(ordered) >= least else None

    return {
        "count": len(ordered),
        "min": at(0.0),
        "median": at(0.5),
        "p90": at(0.9),
        "p95": at(0.95),
        "p99": at(0.99, P99_SAMPLES),
        "max": at(1.0),
        "mad": deviation(ordered),
        "interval": median_interval(ordered, seed=seed),
    }


def median_interval(samples: Sequence[float], *, seed: int = 0) -> dict[str, float] | None:
    """{lower, upper} of the median, by percentile bootstrap; None for fewer than two samples."""
    if len(samples) < 2:
        return None
    return _ends(_resampled_medians(sorted(samples), random.Random(seed)))


def ratio(old: Sequence[float], new: Sequence[float], *, paired: bool, seed: int = 0) -> dict[str, Any] | None:
    """{ratio, interval} of new to old; None where there is no positive old sample to divide by.

    paired: samples at the same place belong together, and the ratio is the median of theirs. Otherwise it is the
    ratio of the two medians, and both sides are resampled.
    """
    if paired:
        ratios = sorted(after / before for before, after in zip(old, new, strict=True) if before > 0)
        return {"ratio": median(ratios), "interval": median_interval(ratios, seed=seed)} if ratios else None
    before, after = sorted(old), sorted(new)
    if not before or not after or percentile(before, 0.5) <= 0:
        return None
    interval = None
    if len(before) > 1 and len(after) > 1:
        generator = random.Random(seed)
        pairs = zip(_resampled_medians(before, generator), _resampled_medians(after, generator), strict=True)
        interval = _ends([new_middle / old_middle for old_middle, new_middle in pairs if old_middle > 0])
    return {"ratio": percentile(after, 0.5) / percentile(before, 0.5), "interval": interval}


def _ends(drawn: Sequence[float]) -> dict[str, float] | None:
    ordered, tail = sorted(drawn), (1 - LEVEL) / 2
    return {"lower": percentile(ordered, tail), "upper": percentile(ordered, 1 - tail)} if ordered else None


def _resampled_medians(ordered: Sequence[float], generator: random.Random) -> list[float]:
    """Medians of RESAMPLES bootstrap resamples, without drawing them.

    The k-th smallest of n draws with replacement from n ordered samples is the one at floor(n·U), U the k-th order
    statistic of n uniform numbers, which is Beta(k, n+1-k) (David and Nagaraja 2003, Order Statistics, 2.1); given
    it, the share of the rest up to the next one is Beta(1, n-k).
    """
    n = len(ordered)
    k = (n + 1) // 2
    medians = []
    for _ in range(RESAMPLES):
        lower = upper = generator.betavariate(k, n + 1 - k)
        if n % 2 == 0:
            upper += (1 - lower) * generator.betavariate(1, n - k)
        medians.append((ordered[min(int(n * lower), n - 1)] + ordered[min(int(n * upper), n - 1)]) / 2)
    return medians
