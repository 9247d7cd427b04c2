"""Tokens that see and are seen everywhere, in numpy: a few keys more for each block of a band, a few rows of whole attention.

Each sequence has its own such tokens, so where a batch has any it is taken a sequence at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..safetensors import Array
from .base import Inputs
from .numpy_bands import Band, softmax_product
from .numpy_layout import Group


@dataclass(frozen=True, slots=True)
class GlobalTokens:
    """sequences: each as a group of its own. places: of its global tokens, counted from its start. rows: of all, in the batch."""

    sequences: tuple[Group, ...]
    places: tuple[Array, ...]
    rows: Array

    @classmethod
    def of(cls, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        """The tokens with one of these ids; None where there are none."""
        rows = np.flatnonzero(np.isin(inputs.ids, ids))
        if not len(rows):
            return None
        starts = np.cumsum([0, *inputs.lengths[:-1]])
        groups = tuple(Group(start, 1, length) for start, length in zip(starts.tolist(), inputs.lengths, strict=True))
        parts = np.split(rows, np.searchsorted(rows, starts[1:]))
        return cls(groups, tuple(part - group.start for part, group in zip(parts, groups, strict=True)), rows)

    def band(self, before: int | None, after: int | None) -> Band:
        return Band(self.sequences, before, after, self.places)


def global_attention(q: Array, k: Array, v: Array, context: Array, tokens: GlobalTokens) -> Array:
    """See `engines.base.Ops`."""
    q = q.reshape(-1, *k.shape[1:])
    q *= np.float32(q.shape[-1] ** -0.5)
    counts = np.cumsum([len(places) for places in tokens.places])[:-1]
    for group, places, queries in zip(tokens.sequences, tokens.places, np.split(q, counts), strict=True):
        rows = slice(group.start, group.start + group.length)
        by_head, keys, values = (x.transpose(1, 0, 2) for x in (queries, k[rows], v[rows]))
        found = np.empty(by_head.shape, dtype=np.float32)
        softmax_product(partial(np.matmul, by_head, keys.swapaxes(-1, -2)), values, found)
        context[group.start + places] = found.transpose(1, 0, 2).reshape(len(places), context.shape[1])
    return context
