"""Disentangled attention in numpy: to q·kᵀ come the products of either with relative positions.

Queries and keys are multiplied with the rows of a table that occur, and an index, the same for all heads and layers, picks
the row of each query and key. Rows for all 2·length - 1 distances, whose product a view by strides would skew, are twice
as many where distances share buckets, and would have to be gathered for every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..safetensors import Array
from .numpy_bands import softmax_product
from .numpy_layout import Group, pieces


@dataclass(frozen=True, slots=True)
class Distances:
    """Where one length finds its relative positions.

    rows: those of a table that occur. by_query, by_key: (length, length), the place of query i and key j in the flat
    products (length, rows) of the queries, and of the keys, with those rows.
    """

    rows: slice
    by_query: Array
    by_key: Array

    @classmethod
    def of(cls, length: int, rows: Array) -> Distances:
        """rows: of each distance query - key from 1 - length up."""
        first, last = int(rows.min()), int(rows.max())
        near = np.lib.stride_tricks.sliding_window_view((rows - first).astype(np.intp), length)[:, ::-1]
        starts = np.arange(length) * (last + 1 - first)
        return cls(slice(first, last + 1), near + starts[:, None], near + starts)


@dataclass(frozen=True, slots=True)
class RelativeTables:
    """A layer's relative positions as keys and as queries, (heads, d, rows), the latter scaled; None where it lacks them."""

    heads: int
    keys: Array | None
    queries: Array | None

    @classmethod
    def of(cls, key: Array | None, query: Array | None, heads: int, scale: float) -> RelativeTables:
        """key, query: (rows, width)."""
        keys = None if key is None else _by_head(key, heads)
        queries = None if query is None else _by_head(query * np.float32(scale), heads)
        return cls(heads, keys, queries)

    def terms(self, q: Array, k: Array, heads: slice, near: Distances) -> list[tuple[Array, Array]]:
        """(products (sequences, heads, length · rows), places in them (length, length)) of each term there is.

        q, k: (sequences, heads, length, d), scaled queries and keys of the heads named.
        """
        found = []
        for content, table, places in ((q, self.keys, near.by_query), (k, self.queries, near.by_key)):
            if table is not None:
                products = np.matmul(content, table[heads, :, near.rows])
                found.append((products.reshape(*products.shape[:2], -1), places))
        return found


def disentangled_attention(
    qkv: Array, tables: RelativeTables, scale: float, groups: Sequence[Group], distances: Sequence[Distances]
) -> Array:
    """See `engines.base.Ops`; the queries are scaled in place. distances: of each group."""
    heads = tables.heads
    q, k, v = (part.reshape(len(qkv), heads, -1) for part in np.split(qkv, 3, axis=1))
    q *= np.float32(scale)
    out = np.empty((len(qkv), qkv.shape[1] // 3), dtype=np.float32)
    for group, near in zip(groups, distances, strict=True):
        rows = slice(group.start, group.start + group.count * group.length)
        axes = (group.count, group.length, heads, -1)
        queries, keys, values, context = (x[rows].reshape(axes).transpose(0, 2, 1, 3) for x in (q, k, v, out))
        for piece, row_cuts in pieces(group, heads):
            terms = tables.terms(queries[piece], keys[piece], piece[1], near)
            for some in row_cuts:
                scores = partial(_scores, queries[piece][:, :, some], keys[piece], terms, some)
                softmax_product(scores, values[piece], context[piece][:, :, some])
    return out


def _scores(queries: Array, keys: Array, terms: Sequence[tuple[Array, Array]], rows: slice) -> Array:
    scores: Array = np.matmul(queries, keys.swapaxes(-1, -2))
    for products, places in terms:
        scores += products.take(places[rows], axis=-1, mode="clip")  # no place is outside: "clip" skips the check
    return scores


def _by_head(table: Array, heads: int) -> Array:
    """(rows, width) → (heads, d, rows), each head's rows contiguous."""
    rows = np.ascontiguousarray(table.reshape(len(table), heads, -1).transpose(1, 0, 2))
    return np.asarray(rows.transpose(0, 2, 1))
