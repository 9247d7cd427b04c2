"""A bidirectional LSTM on mlx: both directions in step, over padded sequences.

Padding needs no mask. Read backwards, each sequence is turned round within its own length, so that padding stands
behind it either way, where no state of it can reach a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from .base import Inputs, Op
from .mlx_device import begin

STEPS = 64
"""Steps whose graph is built before it is begun: a document has as many steps as tokens."""


def lstm(projections: Sequence[Op], states: Any) -> Callable[[Any, Inputs], Any]:
    """See `engines.base.Ops`. projections: of the input, with all biases, a direction. states: (2, hidden, 4·hidden)."""

    def apply(x: Any, inputs: Inputs) -> Any:
        sequences, length, _ = inputs.layout
        x = x.reshape(sequences, length, -1)
        turned = turned_places(inputs.lengths, length)
        both = (x, mx.take_along_axis(x, turned, axis=1))
        state = mx.zeros((2, sequences, states.shape[1]), dtype=states.dtype)
        cell = state.astype(mx.float32)  # it adds up over a document
        pieces = []
        for first in range(0, length, STEPS):
            some = slice(first, first + STEPS)
            gates = mx.stack([project(way[:, some]) for project, way in zip(projections, both, strict=True)])
            found = []
            for step in range(gates.shape[2]):
                enter, keep, new, leave = mx.split(gates[:, :, step] + state @ states, 4, axis=-1)
                cell = mx.sigmoid(keep) * cell + mx.sigmoid(enter) * mx.tanh(new)
                state = mx.sigmoid(leave) * mx.tanh(cell).astype(states.dtype)
                found.append(state)
            pieces.append(mx.stack(found, axis=2))
            begin(pieces[-1])
        forwards, backwards = mx.concatenate(pieces, axis=2)
        both_ways = mx.concatenate([forwards, mx.take_along_axis(backwards, turned, axis=1)], axis=-1)
        return both_ways.reshape(sequences * length, -1)

    return apply


def turned_places(lengths: Sequence[int], length: int) -> Any:
    """Each token's place in its sequence turned round, and padding's own; (sequences, length, 1)."""
    places, ends = np.arange(length), np.array(lengths)[:, None]
    return mx.array(np.where(places < ends, ends - 1 - places, places))[..., None]
