"""Operations of the rotary families and of Longformer on both engines, against their formulas written out in float64."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.engines import open_engine
from openmed_mlx_eval.runtime.engines.base import ACTIVATIONS
from openmed_mlx_eval.runtime.families.rotary import frequencies
from openmed_mlx_eval.runtime.safetensors import StoredTensor
from openmed_mlx_eval.runtime.weights import Norm

ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]


def batch(engine: str, lengths: list[int]) -> tuple[Any, Any]:
    """The engine, and its inputs for sequences of these lengths."""
    ops = open_engine(engine, "cpu")
    ids = [np.arange(length, dtype=np.int32) for length in lengths]
    return ops, ops.inputs(ids, ids)


def laid_out(inputs: Any, values: np.ndarray) -> Any:
    """(tokens, …) in the engine's layout; numbers, not zeros, under the padding."""
    if len(inputs.ids) == len(values):
        return values.copy() if isinstance(inputs.ids, np.ndarray) else on_device(values)
    padded = np.full((inputs.layout.sequences, inputs.layout.length, *values.shape[1:]), 3.5, dtype=np.float32)
    for row, sequence in enumerate(np.split(values, np.cumsum(inputs.lengths)[:-1])):
        padded[row, : len(sequence)] = sequence
    return on_device(padded.reshape(-1, *values.shape[1:]))


def on_device(values: np.ndarray) -> Any:
    import mlx.core as mx

    return mx.array(values)


def by_heads(ops: Any, inputs: Any, values: np.ndarray) -> Any:
    """(tokens, heads, d) with the heads where the engine has them."""
    (found,) = ops.heads(laid_out(inputs, values.reshape(len(values), -1)), [values.shape[1]], inputs)
    return found


def by_tokens(ops: Any, inputs: Any, found: Any) -> np.ndarray:
    """The other way, on the host: (tokens, heads · d)."""
    if ops.name == "numpy":
        return found.reshape(len(found), -1)
    from openmed_mlx_eval.runtime.engines.mlx_layout import tokens_first

    return ops.host(tokens_first(found), inputs)


def stored(values: np.ndarray) -> StoredTensor:
    return StoredTensor("w", "F32", values.astype(np.float32))


def written_out(q: Any, k: Any, v: Any, lengths: list[int], before: int | None, after: int | None) -> np.ndarray:
    """Attention in float64, a sequence, head and mask at a time."""
    outputs = []
    cuts = np.cumsum(lengths)[:-1]
    share = q.shape[1] // k.shape[1]
    for one_q, one_k, one_v in zip(*(np.split(x.astype(np.float64), cuts) for x in (q, k, v)), strict=True):
        distance = np.arange(len(one_q)) - np.arange(len(one_q))[:, None]
        seen = np.ones(distance.shape, dtype=bool)
        seen &= distance >= (-len(one_q) if before is None else -before)
        seen &= distance <= (len(one_q) if after is None else after)
        heads = []
        for head in range(q.shape[1]):
            scores = np.where(seen, one_q[:, head] @ one_k[:, head // share].T / np.sqrt(q.shape[2]), -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ one_v[:, head // share])
        outputs.append(np.concatenate(heads, axis=1))
    return np.concatenate(outputs)


REACH = st.none() | st.integers(0, 3) | st.integers(4, 70)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    before=REACH,
    after=REACH,
    key_heads=st.integers(1, 3),
    share=st.integers(1, 3),
    scale=st.sampled_from([1, 40]),
)
def test_banded_attention(
    engine: str, lengths: list[int], before: int | None, after: int | None, key_heads: int, share: int, scale: int
) -> None:
    ops, inputs = batch(engine, lengths)
    rng = np.random.default_rng(sum(lengths))
    heads = (key_heads * share, key_heads, key_heads)
    q, k, v = (rng.normal(0, 1, (sum(lengths), count, 8)).astype(np.float32) for count in heads)
    q *= scale  # 40: scores that exp does not take unshifted
    expected = written_out(q, k, v, lengths, before, after)
    parts = [by_heads(ops, inputs, x) for x in (q, k, v)]
    found = ops.host(ops.banded_attention(*parts, ops.band(inputs, before, after)), inputs)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("before", "after"), [(64, 64), (None, 0), (31, 0), (None, None)])
