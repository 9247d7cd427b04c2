"""Rotary positions and banded attention in numpy: no key outside a band of queries is ever multiplied.

Queries are cut into blocks of neighbouring rows, each with the keys that any of its rows may see; what of those a
single row may not see is masked. So a window of w tokens costs length · w, and causal attention half a square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..safetensors import Array
from .base import Inputs
from .numpy_layout import BLOCK, Group, blocks, cuts

LEAST_ROWS, LEAST_ROWS_IN_A_BAND = 128, 32
"""Fewer query rows make products that wait for memory (measured at 2,048 tokens: 32 rows cost a quarter more than 128);
in a band more rows are more keys that most of them do not see."""

LEAST_SCORE = np.float32(-60)
"""Below the row's maximum: e⁻⁶⁰ adds nothing in float32, and less would be denormal numbers, which slow the product down."""

LEAST_SUM, MOST_SUM = 1e-20, 1e20
"""Sums of a row's exponentials within which no maximum need be subtracted: their products with values overflow no sooner than
at values of 1e18, which no network has, and what is so small that float32 holds it with fewer digits adds nothing."""

UNSEEN = np.float32(-1e30)
"""Finite, and far below any score: exp gives 0."""


class Rotary:
    """Turns heads by their tokens' positions, with tables of cosines and sines that grow to the longest sequence seen."""

    def __init__(self, frequencies: Array, neighbours: bool = False) -> None:
        half = len(frequencies)
        self._first = slice(0, None, 2) if neighbours else slice(half)
        self._second = slice(1, None, 2) if neighbours else slice(half, None)
        self._frequencies = frequencies
        self._tables = self._computed(0)

    def __call__(self, x: Array, inputs: Inputs) -> Array:
        tables = self._up_to(max(inputs.lengths))
        for rows in blocks(len(x), x[:1].size):
            cosines, sines = tables[:, inputs.positions[rows], None]
            first, second = x[rows, :, self._first], x[rows, :, self._second]
            turned = second * cosines
            turned += first * sines
            first *= cosines
            second *= sines
            first -= second
            second[...] = turned
        return x

    def _up_to(self, length: int) -> Array:
        tables = self._tables
        if tables.shape[1] < length:  # two threads may both compute: their rows are the same
            self._tables = tables = self._computed(1 << (length - 1).bit_length())
        return tables

    def _computed(self, length: int) -> Array:
        """float32 (2, length, width/2). The angle is rounded as transformers rounds it, its cosine once."""
        angles = (np.arange(length, dtype=np.float32)[:, None] * self._frequencies).astype(np.float64)
        return np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Band:
    """How far a token sees within its sequence, in tokens; None: to the end.

    everywhere: what all tokens of each group see too, as places in its one sequence; () where nobody is seen so.
    """

    groups: tuple[Group, ...]
    before: int | None
    after: int | None
    everywhere: tuple[Array, ...] = ()


