"""The numpy engine: float32 on the CPU, packed batches, elementwise work in blocks that stay in cache.

Measured (2-core x86-64, AVX2): nine tenths of a forward are matrix products, which OpenBLAS does near the
machine's peak on one thread; so batches go to one thread each (`workers`), no padding is ever multiplied, and
everything else is done in place on blocks small enough for the second-level cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ...errors import ModelError
from ..safetensors import Array
from ..weights import Linear, Matrix, Norm
from .base import ACTIVATIONS, Inputs, Op

BLOCK = 1 << 15
"""Float32 values worked on at once: 128 KiB, of which three arrays fit a second-level cache of 512 KiB."""


@dataclass(frozen=True, slots=True)
class Group:
    """`count` neighbouring sequences of one `length`, from row `start` on."""

    start: int
    count: int
    length: int


class NumpyOps:
    """See `engines.base.Ops`. Tensors are C-contiguous float32 arrays; a packed batch is (tokens, width)."""

    name = "numpy"
    device = "cpu"
    dtype = "float32"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or available_cores()

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        lengths = tuple(len(sequence) for sequence in ids)
        groups, start = [], 0
        for length, run in groupby(lengths):
            count = sum(1 for _ in run)
            groups.append(Group(start, count, length))
            start += count * length
        return Inputs(np.concatenate(ids), np.concatenate(positions), tuple(groups), lengths)

    def host(self, logits: Array, inputs: Inputs) -> Array:
        return logits

    def embedding(self, matrix: Matrix) -> Op:
        return matrix.float32  # rows are widened as they are looked up: most of a vocabulary is never touched

    def row(self, matrix: Matrix, index: int) -> Array:
        return np.asarray(matrix.float32(slice(index, index + 1))[0])

    def linear(self, linear: Linear) -> Op:
        # Weights stored as float32 are used where they are mapped, one product each; others have to be widened
        # anyway, and are then laid side by side for a single product.
        parts = [matrix.float32() for matrix in linear.matrices]
        if len(parts) > 1 and any(part.base is None or not _mapped(part) for part in parts):
            parts = [np.concatenate(parts)]
        bias = np.concatenate([bias.float32() for bias in linear.biases])
        width = len(bias)
        columns = np.cumsum([0] + [len(part) for part in parts]).tolist()
        products = [(part.T, slice(first, last)) for part, first, last in zip(parts, columns, columns[1:], strict=False)]

        def apply(x: Array) -> Array:
            y = np.empty((len(x), width), dtype=np.float32)
            for transposed, columns in products:
                np.matmul(x, transposed, out=y[:, columns])
            y += bias
            return y

        return apply

    def norm(self, norm: Norm, epsilon: float) -> Callable[[Array, Array], Array]:
        weight, bias = norm.weight.float32(), norm.bias.float32()
        width = len(weight)

        def apply(x: Array, residual: Array) -> Array:
            for rows in _blocks(len(x), width):
                block = x[rows]
                block += residual[rows]
                block -= np.add.reduce(block, axis=1, keepdims=True) / np.float32(width)
                variance = np.einsum("ij,ij->i", block, block) / np.float32(width)
                block *= (1.0 / np.sqrt(variance + np.float32(epsilon)))[:, None]
                block *= weight
                block += bias
            return x

        return apply

    def activation(self, name: str) -> Op:
        if name not in _ACTIVATIONS:
            raise ModelError(f"config.json: hidden_act {name!r} is not supported – supported are {', '.join(ACTIVATIONS)}")
        function = _ACTIVATIONS[name]

        def apply(x: Array) -> Array:
            flat = x.reshape(-1)
            for first in range(0, len(flat), BLOCK):
                function(flat[first : first + BLOCK])
            return x

        return apply

    def attention(self, qkv: Array, heads: int, inputs: Inputs) -> Array:
        width = qkv.shape[1] // 3
        qkv[:, :width] *= np.float32((width // heads) ** -0.5)
        shift = not _surely_small(qkv[:, : 2 * width].reshape(len(qkv), 2, heads, -1))
        out = np.empty((len(qkv), width), dtype=np.float32)
        for group in inputs.layout:
            rows = slice(group.start, group.start + group.count * group.length)
            split = qkv[rows].reshape(group.count, group.length, 3, heads, -1)
            q, k, v = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
            context = out[rows].reshape(group.count, group.length, heads, -1).transpose(0, 2, 1, 3)
            for piece in _pieces(group, heads):
                whole_rows = (*piece[:2], slice(None))
                _attend(q[piece], k[whole_rows], v[whole_rows], context[piece], shift)
        return out


def _attend(q: Array, k: Array, v: Array, out: Array, shift: bool) -> None:
    """softmax(q·kᵀ)·v into out; (sequences, heads, rows, d). The row sums divide the product, not the weights.

    shift: subtract each row's maximum first, without which exp may overflow.
    """
    weights = np.matmul(q, k.transpose(0, 1, 3, 2))
    if shift:
        weights -= np.maximum.reduce(weights, axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    np.matmul(weights, v, out=out)
    out /= np.add.reduce(weights, axis=-1, keepdims=True)


def _surely_small(qk: Array) -> bool:
    """Whether no product q·k can reach ±64, by |q|·|k|; then softmax needs no shift: 4096·e⁶⁴ is far from overflow.

    qk: (tokens, 2, heads, d). Saves two passes over every attention weight, a sixth of attention's time.
    """
    squares = np.einsum("tphd,tphd->tph", qk, qk).max(axis=0, initial=0.0)
    return bool((squares[0] * squares[1]).max() < 64.0**2)


def _pieces(group: Group, heads: int) -> list[tuple[slice, slice, slice]]:
    """Cuts of (sequences, heads, query rows) whose attention weights are about one BLOCK each."""
    square = group.length * group.length
    per_cut = [
        max(1, min(group.count, BLOCK // (square * heads))),
        max(1, min(heads, BLOCK // square)),
        max(1, min(group.length, BLOCK // group.length)),
    ]
    axes = zip((group.count, heads, group.length), per_cut, strict=True)
    sequences, head_cuts, rows = ([slice(i, i + step) for i in range(0, size, step)] for size, step in axes)
    return [(s, h, r) for s in sequences for h in head_cuts for r in rows]


def _blocks(rows: int, width: int) -> list[slice]:
    step = max(1, BLOCK // width)
    return [slice(first, first + step) for first in range(0, rows, step)]


def _mapped(part: Array) -> bool:
    return not part.flags.owndata and not part.flags.writeable


def available_cores() -> int:
    """Cores this process may use, which on a shared machine are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _gelu(x: Array) -> None:
    """x·Φ(x), Φ as a logistic function of an odd polynomial: |error| < 6e-7 on the whole line.

    numpy has no erf. Coefficients: weighted minimax fit of ln(Φ/(1-Φ)) = x·P(x²) on (0, 6.5]; the highest is
    positive, so that beyond the interval the function saturates as it must.
    """
    square = x * x
    power = square * _LOGIT[-1]
    for coefficient in _LOGIT[-2:0:-1]:
        power += coefficient
        power *= square
    power += _LOGIT[0]
    power *= x
    np.negative(power, out=power)
    np.exp(power, out=power)
    power += np.float32(1)
    x /= power


