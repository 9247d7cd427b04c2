"""Write a safetensors file without holding it: the header first, from shapes alone, then the tensors' bytes as they come.

The writer's half of `runtime.safetensors`. Tensors may arrive in any order and in pieces; each piece goes to its place.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openmed_mlx_eval.runtime.safetensors import DTYPES, Array


@dataclass(frozen=True, slots=True)
class Slot:
    """What a tensor will be: dtype by the format's name, shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def itemsize(self) -> int:
        return np.dtype(DTYPES[self.dtype]).itemsize

    @property
    def size(self) -> int:
        """In bytes."""
        return math.prod(self.shape) * self.itemsize


def write_safetensors(
    path: Path, slots: Mapping[str, Slot], pieces: Iterable[tuple[str, Array]], metadata: Mapping[str, str]
) -> None:
    """Write the tensors of `slots` to a new file.

    pieces: (tensor name, its next elements in C order, of the slot's type). Wide types come first in the file and
    the header is padded to 8 bytes, so that every tensor is aligned. Raises OSError as the disk does, and
    ValueError where pieces and slots do not agree: a mistake of the caller's.
    """
    ordered = sorted(slots, key=lambda name: (-slots[name].itemsize, name))
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    begins: dict[str, int] = {}
    end = 0
    for name in ordered:
        begins[name], end = end, end + slots[name].size
        header[name] = {"dtype": slots[name].dtype, "shape": slots[name].shape, "data_offsets": (begins[name], end)}
    described = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    described += b" " * (-len(described) % 8)

    written = dict.fromkeys(ordered, 0)
    with path.open("xb") as file:
        file.write(len(described).to_bytes(8, "little") + described)
        for name, piece in pieces:
            data = piece.astype(DTYPES[slots[name].dtype], casting="equiv", copy=False).tobytes()
            file.seek(8 + len(described) + begins[name] + written[name])
            file.write(data)
            written[name] += len(data)
        if any(written[name] != slots[name].size for name in ordered):
            raise ValueError("the pieces are not the tensors that were announced")
        file.flush()
        os.fsync(file.fileno())
