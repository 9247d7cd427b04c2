"""Budgets: what is kept, what is not, and what cannot be said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.latency.budget import MEASURES, TIERS, checked, parsed_budget, tiers_met


def metrics(**values: float | None) -> dict:
    blocks: dict = {"latency": {}, "resources": {}}
    for name, value in values.items():
        blocks[MEASURES[name][0]][MEASURES[name][1]] = value
    return blocks


def test_a_budget_is_read() -> None:
    said = " p95_ms=150, cold_start_ms = 4e2,peak_rss_mib=350 "
    assert parsed_budget(said) == {"p95_ms": 150, "cold_start_ms": 400, "peak_rss_mib": 350}
    assert parsed_budget("Tiny") == TIERS["tiny"]
    assert parsed_budget("tiny,p95_ms=1") == {**TIERS["tiny"], "p95_ms": 1}


@pytest.mark.parametrize("said", ["", ",", "p95_ms", "p95=3", "p95_ms=", "p95_ms=-1", "p95_ms=nan", "p95_ms=inf", "huge"])
def test_what_is_no_budget_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        parsed_budget(said)


@given(st.sampled_from(sorted(MEASURES)), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_number_is_kept_up_to_the_limit(name: str, limit: float, measured: float) -> None:
    (row,) = checked({name: limit}, metrics(**{name: measured}))
    assert row == {"measure": name, "limit": limit, "measured": measured, "met": measured <= limit}


def test_what_was_not_measured_keeps_to_nothing() -> None:
    for block in (metrics(p99_ms=None), metrics(), {"latency": None}, {}):
        (row,) = checked({"p99_ms": 1e9}, block)
        assert (row["measured"], row["met"]) == (None, False)


def test_the_tiers_are_openmeds() -> None:
    openmed = pytest.importorskip("openmed.eval.tiers")
    theirs = {"nano": openmed.NANO_SUB_TIER, **{name.rpartition("-")[2].lower(): tier for name, tier in openmed.TIERS.items()}}
    keys = {"p50_ms": "p50_ms_max", "p95_ms": "p95_ms_max", "peak_rss_mib": "ram_mb_max"}
    assert {name: {key: tier[said] for key, said in keys.items()} for name, tier in theirs.items()} == TIERS


def test_tiers_contain_each_other() -> None:
    assert set(tiers_met(metrics(p50_ms=1, p95_ms=2, peak_rss_mib=100)).values()) == {True}
    assert [tier for tier, met in tiers_met(metrics(p50_ms=60, p95_ms=100, peak_rss_mib=900)).items() if met] == [
        "base", "large", "xlarge",
    ]  # fmt: skip
    assert not any(tiers_met(metrics(p50_ms=1, p95_ms=2)).values())
