"""Floating types: from float32 to what is stored, bfloat16 included, which numpy has not.

Not a way to lose numbers in silence: a value that is not finite, or would not be after rounding, is refused.
"""

from __future__ import annotations

import numpy as np

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.safetensors import Array, widened

STORED = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
"""The safetensors name of each type a conversion can write."""


def narrowed(values: Array, dtype: str) -> Array:
    """float32 values as they are stored: float32, float16, or bfloat16 as uint16; rounded to nearest, ties to even."""
    if dtype == "BF16":
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
        upper: Array = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        return upper.astype(np.uint16)
    with np.errstate(over="ignore"):  # looked for in the result
        return values.astype(np.float16 if dtype == "F16" else np.float32, copy=False)


def checked(values: Array, dtype: str, name: str) -> Array:
    """`narrowed`, or ModelError that names the tensor where a value is, or becomes, no finite number."""
    if not np.isfinite(values).all():
        raise ModelError(f"tensor {name!r} holds values that are not finite – the checkpoint is damaged; download it again")
    stored = narrowed(values, dtype)
    if not np.isfinite(widened(stored, dtype)).all():
        raise ModelError(f"tensor {name!r} holds values too large for {dtype} – convert with --dtype bfloat16 or float32")
    return stored
