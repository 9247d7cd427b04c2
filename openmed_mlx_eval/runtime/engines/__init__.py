"""Choose the engine and device that run a model; what was chosen is what the report says."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from ...errors import UsageError
from ..options import DEVICES, DTYPES, ENGINES
from .base import Ops


def accelerator() -> str | None:
    """`metal` or `cuda` where mlx can use it here, else None. Imports mlx only where there may be one."""
    possible = (sys.platform == "darwin" and platform.machine() == "arm64") or Path("/dev/nvidiactl").exists()
    if not possible or find_spec("mlx") is None:
        return None
    import mlx.core as mx

    if mx.metal.is_available():
        return "metal"
    return "cuda" if mx.is_available(mx.gpu) else None


def open_engine(
    engine: str = "auto", device: str = "auto", dtype: str = "auto", *, half: str = "float32", compile: bool | None = None
) -> Ops:
    """The operations for an engine, device and dtype, each a value of `runtime.options`.

    `auto` means Metal if present, else CUDA through mlx, else the CPU in numpy; as dtype `half` on Metal, which is
    made for it, and float32 elsewhere. compile: None: on a GPU.
    Raises UsageError for a combination that does not exist here; nothing falls back silently.
    """
    for value, allowed, option in (
        (engine, ENGINES, "--engine"),
        (device, DEVICES, "--device"),
        (dtype, DTYPES, "--dtype"),
    ):
        if value not in allowed:
            raise UsageError(f"{option}: {value!r} is none of {', '.join(allowed)}")
    if engine == "numpy" or (engine == "auto" and device == "cpu"):
        return _numpy(device, dtype, compile)
    found = accelerator()
    if device == "auto":
        device = found or "cpu"
    elif device not in ("cpu", found):
        raise UsageError(f"--device {device}: there is none that mlx can use here – `openmed-mlx-eval doctor` says what there is")
    if engine == "auto" and device == "cpu":
        return _numpy(device, dtype, compile)
    if find_spec("mlx") is None:
        raise UsageError("--engine mlx: mlx is not installed – pip install 'openmed-mlx-eval[mlx-cpu]', or use --engine numpy")
    from .mlx_ops import MlxOps

    if dtype == "auto":
        dtype = half if device == "metal" else "float32"
    return MlxOps(device, dtype, compile)


def _numpy(device: str, dtype: str, compile: bool | None) -> Ops:
    if device not in ("auto", "cpu"):
        raise UsageError(f"--engine numpy runs on the CPU, not on {device} – use --engine mlx")
    if dtype not in ("auto", "float32"):
        raise UsageError(f"--engine numpy computes in float32 – leave --dtype {dtype} out, or use --engine mlx")
    if compile:
        raise UsageError("--engine numpy compiles nothing – leave --compile out, or use --engine mlx")
    from .numpy_ops import NumpyOps

    return NumpyOps()
