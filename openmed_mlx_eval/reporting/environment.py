"""What machine and software a number was made with. No host name, user name or path."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import __version__


def package_version(name: str) -> str | None:
    """The installed version of a distribution, None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def chip() -> str:
    """The processor's marketing name, or the machine type where the system does not say."""
    try:
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
        if sys.platform == "linux":
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.lower().startswith(("model name", "hardware")):
                    return line.partition(":")[2].strip()
    except (OSError, subprocess.SubprocessError):
        pass
    return platform.processor() or platform.machine()


def memory_mib() -> int | None:
    """Physical memory in MiB; None where the system does not say."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20)
    except (AttributeError, OSError, ValueError):
        return None


def operating_system() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{platform.system()} {platform.release()}"


def environment(engine: str | None = None, device: str | None = None, dtype: str | None = None) -> dict[str, Any]:
    """The report's `environment`. engine, device, dtype: what really ran, None where nothing did."""
    return {
        "package": __version__,
        "python": platform.python_version(),
        "numpy": package_version("numpy"),
        "tokenizers": package_version("tokenizers"),
        "mlx": package_version("mlx"),
        "os": operating_system(),
        "machine": platform.machine(),
        "chip": chip(),
        "cores": os.cpu_count(),
        "memory": memory_mib(),
        "engine": engine,
        "device": device,
        "dtype": dtype,
    }
