"""Checkpoint: a model's tensors under this project's names, whether stored plain or affinely quantised.

Names are those of an openmed-mlx.json artifact; a family's table leads there from the names of a Hugging Face
checkpoint. Which tensors must be there, and in which shape, is the family's word; here it is compared with what
is there. Nothing is converted: that is an engine's work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..errors import ModelError
from .safetensors import Array, StoredTensor

QUANTIZED_PARTS = (".scales", ".biases")


@dataclass(frozen=True, slots=True)
class Quantization:
    """MLX's affine scheme: w ≈ scale · q + bias, one scale and bias for `group_size` inputs (mx.quantize)."""

    bits: int
    group_size: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight of logical shape (outputs, inputs) – for an embedding (rows, width) – plain or quantised.

    values: the tensor, or uint32 words that hold 32/bits values each, lowest bits first.
    scales, biases: (outputs, inputs / group_size), with quantization; None without.
    """

    values: StoredTensor
    scales: StoredTensor | None = None
    biases: StoredTensor | None = None
    quantization: Quantization | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        if self.quantization is None:
            return self.values.shape
        return (*self.values.shape[:-1], self.values.shape[-1] * 32 // self.quantization.bits)

    def columns(self, first: int, last: int) -> Matrix:
        """The same outputs of some inputs alone; dequantised where no group of them ends at `first` or `last`."""
        if self.quantization is None or self.scales is None or self.biases is None:
            return Matrix(_columns(self.values, first, last))
        bits, group = self.quantization.bits, self.quantization.group_size
        if first % group or last % group:
            return Matrix(StoredTensor(self.values.name, "F32", np.ascontiguousarray(self.float32()[:, first:last])))
        words = _columns(self.values, first * bits // 32, last * bits // 32)
        scales, biases = (_columns(part, first // group, last // group) for part in (self.scales, self.biases))
        return Matrix(words, scales, biases, self.quantization)

    def float32(self, rows: Array | slice | int = slice(None)) -> Array:
        """Values as float32, dequantised where need be; of the named rows alone if given."""
        if self.quantization is None or self.scales is None or self.biases is None:
            return self.values.float32(rows)
        bits, group = self.quantization.bits, self.quantization.group_size
        words = self.values.array[rows]
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        levels = ((words[..., None] >> shifts) & np.uint32(2**bits - 1)).astype(np.float32)
        levels = levels.reshape(*words.shape[:-1], -1, group)
        levels *= self.scales.float32(rows)[..., None]
        levels += self.biases.float32(rows)[..., None]
        flat: Array = levels.reshape(*words.shape[:-1], -1)
        return flat


def _columns(stored: StoredTensor, first: int, last: int) -> StoredTensor:
    return StoredTensor(stored.name, stored.dtype, np.ascontiguousarray(stored.array[:, first:last]))


@dataclass(frozen=True, slots=True)
class Linear:
    """One or more linear layers of the same input, to be computed as one product. biases: as many as matrices, or none."""

    matrices: tuple[Matrix, ...]
    biases: tuple[StoredTensor, ...]


@dataclass(frozen=True, slots=True)
class Experts:
    """Linear layers of one shape, of which a router chooses some for each token.

    matrix: plain (experts, inputs, outputs), as transformers and OpenMed have it; quantised (experts, outputs, inputs), since
    what shares a scale are inputs. bias: (experts, outputs).
    """

    matrix: Matrix
    bias: StoredTensor

    def float32(self, expert: int) -> Array:
        """One expert's weight, (inputs, outputs)."""
        values = self.matrix.float32(expert)
        return values if self.matrix.quantization is None else values.T


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer normalisation: weight and bias of shape (width,). bias: None for a norm that has none."""

    weight: StoredTensor
    bias: StoredTensor | None


class Checkpoint:
    """Tensors by this project's names, with the accessors a family builds itself from."""

    def __init__(self, tensors: Mapping[str, StoredTensor], quantization: Quantization | None) -> None:
        self._tensors = dict(tensors)
        self._quantization = quantization

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    @property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Every tensor as it is stored, packed words, scales and biases too, by this project's names."""
        return MappingProxyType(self._tensors)

    def matrix(self, name: str) -> Matrix:
        values = self._tensors[f"{name}.weight"]
        if f"{name}.scales" not in self._tensors:
            return Matrix(values)
        return Matrix(values, self._tensors[f"{name}.scales"], self._tensors[f"{name}.biases"], self._quantization)

    def linear(self, *names: str) -> Linear:
        biases = tuple(self._tensors[f"{name}.bias"] for name in names if f"{name}.bias" in self)
        return Linear(tuple(map(self.matrix, names)), biases)

    def experts(self, name: str) -> Experts:
        return Experts(self.matrix(name), self._tensors[f"{name}.bias"])

    def norm(self, name: str) -> Norm:
        return Norm(self._tensors[f"{name}.weight"], self._tensors.get(f"{name}.bias"))

    def parameters(self) -> int:
        """Number of logical parameters; scales and biases of a quantised layer are not counted."""
        names = [name for name in self._tensors if not name.endswith(QUANTIZED_PARTS)]
        return sum(int(np.prod(self._logical(name))) for name in names)

    def quantized(self) -> list[str]:
        return sorted(name.removesuffix(".scales") for name in self._tensors if name.endswith(".scales"))

    def dtypes(self) -> list[str]:
        """Stored types of the tensors that are not packed integers, the most frequent first."""
        counts: dict[str, int] = {}
        for tensor in self._tensors.values():
            if tensor.dtype != "U32":
                counts[tensor.dtype] = counts.get(tensor.dtype, 0) + tensor.array.size
        return sorted(counts, key=lambda dtype: -counts[dtype])

    def _logical(self, name: str) -> tuple[int, ...]:
        stem = name.removesuffix(".weight")
        if name.endswith(".weight") and f"{stem}.scales" in self._tensors:
            *several, outputs, inputs = self.matrix(stem).shape
            return (*several, inputs, outputs) if several else (outputs, inputs)  # of experts: see there
        return self._tensors[name].shape

    def check(self, expected: Mapping[str, tuple[int, ...]]) -> None:
        """Raise ModelError that names missing, unexpected and misshapen tensors, the first five of each."""
        parts = {n for n in self._tensors if n.endswith(QUANTIZED_PARTS) and n.rpartition(".")[0] + ".weight" in expected}
        there = set(self._tensors) - parts
        problems = [
            _listed("missing", sorted(set(expected) - there)),
            _listed("unexpected", sorted(there - set(expected))),
            _listed("misshapen", self._misshapen(expected)),
        ]
        if any(problems):
            raise ModelError(
                f"the weights do not fit the configuration: {'; '.join(filter(None, problems))}"
                " – config.json and the weights must come from one checkpoint"
            )

    def _misshapen(self, expected: Mapping[str, tuple[int, ...]]) -> list[str]:
        wrong = []
        for name in sorted(set(expected) & set(self._tensors)):
            fault = self._quantization_fault(name.removesuffix(".weight")) if name.endswith(".weight") else None
            if fault is None and self._logical(name) != expected[name]:
                fault = f"{list(self._logical(name))}, not {list(expected[name])}"
            if fault is None and f"{name.removesuffix('.weight')}.scales" not in self._tensors:
                dtype = self._tensors[name].dtype
                fault = None if dtype in ("F32", "F16", "BF16", "F64") else f"stored as {dtype}, not as a floating type"
            if fault:
                wrong.append(f"{name} ({fault})")
        return wrong

    def _quantization_fault(self, stem: str) -> str | None:
        """Why a layer's packed weight, scales and biases cannot belong together; None where they can, or are plain."""
        present = [part for part in QUANTIZED_PARTS if stem + part in self._tensors]
        if not present:
            return None
        if self._quantization is None:
            return "quantised, but the artifact does not say with how many bits"
        packed = self._tensors[f"{stem}.weight"]
        if len(present) != 2 or packed.dtype != "U32" or len(packed.shape) not in (2, 3):
            return "quantised, but not as packed uint32 with scales and biases"
        groups = packed.shape[-1] * 32 // self._quantization.bits / self._quantization.group_size
        if any(self._tensors[stem + part].shape != (*packed.shape[:-1], groups) for part in QUANTIZED_PARTS):
            return f"scales or biases do not fit {self._quantization.bits} bits in groups of {self._quantization.group_size}"
        return None


