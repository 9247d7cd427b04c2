"""Layouts: how an OpenMed artifact, or another checkpoint, lays out tensors that a family has otherwise – as tables, read both ways.

Most families need none: there a name is another name, or has a prefix. Values are never changed on the way into an
artifact, so what is written is what was read, bit for bit – but for sums, of which only the sum counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import ModelError
from .safetensors import StoredTensor
from .weights import numbered, translated

FLOATING = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True, slots=True)
class Layout:
    """Names are as `weights.renamed` takes them, `{i}` for the layer.

    names: {the artifact's: ours}. joined: {one of ours that an artifact has: those of ours that stand in it, one below the
    other}. scaled: {whole name that a table gives a tensor in another unit: (ours, the factor between them)}; float32. summed: {one of ours: whole names of those a checkpoint may have in its
    place, to be added up}; float32, and so in the artifact too.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scaled: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    summed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def stored_name(self, name: str) -> str:
        """What a tensor of ours is called in an artifact."""
        return translated(name, {ours: theirs for theirs, ours in self.names.items()})

    def taken_apart(self, tensors: Mapping[str, StoredTensor], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, StoredTensor]:
        """Tensors as a family has them, of tensors by our names. shapes: what the family expects.

        Raises ModelError for a tensor that has not the rows of those that should stand in it.
        """
        result: dict[str, StoredTensor] = {}
        for name, tensor in tensors.items():
            pattern, number = numbered(name)
            stem, _, part = pattern.rpartition(".")
            if pattern in self.scaled and tensor.dtype in FLOATING:
                ours, factor = self.scaled[pattern]
                values = (tensor.float32().astype(np.float64) * factor).astype(np.float32)
                result[ours.replace("{i}", number)] = StoredTensor(tensor.name, "F32", values)
            elif stem in self.joined:
                stems = [one.replace("{i}", number) for one in self.joined[stem]]
                rows = np.cumsum([0] + [shapes.get(f"{one}.weight", (0,))[0] for one in stems]).tolist()
                if tensor.shape[:1] != (rows[-1],):
                    raise ModelError(
                        f"the weights do not fit the configuration: tensor {tensor.name!r} must have {rows[-1]} rows"
                    )
                for one, first, last in zip(stems, rows, rows[1:], strict=False):
                    result[f"{one}.{part}"] = StoredTensor(tensor.name, tensor.dtype, tensor.array[first:last])
            else:
                result[name] = tensor
        for ours, addends in self.summed.items():
            found = [result[one] for one in addends if one in result]
            if len(found) == len(addends) and all(one.shape == found[0].shape and one.dtype in FLOATING for one in found):
                for one in addends:
                    del result[one]
                result[ours] = StoredTensor(found[0].name, "F32", np.sum([one.float32() for one in found], axis=0))
        return result

    def put_together(self, tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
        """A plain checkpoint's tensors as an artifact has them, by our names. The joined ones are copied."""
        result = dict(tensors)
        for name in tensors:
            pattern, number = numbered(name)
            stem, _, part = pattern.rpartition(".")
            for whole, parts in self.joined.items():
                if stem == parts[0]:
                    taken = [result.pop(f"{one.replace('{i}', number)}.{part}") for one in parts]
                    joined = f"{whole.replace('{i}', number)}.{part}"
                    result[joined] = _stacked(joined, taken)
        return result


def _stacked(name: str, parts: list[StoredTensor]) -> StoredTensor:
    """Tensors one below the other, as they are stored where they are stored alike, else as float32."""
    kinds = {part.dtype for part in parts}
    if len(kinds) == 1:
        return StoredTensor(name, kinds.pop(), np.concatenate([part.array for part in parts]))
    return StoredTensor(name, "F32", np.concatenate([part.float32() for part in parts]))
