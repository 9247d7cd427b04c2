"""Banded attention on mlx: one fused call, on the whole square or, where a window is narrow, on blocks of it.

No row of a mask is ever empty: a token sees itself, padding too, so that no softmax is of nothing and no NaN reaches
another token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from .mlx_globals import GlobalTokens, global_keys
from .mlx_layout import Padded, attend, tokens_first

BLOCK_UNIT = 32
WORTH_CUTTING = 4
"""Blocks a sequence must have before cutting it pays: each is computed with its two neighbours."""


@dataclass(frozen=True, slots=True)
class Band:
    """mask: as `mx.fast.scaled_dot_product_attention` takes it. block: tokens of a block, 0 for uncut sequences.

    everywhere: tokens whose keys are put behind those of every block.
    """

    mask: Any
    block: int = 0
    everywhere: GlobalTokens | None = None


def band(layout: Padded, before: int | None, after: int | None, everywhere: GlobalTokens | None = None) -> Band:
    """The band of a padded batch."""
    sequences, length, padding = layout
    before = None if before is None or before >= length - 1 else before
    after = None if after is None or after >= length - 1 else after
    if before is None and after is None:
        return Band(padding)
    if before is None and after == 0 and everywhere is None:
        return Band("causal")  # padding stands at the end, where no token looks
    if before is not None and after is not None:
        block = -(-max(before, after, 1) // BLOCK_UNIT) * BLOCK_UNIT
        if length >= WORTH_CUTTING * block:
            tokens = mx.ones((sequences, length), dtype=mx.bool_) if padding is None else padding[:, 0, 0]
            return Band(_block_mask(tokens, block, before, after, everywhere), block, everywhere)
    seen, itself = _seen(np.arange(length), np.arange(length), before, after)
    if everywhere is not None:
        seen = seen | everywhere.among[:, None, None]
    return Band(seen if padding is None else seen & (padding | itself))


def banded_attention(q: Any, k: Any, v: Any, band: Band, scale: float | None = None, sinks: Any = None) -> Any:
    """See `engines.base.Ops`; tensors are (sequences, heads, length, d)."""
    sequences, heads, length, width = q.shape
    if band.block:
        q = _own_blocks(q, band.block)
        k, v = (_blocks_and_globals(x, band) for x in (k, v))
    context = attend(q, k, v, width**-0.5 if scale is None else scale, band.mask, sinks)
    if band.block:
        # (sequences · blocks, heads, block, d): blocks are next to each other once heads are behind tokens
        whole = context.transpose(0, 2, 1, 3).reshape(sequences, -1, heads * width)[:, :length]
        return whole.reshape(sequences * length, heads * width)
    return tokens_first(context)


def _seen(queries: Any, keys: Any, before: int | None, after: int | None) -> tuple[Any, Any]:
    """Boolean (queries, keys), by their positions: whether key is in the query's band; whether it is the query."""
    distance = keys - queries[:, None]
    seen = np.ones(distance.shape, dtype=bool)
    if before is not None:
        seen &= distance >= -before
    if after is not None:
        seen &= distance <= after
    return mx.array(seen), mx.array(distance == 0)


def _block_mask(tokens: Any, block: int, before: int, after: int, everywhere: GlobalTokens | None) -> Any:
    """Boolean (sequences · blocks, 1, block, keys), keys as in `_blocks_and_globals`. tokens: (sequences, length), false for padding."""
    seen, itself = _seen(np.arange(block, 2 * block), np.arange(3 * block), before, after)
    if everywhere is None:
        return seen & (_three_blocks(tokens[:, None, :, None], block).swapaxes(-1, -2) | itself)
    # Each token once: global ones among the keys behind the blocks, and so not in the blocks, where a row may be left empty.
    near = seen & _three_blocks((tokens & ~everywhere.among)[:, None, :, None], block).swapaxes(-1, -2)
    far = mx.repeat(everywhere.real, len(near) // len(tokens), axis=0)[:, None, None]
    mask = mx.concatenate([near, mx.broadcast_to(far, (*near.shape[:3], far.shape[-1]))], axis=-1)
    alone = mx.concatenate([itself, mx.zeros((block, far.shape[-1]), dtype=mx.bool_)], axis=-1)
    return mask | (alone & ~mask.any(axis=-1, keepdims=True))


def _blocks_and_globals(x: Any, band: Band) -> Any:
    """(sequences, heads, length, d) → (sequences · blocks, heads, 3 · block + global tokens, d)."""
    blocks = _three_blocks(x, band.block)
    if band.everywhere is None:
        return blocks
    keys = global_keys(x, band.everywhere)
    return mx.concatenate([blocks, mx.repeat(keys, len(blocks) // len(keys), axis=0)], axis=2)


def _own_blocks(x: Any, block: int) -> Any:
    """(sequences, heads, length, d) → (sequences · blocks, heads, block, d), the last block filled with zeros."""
    return _blocks(_padded(x, 0, -x.shape[2] % block), block, block)


def _three_blocks(x: Any, block: int) -> Any:
    """(sequences, heads, length, d) → (sequences · blocks, heads, 3 · block, d): each block between its neighbours, or zeros."""
    return _blocks(_padded(x, block, block + -x.shape[2] % block), block, 3 * block)


def _blocks(x: Any, step: int, size: int) -> Any:
    """Pieces of `size` tokens, one every `step`: overlapping views by strides, copied once where they are put in a row."""
    sequences, heads, length, width = x.shape
    count = (length - size) // step + 1
    strides = (heads * length * width, step * width, length * width, width, 1)
    views = mx.as_strided(x, (sequences, count, heads, size, width), strides)
    return views.reshape(sequences * count, heads, size, width)


def _padded(x: Any, before: int, after: int) -> Any:
    return mx.pad(x, [(0, 0), (0, 0), (before, after), (0, 0)]) if before or after else x