def _listed(kind: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{len(names)} {kind} ({', '.join(names[:5])}{more})"


def renamed(
    tensors: Mapping[str, StoredTensor],
    names: Mapping[str, str],
    prefixes: Sequence[str],
    ignored: Sequence[str],
) -> dict[str, StoredTensor]:
    """The tensors under this project's names; a name no table knows keeps its own, to be reported as unexpected.

    names: a family's {checkpoint's stem: our stem}, `{i}` for the layer number; where the last part has another name too, whole
    names. prefixes: what a checkpoint may put before every name (`bert.`, `model.`, none). ignored: stems that token
    classification has no use for, beside OTHER_HEADS.
    """
    prefix = re.compile(rf"^(?:model\.)?(?:(?:{'|'.join(map(re.escape, prefixes))})\.)?")
    result: dict[str, StoredTensor] = {}
    for original, tensor in tensors.items():
        theirs = prefix.sub("", original)
        if theirs.startswith((*ignored, *OTHER_HEADS)):
            continue
        name = translated(theirs, names)
        if name in result:
            raise ModelError(f"two tensors of the checkpoint are both {name!r} – it holds more than one model")
        result[name] = tensor
    return result


def translated(name: str, names: Mapping[str, str]) -> str:
    """A tensor's name by a table such as `renamed` takes; a name it does not know is only given today's last part.

    A number that stands for no layer, but for a place in a torch.nn.Sequential, is a part of the table's name.
    """
    pattern, number = numbered(name)
    stem, _, part = pattern.rpartition(".")
    exact = name.removesuffix(f".{part}")
    found = names.get(pattern) or f"{names.get(exact) or names.get(stem, stem)}.{_PARTS.get(part, part)}".removeprefix(".")
    return found.replace("{i}", number)


def numbered(name: str) -> tuple[str, str]:
    """A name with `{i}` for its first number, and that number; ("…", "") where it has none."""
    number = _LAYER.search(name)
    return _LAYER.sub(".{i}.", name, count=1), number[1] if number else ""


OTHER_HEADS = (
    "cls.", "lm_head.", "lm_predictions.", "mask_predictions.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.",
    "discriminator_predictions.", "generator_predictions.", "generator_lm_head.", "loss.", "loss_fct.", "loss_fn.", "criterion.",
)  # fmt: skip
"""What pre-training leaves beside an encoder, and a trainer's class weights: transformers reads past them too. Whatever else
no table knows (layers beyond num_hidden_layers, a chain's transitions) may mean another network, and is an error."""

_LAYER = re.compile(r"\.(\d+)\.")
_PARTS = {
    "gamma": "weight",
    "beta": "bias",
}  # names of TensorFlow's layer norm, in checkpoints of 2018 and 2019
