"""Scores of all spans up to a width in numpy: start and end halves added span by span, in blocks that stay in cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..safetensors import Array
from .base import Inputs
from .numpy_layout import blocks


@dataclass(frozen=True, slots=True)
class SpanScorer:
    """weight: (outputs, d). bias: (outputs,). width: tokens of the longest span."""

    weight: Array
    bias: Array
    width: int

    def __call__(self, starts: Array, ends: Array, labels: Array, inputs: Inputs) -> Array:
        folded = (labels @ self.weight).reshape(len(inputs.lengths), -1, starts.shape[1])
        shifts = (labels @ self.bias).reshape(len(inputs.lengths), -1)
        out = np.zeros((len(starts), self.width, folded.shape[1]), dtype=np.float32)
        first = 0
        for length, weight, shift in zip(inputs.lengths, folded, shifts, strict=True):
            whole = slice(first, first + length)
            for rows in blocks(length, starts.shape[1]):
                self._score(starts[whole], ends[whole], weight.T, rows, out[whole])
            out[whole] += shift
            first += length
        return out.reshape(len(starts), -1)

    def _score(self, starts: Array, ends: Array, weight: Array, rows: slice, out: Array) -> None:
        """The spans of one sequence that begin in `rows`, into out (tokens, width, labels)."""
        for more in range(min(self.width, len(ends) - rows.start)):
            last = min(rows.stop, len(ends) - more)
            hidden = starts[rows.start : last] + ends[rows.start + more : last + more]
            np.maximum(hidden, 0, out=hidden)
            out[rows.start : last, more] = hidden @ weight
