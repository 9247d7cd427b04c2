"""Activations on mlx, by transformers' names for them.

Written out, not mlx.nn's: those are wrapped in mx.compile, which is this engine's own choice to make for the whole network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx


def _half_gated(gate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """x/2 · (1 + gate(x))."""

    def apply(x: Any) -> Any:
        half = x * 0.5
        return half + half * gate(x)

    return apply


def _tanh_gate(x: Any) -> Any:
    return mx.tanh(x * (0.7978845608028654 + 0.7978845608028654 * 0.044715 * (x * x)))


def _silu(x: Any) -> Any:
    return x * mx.sigmoid(x)


_TANH_GELU = _half_gated(_tanh_gate)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": _half_gated(lambda x: mx.erf(x * 0.7071067811865476)),
    "gelu_new": _TANH_GELU,
    "gelu_fast": _TANH_GELU,
    "gelu_pytorch_tanh": _TANH_GELU,
    "quick_gelu": lambda x: x * mx.sigmoid(1.702 * x),
    "relu": lambda x: mx.maximum(x, 0),
    "silu": _silu,
    "swish": _silu,
    "tanh": mx.tanh,
}
