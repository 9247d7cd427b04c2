"""latency.json as tables: everything measured is shown, what was not is a dash, and Markdown stays Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from openmed_mlx_eval.latency.cold import PHASES, ColdSample, ColdStart
from openmed_mlx_eval.latency.comparison import comparison_block
from openmed_mlx_eval.latency.measure import LatencyOptions, measure
from openmed_mlx_eval.latency.steady import Steady
from openmed_mlx_eval.reporting.latency import facts, schema, sections, to_markdown
from openmed_mlx_eval.reporting.sections import milliseconds


@pytest.fixture(scope="module")
def report(tiny_model: Path) -> dict[str, Any]:
    """Everything that can be in one, with made-up processes and peaks."""
    options = LatencyOptions(
        model=str(tiny_model),
        limit=3,
        engine="numpy",
        device="cpu",
        cold=ColdStart(0),
        steady=Steady((8,), (1, 2), warmups=0, iterations=2, seconds=0),
        budget={"p50_ms": 1e9, "p99_ms": 1},
    )
    made = measure(options)
    samples = [ColdSample(dict.fromkeys(PHASES, ms), 9 * ms, 2, "numpy", "cpu", 50.0, None, 1.0) for ms in (1.0, 2.0)]
    made["cold_start"] = ColdStart(2).block(samples)
    cell = {"length": 8, "batch": 1, "flops": 10, "flops_per_second": 2e9, "matmul_share": 0.25, "bandwidth_share": 0.5}
    made["roofline"] = {
        "matmul_flops_per_second": 8e9,
        "bandwidth_bytes_per_second": 4e9,
        "flops_per_token": 10,
        "weight_bytes": 20,
        "cells": [{**cell, "bound": "memory"}],
    }
    made["comparison"] = comparison_block(made, made)
    return made


def test_the_report_shown_is_a_report(report: dict[str, Any]) -> None:
    Draft202012Validator(schema()).validate(report)


def test_every_block_is_a_table(report: dict[str, Any]) -> None:
    titles = [section.title for section in sections(report)]
    assert titles == [
        "Cold start, 2 fresh processes",
        "Single documents",
        "Steady state, medians",
        "Steady state, every part",
        "Roofline: 8.0 GFLOP/s, 4.0 GB/s",
        "Budget",
        "Device tiers, on this machine",
        "Beside the older run",
    ]
    for section in sections(report):
        assert all(len(row) == len(section.columns) for row in section.rows), section.title
    markdown = to_markdown(report)
    assert all(f"## {title}" in markdown for title in titles)
    assert "| start to first spans | 7.000 | 10.5 |" in markdown  # seven of the nine phases, 1 and 2 ms each
    assert "| p99\\_ms | 1 | – | no |" in markdown or "| p99_ms | 1 | – | no |" in markdown


def test_what_was_not_measured_has_no_table(report: dict[str, Any]) -> None:
    empty = {**report, "cold_start": ColdStart(0).block([]), "steady_state": [], "roofline": None, "budget": None}
    titles = [section.title for section in sections({**empty, "comparison": None})]
    assert titles == ["Single documents", "Device tiers, on this machine"]
    assert ("Partial", "yes: stopped with Ctrl-C") in facts({**report, "partial": True})
    assert not any(name == "Partial" for name, _ in facts(report))


@pytest.mark.parametrize(
    ("value", "said"), [(None, "–"), (0.0, "0.000"), (9.9994, "9.999"), (12.34, "12.3"), (1234.5, "1,234"), (999.94, "999.9")]
)
def test_times_have_three_digits_or_so(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


def test_a_model_named_like_markup_is_text(report: dict[str, Any]) -> None:
    named = {**report, "model": {**report["model"], "name": "a|b<script>"}}
    assert "a\\|b&lt;script>" in to_markdown(named)
