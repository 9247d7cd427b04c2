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
