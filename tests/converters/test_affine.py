"""Affine quantisation: bit for bit mx.quantize's, and within half a step of the weights by its own account."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from openmed_mlx_eval.converters.dtypes import narrowed
from openmed_mlx_eval.converters.quantization import quantize
from openmed_mlx_eval.runtime.safetensors import StoredTensor, widened
from openmed_mlx_eval.runtime.weights import Matrix, Quantization

SCHEMES = [Quantization(bits, group) for bits in (4, 8) for group in (32, 64, 128)]
weights = arrays(
    np.float32,
    (3, 128),
    elements=st.floats(-8, 8, width=32, allow_subnormal=False),
    fill=st.sampled_from([np.float32(0), np.float32(0.5)]),
)


def hard_rows() -> Any:
    """Rows on which a formula goes wrong: nothing, one value, one sign, tiny, one far outlier, ties of the edges."""
    rng = np.random.default_rng(3)
    rows = rng.normal(0, 0.05, (64, 256)).astype(np.float32)
    rows[0], rows[1], rows[2] = 0, 0.25, -0.25
    rows[3], rows[4] = np.abs(rows[3]), -np.abs(rows[4])
    rows[5] *= 1e-9
    rows[6, 7], rows[7, 9] = 30, -30
    rows[8, :2] = 1, -1
    rows[9] = np.where(np.arange(256) % 2, 0.5, -0.5)
    return rows


def restored(words: Any, scales: Any, biases: Any, how: Quantization) -> Any:
    parts = [StoredTensor(name, "F32", part) for name, part in (("scales", scales), ("biases", biases))]
    return Matrix(StoredTensor("weight", "U32", words), *parts, how).float32()


@pytest.mark.parametrize("how", SCHEMES, ids=lambda how: f"{how.bits}-bit-{how.group_size}")
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_equals_mlx_bit_for_bit(how: Quantization, dtype: str) -> None:
    mx = pytest.importorskip("mlx.core")
    stored = narrowed(hard_rows(), dtype)
    words, scales, biases = quantize(widened(stored, dtype), how)
    with mx.stream(mx.cpu):
        theirs = mx.array(stored).view(mx.bfloat16) if dtype == "BF16" else mx.array(stored)
        expected = mx.quantize(theirs, group_size=how.group_size, bits=how.bits)
        expected = [np.array(part.view(mx.uint16) if part.dtype == mx.bfloat16 else part) for part in expected]
    assert np.array_equal(words, expected[0])
    assert np.array_equal(narrowed(scales, dtype), expected[1])
    assert np.array_equal(narrowed(biases, dtype), expected[2])


@pytest.mark.parametrize("how", SCHEMES, ids=lambda how: f"{how.bits}-bit-{how.group_size}")
@given(weight=weights)
def test_every_weight_is_within_a_step_and_the_far_edge_is_kept(how: Quantization, weight: Any) -> None:
    words, scales, biases = quantize(weight, how)
    back = restored(words, scales, biases, how).reshape(3, -1, how.group_size)
    groups = weight.reshape(back.shape)
    step = np.abs(scales)[..., None]
    # Half a step by rounding; up to a whole one where the shift to hold zero cuts the near edge off (15 − 7.5·15/8).
    assert (np.abs(back - groups) <= step * 1.001 + 1e-6).all()
    # Of two ends equally far from zero the upper one is kept.
    upper = groups.max(axis=-1) >= -groups.min(axis=-1)
    far = np.where(upper, groups.argmax(axis=-1), groups.argmin(axis=-1))[..., None]
    kept = np.take_along_axis(groups, far, -1)
    assert np.allclose(np.take_along_axis(back, far, -1), kept, rtol=1e-6, atol=1e-6)


def test_lowest_bits_come_first() -> None:
    weight = np.linspace(0, 7, 8, dtype=np.float32).repeat(4)[None]
    weight[0, :8] = [7, 6, 5, 4, 3, 2, 1, 0]
    words, scales, biases = quantize(weight, Quantization(4, 32))
    assert restored(words, scales, biases, Quantization(4, 32))[0, :8].tolist() == pytest.approx(weight[0, :8].tolist(), abs=0.25)
    assert int(words[0, 0]) & 0xF == 0  # 7, the far edge, is the bias: level 0
    assert int(words[0, 0]) >> 28 == 15
