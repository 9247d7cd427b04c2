"""bench.json and bench.md: the runs of a bench night in one table, with the Pareto front of each corpus.

The keys are fixed by `bench.schema.json` beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .sections import Section, milliseconds, rate
from .side_by_side import Report, on_front, size_mib
from .text import markdown_table

SCHEMA = "openmed-mlx-eval/bench"
SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """The JSON Schema of bench.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("bench.schema.json").read_text(encoding="utf-8"))
    return loaded


def _latency(key: str) -> Callable[[Report], float | None]:
    return lambda report: report["metrics"].get("latency", {}).get(key)


MEASURES: dict[str, tuple[Callable[[Report], float | None], int]] = {
    "exact_f1": (lambda report: report["metrics"]["exact_span_f1"]["f1"], 1),
    "any_label_leakage": (lambda report: report["metrics"].get("leakage", {}).get("any_label"), -1),
    "cold_start_ms": (_latency("cold_start_ms"), -1),
    "p95_ms": (_latency("p95_ms"), -1),
    "documents_per_second": (lambda report: report["timing"].get("documents_per_second"), 1),
    "size_mib": (size_mib, -1),
}
"""{key of a row: (the number, 1 where more is better and −1 where less is)}: what the front is of."""


def bench_block(runs: Sequence[tuple[str, str, str, Report]], failures: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """bench.json as a dict. runs: (model, corpus, folder, report) each. failures: (model, corpus, why) each.

    A run is on the front where no other of its corpus is at least as good in all that both measured, and better in one.
    """
    rows: list[dict[str, Any]] = []
    for corpus in dict.fromkeys(corpus for _, corpus, _, _ in runs):
        of_corpus = [run for run in runs if run[1] == corpus]
        fronts = on_front([report for *_, report in of_corpus], MEASURES)
        for (model, _, folder, report), front in zip(of_corpus, fronts, strict=True):
            numbers = {key: number(report) for key, (number, _) in MEASURES.items()}
            relaxed = report["metrics"]["relaxed_span_f1"]["f1"]
            row = {"model": model, "corpus": corpus, "folder": folder, "relaxed_f1": relaxed, **numbers, "front": front}
            rows.append({**row, "sha256": report["corpus"]["sha256"], "partial": report["partial"]})
    failed = [{"model": model, "corpus": corpus, "message": why} for model, corpus, why in failures]
    return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "runs": rows, "failures": failed}


_COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "model": ("Model", str),
    "corpus": ("Corpus", str),
    "exact_f1": ("Exact F1", rate),
    "relaxed_f1": ("Relaxed F1", rate),
    "any_label_leakage": ("Leakage, any label", rate),
    "cold_start_ms": ("Cold start, ms", milliseconds),
    "p95_ms": ("p95, ms", milliseconds),
    "documents_per_second": ("Documents per second", lambda value: "–" if value is None else f"{value:,.1f}"),
    "size_mib": ("Size, MiB", lambda value: "–" if value is None else f"{value:,.1f}"),
    "front": ("Front", lambda value: "yes" if value else "no"),
}


def bench_section(block: Mapping[str, Any]) -> Section:
    """A row a run."""
    columns = tuple(title for title, _ in _COLUMNS.values())
    return Section("Runs", columns, [[shown(row[key]) for key, (_, shown) in _COLUMNS.items()] for row in block["runs"]], True)


def to_markdown(block: Mapping[str, Any]) -> str:
    """bench.md."""
    section = bench_section(block)
    parts = ["# Bench", markdown_table(section.columns, section.rows)]
    if block["failures"]:
        rows = [[one["model"], one["corpus"], one["message"]] for one in block["failures"]]
        parts += ["## Failed", markdown_table(("Model", "Corpus", "Why"), rows)]
    return "\n\n".join(parts) + "\n"
