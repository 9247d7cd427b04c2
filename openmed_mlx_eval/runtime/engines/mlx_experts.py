"""A mixture of experts on mlx: rows in order of their experts, for one gathered product each way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from .base import Op

ROWS = 8192
"""Tokens computed at once: gathered, each is there once for every expert it goes to, and a window may be of 131,072 tokens."""

Product = Callable[[Any, Any], Any]
"""(x (rows, inputs), the expert of each row, ascending) → (rows, outputs)."""


def mixture(route: Op, gate_up: Product, down: Product, chosen: int, alpha: float, limit: float) -> Op:
    """See `engines.base.Ops`; x is (tokens, width). The router's logits and what follows from them are float32, as in transformers."""

    def apply(x: Any) -> Any:
        parts = [some(x[first : first + ROWS]) for first in range(0, len(x), ROWS)]
        return parts[0] if len(parts) == 1 else mx.concatenate(parts)

    def some(x: Any) -> Any:
        logits = route(x.astype(mx.float32))
        experts = mx.argpartition(-logits, chosen - 1, axis=-1)[:, :chosen]
        shares = mx.softmax(mx.take_along_axis(logits, experts, axis=-1), axis=-1)
        order = mx.argsort(experts.reshape(-1))
        ascending = experts.reshape(-1)[order]
        gate, up = mx.split(gate_up(x[order // chosen], ascending), 2, axis=-1)
        gate, up = mx.minimum(gate, limit), mx.clip(up, -limit, limit)
        out = down((up + 1) * gate * mx.sigmoid(alpha * gate), ascending)
        by_token = out[mx.argsort(order)].reshape(-1, chosen, out.shape[-1])
        return (by_token * shares[..., None]).sum(axis=1).astype(x.dtype)

    return apply