def banded_attention(q: Array, k: Array, v: Array, band: Band, scale: float | None = None, sinks: Array | None = None) -> Array:
    """See `engines.base.Ops`; q is scaled in place."""
    tokens, heads, width = q.shape
    key_heads = k.shape[1]
    q *= np.float32(width**-0.5 if scale is None else scale)
    by_head = None if sinks is None else sinks.reshape(key_heads, -1, 1, 1)
    out = np.empty((tokens, heads * width), dtype=np.float32)
    for group, everywhere in zip(band.groups, band.everywhere or (None,) * len(band.groups), strict=True):
        rows = slice(group.start, group.start + group.count * group.length)
        axes = (group.count, group.length, key_heads, -1, width)
        # (sequences, key heads, heads that share a key head, rows, d); keys are broadcast over the third.
        queries, keys, values, context = (x[rows].reshape(axes).transpose(0, 2, 3, 1, 4) for x in (q, k, v, out))
        for some_rows, seen, mask in _row_cuts(group.length, heads // key_heads, band.before, band.after):
            cost = (some_rows.stop - some_rows.start) * (seen.stop - seen.start) * (heads // key_heads)
            keys_seen, mask = (seen, mask) if everywhere is None else also_seen(seen, mask, everywhere)
            for some in cuts(group.count, max(1, BLOCK // (cost * key_heads))):
                for part in cuts(key_heads, max(1, BLOCK // cost)):
                    piece, sight = (some, part, slice(None), some_rows), (some, part, slice(None), keys_seen)
                    scores = partial(_scores, queries[piece], keys[sight], mask)
                    softmax_product(scores, values[sight], context[piece], None if by_head is None else by_head[part])
    return out


def _scores(queries: Array, keys: Array, mask: Array | None) -> Array:
    scores: Array = np.matmul(queries, keys.swapaxes(-1, -2))
    if mask is not None:
        scores += mask
    return scores


def softmax_product(scores: Callable[[], Array], v: Array, out: Array, sinks: Array | None = None) -> None:
    """softmax(scores()) · v into out. The row sums divide the product, not the weights.

    scores: called for an array that is overwritten, and again in the rare case that exp of some is out of range: only then
    is each row's maximum subtracted, which saves two passes of five. sinks: a further logit of each row, by which nothing
    is added to the product; of the scores' shape but for axes of 1.
    """
    weights = scores()
    total = _exponentials(weights, sinks)
    if not (total.min(initial=1.0) > LEAST_SUM and total.max(initial=1.0) < MOST_SUM):
        weights = scores()
        highest = np.maximum.reduce(weights, axis=-1, keepdims=True)
        if sinks is not None:
            highest = np.maximum(highest, sinks)
            sinks = sinks - highest
        weights -= highest
        np.maximum(weights, LEAST_SCORE, out=weights)
        total = _exponentials(weights, sinks)
    np.divide(np.matmul(weights, v), total, out=out)


def _exponentials(scores: Array, sinks: Array | None) -> Array:
    """exp(scores), in place, and the sum of each row, with that of its sink; (…, 1)."""
    np.exp(scores, out=scores)
    keys = scores.shape[-1]
    total: Array = (scores.reshape(-1, keys) @ np.ones(keys, dtype=np.float32)).reshape(*scores.shape[:-1], 1)
    return total if sinks is None else total + np.exp(sinks)


def _row_cuts(length: int, sharing: int, before: int | None, after: int | None) -> Iterator[tuple[slice, slice, Array | None]]:
    """(query rows, the keys any of them sees, what hides keys from single rows or None) for one sequence."""
    before = None if before is None or before >= length - 1 else before
    after = None if after is None or after >= length - 1 else after
    if before is None or after is None:
        step = max(LEAST_ROWS, BLOCK // (length * sharing))
    else:
        step = max(LEAST_ROWS_IN_A_BAND, (before + after) // 2)
    for rows in cuts(length, step):
        first = 0 if before is None else max(0, rows.start - before)
        last = length if after is None else min(length, rows.stop + after)
        yield rows, slice(first, last), _mask(rows, first, last, before, after)


def also_seen(seen: slice, mask: Array | None, everywhere: Array) -> tuple[Array, Array | None]:
    """The keys of a cut, as places, and its mask, when those at `everywhere` are seen by every row."""
    inside = (everywhere >= seen.start) & (everywhere < seen.stop)
    if mask is not None:
        mask[:, everywhere[inside] - seen.start] = 0
        mask = np.pad(mask, ((0, 0), (0, int((~inside).sum()))))
    return np.concatenate([np.arange(seen.start, seen.stop), everywhere[~inside]]), mask


def _mask(rows: slice, first: int, last: int, before: int | None, after: int | None) -> Array | None:
    """float32 (rows, keys): 0 where key is seen by query, UNSEEN elsewhere."""
    if before is None and after is None:
        return None
    distance = np.arange(first, last) - np.arange(rows.start, rows.stop)[:, None]
    hidden = np.zeros(distance.shape, dtype=bool)
    if before is not None:
        hidden |= distance < -before
    if after is not None:
        hidden |= distance > after
    mask: Array = hidden * UNSEEN
    return mask
