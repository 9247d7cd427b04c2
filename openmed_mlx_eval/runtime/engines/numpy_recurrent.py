"""A bidirectional LSTM in numpy: both directions in step, sequences of all lengths at once, no padding.

Step t takes the t-th token from the start, and the t-th from the end, of every sequence that has so many. The input's
share of the gates is one product for many steps, in pieces, so that memory holds a piece of it and not a document's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..safetensors import Array
from ..weights import Linear
from .base import Inputs

PIECE = 1 << 20
"""Float32 values of the gates that are computed at once: 4 MiB, many more than a step's."""


@dataclass(frozen=True, slots=True)
class Lstm:
    """Both directions' weights, transposed: (2, width, 4·hidden), (2, hidden, 4·hidden), (2, 1, 4·hidden).

    Columns are the gates i, f, o, g, the first three halved: σ(z) = ½ + ½·tanh(z/2), so that one tanh serves all four
    and none overflows.
    """

    inputs: Array
    states: Array
    bias: Array

    @classmethod
    def of(cls, directions: Sequence[tuple[Linear, Linear]]) -> Lstm:
        def laid_out(parts: list[Array]) -> Array:
            i, f, g, o = np.split(np.stack(parts), 4, axis=1)
            scaled = np.concatenate([i * np.float32(0.5), f * np.float32(0.5), o * np.float32(0.5), g], axis=1)
            return np.ascontiguousarray(scaled.swapaxes(1, -1)) if scaled.ndim == 3 else scaled[:, None]

        inputs, states = (laid_out([pair[part].matrices[0].float32() for pair in directions]) for part in (0, 1))
        biases = [np.sum([bias.float32() for layer in pair for bias in layer.biases], axis=0) for pair in directions]
        return cls(inputs, states, laid_out(biases))

    def __call__(self, x: Array, inputs: Inputs) -> Array:
        hidden = self.states.shape[1]
        rows, alive = time_major(inputs.lengths)
        state, cell, scratch = np.zeros((3, 2, alive[0], hidden), dtype=np.float32)
        out = np.empty((len(x), 2 * hidden), dtype=np.float32)
        for first, counts in _pieces(alive, max(1, PIECE // (8 * hidden))):
            some = rows[:, first : first + sum(counts)]
            gates = np.matmul(x[some], self.inputs)
            gates += self.bias
            states = np.empty((*some.shape, hidden), dtype=np.float32)
            place = 0
            for count in counts:
                step = slice(place, place + count)
                self._step(gates[:, step], state[:, :count], cell[:, :count], scratch[:, :count], states[:, step])
                state = states[:, step]
                place += count
            for direction in (0, 1):
                out[some[direction], direction * hidden : (direction + 1) * hidden] = states[direction]
        return out

    def _step(self, gates: Array, state: Array, cell: Array, scratch: Array, out: Array) -> None:
        """One token of each sequence, (2, sequences, …): the next state into out; gates, cell and scratch are overwritten."""
        hidden = state.shape[-1]
        gates += np.matmul(state, self.states)
        np.tanh(gates, out=gates)
        logistic = gates[..., : 3 * hidden]
        logistic *= _HALF
        logistic += _HALF
        cell *= gates[..., hidden : 2 * hidden]
        np.multiply(gates[..., :hidden], gates[..., 3 * hidden :], out=scratch)
        cell += scratch
        np.tanh(cell, out=scratch)
        np.multiply(scratch, gates[..., 2 * hidden : 3 * hidden], out=out)


_HALF = np.float32(0.5)


def time_major(lengths: Sequence[int]) -> tuple[Array, list[int]]:
    """Rows of a packed batch in the order of steps, from the starts and from the ends: (2, tokens); sequences alive at each step."""
    sizes = np.asarray(lengths)
    order = np.argsort(-sizes, kind="stable")  # so that those alive are always the first
    ended = np.bincount(sizes, minlength=sizes.max() + 1)
    alive = len(sizes) - np.cumsum(ended)[:-1]
    steps = np.repeat(np.arange(len(alive)), alive)
    sequence = order[np.arange(len(steps)) - np.repeat(np.cumsum(alive) - alive, alive)]
    starts = np.cumsum(sizes) - sizes
    return np.stack([starts[sequence] + steps, starts[sequence] + sizes[sequence] - 1 - steps]), alive.tolist()


def _pieces(alive: Sequence[int], tokens: int) -> Iterator[tuple[int, list[int]]]:
    """(first place in time-major order, sequences alive at each step) of runs of steps with about so many tokens."""
    first, held = 0, 0
    counts: list[int] = []
    for count in alive:
        if counts and held + count > tokens:
            yield first, counts
            first, counts, held = first + held, [], 0
        counts.append(count)
        held += count
    yield first, counts