def test_long_sequences_are_cut_right(engine: str, before: int | None, after: int | None) -> None:
    lengths = [1200, 1, 700]
    ops, inputs = batch(engine, lengths)
    rng = np.random.default_rng(4)
    q, k, v = (rng.normal(0, 1, (sum(lengths), count, 4)).astype(np.float32) for count in (2, 1, 1))
    parts = [by_heads(ops, inputs, x) for x in (q, k, v)]
    found = ops.host(ops.banded_attention(*parts, ops.band(inputs, before, after)), inputs)
    assert np.abs(found - written_out(q, k, v, lengths, before, after)).max() < 1e-4


def written_out_with_globals(
    q: Any, k: Any, v: Any, others: Any, lengths: list[int], among: np.ndarray, before: int, after: int
) -> np.ndarray:
    """Attention in float64: every token sees its band and those `among`; these see all, by others = (q, k, v) of their own."""
    outputs, start = [], 0
    for length in lengths:
        rows = slice(start, start + length)
        start += length
        distance = np.arange(length) - np.arange(length)[:, None]
        seen = ((distance >= -before) & (distance <= after)) | among[rows]
        mine, everybody = (
            [
                np.where(
                    mask, a[rows, head].astype(np.float64) @ b[rows, head].T.astype(np.float64) / np.sqrt(a.shape[2]), -np.inf
                )
                for head in range(a.shape[1])
            ]
            for (a, b), mask in (((q, k), seen), ((others[0], others[1]), np.ones_like(seen)))
        )
        heads = []
        for head in range(q.shape[1]):
            both = [(mine[head], v[rows, head]), (everybody[head], others[2][rows, head])]
            near, far = (
                (weights := np.exp(scores - scores.max(axis=1, keepdims=True))) / weights.sum(axis=1, keepdims=True) @ values
                for scores, values in both
            )
            heads.append(np.where(among[rows, None], far, near))
        outputs.append(np.concatenate(heads, axis=1))
    return np.concatenate(outputs)


def with_globals(
    engine: str, lengths: list[int], ids: list[int], chosen: list[int], before: int, after: int, scale: float
) -> Any:
    """(found, expected) for random heads where the tokens whose id is in `chosen` are global."""
    ops = open_engine(engine, "cpu")
    cuts = np.cumsum(lengths)[:-1]
    sequences = np.split(np.resize(np.array(ids, dtype=np.int32), sum(lengths)), cuts)
    inputs = ops.inputs(sequences, [np.arange(length, dtype=np.int32) for length in lengths])
    among = np.isin(np.concatenate(sequences), chosen)
    rng = np.random.default_rng(sum(lengths))
    q, k, v, *others = (rng.normal(0, 1, (sum(lengths), 2, 8)).astype(np.float32) for _ in range(6))
    q *= scale
    expected = written_out_with_globals(q, k, v, others, lengths, among, before, after)
    tokens = ops.global_tokens(inputs, chosen)
    assert (tokens is None) == (not among.any())
    found = ops.banded_attention(*(by_heads(ops, inputs, x) for x in (q, k, v)), ops.band(inputs, before, after, tokens))
    if tokens is not None:
        far_q, (far_k, far_v) = laid_out(inputs, others[0].reshape(-1, 16)), (by_heads(ops, inputs, x) for x in others[1:])
        found = ops.global_attention(ops.global_rows(far_q, tokens), far_k, far_v, found, inputs, tokens)
    return ops.host(found, inputs), expected


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    ids=st.lists(st.integers(0, 9), min_size=1, max_size=50),
    chosen=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    before=st.integers(0, 70),
    after=st.integers(0, 70),
    scale=st.sampled_from([1.0, 40.0]),
)
def test_global_tokens_see_and_are_seen_everywhere(
    engine: str, lengths: list[int], ids: list[int], chosen: list[int], before: int, after: int, scale: float
) -> None:
    found, expected = with_globals(engine, lengths, ids, chosen, before, after, scale)
    assert np.abs(found - expected).max() < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("chosen", [[7], [7, 8, 9]])
