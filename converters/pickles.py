"""pytorch_model.bin, read by torch itself with `weights_only=True`, which refuses everything but tensors.

The one way a pickle comes in; at run time none is read. torch is imported here and nowhere else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.safetensors import StoredTensor

_STORED = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "bool": "BOOL"}


def open_pickle(path: Path) -> dict[str, StoredTensor]:
    """{name: tensor} of one file, mapped where its format allows (torch ≥ 1.6 wrote it).

    Raises ModelError where torch is missing, and where the file is not a plain dictionary of tensors.
    """
    try:
        import torch
    except ImportError:
        raise ModelError(
            f"{path.name} is a pickle, which only torch reads – pip install torch, and convert again; "
            "or get the checkpoint as safetensors"
        ) from None
    state: Any = None
    for mapped in (True, False):
        try:
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
            break
        except Exception:  # an old format cannot be mapped; what cannot be read at all fails twice
            continue
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ModelError(f"{path.name}: torch finds no plain dictionary of tensors in it, or refuses it as unsafe")
    return {name: _stored(str(name), tensor, torch) for name, tensor in state.items()}


def _stored(name: str, tensor: Any, torch: Any) -> StoredTensor:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind not in _STORED:
        raise ModelError(f"tensor {name!r} is of type {kind}, which no supported model has")
    plain = tensor.detach().contiguous()
    return StoredTensor(name, _STORED[kind], (plain.view(torch.uint16) if kind == "bfloat16" else plain).numpy())
