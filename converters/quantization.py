"""MLX's affine quantisation in numpy, so that a checkpoint is quantised where mlx is not installed.

Same arithmetic, in float32, as `quantize` in mlx/backend/cpu/quantized.cpp: what is written here is bit for bit
what `mx.quantize` gives on the CPU. It knows no files and no layer names.
"""

from __future__ import annotations

import numpy as np

from openmed_mlx_eval.runtime.safetensors import Array
from openmed_mlx_eval.runtime.weights import Quantization

_LEAST_SCALE = np.float32(1e-7)


def quantize(weight: Array, how: Quantization) -> tuple[Array, Array, Array]:
    """(words, scales, biases) of a float32 (rows, width) matrix whose width divides by the group size.

    words: uint32 (rows, width · bits / 32), each holding 32 / bits levels, lowest bits first. scales, biases:
    float32 (rows, width / group_size), with w ≈ scale · level + bias. The end of a group's range that is further
    from zero is kept exactly, and zero is a level, or nearly.
    """
    rows, width = weight.shape
    groups = weight.reshape(rows, width // how.group_size, how.group_size)
    low, high = groups.min(axis=-1), groups.max(axis=-1)
    levels = np.float32(2**how.bits - 1)
    below = np.abs(low) > np.abs(high)
    scale = np.maximum((high - low) / levels, _LEAST_SCALE)
    scale = np.where(below, scale, -scale)
    edge = np.where(below, low, high)
    zero = np.rint(edge / scale)
    through_zero = zero != 0
    scale = np.where(through_zero, edge / np.where(through_zero, zero, 1), scale)
    bias = np.where(through_zero, edge, np.float32(0))

    steps = groups - bias[..., None]
    steps /= scale[..., None]
    np.rint(steps, out=steps)
    np.clip(steps, 0, levels, out=steps)
    packed = steps.astype(np.uint32).reshape(rows, -1, 32 // how.bits)
    packed <<= np.arange(0, 32, how.bits, dtype=np.uint32)
    return np.bitwise_or.reduce(packed, axis=-1), scale, bias
