"""Activations on numpy, by transformers' names for them; each overwrites a float32 block that fits into the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ModelError
from ..safetensors import Array
from .base import ACTIVATIONS


def activation_of(name: str) -> Callable[[Array], Any]:
    """Overwrites its argument. Raises ModelError for a name that is none of ACTIVATIONS."""
    if name not in FUNCTIONS:
        raise ModelError(f"config.json: hidden_act {name!r} is not supported – supported are {', '.join(ACTIVATIONS)}")
    return FUNCTIONS[name]


def _gelu(x: Array) -> None:
    """x·Φ(x) as max(x, 0) - |x|·Φ(-|x|), with Φ(-a) = P(a)⁻¹⁶: |error| < 4e-7 for |x| < 8.

    numpy has no erf, and its exp takes as long as ten other passes: no exponential is needed in the form of Hastings's
    approximations (Abramowitz and Stegun 1964, 7.1.28). Coefficients: minimax fit of a·P(a)⁻¹⁶ on [0, 6]; the
    highest is positive, so that beyond the interval it goes to 0 as it must.
    """
    size = np.abs(x)
    power = size * _ROOT[-1]
    for coefficient in _ROOT[-2:0:-1]:
        power += coefficient
        power *= size
    power += _ROOT[0]
    for _ in range(4):
        power *= power
    np.divide(size, power, out=power)
    x += size
    x *= np.float32(0.5)
    x -= power


_ROOT = np.array(
    [1.044273532533575, 0.05207936598358735, 0.02205510405059527, 0.003472100023232018,
     -1.526335754251377e-05, 8.244269820279485e-05, -3.132636637624911e-06, 9.381947767156922e-07],
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
FUNCTIONS: dict[str, Callable[[Array], Any]] = {
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
