"""Confidence intervals by resampling documents: percentile or BCa, seeded, all numbers at once.

Documents are the units that were sampled; spans within one are not independent. A resample is a vector of how
often each document was drawn, so all resamples' sums are one matrix product of draws and count vectors, and
every rate is then a formula on columns. BCa as in Efron and Tibshirani (1993), chapter 14, with the jackknife
over documents. This module knows neither spans nor rates; uncertainty.py brings them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

METHODS = ("bca", "percentile")
ROWS_AT_ONCE, NUMBERS_AT_ONCE = 256, 1 << 23
"""Resamples in one matrix product, and how often a row is drawn in each of them: at most 64 MB."""

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to resample. Raises UsageError for an unknown method, a level outside (0, 1), or no resamples."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    method: str = "bca"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"bootstrap method: must be one of {', '.join(METHODS)}")
        if not 0 < self.level < 1:
            raise UsageError("bootstrap level: must lie between 0 and 1")
        if self.resamples < 1:
            raise UsageError("bootstrap resamples: must be at least 1")


class Interval(NamedTuple):
    """lower and upper end; degenerate where they say nothing: fewer than two documents, all resamples alike,
    or resamples in which the number does not exist (its few documents were not drawn).
    """

    lower: float
    upper: float
    degenerate: bool


def intervals(
    counts: Floats, numbers: Callable[[Floats], Mapping[Name, Floats]], how: Bootstrap, times: Integers | None = None
) -> dict[Name, Interval | None]:
    """The interval of every number; None for a number that does not exist on the documents as they are.

    counts: shape (rows, columns), what a document adds to each column. numbers: from sums of shape (any, columns) to
    {name: shape (any,)}, NaN where a number does not exist. times: shape (rows,), how many documents each row is of; by
    default one.
    """
    import numpy as np

    times = np.ones(len(counts), dtype=np.int64) if times is None else times
    documents = int(times.sum())
    whole = times.astype(np.float64) @ counts
    point = numbers(whole[None])
    if not documents:
        return dict.fromkeys(point)
    resampled = numbers(_resampled_sums(counts, times, how))
    left_out = numbers(whole - counts) if how.method == "bca" and documents > 1 else None
    found: dict[Name, Interval | None] = {}
    for name, value in point.items():
        if np.isnan(value[0]):
            found[name] = None
            continue
        drawn = np.sort(resampled[name])  # NaN goes last
        measured = drawn[: len(drawn) - int(np.isnan(drawn).sum())]
        if not len(measured):
            found[name] = Interval(float(value[0]), float(value[0]), True)
            continue
        tail = (1 - how.level) / 2
        ends = (tail, 1 - tail)
        alike = bool(measured[0] == measured[-1])
        if left_out is not None and not alike:
            ends = _corrected(ends, measured, float(value[0]), left_out[name], times)
        lower, upper = (float(end) for end in np.quantile(measured, ends))
        found[name] = Interval(lower, upper, documents < 2 or alike or len(measured) < how.resamples)
    return found


def in_fixed_order(counts: Floats, times: Sequence[int] | None = None) -> tuple[Floats, Integers]:
    """The rows, and how many documents each is of (by default one), in an order that hangs on the rows' values alone, so
    that the order of documents changes no interval.

    Sorted by a product with fixed random integers: exact, and rows that tie are the same for all that matters here.
    """
    import numpy as np

    keys = np.random.default_rng(0).integers(1, 1 << 40, size=counts.shape[1])
    order = np.argsort(counts.astype(np.int64) @ keys, kind="stable")
    often = np.ones(len(counts), dtype=np.int64) if times is None else np.asarray(times, dtype=np.int64)
    return counts[order], often[order]


def _resampled_sums(counts: Floats, times: Integers, how: Bootstrap) -> Floats:
    """Shape (resamples, columns): the sums over documents drawn with replacement.

    Documents are drawn one by one, so that no interval hangs on how many of them share a row.
    """
    import numpy as np

    generator = np.random.default_rng(how.seed)
    documents = int(times.sum())
    firsts = np.cumsum(times) - times
    sums = np.empty((how.resamples, counts.shape[1]))
    at_once = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // len(counts)))
    for first in range(0, how.resamples, at_once):
        rows = min(at_once, how.resamples - first)
        draws = np.empty((rows, len(counts)))
        for row in range(rows):
            drawn = np.bincount(generator.integers(0, documents, documents), minlength=documents)
            draws[row] = drawn if len(counts) == documents else np.add.reduceat(drawn, firsts)
        np.matmul(draws, counts, out=sums[first : first + rows])
    return sums


def _corrected(
    ends: tuple[float, float], measured: Floats, point: float, left_out: Floats, times: Integers
) -> tuple[float, float]:
    """The quantiles at which BCa reads the ends: z0 from the share below the point, a from the jackknife's
    skew.

    Ties with the point count half, and the share is kept off 0 and 1 by half a resample, so that z0 is
    finite.
    """
    import numpy as np

    normal = NormalDist()
    share = float(np.mean(measured < point) + np.mean(measured == point) / 2)
    edge = 0.5 / len(measured)
    bias = normal.inv_cdf(min(max(share, edge), 1 - edge))
    known = ~np.isnan(left_out)
    apart, often = left_out[known], times[known]
    apart = (often * apart).sum() / often.sum() - apart if len(apart) else apart
    squares = float((often * apart**2).sum())
    skew = float((often * apart**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0

    def corrected(end: float) -> float:
        z = bias + normal.inv_cdf(end)
        return normal.cdf(bias + z / (1 - skew * z)) if skew * z < 1 else 1.0

    return corrected(ends[0]), corrected(ends[1])
