"""Two models on the same documents: by how much a number differs, how sure that is, and whether it could be chance.

The interval is a paired bootstrap: each resample draws the same documents for both. The p-value is that of approximate
randomisation (Noreen, Computer Intensive Methods for Testing Hypotheses, 1989; for F1 see Yeh, COLING 2000): if the two
were alike, a document's counts could as well have been the other's, so they are swapped with probability 1/2. Like
bootstrap.py, this module knows neither spans nor rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .bootstrap import ROWS_AT_ONCE, Bootstrap, Interval, Name, in_fixed_order, intervals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = Callable[[Floats], Mapping[Name, Floats]]

_EQUAL = 1e-12
"""Differences this close are one and the same: rates of other integers that come out a rounding apart."""


class Difference(NamedTuple):
    """A number of A, of B, and B less A; None where it does not exist. interval: of the difference. p_value: two-sided."""

    a: float | None
    b: float | None
    difference: float | None
    interval: Interval | None
    p_value: float | None


def paired_differences(a: Floats, b: Floats, numbers: Numbers[Name], how: Bootstrap | None) -> dict[Name, Difference]:
    """Every number's difference. how None: without intervals and p-values.

    a, b: shape (documents, columns), what each document adds to each column, the same documents in the same order.
    numbers: from sums of shape (rows, columns) to {name: shape (rows,)}, NaN where a number does not exist. The order of
    the documents changes nothing.
    """
    import numpy as np

    width = a.shape[1]

    def difference(sums: Floats) -> dict[Name, Floats]:
        of_a, of_b = numbers(sums[:, :width]), numbers(sums[:, width:])
        return {name: of_b[name] - of_a[name] for name in of_a}

    pairs, _ = in_fixed_order(np.concatenate([a, b], axis=1))
    sums = pairs.sum(axis=0, keepdims=True)
    of_a, of_b, apart = numbers(sums[:, :width]), numbers(sums[:, width:]), difference(sums)
    found = intervals(pairs, difference, how) if how else {}
    chance = _chance(pairs, difference, how) if how else {}
    return {
        name: Difference(_number(of_a[name]), _number(of_b[name]), _number(apart[name]), found.get(name), chance.get(name))
        for name in apart
    }


def _number(value: Floats) -> float | None:
    return None if value[0] != value[0] else float(value[0])


def _chance(pairs: Floats, difference: Numbers[Name], how: Bootstrap) -> dict[Name, float | None]:
    """p = (1 + swaps that part A and B at least as far) / (1 + swaps made).

    A swap after which the number does not exist counts as one that parts them. Documents that both counted alike are left
    out of the product, for swapping them changes nothing: a model and its quantised form differ in few.
    """
    import numpy as np

    width = pairs.shape[1] // 2
    sums = pairs.sum(axis=0)
    moved = pairs[:, width:] - pairs[:, :width]
    moved = moved[moved.any(axis=1)]
    observed = {name: abs(value[0]) for name, value in difference(sums[None]).items()}
    as_far = dict.fromkeys(observed, 1)
    generator = np.random.default_rng([how.seed, 1])  # not the stream that draws the resamples
    for first in range(0, how.resamples, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, how.resamples - first)
        swapped = generator.integers(0, 2, (rows, len(moved))).astype(np.float64) @ moved
        for name, values in difference(sums + np.concatenate([swapped, -swapped], axis=1)).items():
            as_far[name] += rows - int((np.abs(values) < observed[name] - _EQUAL).sum())
    return {name: None if value != value else as_far[name] / (how.resamples + 1) for name, value in observed.items()}


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """The p-values adjusted for their number, so that those below q hold a share of at most q false discoveries.

    Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995): p(i) · m / i, made monotone from the largest down. None
    stays None and is not counted.
    """
    ranked = sorted((value, at) for at, value in enumerate(p_values) if value is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank in range(len(ranked), 0, -1):
        value, at = ranked[rank - 1]
        adjusted[at] = least = min(least, value * (len(ranked) / rank))
    return adjusted