def test_global_tokens_of_long_sequences(engine: str, chosen: list[int]) -> None:
    """Lengths that are cut into blocks, one of them without such a token; tokens that are all global; and a token alone."""
    ids = [0] * 499 + [7] + [0] * 401 + [8, 9] * 3 + [0] * 3
    found, expected = with_globals(engine, [700, 1, 900, 500, 10], ids, chosen, 32, 32, 1.0)
    assert np.abs(found - expected).max() < 1e-4
    found, expected = with_globals(engine, [400, 300], [7], chosen, 16, 16, 1.0)
    assert np.abs(found - expected).max() < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("base", [10_000.0, 160_000.0, 1_000_000.0])
def test_rotary_turns_pairs_of_halves(engine: str, base: float) -> None:
    lengths = [900, 5, 1]
    ops, inputs = batch(engine, lengths)
    x = np.random.default_rng(5).normal(0, 1, (sum(lengths), 3, 16)).astype(np.float32)
    positions = np.concatenate([np.arange(length) for length in lengths])
    angles = positions[:, None, None] * base ** -(np.arange(8) / 8)
    first, second = x[..., :8].astype(np.float64), x[..., 8:].astype(np.float64)
    cosine, sine = np.cos(angles), np.sin(angles)
    expected = np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    rotary = ops.rotary(frequencies(base, 16))
    for _ in range(2):  # the second time its tables are there
        turned = by_tokens(ops, inputs, rotary(by_heads(ops, inputs, x), inputs))
        assert np.abs(turned.reshape(x.shape) - expected).max() < 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bias", [True, False])
def test_norms_leave_their_argument_alone(engine: str, bias: bool) -> None:
    ops, inputs = batch(engine, [40, 7])
    rng = np.random.default_rng(6)
    x, weight, shift = rng.normal(3, 2, (47, 2, 24)), rng.normal(1, 1, 24), rng.normal(0, 1, 24)
    norm = Norm(stored(weight), stored(shift) if bias else None)
    centred = x - x.mean(axis=-1, keepdims=True)
    expected = {
        "layer_norm": centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.1) * weight + shift * bias,
        "rms_norm": x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 0.1) * weight,
    }
    for name, right in expected.items():
        given_x = laid_out(inputs, x.astype(np.float32))
        found = ops.host(getattr(ops, name)(norm, 0.1)(given_x), inputs)
        assert np.abs(found - right).max() < 1e-4
        assert np.array_equal(ops.host(given_x, inputs), x.astype(np.float32))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gate_is_the_activated_first_half(engine: str, name: str) -> None:
    ops, inputs = batch(engine, [300, 9])
    x = np.random.default_rng(7).normal(0, 2, (309, 400)).astype(np.float32)
    with np.errstate(over="ignore"):
        gate = ops.host(ops.activation(name)(laid_out(inputs, x[:, :200])), inputs)
        found = ops.host(ops.gated(name)(laid_out(inputs, x)), inputs)
    assert np.abs(found - gate * x[:, 200:]).max() < 1e-5


@pytest.mark.parametrize("engine", ENGINES)
def test_unknown_gate_is_named(engine: str) -> None:
    with pytest.raises(ModelError, match="hidden_act 'swoosh' is not supported"):
        open_engine(engine, "cpu").gated("swoosh")


def test_numpy_multiplies_what_is_seen_and_little_more() -> None:
    from openmed_mlx_eval.runtime.engines.numpy_bands import _row_cuts

    def products(length: int, before: int | None, after: int | None) -> int:
        """Scores computed for one head of one sequence; every row once."""
        cuts = list(_row_cuts(length, 1, before, after))
        assert [row for rows, _, _ in cuts for row in range(rows.start, rows.stop)] == list(range(length))
        return sum((rows.stop - rows.start) * (keys.stop - keys.start) for rows, keys, _ in cuts)

    assert products(8192, 64, 64) < 8192 * 129 * 1.6
    assert products(16384, 64, 64) < 2.01 * products(8192, 64, 64)
    assert products(8192, None, 0) < 0.51 * 8192**2
    assert products(8192, None, None) == 8192**2


def test_mlx_cuts_long_sequences_into_blocks() -> None:
    pytest.importorskip("mlx.core")
    ops, inputs = batch("mlx", [2048, 5])
    band = ops.band(inputs, 64, 64)
    assert band.mask.shape == (2 * 2048 // 64, 1, 64, 3 * 64)
    assert ops.band(inputs, None, 0).mask == "causal"
    assert np.array(band.mask).any(axis=-1).all()  # no row of nothing, under the padding neither
