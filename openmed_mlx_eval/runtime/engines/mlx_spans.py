"""Scores of all spans up to a width on mlx: one product for each width, over padded sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from .base import Inputs


def span_scorer(weight: Any, bias: Any, width: int) -> Callable[[Any, Any, Any, Inputs], Any]:
    """See `engines.base.Ops`. weight: (outputs, d). bias: (outputs,)."""

    def apply(starts: Any, ends: Any, labels: Any, inputs: Inputs) -> Any:
        sequences, length, _ = inputs.layout
        starts = starts.reshape(sequences, length, -1)
        ends = mx.pad(ends.reshape(sequences, length, -1), [(0, 0), (0, width - 1), (0, 0)])
        folded = (labels @ weight).reshape(sequences, -1, starts.shape[-1]).swapaxes(-1, -2)
        shift = (labels @ bias).reshape(sequences, 1, -1)
        scores = [mx.maximum(starts + ends[:, more : more + length], 0) @ folded + shift for more in range(width)]
        return mx.stack(scores, axis=2).reshape(sequences * length, -1)

    return apply
