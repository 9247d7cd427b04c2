"""Plan: for each tensor of a checkpoint, in which form it is written and how its bytes are computed, block by block.

Decides which layers are quantised. Reads the mapped source a block of rows at a time and lets its pages go
afterwards, so memory stays at a few blocks however large the tensor.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.runtime.families.base import Family
from openmed_mlx_eval.runtime.safetensors import Array, StoredTensor
from openmed_mlx_eval.runtime.weights import Quantization

from .dtypes import STORED, checked, narrowed
from .quantization import quantize
from .safetensors_writer import Slot

KEEP = {
    "classifier": ("classifier.", "span_rep_layer.", "prompt_rep_layer.", "token_projection."),
    "embeddings": ("embeddings.",),
}
"""What `--keep` can name, and how the names of its tensors begin."""

BLOCK_VALUES = 1 << 21


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """One tensor on its way. name: the artifact's. dtype: in which its values, or scales and biases, are stored (F32, F16, BF16).

    stack: whether it is `weights.Experts`, (experts, inputs, outputs), which are quantised as (experts, outputs, inputs).
    """

    name: str
    source: StoredTensor
    dtype: str
    quantization: Quantization | None
    stack: bool = False

    @property
    def stem(self) -> str:
        return self.name.removesuffix(".weight")

    def slots(self) -> dict[str, Slot]:
        """What stands in the file for it: one tensor, or packed words with scales and biases."""
        shape = self.source.shape
        if self.quantization is None:
            return {self.name: Slot(self.dtype, shape)}
        if self.stack:
            shape = (shape[0], shape[2], shape[1])
        *rows, width = shape
        parameters = Slot(self.dtype, (*rows, width // self.quantization.group_size))
        words = Slot("U32", (*rows, width * self.quantization.bits // 32))
        return {self.name: words, f"{self.stem}.scales": parameters, f"{self.stem}.biases": parameters}

    def pieces(self) -> Iterator[tuple[str, Array]]:
        """(name in the file, next elements). Raises ModelError where values are, or become, not finite."""
        for block in _blocks(self.source):
            stored = checked(block, self.dtype, self.name)
            if self.quantization is None:
                yield self.name, stored
                continue
            # The rounded values are quantised, as `mx.quantize` of the converted weight would be.
            rounded = StoredTensor(self.name, self.dtype, stored).float32()
            if self.stack:
                rounded = np.ascontiguousarray(rounded.swapaxes(1, 2)).reshape(-1, rounded.shape[1])
            words, scales, biases = quantize(rounded, self.quantization)
            yield self.name, words
            yield f"{self.stem}.scales", narrowed(scales, self.dtype)
            yield f"{self.stem}.biases", narrowed(biases, self.dtype)
        _let_go(self.source)


def plan(
    tensors: Mapping[str, StoredTensor],
    family: Family,
    dtype: str | None,
    quantization: Quantization | None,
    keep: Sequence[str] = (),
) -> list[PlannedTensor]:
    """How each tensor of a plain checkpoint is written, in order of name.

    dtype: float32, float16 or bfloat16; None: each as it is stored, float64 as float32, which Metal has not.
    Linear and embedding layers, the only matrices, and stacks of experts are quantised where their width divides by the group
    size, but for the parts of the model in `keep` and the layers that the family keeps whole.
    """
    unknown = [name for name in keep if name not in KEEP]
    if unknown:
        raise UsageError(f"--keep: {unknown[0]!r} is none of {', '.join(KEEP)}")
    kept = tuple(prefix for name in keep for prefix in KEEP[name])

    def stack(name: str) -> bool:
        return name.endswith(".weight") and family.is_stack(name.removesuffix(".weight"))

    def quantized(name: str, tensor: StoredTensor) -> bool:
        plain = name.startswith(kept) or family.is_whole(name.removesuffix(".weight"))
        layer = name.endswith(".weight") and (len(tensor.shape) == 2 or stack(name)) and not plain
        return layer and quantization is not None and tensor.shape[1] % quantization.group_size == 0

    return [
        PlannedTensor(
            family.stored_name(name),
            tensor,
            STORED[dtype] if dtype else {"F64": "F32"}.get(tensor.dtype, tensor.dtype),
            quantization if quantized(name, tensor) else None,
            stack(name),
        )
        for name, tensor in sorted(family.layout.put_together(tensors).items())
    ]


def unquantized(planned: Sequence[PlannedTensor]) -> list[str]:
    """The layers that stay plain, by name."""
    layers = (item for item in planned if item.name.endswith(".weight") and (len(item.source.shape) == 2 or item.stack))
    return [item.stem for item in layers if item.quantization is None]


def _blocks(tensor: StoredTensor) -> Iterator[Array]:
    """float32 rows, about BLOCK_VALUES values at a time; of a vector, elements."""
    per_row = max(1, tensor.array.size // max(1, tensor.shape[0]))
    rows = max(1, BLOCK_VALUES // per_row)
    for first in range(0, tensor.shape[0], rows):
        yield tensor.float32(slice(first, first + rows))


def _let_go(tensor: StoredTensor) -> None:
    """Tell the system that the source's pages are not needed: they would count as this process's memory to its end."""
    base: Any = tensor.array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
