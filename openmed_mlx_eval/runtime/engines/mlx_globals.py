"""Tokens that see and are seen everywhere, on mlx: gathered to the front of a short padded axis of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from .base import Inputs
from .mlx_layout import tokens_first


@dataclass(frozen=True, slots=True)
class GlobalTokens:
    """One batch's; n is the most that a sequence has.

    places: of them in their sequences, (sequences, n), 0 where a sequence has fewer. rows: the same in the batch,
    (sequences · n,). real: which of those are, boolean (sequences, n). among: boolean (sequences, length), true for them.
    ranks: for each token of the batch its place in `rows`, (tokens,), anything for other tokens.
    """

    places: Any
    rows: Any
    real: Any
    among: Any
    ranks: Any

    @classmethod
    def of(cls, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        """The tokens with one of these ids; None where there are none. Ids are read on the host: not for a compiled network."""
        sequences, length, _ = inputs.layout
        found = np.isin(np.array(inputs.ids), ids).reshape(sequences, length)
        found &= np.arange(length) < np.array(inputs.lengths)[:, None]
        most = int(found.sum(axis=1).max())
        if not most:
            return None
        real = np.arange(most) < found.sum(axis=1, keepdims=True)
        places = np.zeros(real.shape, dtype=np.int32)
        places[real] = found.nonzero()[1]
        each = np.arange(sequences, dtype=np.int32)[:, None]
        ranks = np.maximum(np.cumsum(found, axis=1, dtype=np.int32) - 1, 0)
        rows, ranks = (places + each * length).reshape(-1), (ranks + each * most).reshape(-1)
        return cls(*map(mx.array, (places, rows, real, found, ranks)))


def global_keys(x: Any, tokens: GlobalTokens) -> Any:
    """(sequences, heads, length, d) → (sequences, heads, n, d)."""
    return mx.take_along_axis(x, tokens.places[:, None, :, None], axis=2)


def global_attention(q: Any, k: Any, v: Any, context: Any, padding: Any, tokens: GlobalTokens) -> Any:
    """See `engines.base.Ops`. padding: boolean (sequences, 1, 1, length), true for tokens; None for none."""
    _, heads, _, width = k.shape
    q = q.reshape(*tokens.places.shape, heads, width).transpose(0, 2, 1, 3)
    found = tokens_first(mx.fast.scaled_dot_product_attention(q, k, v, scale=width**-0.5, mask=padding))
    return mx.where(tokens.among.reshape(-1, 1), mx.take(found, tokens.ranks, axis=0), context)
