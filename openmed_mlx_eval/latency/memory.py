"""What a process holds: resident memory now and at its peak, an engine's device memory, a model's stored size. MiB."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

MIB = 2**20


def peak_rss_mib() -> float | None:
    """The most this process ever had in memory; None where the system does not say.

    On Linux from VmHWM: ru_maxrss is handed on at fork and exec, so that a small process started by a big one
    would report its parent's size.
    """
    return _status("VmHWM") if sys.platform.startswith("linux") else _usage()


def rss_mib() -> float | None:
    """What this process has in memory now, on Linux; elsewhere its peak."""
    return _status("VmRSS") if sys.platform.startswith("linux") else _usage()


def _status(key: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{key}:")), None)


def _usage() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak / MIB if sys.platform == "darwin" else peak / 1024


def peak_device_mib(ops: Any) -> float | None:
    """The most that mlx ever allocated in this process, for an engine of runtime.engines; None for numpy."""
    if ops.name != "mlx":
        return None
    import mlx.core as mx

    return float(mx.get_peak_memory()) / MIB


def model_mib(artifact: Any) -> float:
    """The stored size of a model's tensors, for a runtime.artifact.Artifact."""
    return float(sum(tensor.array.nbytes for tensor in artifact.checkpoint.tensors.values())) / MIB
