"""A mixture of experts in numpy: the tokens of each expert that is chosen at all, gathered for one product."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..safetensors import Array
from ..weights import Experts
from .base import Op


def mixture(route: Op, gate_up: Experts, down: Experts, chosen: int, alpha: float, limit: float) -> Op:
    """See `engines.base.Ops`; x is (tokens, width).

    An expert's weights are widened when a token first comes to it: a text meets few of many.
    """
    weights = cache(gate_up.float32), cache(down.float32)
    biases = gate_up.bias.float32(), down.bias.float32()

    def apply(x: Array) -> Array:
        experts, shares = chosen_experts(route(x), chosen)
        order = np.argsort(experts, axis=None, kind="stable")
        ascending = experts.ravel()[order]
        tokens, shares = order // chosen, shares.ravel()[order]
        y = np.zeros_like(x)
        hit, firsts = np.unique(ascending, return_index=True)
        for expert, first, last in zip(hit.tolist(), firsts, [*firsts[1:], len(order)], strict=True):
            rows = tokens[first:last]
            hidden = x[rows] @ weights[0](expert)
            hidden += biases[0][expert]
            out = _gated(hidden, alpha, limit) @ weights[1](expert)
            out += biases[1][expert]
            out *= shares[first:last, None]
            y[rows] += out  # a token chooses an expert once
        return y

    return apply


def chosen_experts(logits: Array, chosen: int) -> tuple[Array, Array]:
    """The experts of the highest logits and their softmax, each (tokens, chosen)."""
    experts = np.argpartition(logits, logits.shape[1] - chosen, axis=1)[:, -chosen:]
    shares = np.take_along_axis(logits, experts, axis=1)
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return experts, shares


def _gated(hidden: Array, alpha: float, limit: float) -> Array:
    """(rows, 2·width) → (rows, width); hidden is overwritten."""
    half = hidden.shape[1] // 2
    gate, up = hidden[:, :half], hidden[:, half:]
    np.minimum(gate, np.float32(limit), out=gate)
    np.clip(up, np.float32(-limit), np.float32(limit), out=up)
    power: Array = gate * np.float32(-alpha)
    np.exp(power, out=power)
    power += np.float32(1)
    np.divide(gate, power, out=power)
    up += np.float32(1)
    power *= up
    return power