_LOGIT = np.array(
    [1.5957685368174532, 0.07266829823713797, -6.60534049370006e-05, -0.0001105467725706256,
     7.94814137471511e-06, -2.675663877525162e-07, 3.627854286173628e-09],
    dtype=np.float32,
)  # fmt: skip


def _sigmoid_of(scale: float, cube: float) -> Callable[[Array], None]:
    """x / (1 + exp(-(scale·x + cube·x³))): SiLU, the quick GELU and, as tanh(z) = 2σ(2z) - 1, the tanh GELU."""

    def apply(x: Array) -> None:
        power = x * np.float32(-scale)
        if cube:
            power += x * x * x * np.float32(-cube)
        np.exp(power, out=power)
        power += np.float32(1)
        x /= power

    return apply


def _relu(x: Array) -> None:
    np.maximum(x, np.float32(0), out=x)


def _tanh(x: Array) -> None:
    np.tanh(x, out=x)


_TANH_GELU = _sigmoid_of(2 * 0.7978845608028654, 2 * 0.7978845608028654 * 0.044715)
_SILU = _sigmoid_of(1.0, 0.0)
_ACTIVATIONS: dict[str, Callable[[Array], Any]] = {
    "gelu": _gelu,
    "gelu_new": _TANH_GELU,
    "gelu_fast": _TANH_GELU,
    "gelu_pytorch_tanh": _TANH_GELU,
    "quick_gelu": _sigmoid_of(1.702, 0.0),
    "relu": _relu,
    "silu": _SILU,
    "swish": _SILU,
    "tanh": _tanh,
}
