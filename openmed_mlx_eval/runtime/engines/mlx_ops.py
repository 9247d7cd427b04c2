"""The mlx engine: Metal on Apple silicon, CUDA where mlx[cuda] is, and MLX's own CPU backend for checking.

Padded batches with a boolean key mask; fused attention, norms and rotary positions from `mx.fast`; quantised weights stay
quantised; on a GPU the network is compiled, once for each of a bounded number of shapes. Imported only when the
engine is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from ...errors import ModelError
from ..safetensors import Array, StoredTensor
from ..weights import Experts, Linear, Matrix, Norm
from .base import ACTIVATIONS, Inputs, Op
from .mlx_activations import FUNCTIONS
from .mlx_bands import Band, band, banded_attention
from .mlx_device import begin, compiles, limit_memory
from .mlx_experts import mixture
from .mlx_globals import GlobalTokens, global_attention
from .mlx_layout import Padded, attend, chosen, heads_first, on_host, padded, shape, tokens_first
from .mlx_recurrent import lstm
from .mlx_spans import span_scorer

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


class MlxOps:
    """See `engines.base.Ops`. Tensors are mx.array; rows of a batch are those of its padded sequences, end to end.

    compile: whether networks are compiled; None: on a GPU. Raises UsageError where it is asked for and impossible.
    """

    name = "mlx"
    workers = 1

    def __init__(self, device: str, dtype: str, compile: bool | None = None) -> None:
        self._where = mx.cpu if device == "cpu" else mx.gpu
        mx.set_default_device(self._where)
        limit_memory(device)
        self.device = device
        self.dtype = dtype
        self.compiles = compiles(device, compile)
        # A GPU is filled by a large batch; its CPU backend gains nothing by one and computes padding at the price of tokens.
        self.batch_tokens, self.least_share = (512, 0.9) if device == "cpu" else (8192, 0.75)
        self._dtype = DTYPES[dtype]

    def size(self, sequences: int, longest: int, tokens: int) -> int:
        return math.prod(shape(sequences, longest, few_shapes=self.compiles))

    def inputs(self, ids: Sequence[Array], positions: Sequence[Array]) -> Inputs:
        mx.set_default_device(self._where)  # another model of this process may run elsewhere
        return padded(ids, positions, few_shapes=self.compiles)

    def started(self, network: Callable[[Inputs], Any]) -> Callable[[Inputs], Any]:
        function = self.compiled(network)

        def start(inputs: Inputs) -> Any:
            logits = function(inputs)
            begin(logits)
            return logits

        return start

    def compiled(self, network: Callable[[Inputs], Any]) -> Callable[[Inputs], Any]:
        """The network, compiled if this engine compiles: traced once for each padded shape."""
        if not self.compiles:
            return network

        def traced(ids: Any, positions: Any, *layout: Any) -> Any:
            return network(Inputs(ids, positions, Padded(*layout), ()))

        function = mx.compile(traced)
        # The layout's two integers are constants to mx.compile, part of what it tells traces apart by.
        return lambda inputs: function(inputs.ids, inputs.positions, *inputs.layout)

    def host(self, logits: Any, inputs: Inputs) -> Array:
        return on_host(logits, inputs)

    def embedding(self, matrix: Matrix) -> Op:
        if matrix.quantization is None:
            table = self._tensor(matrix.values)
            return lambda ids: mx.take(table, ids, axis=0)
        words, scales, biases, how = self._quantized((matrix,))
        return lambda ids: mx.dequantize(words[ids], scales[ids], biases[ids], **how).astype(self._dtype)

    def row(self, matrix: Matrix, index: int) -> Any:
        return self.embedding(matrix)(mx.array([index]))[0]

    def table(self, matrix: Matrix) -> Any:
        return self.embedding(matrix)(mx.arange(matrix.shape[0]))

    def linear(self, linear: Linear) -> Op:
        return self._linear(linear, self._dtype)

    def _linear(self, linear: Linear, dtype: Any) -> Op:
        bias = _joined([self._tensor(bias, dtype) for bias in linear.biases]) if linear.biases else None
        quantized = {matrix.quantization for matrix in linear.matrices}
        if quantized == {None}:
            weight = _joined([self._tensor(matrix.values, dtype) for matrix in linear.matrices]).T
            if self.device == "cpu":  # its BLAS takes less than half the time where an input's weights lie together
                weight = _made(mx.contiguous(weight))
            return (lambda x: x @ weight) if bias is None else (lambda x: mx.addmm(bias, x, weight))
        if None in quantized:  # layers of one product, of which some were kept whole
            alone = [Linear((matrix,), linear.biases[i : i + 1]) for i, matrix in enumerate(linear.matrices)]
            parts = [self._linear(layer, dtype) for layer in alone]
            return lambda x: mx.concatenate([part(x) for part in parts], axis=-1)
        words, scales, biases, how = self._quantized(linear.matrices, dtype)

        def product(x: Any) -> Any:
            return mx.quantized_matmul(x, words, scales, biases, transpose=True, **how)

        return product if bias is None else (lambda x: product(x) + bias)

    def norm(self, norm: Norm, epsilon: float) -> Callable[[Any, Any], Any]:
        normalise = self.layer_norm(norm, epsilon)
        return lambda x, residual: normalise(x + residual)

    def activation(self, name: str) -> Op:
        if name not in FUNCTIONS:
            raise ModelError(f"config.json: hidden_act {name!r} is not supported – supported are {', '.join(ACTIVATIONS)}")
        return FUNCTIONS[name]

    def attention(self, qkv: Any, heads: int, inputs: Inputs) -> Any:
        q, k, v = heads_first(qkv, (heads, heads, heads), inputs.layout)
        return tokens_first(attend(q, k, v, q.shape[-1] ** -0.5, inputs.layout.mask))

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

    def heads(self, x: Any, counts: Sequence[int], inputs: Inputs) -> list[Any]:
        return heads_first(x, counts, inputs.layout)

    def rotary(self, frequencies: Array, *, neighbours: bool = False) -> Callable[[Any, Inputs], Any]:
        width = 2 * len(frequencies)
        periods = _made(mx.array((1 / frequencies.astype(np.float64)).astype(np.float32)))  # is what mx.fast.rope takes

        def apply(x: Any, inputs: Inputs) -> Any:
            return mx.fast.rope(x, width, traditional=neighbours, base=None, scale=1.0, offset=0, freqs=periods)

        return apply

    def band(
        self, inputs: Inputs, before: int | None = None, after: int | None = None, everywhere: GlobalTokens | None = None
    ) -> Band:
        return band(inputs.layout, before, after, everywhere)

    def banded_attention(self, q: Any, k: Any, v: Any, band: Band, *, scale: float | None = None, sinks: Any = None) -> Any:
        return banded_attention(q, k, v, band, scale, sinks)

    def sinks(self, stored: StoredTensor) -> Any:
        return _made(mx.array(stored.float32() * np.float32(np.log(2))).astype(self._dtype))

    def mixture(self, router: Linear, gate_up: Experts, down: Experts, chosen: int, alpha: float, limit: float) -> Op:
        products = [self._experts(experts) for experts in (gate_up, down)]
        return mixture(self._linear(router, mx.float32), products[0], products[1], chosen, alpha, limit)

    def global_tokens(self, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        return GlobalTokens.of(inputs, ids)

    def global_rows(self, x: Any, tokens: GlobalTokens) -> Any:
        return mx.take(x, tokens.rows, axis=0)

    def global_attention(self, q: Any, k: Any, v: Any, context: Any, inputs: Inputs, tokens: GlobalTokens) -> Any:
        return global_attention(q, k, v, context, inputs.layout.mask, tokens)

    def distances(self, inputs: Inputs, rows: Callable[[int], Array]) -> tuple[Any, Any]:
        """The tables' rows for the padded length's distances, descending and ascending."""
        ascending = rows(inputs.layout.length)
        return mx.array(ascending[::-1].copy()), mx.array(ascending)

    def disentangled_attention(
        self, key: Any, query: Any, heads: int, scale: float
    ) -> Callable[[Any, Inputs, tuple[Any, Any]], Any]:
        def by_head(table: Any) -> Any:
            return _made(mx.contiguous((table * scale).reshape(len(table), heads, -1).transpose(1, 2, 0)))

        keys, queries = (None if table is None else by_head(table) for table in (key, query))

        def apply(qkv: Any, inputs: Inputs, distances: tuple[Any, Any]) -> Any:
            q, k, v = heads_first(qkv, (heads, heads, heads), inputs.layout)
            descending, ascending = distances
            terms = []
            if keys is not None:
                terms.append(_skewed(q @ mx.take(keys, descending, axis=2)))
            if queries is not None:
                terms.append(_skewed(k @ mx.take(queries, ascending, axis=2)).swapaxes(-1, -2))
            mask = inputs.layout.mask
            if terms:
                bias = sum(terms[1:], terms[0])
                # Finite, and far enough from the end of float16 for a score to be added.
                mask = bias if mask is None else mx.where(mask, bias, mx.array(mx.finfo(bias.dtype).min / 2, bias.dtype))
            return tokens_first(attend(q, k, v, scale, mask))

        return apply

    def convolution(self, kernel: StoredTensor, bias: StoredTensor) -> Callable[[Any, Inputs], Any]:
        weight, shift = _made(self._tensor(kernel).transpose(0, 2, 1)), self._tensor(bias)
        padding = weight.shape[1] // 2

        def apply(x: Any, inputs: Inputs) -> Any:
            sequences, length, mask = inputs.layout
            x = x.reshape(sequences, length, -1)
            if mask is not None:  # a sequence's last tokens see zeros behind it, not padding tokens
                x = mx.where(mask.reshape(sequences, length, 1), x, mx.array(0, x.dtype))
            return mx.conv1d(x, weight, padding=padding).reshape(sequences * length, -1) + shift

        return apply

    def lstm(self, directions: Sequence[tuple[Linear, Linear]]) -> Callable[[Any, Inputs], Any]:
        # The product with the state is one row of each sequence, at every step: packed words would be unpacked for each.
        projections = [self._sum_of_biases(*layers) for layers in directions]
        states = _made(mx.stack([self.table(states.matrices[0]).T for _, states in directions]))
        return lstm(projections, states)

    def chosen(self, inputs: Inputs, places: Sequence[Array]) -> Inputs:
        return chosen(inputs, places)

    def span_scorer(self, output: Linear, width: int) -> Callable[[Any, Any, Any, Inputs], Any]:
        return span_scorer(self.table(output.matrices[0]), self._tensor(output.biases[0]), width)

    def _sum_of_biases(self, inputs: Linear, states: Linear) -> Op:
        """The product of `inputs` alone, with the biases of both."""
        product = self.linear(Linear(inputs.matrices, ()))
        bias = _made(sum(self._tensor(bias) for bias in (*inputs.biases, *states.biases)))
        return lambda x: product(x) + bias

    def _experts(self, experts: Experts) -> Callable[[Any, Any], Any]:
        """(x (rows, inputs), each row's expert, ascending) → (rows, outputs)."""
        bias = self._tensor(experts.bias)
        if experts.matrix.quantization is None:
            dtype = mx.float32 if self.device == "cpu" else self._dtype  # all that mlx's gather_mm knows on the CPU
            weight = self._tensor(experts.matrix.values, dtype)

            def product(x: Any, of: Any) -> Any:
                return mx.gather_mm(x.astype(dtype), weight, rhs_indices=of, sorted_indices=True).astype(x.dtype)
        else:
            words, scales, biases, how = self._quantized((experts.matrix,))

            def product(x: Any, of: Any) -> Any:
                return mx.gather_qmm(x, words, scales, biases, rhs_indices=of, transpose=True, sorted_indices=True, **how)

        return lambda x, of: product(x[:, None], of)[:, 0] + bias[of]

    def _tensor(self, stored: StoredTensor, dtype: Any = None) -> Any:
        dtype = dtype or self._dtype
        if stored.dtype == "BF16":
            return _made(mx.array(stored.array).view(mx.bfloat16).astype(dtype))
        if stored.dtype == "F64":  # Metal has no float64
            return _made(mx.array(stored.float32()).astype(dtype))
        return _made(mx.array(stored.array).astype(dtype))

    def _quantized(self, matrices: Sequence[Matrix], dtype: Any = None) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Packed words, scales and biases of layers side by side, and mlx's description of them."""
        how = matrices[0].quantization
        if how is None:
            raise ModelError("a quantised product of layers that are not quantised")
        words = _joined([mx.array(matrix.values.array) for matrix in matrices])
        scales = _joined([self._tensor(matrix.scales, dtype) for matrix in matrices if matrix.scales])
        biases = _joined([self._tensor(matrix.biases, dtype) for matrix in matrices if matrix.biases])
        return words, scales, biases, {"group_size": how.group_size, "bits": how.bits}


def _made(weights: Any) -> Any:
    """Computed at load: a weight still to be computed would be computed in every call of a compiled network."""
    begin(weights)
    return weights


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else _made(mx.concatenate(list(parts)))


def _skewed(products: Any) -> Any:
    """(…, length, 2·length - 1) → (…, length, length): row i from column length - 1 - i on, a view by strides."""
    sequences, heads, length, width = products.shape
    strides = (heads * length * width, length * width, width - 1, 1)
    return mx.as_strided(products, (sequences, heads, length, length), strides, offset=length - 1)
