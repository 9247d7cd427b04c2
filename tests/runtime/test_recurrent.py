"""The LSTM of both engines against its equations written out in float64, over batches of every shape."""

from __future__ import annotations

import tracemalloc
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.runtime.engines import numpy_recurrent, open_engine
from openmed_mlx_eval.runtime.engines.numpy_recurrent import time_major
from openmed_mlx_eval.runtime.weights import Linear, Matrix

from .test_bands import batch, laid_out, stored

ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
Direction = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def directions(rng: Any, width: int, hidden: int, scale: float = 0.5) -> list[Direction]:
    """(weight_ih, weight_hh, bias_ih, bias_hh) forwards and backwards."""
    shapes = [(4 * hidden, width), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
    return [tuple(rng.normal(0, scale, shape).astype(np.float32) for shape in shapes) for _ in range(2)]  # type: ignore[misc]


def as_linears(given_weights: list[Direction]) -> list[tuple[Linear, Linear]]:
    return [
        (Linear((Matrix(stored(ih)),), (stored(bias_ih),)), Linear((Matrix(stored(hh)),), (stored(bias_hh),)))
        for ih, hh, bias_ih, bias_hh in given_weights
    ]


def written_out(x: np.ndarray, weights: Direction) -> np.ndarray:
    """One sequence, one direction, from its first row on: torch.nn.LSTM's equations in float64."""
    ih, hh, bias_ih, bias_hh = (part.astype(np.float64) for part in weights)
    h = c = np.zeros(hh.shape[1])
    states = []
    for row in x.astype(np.float64):
        i, f, g, o = np.split(ih @ row + bias_ih + hh @ h + bias_hh, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        states.append(h)
    return np.array(states)


def expected(x: np.ndarray, lengths: list[int], weights: list[Direction]) -> np.ndarray:
    parts = np.split(x, np.cumsum(lengths)[:-1])
    return np.concatenate([np.hstack([written_out(one, weights[0]), written_out(one[::-1], weights[1])[::-1]]) for one in parts])


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25)
@given(lengths=st.lists(st.integers(1, 80), min_size=1, max_size=6), width=st.integers(1, 5), hidden=st.integers(1, 6))
def test_each_sequence_is_read_from_both_its_own_ends(engine: str, lengths: list[int], width: int, hidden: int) -> None:
    ops, inputs = batch(engine, lengths)
    rng = np.random.default_rng(sum(lengths))
    weights = directions(rng, width, hidden)
    x = rng.normal(0, 1, (sum(lengths), width)).astype(np.float32)
    given_x = laid_out(inputs, x)
    found = ops.host(ops.lstm(as_linears(weights))(given_x, inputs), inputs)
    assert np.abs(found - expected(x, lengths, weights)).max() < 1e-5
    assert np.array_equal(ops.host(given_x, inputs), x)


@pytest.mark.parametrize("engine", ENGINES)
def test_gates_far_beyond_their_range(engine: str) -> None:
    """Sums of ±10,000: neither overflow nor a warning of it."""
    lengths = [20, 3]
    ops, inputs = batch(engine, lengths)
    rng = np.random.default_rng(1)
    weights = directions(rng, 4, 5, scale=3000.0)
    x = rng.normal(0, 1, (23, 4)).astype(np.float32)
    with np.errstate(all="raise", under="ignore"):
        found = ops.host(ops.lstm(as_linears(weights))(laid_out(inputs, x), inputs), inputs)
    with np.errstate(over="ignore"):
        assert np.abs(found - expected(x, lengths, weights)).max() < 1e-4


def test_pieces_of_steps_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [70, 3, 70, 41, 1]
    ops, inputs = batch("numpy", lengths)
    rng = np.random.default_rng(2)
    layer = ops.lstm(as_linears(directions(rng, 4, 8)))
    x = rng.normal(0, 1, (sum(lengths), 4)).astype(np.float32)
    whole = layer(x, inputs)
    for piece in (1, 8 * 8 * 7, 8 * 8 * 50):
        monkeypatch.setattr(numpy_recurrent, "PIECE", piece)
        assert np.abs(layer(x, inputs) - whole).max() < 1e-6


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_steps_take_every_token_once_in_each_direction(lengths: list[int]) -> None:
    rows, alive = time_major(lengths)
    assert sum(alive) == sum(lengths)
    assert len(alive) == max(lengths)
    assert alive == sorted(alive, reverse=True)
    starts = np.cumsum([0, *lengths[:-1]])
    for step, taken in enumerate(np.split(rows, np.cumsum(alive)[:-1], axis=1)):
        there = [
            (start + step, start + length - 1 - step) for start, length in zip(starts, lengths, strict=True) if length > step
        ]
        assert sorted(map(tuple, taken.T.tolist())) == sorted(there)


def test_memory_holds_a_piece_of_the_gates_and_not_a_documents() -> None:
    """20,000 tokens in one sequence: beside x and the result, a fraction of the 2 × 20,000 × 256 gates (39 MiB)."""
    ops, inputs = batch("numpy", [20_000])
    rng = np.random.default_rng(3)
    layer = ops.lstm(as_linears(directions(rng, 8, 64, scale=0.1)))
    x = rng.normal(0, 1, (20_000, 8)).astype(np.float32)
    tracemalloc.start()
    try:
        result = layer(x, inputs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    places = 6 * 8 * 20_000  # int64: rows both ways, and what they are computed from
    assert peak < result.nbytes + places + 3 * 4 * numpy_recurrent.PIECE
    assert np.isfinite(result).all()


def test_half_precision_keeps_the_cell_whole() -> None:
    """600 steps in float16: the error does not add up."""
    mx = pytest.importorskip("mlx.core")
    rng = np.random.default_rng(4)
    weights = directions(rng, 4, 8)
    x = rng.normal(0, 1, (600, 4)).astype(np.float32)
    ops = open_engine("mlx", "cpu", "float16")
    ids = [np.zeros(600, dtype=np.int32)]
    inputs = ops.inputs(ids, ids)
    padded = np.zeros((len(inputs.ids), 4), dtype=np.float32)
    padded[:600] = x
    found = ops.host(ops.lstm(as_linears(weights))(mx.array(padded).astype(mx.float16), inputs), inputs)
    assert 0 < np.abs(found - expected(x, [600], weights)).max() < 0.02
