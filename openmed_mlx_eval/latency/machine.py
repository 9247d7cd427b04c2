"""The machine while it measured: power, heat, load – as far as they can be read without root – and whether it was quiet.

A busy machine, a hot one, or a virtual one whose processor is lent to others gives times that are not the model's.
Each reading is None where the system does not give it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUSY_LOAD = 0.5
"""Load average per core, before the measurement, above which the machine was busy with something else."""

STOLEN = 0.02
"""Share of processor time taken by the hypervisor for others, above which the machine was not ours."""

PRESSURES = ("nominal", "moderate", "heavy", "trapping", "sleeping")
"""macOS's levels of com.apple.system.thermalpressurelevel, 0 to 4 (OSThermalNotification.h)."""


@dataclass(frozen=True, slots=True)
class State:
    """At one moment. load: runnable processes, averaged over a minute. power: mains or battery. pressure: of PRESSURES.

    stolen, elapsed: processor time since boot, in the system's ticks. throttled: how often cores were slowed for heat.
    """

    load: float | None
    power: str | None
    pressure: str | None
    stolen: int | None
    elapsed: int | None
    throttled: int | None


def state() -> State:
    stolen, elapsed = _processor_time()
    return State(_load(), _power(), _pressure(), stolen, elapsed, _throttled())


def machine_block(before: State, after: State) -> dict[str, Any]:
    """What latency.json says of the machine besides `environment`."""
    return {
        "power_source": after.power,
        "thermal_pressure": _worse(before, after),
        "load_average": {"before": before.load, "after": after.load},
        "stolen_share": stolen_share(before, after),
    }


def unrest(before: State, after: State, cores: int) -> Iterator[str]:
    """Why the times are not to be trusted, in words; nothing where the machine was quiet, or does not say."""
    if before.load is not None and before.load > BUSY_LOAD * cores:
        yield f"the load average was {before.load:.2f} on {cores} cores before the measurement began"
    stolen = stolen_share(before, after)
    if stolen is not None and stolen > STOLEN:
        yield f"{stolen:.0%} of the processors' time was taken by the hypervisor for others".replace("%", " %")
    if _worse(before, after) not in (None, "nominal"):
        yield "the processor was slowed down for heat"
    if after.power == "battery":
        yield "the machine ran on its battery"


def stolen_share(before: State, after: State) -> float | None:
    if before.stolen is None or after.stolen is None or before.elapsed is None or after.elapsed is None:
        return None
    passed = after.elapsed - before.elapsed
    return round((after.stolen - before.stolen) / passed, 4) if passed > 0 else None


def _worse(before: State, after: State) -> str | None:
    """The higher of two pressures; on Linux, which counts events instead, moderate if there was one in between."""
    levels = [PRESSURES.index(one.pressure) for one in (before, after) if one.pressure in PRESSURES]
    if levels:
        return PRESSURES[max(levels)]
    if before.throttled is None or after.throttled is None:
        return None
    return "moderate" if after.throttled > before.throttled else "nominal"


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _power() -> str | None:
    if sys.platform == "darwin":
        said = _said("/usr/bin/pmset", "-g", "batt")
        found = re.search(r"drawing from '(AC|Battery|UPS) ?Power'", said)
        return None if found is None else "mains" if found[1] == "AC" else "battery"
    supplies = _supplies()
    if any(kind != "Battery" and online == "1" for kind, online, _ in supplies):
        return "mains"
    return "battery" if any(kind == "Battery" and status == "Discharging" for kind, _, status in supplies) else None


def _supplies() -> list[tuple[str, str, str]]:
    """(type, online, status) of each of Linux's power supplies."""
    folder = Path("/sys/class/power_supply")
    if not folder.is_dir():
        return []
    return [(_read(one / "type"), _read(one / "online"), _read(one / "status")) for one in sorted(folder.iterdir())]


def _pressure() -> str | None:
    if sys.platform != "darwin":
        return None
    said = _said("/usr/bin/notifyutil", "-g", "com.apple.system.thermalpressurelevel").split()
    level = said[-1] if said else ""
    return PRESSURES[int(level)] if level.isdigit() and int(level) < len(PRESSURES) else None


def _throttled() -> int | None:
    counts = [_read(path) for path in Path("/sys/devices/system/cpu").glob("cpu*/thermal_throttle/core_throttle_count")]
    return sum(map(int, counts)) if counts and all(map(str.isdigit, counts)) else None


def _processor_time() -> tuple[int | None, int | None]:
    """(stolen, all) ticks, by the first line of Linux's /proc/stat: user nice system idle iowait irq softirq steal …"""
    fields = _read(Path("/proc/stat")).partition("\n")[0].split()[1:9]
    if len(fields) < 8 or not all(map(str.isdigit, fields)):
        return None, None
    return int(fields[7]), sum(map(int, fields))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
