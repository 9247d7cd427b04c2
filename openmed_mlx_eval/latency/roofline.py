"""Roofline: what this device can do at most, measured, and the share of it that a model reaches.

Williams, Waterman and Patterson 2009 (doi:10.1145/1498765.1498785): a computation is bound by arithmetic or by
memory. Both peaks are measured here on the engine's own library and device – the best of several attempts, since
nothing makes a matrix product faster than it can be. A model's operations are counted from its configuration.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..runtime.footprint import is_table
from ..runtime.weights import QUANTIZED_PARTS

if TYPE_CHECKING:
    from ..runtime.artifact import Artifact
    from ..runtime.classifier import TokenClassifier
    from ..runtime.families.base import Sight

MATRIX = 1536
"""Rows and columns of the matrices multiplied: large enough for a peak, 9 MiB each in float32."""

STREAM_MIB = 128
"""Size of the array copied: several times any last-level cache of a laptop."""

ATTEMPTS = 5
SECONDS = 0.3
"""Every measure is taken at least so often and so long, and the best counts."""


def flops_per_token(artifact: Artifact, length: int) -> int:
    """Floating-point operations for one token of a sequence of `length`, a multiplication and an addition each.

    Every linear layer, of experts those that a token is given to: 2 · inputs · outputs, by the shapes that the family
    derives from config.json; attention: q·k and weights·v, 4 · tokens seen · width in each layer, the tokens seen on
    average over the sequence where a layer sees a window. Elementwise work is left out, as is usual (Kaplan et al. 2020,
    arXiv:2001.08361, 2.1), and so is what few tokens go through: a share is rather too low than too high.
    """
    attention = sum(4 * layer.width * _seen(layer, length) for layer in artifact.family.sight(artifact.config))
    return 2 * _values(artifact) + round(attention / length)


def _seen(layer: Sight, length: int) -> int:
    """How many tokens those of a sequence see together, each itself too."""
    last = length - 1
    sides = (last if side is None else min(side, last) for side in (layer.before, layer.after))
    return length + sum(side * (side + 1) // 2 + (last - side) * side for side in sides)


def weight_bytes(artifact: Artifact, item: int, *, packed: bool = False) -> int:
    """Bytes of weights that every forward has to read, at `item` bytes a value: linear layers, not look-up tables.

    packed: quantised layers are read as they are stored, as by mlx, and not widened when they are loaded.
    """
    tensors = artifact.checkpoint.tensors
    stored = set(artifact.checkpoint.quantized()) if packed else set()
    total = 0.0
    for layer, values, share in _layers(artifact):
        if layer in stored:
            total += share * sum(tensors[layer + part].array.nbytes for part in (".weight", *QUANTIZED_PARTS))
        else:
            total += values * item
    return round(total)


def _values(artifact: Artifact) -> int:
    """Values of the linear layers that a token goes through."""
    return sum(values for _, values, _ in _layers(artifact))


def _layers(artifact: Artifact) -> Iterator[tuple[str, int, float]]:
    """(name, values that a token goes through, their share of the layer's) of each linear layer; the share is of experts."""
    family = artifact.family
    for name, shape in family.shapes(artifact.config).items():
        layer = name.removesuffix(".weight")
        if len(shape) == 2 and name != layer and not is_table(layer) and not family.is_seldom(layer):
            yield layer, shape[0] * shape[1], 1.0
        elif len(shape) == 3 and name != layer and family.is_stack(layer):
            chosen = family.chosen(artifact.config)
            yield layer, chosen * shape[1] * shape[2], chosen / shape[0]


def roofline_block(classifier: TokenClassifier, cells: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`roofline` of latency.json. cells: those of `steady_state`; shares are of their median forward."""
    ops, artifact = classifier.ops, classifier.artifact
    peak, bandwidth = peaks(ops)
    item = 4 if ops.dtype == "float32" else 2
    read = weight_bytes(artifact, item, packed=ops.name == "mlx")
    rows = []
    for cell in cells:
        seconds = cell["forward_ms"]["median"] / 1000
        flops = flops_per_token(artifact, cell["length"]) * cell["tokens"]
        rows.append(
            {
                "length": cell["length"],
                "batch": cell["batch"],
                "flops": flops,
                "flops_per_second": flops / seconds,
                "matmul_share": flops / seconds / peak,
                "bandwidth_share": read / seconds / bandwidth,
                "bound": "arithmetic" if flops / peak >= read / bandwidth else "memory",
            }
        )
    return {
        "matmul_flops_per_second": peak,
        "bandwidth_bytes_per_second": bandwidth,
        "flops_per_token": flops_per_token(artifact, artifact.window),
        "weight_bytes": read,
        "cells": rows,
    }


def peaks(ops: Any) -> tuple[float, float]:
    """(FLOP/s of matrix products, bytes/s of memory) of an engine's device, measured."""
    return _PEAKS[ops.name](ops)


def best_seconds(work: Callable[[], Any]) -> float:
    """The shortest of at least ATTEMPTS calls that took SECONDS together, after one for nothing."""
    work()
    best, taken, calls = float("inf"), 0.0, 0
    while calls < ATTEMPTS or taken < SECONDS:
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        best, taken, calls = min(best, seconds), taken + seconds, calls + 1
    return best


def _numpy_peaks(ops: Any) -> tuple[float, float]:
    """(FLOP/s, bytes/s) in float32: one product on all of BLAS's threads, or one on each worker, whichever is faster."""
    import numpy as np

    from ..runtime.pipeline import one_blas_thread

    a = np.random.default_rng(0).standard_normal((MATRIX, MATRIX), dtype=np.float32)
    outs = [np.empty_like(a) for _ in range(ops.workers)]
    source = np.ones(STREAM_MIB << 18, dtype=np.float32)
    target = np.empty_like(source)
    parts = np.linspace(0, len(source), ops.workers + 1).astype(int).tolist()

    together = 2 * MATRIX**3 / best_seconds(lambda: np.matmul(a, a, out=outs[0]))
    with one_blas_thread, ThreadPoolExecutor(ops.workers) as pool:

        def multiply() -> None:
            list(pool.map(lambda out: np.matmul(a, a, out=out), outs))

        def copy() -> None:
            list(pool.map(lambda part: np.copyto(target[slice(*part)], source[slice(*part)]), itertools.pairwise(parts)))

        apart = 2 * MATRIX**3 * ops.workers / best_seconds(multiply)
        copied = 2 * source.nbytes / best_seconds(copy)  # read and written
    return max(together, apart), copied


def _mlx_peaks(ops: Any) -> tuple[float, float]:
    """(FLOP/s, bytes/s) of one product and one copy on the engine's device, in its dtype."""
    import mlx.core as mx

    dtype = getattr(mx, ops.dtype)
    a = mx.random.normal((MATRIX, MATRIX)).astype(dtype)
    source = mx.ones((STREAM_MIB << 20) // dtype.size, dtype=dtype)
    mx.eval(a, source)
    product = best_seconds(lambda: mx.eval(mx.matmul(a, a)))
    copy = best_seconds(lambda: mx.eval(source + 1))
    return 2 * MATRIX**3 / product, 2 * (STREAM_MIB << 20) / copy


_PEAKS: dict[str, Callable[[Any], tuple[float, float]]] = {"numpy": _numpy_peaks, "mlx": _mlx_peaks}
