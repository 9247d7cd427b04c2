"""How the mlx engine lays a batch out: sequences padded to one length, end to end as rows, in a bounded number of shapes.

Rows stay (tokens, width) all the way, as matrix products want them; only attention and convolution cut them into
sequences again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from ..safetensors import Array
from .base import Inputs

LEAST_STEP = 8


class Padded(NamedTuple):
    """sequences, length: of the padded batch. mask: boolean (sequences, 1, 1, length), true for tokens; None for no padding."""

    sequences: int
    length: int
    mask: Any


def bucket(size: int, least: int = LEAST_STEP) -> int:
    """`size` rounded up to a multiple of `least`, or to one of four sizes an octave where those are further apart.

    16 lengths up to 256 and 4 more for each doubling, at most a quarter longer from 32 on.
    """
    step = max(least, 1 << max(0, (size - 1).bit_length() - 3))
    return -(-size // step) * step


def shape(sequences: int, longest: int, *, few_shapes: bool) -> tuple[int, int]:
    """(sequences, length) that a batch is padded to. few_shapes: both rounded up to buckets."""
    return (bucket(sequences, 1), bucket(longest)) if few_shapes else (sequences, longest)


def padded(ids: Sequence[Array], positions: Sequence[Array], *, few_shapes: bool) -> Inputs:
    """One batch on the device. few_shapes: as in `shape`."""
    lengths = tuple(len(sequence) for sequence in ids)
    rows, longest = shape(len(ids), max(lengths), few_shapes=few_shapes)
    # Position 0 under the padding is in every table, unlike the position a bucket's end would have.
    table = np.zeros((2, rows, longest), dtype=np.int32)
    for row, (sequence, position) in enumerate(zip(ids, positions, strict=True)):
        table[0, row, : len(sequence)] = sequence
        table[1, row, : len(sequence)] = position
    mask = None
    if min(lengths) < longest:
        # A sequence that only fills the batch up is whole: attention over nothing would be NaN.
        seen = np.array([*lengths, *[longest] * (rows - len(ids))])
        mask = mx.array((np.arange(longest) < seen[:, None])[:, None, None, :])
    return Inputs(mx.array(table[0].reshape(-1)), mx.array(table[1].reshape(-1)), Padded(rows, longest, mask), lengths)


def chosen(inputs: Inputs, places: Sequence[Array]) -> Inputs:
    """See `engines.base.Ops`; never rounded up to a bucket, since only what is not compiled chooses."""
    rows = [sequence * inputs.layout.length + some for sequence, some in enumerate(places)]
    return padded(rows, rows, few_shapes=False)


def on_host(x: Any, inputs: Inputs) -> Array:
    """Rows of the real tokens, float32. The one place where the host waits for the device."""
    rows = np.array(x.astype(mx.float32)).reshape(inputs.layout.sequences, inputs.layout.length, *x.shape[1:])
    return np.concatenate([row[:length] for row, length in zip(rows, inputs.lengths, strict=False)])


def heads_first(x: Any, counts: Sequence[int], layout: Padded) -> list[Any]:
    """(tokens, sum of counts · width) → one (sequences, count, length, width) for each count."""
    whole = x.reshape(layout.sequences, layout.length, sum(counts), -1).transpose(0, 2, 1, 3)
    cuts = [sum(counts[: i + 1]) for i in range(len(counts) - 1)]
    return list(mx.split(whole, cuts, axis=1))


def tokens_first(x: Any) -> Any:
    """(sequences, heads, length, width) → (tokens, heads · width)."""
    sequences, heads, length, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(sequences * length, heads * width)


def attend(q: Any, k: Any, v: Any, scale: float, mask: Any, sinks: Any = None) -> Any:
    """softmax(scale · q·kᵀ)·v; tensors are (sequences, heads, length, d), mask and sinks as mx.fast takes them."""
    if mx.default_device() == mx.cpu:
        # Its BLAS adds up short dot products one by one; with kᵀ's rows in one piece it takes a third of the time.
        k = mx.contiguous(k.swapaxes(-1, -2)).swapaxes(-1, -2)
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask, sinks=sinks)
