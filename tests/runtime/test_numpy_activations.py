"""Numpy's activations against their formulas in float64, and attention's scores where exp does not take them as they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from openmed_mlx_eval.runtime.engines.numpy_activations import activation_of
from openmed_mlx_eval.runtime.engines.numpy_bands import softmax_product


def test_gelu_on_the_whole_line() -> None:
    x = np.concatenate([np.linspace(-8, 8, 100_001), *(sign * np.geomspace(1e-30, 1e30, 301) for sign in (1, -1)), [0.0]])
    x = x.astype(np.float32)
    expected = np.array([float(value) * 0.5 * math.erfc(-float(value) / math.sqrt(2)) for value in x])
    found = x.copy()
    with np.errstate(over="ignore"):
        activation_of("gelu")(found)
    assert (np.abs(found - expected) <= 4e-7 * np.maximum(1, np.abs(expected))).all()


@pytest.mark.parametrize("highest", [1.0, 40.0, 90.0, 1e4])
@pytest.mark.parametrize("sunk", [False, True])
def test_softmax_of_scores_of_any_size(highest: float, sunk: bool) -> None:
    """Where exp of them is out of range, each row's maximum is subtracted; what is masked counts for nothing either way."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(-highest, highest, (2, 3, 5, 7)).astype(np.float32)
    values = rng.normal(0, 1, (2, 3, 7, 4)).astype(np.float32)
    mask = np.where(rng.random((5, 7)) < 0.3, np.float32(-1e30), np.float32(0))
    mask[:, 0] = 0
    sinks = rng.uniform(-highest, highest, (3, 1, 1)).astype(np.float32) if sunk else None
    shifted = (scores + mask).astype(np.float64)
    top = shifted.max(axis=-1, keepdims=True) if sinks is None else np.maximum(shifted.max(axis=-1, keepdims=True), sinks)
    weights = np.exp(shifted - top)
    total = weights.sum(axis=-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top))
    found = np.empty((2, 3, 5, 4), dtype=np.float32)
    with np.errstate(over="ignore"):
        softmax_product(lambda: scores + mask, values, found, sinks)
    assert np.abs(found - weights / total @ values).max() < 1e-5


@pytest.mark.parametrize("level", [-60.0, -46.0, -40.0, 0.0, 40.0, 44.0, 46.0, 60.0, 66.0, 68.0, 88.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e12])
def test_values_of_any_size_are_not_lost_before_the_division(level: float, size: float) -> None:
    """exp(66) times 10¹² left float32, though their quotient does not."""
    rng = np.random.default_rng(1)
    scores = (level + rng.normal(0, 0.5, (2, 3, 5, 7))).astype(np.float32)
    values = (size * rng.normal(0, 1, (2, 3, 7, 4))).astype(np.float32)
    weights = np.exp(scores.astype(np.float64))
    found = np.empty((2, 3, 5, 4), dtype=np.float32)
    with np.errstate(over="ignore"):
        softmax_product(lambda: scores.copy(), values, found)
    assert np.abs(found - weights / weights.sum(axis=-1, keepdims=True) @ values).max() < 1e-6 * size


def test_no_rows_of_scores_are_no_error() -> None:
    found = np.empty((1, 0, 4), dtype=np.float32)
    softmax_product(lambda: np.empty((1, 0, 7), dtype=np.float32), np.ones((1, 7, 4), dtype=np.float32), found)
    assert found.shape == (1, 0, 4)
