"""Budgets: what a model may take on a device, and whether it kept to it.

A budget is {measure: the most it may be}; a number that was not measured keeps to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UsageError

MEASURES: dict[str, tuple[str, str]] = {
    **{name: ("latency", name) for name in ("cold_start_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")},
    **{name: ("resources", name) for name in ("peak_rss_mib", "peak_device_mib", "model_mib")},
}
"""{measure: where it stands in `metrics`}."""

Budget = Mapping[str, float]

TIERS: dict[str, Budget] = {
    "nano": {"p50_ms": 25, "p95_ms": 60, "peak_rss_mib": 150},
    "tiny": {"p50_ms": 60, "p95_ms": 150, "peak_rss_mib": 350},
    "base": {"p50_ms": 150, "p95_ms": 400, "peak_rss_mib": 900},
    "large": {"p50_ms": 250, "p95_ms": 800, "peak_rss_mib": 4096},
    "xlarge": {"p50_ms": 400, "p95_ms": 1200, "peak_rss_mib": 8192},
}
"""OpenMed's device tiers (openmed 3.1.0, eval/tiers.py), by the latency of single documents; its MB are taken for MiB."""


def parsed_budget(said: str) -> Budget:
    """From `--budget`: `p95_ms=150,cold_start_ms=400`, a tier's name, or a tier with changes. Raises UsageError."""
    budget: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in said.split(","))):
        name, equals, limit = (piece.strip() for piece in part.partition("="))
        if not equals and name.lower() in TIERS:
            budget |= TIERS[name.lower()]
        elif not equals or name not in MEASURES:
            raise UsageError(f"--budget: give NAME=NUMBER with a name of {', '.join(MEASURES)}, or a tier of {', '.join(TIERS)}")
        else:
            budget[name] = _limit(name, limit)
    if not budget:
        raise UsageError("--budget: empty – give for example p95_ms=150,peak_rss_mib=350")
    return budget


def _limit(name: str, said: str) -> float:
    try:
        limit = float(said)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise UsageError(f"--budget: {name} needs a number of at least 0")
    return limit


def checked(budget: Budget, metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """[{measure, limit, measured, met}] in the budget's order; measured None is not met."""
    rows = []
    for name, limit in budget.items():
        block, key = MEASURES[name]
        measured = (metrics.get(block) or {}).get(key)
        rows.append({"measure": name, "limit": limit, "measured": measured, "met": measured is not None and measured <= limit})
    return rows


def tiers_met(metrics: Mapping[str, Any]) -> dict[str, bool]:
    """{tier: whether the model keeps to it on this machine}."""
    return {tier: all(row["met"] for row in checked(budget, metrics)) for tier, budget in TIERS.items()}
