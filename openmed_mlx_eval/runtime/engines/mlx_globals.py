"""Tokens that see and are seen everywhere, on mlx: gathered to the front of a short padded axis of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from .base import Inputs


@dataclass(frozen=True, slots=True)
class GlobalTokens:
    """One batch's; n is the most that a sequence has.

    places: of them in their sequences, (sequences, n), 0 where a sequence has fewer. real: which of those are,
    boolean (sequences, n). among: boolean (sequences, length), true for them. rank: each token's number among them,
    (sequences, length), anything for other tokens.
    """

    places: Any
    real: Any
    among: Any
    rank: Any

    @classmethod
    def of(cls, inputs: Inputs, ids: Sequence[int]) -> GlobalTokens | None:
        """The tokens with one of these ids; None where there are none."""
        found = np.isin(np.array(inputs.ids), ids)
        found &= np.arange(found.shape[1]) < np.array(inputs.lengths)[:, None]
        most = int(found.sum(axis=1).max())
        if not most:
            return None
        real = np.arange(most) < found.sum(axis=1, keepdims=True)
        places = np.zeros(real.shape, dtype=np.int32)
        places[real] = found.nonzero()[1]
        rank = np.maximum(np.cumsum(found, axis=1) - 1, 0).astype(np.int32)
        return cls(*map(mx.array, (places, real, found, rank)))


def global_rows(x: Any, tokens: GlobalTokens) -> Any:
    """(sequences, length, …) → (sequences, n, …)."""
    return mx.take_along_axis(x, _over(tokens.places, x), axis=1)


def global_attention(q: Any, k: Any, v: Any, context: Any, padding: Any, tokens: GlobalTokens) -> Any:
    """See `engines.base.Ops`. padding: boolean (sequences, 1, 1, length), true for tokens; None for none."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    found = mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=padding)
    found = found.transpose(0, 2, 1, 3).reshape(*tokens.places.shape, -1)
    return mx.where(tokens.among[..., None], mx.take_along_axis(found, _over(tokens.rank, found), axis=1), context)


def _over(places: Any, x: Any) -> Any:
    """places with as many axes as x."""
    return places.reshape(*places.shape, *[1] * (x.ndim - 2))
