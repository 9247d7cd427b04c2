"""The numpy engine: float32 on the CPU, packed batches, elementwise work in blocks that stay in cache.

Measured (2-core x86-64, AVX2): two thirds of a forward and more are matrix products, which OpenBLAS does near the
machine's peak on one thread; so batches go to one thread each (`workers`), no padding is ever multiplied, and
everything else is done in place on blocks small enough for the second-level cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from ..safetensors import Array, StoredTensor
from ..weights import Experts, Linear, Matrix, Norm
from .base import Inputs, Op
from .numpy_activations import activation_of
from .numpy_bands import Band, Rotary, banded_attention, softmax_product
from .numpy_disentangled import Distances, RelativeTables, disentangled_attention
from .numpy_experts import mixture
from .numpy_globals import GlobalTokens, global_attention
from .numpy_layout import BLOCK, Group, blocks, pieces
from .numpy_recurrent import Lstm
from .numpy_spans import SpanScorer


class NumpyOps:
    """See `engines.base.Ops`. Tensors are C-contiguous float32 arrays; a packed batch is (tokens, width)."""

    name = "numpy"
    device = "cpu"
    dtype = "float32"
    compiles = False
    batch_tokens = 2048
    least_share = 0.0

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or available_cores()

    def size(self, sequences: int, longest: int, tokens: int) -> int:
        return tokens

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        lengths = tuple(len(sequence) for sequence in ids)
        groups, start = [], 0
        for length, run in groupby(lengths):
            count = sum(1 for _ in run)
            groups.append(Group(start, count, length))
            start += count * length
        return Inputs(np.concatenate(ids), np.concatenate(positions), tuple(groups), lengths)

    def started(self, network: Callable[[Inputs], Array]) -> Callable[[Inputs], Array]:
        return network

    def host(self, logits: Array, inputs: Inputs) -> Array:
        return logits

    def embedding(self, matrix: Matrix) -> Op:
        return matrix.float32  # rows are widened as they are looked up: most of a vocabulary is never touched

    def row(self, matrix: Matrix, index: int) -> Array:
        return np.asarray(matrix.float32(slice(index, index + 1))[0])

    def table(self, matrix: Matrix) -> Array:
        return np.array(matrix.float32())

    def linear(self, linear: Linear) -> Op:
        # Weights stored as float32 are used where they are mapped, one product each; others have to be widened
        # anyway, and are then laid side by side for a single product.
        parts = [matrix.float32() for matrix in linear.matrices]
        if len(parts) > 1 and any(part.base is None or not _mapped(part) for part in parts):
            parts = [np.concatenate(parts)]
        bias = np.concatenate([bias.float32() for bias in linear.biases]) if linear.biases else None
        width = sum(map(len, parts))
        columns = np.cumsum([0] + [len(part) for part in parts]).tolist()
        products = [(part.T, slice(first, last)) for part, first, last in zip(parts, columns, columns[1:], strict=False)]

        def apply(x: Array) -> Array:
            y = np.empty((len(x), width), dtype=np.float32)
            for transposed, columns in products:
                np.matmul(x, transposed, out=y[:, columns])
            if bias is not None:
                y += bias
            return y

        return apply

    def norm(self, norm: Norm, epsilon: float) -> Callable[[Array, Array], Array]:
        normalise = _layer_norm(norm, epsilon)

        def apply(x: Array, residual: Array) -> Array:
            for rows in blocks(*x.shape):
                block = x[rows]
                block += residual[rows]
                normalise(block)
            return x

        return apply

    def activation(self, name: str) -> Op:
        function = activation_of(name)

        def apply(x: Array) -> Array:
            flat = x.reshape(-1)
            for first in range(0, len(flat), BLOCK):
                function(flat[first : first + BLOCK])
            return x

        return apply

    def attention(self, qkv: Array, heads: int, inputs: Inputs) -> Array:
        width = qkv.shape[1] // 3
        scale = np.float32((width // heads) ** -0.5)
        out = np.empty((len(qkv), width), dtype=np.float32)
        for group in inputs.layout:
            rows = slice(group.start, group.start + group.count * group.length)
            split = qkv[rows].reshape(group.count, group.length, 3, heads, -1)
            q, k, v = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
            context = out[rows].reshape(group.count, group.length, heads, -1).transpose(0, 2, 1, 3)
            for piece, row_cuts in pieces(group, heads):
                queries = np.multiply(q[piece], scale, order="C")
                for some in row_cuts:
                    scores = partial(np.matmul, queries[:, :, some], k[piece].swapaxes(-1, -2))
                    softmax_product(scores, v[piece], context[piece][:, :, some])
        return out

    def layer_norm(self, norm: Norm, epsilon: float) -> Op:
        return _on_a_copy(_layer_norm(norm, epsilon))

    def rms_norm(self, norm: Norm, epsilon: float) -> Op:
        return _on_a_copy(_rms_norm(norm, epsilon))

    def gated(self, activation: str) -> Op:
        function = activation_of(activation)

        def apply(x: Array) -> Array:
            width = x.shape[1] // 2
            out = np.empty((len(x), width), dtype=np.float32)
            for rows in blocks(len(x), width):
                block = out[rows]
                block[...] = x[rows, :width]
                function(block)
                block *= x[rows, width:]
            return out

        return apply

    def heads(self, x: Array, counts: Sequence[int], inputs: Inputs) -> list[Array]:
        whole = x.reshape(len(x), sum(counts), -1)
        ends = np.cumsum(counts)
        return [whole[:, end - count : end] for end, count in zip(ends, counts, strict=True)]

    def rotary(self, frequencies: Array, *, neighbours: bool = False) -> Rotary:
        return Rotary(frequencies, neighbours)

    def band(
        self, inputs: Inputs, before: int | None = None, after: int | None = None, everywhere: GlobalTokens | None = None
    ) -> Band:
        return everywhere.band(before, after) if everywhere else Band(inputs.layout, before, after)

    def banded_attention(
        self, q: Array, k: Array, v: Array, band: Band, *, scale: float | None = None, sinks: Array | None = None
    ) -> Array:
        return banded_attention(q, k, v, band, scale, sinks)

    def sinks(self, stored: StoredTensor) -> Array:
        return np.asarray(stored.float32() * np.float32(np.log(2)))

    def mixture(self, router: Linear, gate_up: Experts, down: Experts, chosen: int, alpha: float, limit: float) -> Op:
        return mixture(self.linear(router), gate_up, down, chosen, alpha, limit)

    def global_tokens(self, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        return GlobalTokens.of(inputs, ids)

    def global_rows(self, x: Array, tokens: GlobalTokens) -> Array:
        return np.asarray(x[tokens.rows])

    def global_attention(self, q: Array, k: Array, v: Array, context: Array, inputs: Inputs, tokens: GlobalTokens) -> Array:
        return global_attention(q, k, v, context, tokens)

    def distances(self, inputs: Inputs, rows: Callable[[int], Array]) -> list[Distances]:
        return [Distances.of(group.length, rows(group.length)) for group in inputs.layout]

    def disentangled_attention(
        self, key: Array | None, query: Array | None, heads: int, scale: float
    ) -> Callable[[Array, Inputs, list[Distances]], Array]:
        tables = RelativeTables.of(key, query, heads, scale)
        return lambda qkv, inputs, distances: disentangled_attention(qkv, tables, scale, inputs.layout, distances)

    def convolution(self, kernel: StoredTensor, bias: StoredTensor) -> Callable[[Array, Inputs], Array]:
        taps = [np.ascontiguousarray(tap) for tap in kernel.float32().transpose(2, 1, 0)]
        shift = bias.float32()

        def apply(x: Array, inputs: Inputs) -> Array:
            y = np.empty((len(x), len(shift)), dtype=np.float32)
            y[:] = shift
            for ahead, tap in enumerate(taps, start=-(len(taps) // 2)):
                product = x @ tap
                for group in inputs.layout:
                    rows = slice(group.start, group.start + group.count * group.length)
                    to, of = (array[rows].reshape(group.count, group.length, -1) for array in (y, product))
                    end = max(0, group.length - abs(ahead))
                    to[:, max(0, -ahead) :][:, :end] += of[:, max(0, ahead) :][:, :end]
            return y

        return apply

    def lstm(self, directions: Sequence[tuple[Linear, Linear]]) -> Lstm:
        return Lstm.of(directions)

    def chosen(self, inputs: Inputs, places: Sequence[Array]) -> Inputs:
        starts = np.cumsum((0, *inputs.lengths[:-1]))
        rows = [start + some for start, some in zip(starts, places, strict=True)]
        return self.inputs(rows, rows)

    def span_scorer(self, output: Linear, width: int) -> SpanScorer:
        return SpanScorer(output.matrices[0].float32(), output.biases[0].float32(), width)


def _layer_norm(norm: Norm, epsilon: float) -> Callable[[Array], None]:
    """Layer norm of (rows, width), in place."""
    scale = _rms_norm(norm, epsilon)
    width = norm.weight.shape[0]
    mean = np.full(width, 1 / width, dtype=np.float32)
    bias = norm.bias.float32() if norm.bias else None

    def apply(block: Array) -> None:
        block -= _dots(block, mean)[:, None]
        scale(block)
        if bias is not None:
            block += bias

    return apply


def _rms_norm(norm: Norm, epsilon: float) -> Callable[[Array], None]:
    """RMS norm of (rows, width), in place; its bias is no part of it."""
    weight = norm.weight.float32()

    def apply(block: Array) -> None:
        variance = _dots(block, block) / np.float32(block.shape[1])
        block *= (1.0 / np.sqrt(variance + np.float32(epsilon)))[:, None]
        block *= weight

    return apply


_dots: Callable[[Array, Array], Array] = getattr(np, "vecdot", lambda x, y: np.einsum("...j,...j->...", x, y))
"""Row by row; numpy 1 has no vecdot, which takes less than half of einsum's time."""


def _on_a_copy(function: Callable[[Array], None]) -> Op:
    """x → function of its last axis, as rows, in a new tensor."""

    def apply(x: Array) -> Array:
        out = np.empty(x.shape, dtype=np.float32)
        for rows in blocks(len(x), x[:1].size):
            out[rows] = x[rows]
            function(out[rows].reshape(-1, x.shape[-1]))
        return out

    return apply


def _mapped(part: Array) -> bool:
    return not part.flags.owndata and not part.flags.writeable


def available_cores() -> int:
    """Cores this process may use, which on a shared machine are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
