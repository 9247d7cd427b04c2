"""The mlx engine: Metal on Apple silicon, CUDA where mlx[cuda] is, and MLX's own CPU backend for checking.

Padded batches with a boolean key mask; fused attention and layer norm from `mx.fast`; quantised weights stay
quantised. Imported only when the engine is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from ...errors import ModelError
from ..safetensors import Array, StoredTensor
from ..weights import Linear, Matrix, Norm
from .base import ACTIVATIONS, Inputs, Op
from .mlx_bands import Band, band, banded_attention
from .mlx_globals import GlobalTokens, global_attention, global_rows
from .mlx_recurrent import lstm

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
BUCKET = 32
"""Padded lengths are multiples of this, so that few shapes are ever compiled for."""


class MlxOps:
    """See `engines.base.Ops`. Tensors are mx.array; a padded batch is (sequences, length, width)."""

    name = "mlx"
    workers = 1

    def __init__(self, device: str, dtype: str) -> None:
        mx.set_default_device(mx.cpu if device == "cpu" else mx.gpu)
        self.device = device
        self.dtype = dtype
        self._dtype = DTYPES[dtype]

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        lengths = tuple(len(sequence) for sequence in ids)
        longest = -(-max(lengths) // BUCKET) * BUCKET
        # Position 0 under the padding is in every table, unlike the position a bucket's end would have.
        padded = np.zeros((2, len(ids), longest), dtype=np.int32)
        for row, (sequence, position) in enumerate(zip(ids, positions, strict=True)):
            padded[0, row, : len(sequence)] = sequence
            padded[1, row, : len(sequence)] = position
        mask = None
        if min(lengths) < longest:
            mask = mx.array((np.arange(longest) < np.array(lengths)[:, None])[:, None, None, :])
        return Inputs(mx.array(padded[0]), mx.array(padded[1]), mask, lengths)

    def host(self, logits: Any, inputs: Inputs) -> Array:
        padded = np.array(logits.astype(mx.float32))
        return np.concatenate([row[:length] for row, length in zip(padded, inputs.lengths, strict=True)])

    def embedding(self, matrix: Matrix) -> Op:
        if matrix.quantization is None:
            table = self._tensor(matrix.values)
            return lambda ids: table[ids]
        words, scales, biases, how = self._quantized((matrix,))

        def look_up(ids: Any) -> Any:
            return mx.dequantize(words[ids], scales[ids], biases[ids], **how).astype(self._dtype)

        return look_up

    def row(self, matrix: Matrix, index: int) -> Any:
        return self.embedding(matrix)(mx.array([index]))[0]

    def table(self, matrix: Matrix) -> Any:
        return self.embedding(matrix)(mx.arange(matrix.shape[0]))

    def linear(self, linear: Linear) -> Op:
        bias = mx.concatenate([self._tensor(bias) for bias in linear.biases]) if linear.biases else None
        quantized = {matrix.quantization for matrix in linear.matrices}
        if quantized == {None}:
            weight = mx.concatenate([self._tensor(matrix.values) for matrix in linear.matrices]).T
            return (lambda x: x @ weight) if bias is None else (lambda x: mx.addmm(bias, x, weight))
        if None in quantized:  # layers of one product, of which some were kept whole
            alone = [Linear((matrix,), linear.biases[i : i + 1]) for i, matrix in enumerate(linear.matrices)]
            parts = [self.linear(layer) for layer in alone]
            return lambda x: mx.concatenate([part(x) for part in parts], axis=-1)
        words, scales, biases, how = self._quantized(linear.matrices)

        def product(x: Any) -> Any:
            return mx.quantized_matmul(x, words, scales, biases, transpose=True, **how)

        return product if bias is None else (lambda x: product(x) + bias)

    def norm(self, norm: Norm, epsilon: float) -> Callable[[Any, Any], Any]:
        normalise = self.layer_norm(norm, epsilon)
        return lambda x, residual: normalise(x + residual)

    def activation(self, name: str) -> Op:
        if name not in _ACTIVATIONS:
            raise ModelError(f"config.json: hidden_act {name!r} is not supported – supported are {', '.join(ACTIVATIONS)}")
        return _ACTIVATIONS[name]

    def attention(self, qkv: Any, heads: int, inputs: Inputs) -> Any:
        sequences, length, width = qkv.shape
        split = qkv.reshape(sequences, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        context = mx.fast.scaled_dot_product_attention(
            split[0], split[1], split[2], scale=split.shape[-1] ** -0.5, mask=inputs.layout
        )
        return context.transpose(0, 2, 1, 3).reshape(sequences, length, width // 3)

    def layer_norm(self, norm: Norm, epsilon: float) -> Op:
        weight, bias = self._tensor(norm.weight), self._tensor(norm.bias) if norm.bias else None
        return lambda x: mx.fast.layer_norm(x, weight, bias, epsilon)

    def rms_norm(self, norm: Norm, epsilon: float) -> Op:
        weight = self._tensor(norm.weight)
        return lambda x: mx.fast.rms_norm(x, weight, epsilon)

    def gated(self, activation: str) -> Op:
        function = self.activation(activation)

        def apply(x: Any) -> Any:
            gate, values = mx.split(x, 2, axis=-1)
            return function(gate) * values

        return apply

    def rotary(self, base: float, width: int) -> Callable[[Any, Inputs], Any]:
        # Periods, not frequencies, is what mx.fast.rope takes; given so, they are rounded once, as in numpy.
        periods = mx.array((base ** (np.arange(0, width, 2) / width)).astype(np.float32))

        def apply(x: Any, inputs: Inputs) -> Any:
            heads_first = x.transpose(0, 2, 1, 3)
            turned = mx.fast.rope(heads_first, width, traditional=False, base=None, scale=1.0, offset=0, freqs=periods)
            return turned.transpose(0, 2, 1, 3)

        return apply

    def band(
        self, inputs: Inputs, before: int | None = None, after: int | None = None, everywhere: GlobalTokens | None = None
    ) -> Band:
        sequences, length = inputs.ids.shape
        return band(inputs.layout, sequences, length, before, after, everywhere)

    def banded_attention(self, q: Any, k: Any, v: Any, band: Band) -> Any:
        return banded_attention(q, k, v, band)

    def global_tokens(self, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        return GlobalTokens.of(inputs, ids)

    def global_rows(self, x: Any, tokens: GlobalTokens) -> Any:
        return global_rows(x, tokens)

    def global_attention(self, q: Any, k: Any, v: Any, context: Any, inputs: Inputs, tokens: GlobalTokens) -> Any:
        return global_attention(q, k, v, context, inputs.layout, tokens)

    def distances(self, inputs: Inputs, rows: Callable[[int], Array]) -> tuple[Any, Any]:
        """The tables' rows for the padded length's distances, descending and ascending."""
        ascending = rows(inputs.ids.shape[1])
        return mx.array(ascending[::-1].copy()), mx.array(ascending)

    def disentangled_attention(
        self, key: Any, query: Any, heads: int, scale: float
    ) -> Callable[[Any, Inputs, tuple[Any, Any]], Any]:
        def by_head(table: Any) -> Any:
            made = mx.contiguous((table * scale).reshape(len(table), heads, -1).transpose(1, 2, 0))
            mx.eval(made)  # now, not in the first batch, and without a hold on the weights it was made of
            return made

        keys, queries = (None if table is None else by_head(table) for table in (key, query))

        def apply(qkv: Any, inputs: Inputs, distances: tuple[Any, Any]) -> Any:
            sequences, length, width = qkv.shape
            q, k, v = qkv.reshape(sequences, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
            descending, ascending = distances
            terms = []
            if keys is not None:
                terms.append(_skewed(q @ mx.take(keys, descending, axis=2)))
            if queries is not None:
                terms.append(_skewed(k @ mx.take(queries, ascending, axis=2)).swapaxes(-1, -2))
            mask = inputs.layout
            if terms:
                bias = sum(terms[1:], terms[0])
                # Finite, and far enough from the end of float16 for a score to be added.
                mask = bias if mask is None else mx.where(mask, bias, mx.array(mx.finfo(bias.dtype).min / 2, bias.dtype))
            context = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
            return context.transpose(0, 2, 1, 3).reshape(sequences, length, width // 3)

        return apply

    def convolution(self, kernel: StoredTensor, bias: StoredTensor) -> Callable[[Any, Inputs], Any]:
        weight, shift = self._tensor(kernel).transpose(0, 2, 1), self._tensor(bias)
        padding = weight.shape[1] // 2

        def apply(x: Any, inputs: Inputs) -> Any:
            if inputs.layout is not None:  # a sequence's last tokens see zeros behind it, not padding tokens
                x = mx.where(inputs.layout.reshape(*x.shape[:2], 1), x, mx.array(0, x.dtype))
            return mx.conv1d(x, weight, padding=padding) + shift

        return apply

    def lstm(self, directions: Sequence[tuple[Linear, Linear]]) -> Callable[[Any, Inputs], Any]:
        # The product with the state is one row of each sequence, at every step: packed words would be unpacked for each.
        projections = [self._sum_of_biases(*layers) for layers in directions]
        states = mx.stack([self.table(states.matrices[0]).T for _, states in directions])
        mx.eval(states)
        return lstm(projections, states)

    def _sum_of_biases(self, inputs: Linear, states: Linear) -> Op:
        """The product of `inputs` alone, with the biases of both."""
        product = self.linear(Linear(inputs.matrices, ()))
        bias = sum(self._tensor(bias) for bias in (*inputs.biases, *states.biases))
        return lambda x: product(x) + bias

    def _tensor(self, stored: StoredTensor) -> Any:
        if stored.dtype == "BF16":
            return mx.array(stored.array).view(mx.bfloat16).astype(self._dtype)
        if stored.dtype == "F64":  # Metal has no float64
            return mx.array(stored.float32()).astype(self._dtype)
        return mx.array(stored.array).astype(self._dtype)

    def _quantized(self, matrices: Sequence[Matrix]) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Packed words, scales and biases of layers side by side, and mlx's description of them."""
        how = matrices[0].quantization
        if how is None:
            raise ModelError("a quantised product of layers that are not quantised")
        words = mx.concatenate([mx.array(matrix.values.array) for matrix in matrices])
        scales = mx.concatenate([self._tensor(matrix.scales) for matrix in matrices if matrix.scales])
        biases = mx.concatenate([self._tensor(matrix.biases) for matrix in matrices if matrix.biases])
        return words, scales, biases, {"group_size": how.group_size, "bits": how.bits}


def _skewed(products: Any) -> Any:
    """(…, length, 2·length - 1) → (…, length, length): row i from column length - 1 - i on, a view by strides."""
    sequences, heads, length, width = products.shape
    strides = (heads * length * width, length * width, width - 1, 1)
    return mx.as_strided(products, (sequences, heads, length, length), strides, offset=length - 1)


# Written out, not mlx.nn's: those are wrapped in mx.compile, which off Apple needs a C++ compiler at run time.


def _gelu(x: Any) -> Any:
    return x * (1 + mx.erf(x * 0.7071067811865476)) * 0.5


def _tanh_gelu(x: Any) -> Any:
    return x * (1 + mx.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) * 0.5


def _silu(x: Any) -> Any:
    return x * mx.sigmoid(x)


_ACTIVATIONS: dict[str, Op] = {
    "gelu": _gelu,
    "gelu_new": _tanh_gelu,
    "gelu_fast": _tanh_gelu,
    "gelu_pytorch_tanh": _tanh_gelu,
    "quick_gelu": lambda x: x * mx.sigmoid(1.702 * x),
    "relu": lambda x: mx.maximum(x, 0),
    "silu": _silu,
    "swish": _silu,
    "tanh": mx.tanh,
}
