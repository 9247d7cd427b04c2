"""Whether a model fits into memory, said before its weights are laid out – and what would fit.

An estimate of the weights alone, from shapes and types in the files' headers; a forward needs some more.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..errors import ModelError
from .weights import QUANTIZED_PARTS

if TYPE_CHECKING:
    from .artifact import Artifact
    from .engines.base import Ops

ITEM_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
QUANTIZED_BYTES = {8: 8 / 8 + 4 / 64, 4: 4 / 8 + 4 / 64}
"""Bytes a value of MLX's affine scheme, groups of 64 with a scale and a bias of two bytes each."""

GIB = 2**30

GROUP_FILES = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}
"""{controllers of a control group: (where they are mounted, the file with the limit)}, for versions 2 and 1."""


def check_fits(artifact: Artifact, ops: Ops) -> None:
    """Raise ModelError for weights larger than the memory there is, naming a dtype or a quantisation that would fit."""
    available = memory_bytes(ops)
    needed = weight_bytes(artifact, ops)
    if available is None or needed <= available:
        return
    fitting = next((how for how, size in _alternatives(artifact, ops) if size <= available), None)
    raise ModelError(
        f"the weights need {needed / GIB:.1f} GiB in {ops.dtype} and there are {available / GIB:.1f} GiB of memory – "
        + (f"{fitting} would fit" if fitting else "nothing that this program can do makes them fit here")
    )


def memory_bytes(ops: Ops) -> int | None:
    """Memory that an engine's weights can be in: the device's, or the machine's as far as this process may have it.

    None where the system does not say.
    """
    if ops.name == "mlx" and ops.device != "cpu":
        from .engines.mlx_device import working_set

        size = working_set()
        if size is not None:
            return size
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return min([physical, *group_limits()])


def group_limits(root: Path = Path("/")) -> Iterator[int]:
    """The limits in bytes of the control groups a Linux process is in, as a container or a batch job has them.

    cgroups(7): each line of /proc/self/cgroup is number:controllers:path, without controllers in version 2. A group has no
    more than those above it; in a container that sees the host's path, its own group is mounted as the uppermost.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers not in GROUP_FILES:
            continue
        mount, name = GROUP_FILES[controllers]
        parts = PurePosixPath(path.strip("/")).parts
        for depth in range(len(parts) + 1):
            with suppress(OSError, ValueError):  # "max" is no number
                yield int(root.joinpath("sys/fs/cgroup", mount, *parts[:depth], name).read_text("ascii"))


def weight_bytes(artifact: Artifact, ops: Ops) -> float:
    """Bytes of the weights as the engine holds them.

    mlx: in its dtype, packed ones packed. numpy: tables as they are stored, since rows are widened when they are
    looked up; everything else in float32.
    """
    checkpoint = artifact.checkpoint
    packed = set(checkpoint.quantized())
    total = 0.0
    for name, tensor in checkpoint.tensors.items():
        stem = name.rpartition(".")[0]
        if (ops.name == "mlx" and name == f"{stem}.weight" and stem in packed) or (ops.name == "numpy" and is_table(stem)):
            total += tensor.array.nbytes
        elif ops.name == "numpy" and name.endswith(QUANTIZED_PARTS):
            continue  # unpacked with their weight
        elif name == f"{stem}.weight" and stem in packed:
            total += math.prod(checkpoint.matrix(stem).shape) * ITEM_BYTES[ops.dtype]
        else:
            total += tensor.array.size * ITEM_BYTES[ops.dtype]
    return total


def is_table(stem: str) -> bool:
    """Whether a layer, by its name without `.weight`, is looked up in and not multiplied by."""
    return stem.endswith(("_embeddings", "embed_tokens"))


def _alternatives(artifact: Artifact, ops: Ops) -> Iterator[tuple[str, float]]:
    """(what to do, bytes it would need), the most faithful first."""
    checkpoint = artifact.checkpoint
    parameters = checkpoint.parameters()
    mlx = "" if ops.name == "mlx" else "--engine mlx "
    if artifact.quantization is None:
        if ops.dtype == "float32":
            yield f"{mlx}--dtype float16", parameters * 2.0
        matrices = sum(
            tensor.array.size
            for name, tensor in checkpoint.tensors.items()
            if (len(tensor.shape) == 2 or artifact.family.is_stack(name.removesuffix(".weight"))) and name.endswith(".weight")
        )
        for bits, size in QUANTIZED_BYTES.items():
            how = f"an artifact of `openmed-mlx-eval convert --quantize {bits}`, with {mlx}--dtype float16"
            yield how, matrices * size + (parameters - matrices) * 2.0
    elif ops.dtype == "float32":
        yield f"{mlx}--dtype float16", sum(tensor.array.nbytes for tensor in checkpoint.tensors.values())
