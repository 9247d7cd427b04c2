"""What the mlx engine asks of its device: how much memory it has and may keep, and whether functions can be compiled for it."""

from __future__ import annotations

import io
from typing import Any

import mlx.core as mx

from ...errors import UsageError

MOST_CACHED = 2 << 30
"""Bytes of freed buffers kept for the next batch, which is of another length: without a limit mlx keeps one set a length."""


def begin(x: Any) -> None:
    """Have an array computed beside the host."""
    mx.async_eval(x)  # type: ignore[no-untyped-call]


def working_set() -> int | None:
    """Bytes that the device's arrays should stay below; None where it does not say."""
    about = mx.device_info() if hasattr(mx, "device_info") else mx.metal.device_info()
    sizes = (int(about.get(key) or 0) for key in ("max_recommended_working_set_size", "total_memory", "memory_size"))
    return next((size for size in sizes if size > 0), None)


def limit_memory(device: str) -> None:
    """On Metal keep arrays resident, as far as the system recommends; on any GPU bound what is kept of freed ones.

    The wired limit has an effect from macOS 15 on; without it weights are paged out between batches.
    """
    size = None if device == "cpu" else working_set()
    if size is None:
        return
    if device == "metal":
        mx.set_wired_limit(size)
    mx.set_cache_limit(min(MOST_CACHED, size // 4))


def compiles(device: str, asked: bool | None) -> bool:
    """Whether networks are compiled: as asked, else on a GPU, where mlx brings the compiler along.

    Its CPU device calls the system's C++ compiler at run time and loads what it left in the folder for temporary files.
    Raises UsageError where that is asked for and there is none: mlx itself would run uncompiled without a word.
    """
    if device != "cpu" or not asked:
        return device != "cpu" if asked is None else asked
    try:
        result = mx.compile(lambda x: x * x + x)(mx.ones(2))
        graph = io.StringIO()
        mx.export_to_dot(graph, result)
        mx.eval(result)
        if "Compiled" in graph.getvalue():
            return True
    except RuntimeError:
        pass  # its message names folders
    raise UsageError(
        "--compile: on its CPU device mlx compiles with the system's C++ compiler (g++), and there is none that works"
        " – install one, or leave --compile out"
    )
