"""Read safetensors files by memory map: a tensor's bytes are touched when it is used, not when the file is opened.

The format (huggingface/safetensors, format page): 8 bytes little-endian header length, a JSON header
{name: {dtype, shape, data_offsets}}, then the tensors' bytes back to back. A file is hostile until its header
has been checked; nothing here runs code from it. No pickle is read anywhere in this project.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError

MAX_HEADER_BYTES = 100_000_000  # the limit of the reference implementation
MAX_DIMENSIONS = 32  # of numpy 1's arrays
MAX_VALUES = 1 << 48  # numpy counts bytes in 63 bits, even where one size is 0

DTYPES: dict[str, str] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as it lies in the file. dtype: the format's name for it; array: a view of the mapped bytes."""

    name: str
    dtype: str
    array: Array  # bfloat16, which numpy has not, is viewed as uint16

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def float32(self, rows: Array | slice | int = slice(None)) -> Array:
        """Values as float32, of the named rows alone if given; a view where they are stored as float32."""
        return widened(self.array[rows], self.dtype)


def widened(stored: Array, dtype: str) -> Array:
    """float32 from any stored floating type; bfloat16 is the upper half of a float32."""
    if dtype == "BF16":
        return np.left_shift(stored.astype(np.uint32), 16).view(np.float32)
    if dtype == "F16":
        return _widened_half(stored)
    return stored.astype(np.float32, copy=False)


def _widened_half(stored: Array) -> Array:
    """float32 of float16, bit for bit: exponent and fraction are shifted to their places, and 2¹¹² makes up for the bias.

    numpy's own conversion goes value by value, which was a sixth of the time to the first spans. Where the highest
    exponent, infinity's, stands among a block's values, it is left to numpy.
    """
    flat = stored.reshape(-1)
    values: Array = np.empty(flat.shape, dtype=np.float32)
    for first in range(0, len(flat), _BLOCK):
        half, block = flat[first : first + _BLOCK], values[first : first + _BLOCK]
        bits = block.view(np.int32)
        bits[...] = half.view(np.int16)  # widened with its sign, of which the mask leaves one bit
        bits <<= 13
        bits &= -0x7000_0001
        block *= np.float32(2.0**112)
        if max(block.max(), -block.min()) >= 2**16:
            block[...] = half
    return np.asarray(values.reshape(stored.shape))


_BLOCK = 1 << 15


def open_safetensors(path: Path) -> dict[str, StoredTensor]:
    """{name: tensor} of one file. Raises ModelError for anything the format does not allow."""
    buffer = _mapped(path)
    header, base = _header(buffer, path.name)
    available = len(buffer) - base
    taken: list[tuple[int, int, str]] = []
    tensors: dict[str, StoredTensor] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, start, end = _checked(entry, name, path.name, available)
        flat = np.frombuffer(buffer, dtype=DTYPES[dtype], count=math.prod(shape), offset=base + start)
        tensors[name] = StoredTensor(name, dtype, flat.reshape(shape))
        taken.append((start, end, name))
    for (_, end, _), (start, _, name) in pairwise([(0, 0, ""), *sorted(taken), (available, available, "")]):
        if start != end:
            fault = f"tensor {name!r} overlaps another one" if start < end else f"{start - end} bytes belong to no tensor"
            raise ModelError(f"{path.name}: {fault} – the file is damaged; download it again")
    return tensors


def _mapped(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise ModelError(f"{path.name}: the file is empty – download it again") from None
    except OSError as error:
        raise ModelError(f"{path.name}: cannot be read ({error.strerror})") from None


def _header(buffer: Any, file: str) -> tuple[Mapping[str, Any], int]:
    size = int.from_bytes(buffer[:8], "little") if len(buffer) >= 8 else len(buffer)
    if size > MAX_HEADER_BYTES or size + 8 > len(buffer):
        raise ModelError(f"{file}: not a whole safetensors file (its header does not fit it) – download it again")
    try:
        header = json.loads(buffer[8 : 8 + size].decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise ModelError(f"{file}: not a safetensors file (its header is not JSON) – download it again") from None
    if not isinstance(header, dict):
        raise ModelError(f"{file}: not a safetensors file (its header is not an object)")
    return header, 8 + size


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the format forbids a name that stands there twice, of which `json` would take the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _checked(entry: Any, name: str, file: str, available: int) -> tuple[str, tuple[int, ...], int, int]:
    """(dtype, shape, start, end) of one header entry, each checked against the others and the file's length."""

    def damaged(what: str) -> ModelError:
        return ModelError(f"{file}: tensor {name!r}: {what} – the file is damaged or cut short; download it again")

    def naturals(value: Any) -> bool:
        return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)

    if not isinstance(entry, dict):
        raise damaged("no description")
    dtype: Any = entry.get("dtype")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelError(f"{file}: tensor {name!r}: dtype is not one of {', '.join(DTYPES)}")
    if not naturals(shape) or not naturals(offsets) or len(offsets) != 2:
        raise damaged("shape or offsets are no natural numbers")
    start, end = offsets
    if len(shape) > MAX_DIMENSIONS or math.prod(size or 1 for size in shape) > MAX_VALUES:
        raise damaged("its shape is none that any model has")
    if start > end or end > available:
        raise damaged("its bytes lie outside the file")
    if math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize != end - start:
        raise damaged("its shape and its bytes disagree")
    return dtype, tuple(shape), start, end
