"""latency.json for people: latency.md and the terminal's tables. Nothing is computed here but what a cell of a table shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .sections import PHASES, Section, count, milliseconds, rate
from .text import escaped, markdown_table, print_tables

Report = Mapping[str, Any]

_TIMES = ("min", "median", "p90", "p95", "p99", "mad")
_TIME_COLUMNS = ("Min", "Median", "p90", "p95", "p99", "MAD", "Median, 95 %")


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of latency.json."""
    path = Path(__file__).parents[1] / "latency" / "latency.schema.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def facts(report: Report) -> list[tuple[str, str]]:
    """What was measured on what, and in which state."""
    model, corpus, environment, cold = (report[key] for key in ("model", "corpus", "environment", "cold_start"))
    metrics = report["metrics"]
    where = [str(environment[key]) for key in ("engine", "device", "dtype", "chip") if environment.get(key)]
    machine = [f"{environment['cores']} cores" if environment["cores"] else "", environment["os"]]
    machine += [f"on {environment['power_source']}" if environment["power_source"] else "power source unknown"]
    machine += [f"thermal pressure {environment['thermal_pressure'] or 'unknown'}"]
    memory = [
        f"{said} {metrics['resources'][key]:,.1f} MiB"
        for said, key in (("model", "model_mib"), ("peak resident", "peak_rss_mib"), ("peak on the device", "peak_device_mib"))
        if metrics["resources"][key] is not None
    ]
    rows = [
        ("Model", f"{model['name']} ({model['family']}, {model['parameters']:,} parameters)"),
        (
            "Corpus",
            f"{corpus['name']} ({corpus['format']}): {corpus['documents_measured']:,} of {corpus['documents']:,} documents",
        ),
        ("Ran on", " · ".join(where)),
        ("Machine", " · ".join(filter(None, machine))),
        ("Memory", ", ".join(memory)),
        ("Caches", f"page cache {cold['page_cache']['state']}, compiled kernels {cold['jit_cache']['state']}"),
    ]
    if report["partial"]:
        rows.append(("Partial", "yes: stopped with Ctrl-C"))
    return rows


def sections(report: Report) -> list[Section]:
    """The tables that have something to show, in the order in which they are read. Times in milliseconds."""
    makers = (_cold, _documents, _steady, _parts, _roofline, _budget, _tiers, _comparison)
    return [section for make in makers for section in make(report) if section.rows]


def _cells(summary: Mapping[str, Any]) -> list[str]:
    interval = summary["interval"]
    ends = "–" if interval is None else f"{milliseconds(interval['lower'])} to {milliseconds(interval['upper'])}"
    return [*(milliseconds(summary[key]) for key in _TIMES), ends]


def _cold(report: Report) -> Iterator[Section]:
    block = report["cold_start"]
    if not block["processes"]:
        return
    rows = [[PHASES[phase], *_cells(summary)] for phase, summary in block["phases_ms"].items()]
    rows.append(["start to first spans", *_cells(block["cold_start_ms"])])
    rows.append(["start to end", *_cells(block["total_ms"])])
    yield Section(f"Cold start, {block['processes']} fresh processes", ("Cold start, ms", *_TIME_COLUMNS), rows, brief=True)


def _documents(report: Report) -> Iterator[Section]:
    block = report["documents"]
    if block["documents"]:
        speed = [speed_of(block[f"{name}_per_second"]) for name in ("documents", "tokens", "spans")]
        rows = [[count(block["documents"]), *_cells(block["latency_ms"]), *speed]]
        columns = ("Single documents, ms", *_TIME_COLUMNS, "Documents/s", "Tokens/s", "Spans/s")
        yield Section("Single documents", columns, rows, brief=True)


def _steady(report: Report) -> Iterator[Section]:
    rows = [
        [
            f"{cell['batch']} × {cell['length']}",
            *(milliseconds(cell[f"{part}_ms"]["median"]) for part in ("tokenization", "forward", "decoding", "total")),
            milliseconds(cell["total_ms"]["p95"]),
            milliseconds(cell["total_ms"]["p99"]),
            *(speed_of(cell[f"{name}_per_second"]) for name in ("documents", "tokens", "spans")),
        ]
        for cell in report["steady_state"]
    ]
    parts = ("Tokenise", "Forward", "Decode", "Total", "p95", "p99", "Documents/s", "Tokens/s", "Spans/s")
    yield Section("Steady state, medians", ("Texts × tokens, ms", *parts), rows, brief=True)


def _parts(report: Report) -> Iterator[Section]:
    rows = [
        [f"{cell['batch']} × {cell['length']}, {part}", count(cell["iterations"]), *_cells(cell[f"{part}_ms"])]
        for cell in report["steady_state"]
        for part in ("tokenization", "forward", "decoding", "total")
    ]
    yield Section("Steady state, every part", ("Texts × tokens, ms", "Iterations", *_TIME_COLUMNS), rows)


def _roofline(report: Report) -> Iterator[Section]:
    block = report["roofline"]
    if block is None:
        return
    peak, bandwidth = block["matmul_flops_per_second"] / 1e9, block["bandwidth_bytes_per_second"] / 1e9
    rows = [
        [
            f"{cell['batch']} × {cell['length']}",
            f"{cell['flops_per_second'] / 1e9:,.1f}",
            rate(cell["matmul_share"]),
            rate(cell["bandwidth_share"]),
            cell["bound"],
        ]
        for cell in block["cells"]
    ]
    title = f"Roofline: {peak:,.1f} GFLOP/s, {bandwidth:,.1f} GB/s"
    columns = (f"Of {peak:,.1f} GFLOP/s, {bandwidth:,.1f} GB/s", "GFLOP/s", "Share of products", "Share of bandwidth", "Bound by")
    yield Section(title, columns, rows, brief=True)


def _budget(report: Report) -> Iterator[Section]:
    rows = [
        [row["measure"], f"{row['limit']:g}", milliseconds(row["measured"]), "yes" if row["met"] else "no"]
        for row in report["budget"] or ()
    ]
    yield Section("Budget", ("Budget", "At most", "Measured", "Met"), rows, brief=True)


def _tiers(report: Report) -> Iterator[Section]:
    rows = [[tier, "yes" if met else "no"] for tier, met in report["tiers"].items()]
    yield Section("Device tiers, on this machine", ("Tier", "Met"), rows)


def _comparison(report: Report) -> Iterator[Section]:
    rows = [
        [
            row["part"] + (f" {row['batch']} × {row['length']}" if row["length"] else ""),
            milliseconds(row["old_ms"]),
            milliseconds(row["new_ms"]),
            f"{row['ratio']:.3f}",
            "–" if row["interval"] is None else f"{row['interval']['lower']:.3f} to {row['interval']['upper']:.3f}",
            "yes" if row["paired"] else "no",
        ]
        for row in (report["comparison"] or {}).get("rows", ())
    ]
    yield Section("Beside the older run", ("Part, ms", "Old", "New", "New / old", "95 %", "Paired"), rows, brief=True)


def speed_of(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def to_markdown(report: Report) -> str:
    """latency.md."""
    parts = ["# Latency", markdown_table(("", ""), facts(report))]
    for section in sections(report):
        parts += [f"## {escaped(section.title)}", markdown_table(section.columns, section.rows)]
    if report["warnings"]:
        lines = [f"- **{w['code']}** ({w['count']:,}): {escaped(w['message'])}" for w in report["warnings"]]
        parts += ["## Warnings", "\n".join(lines)]
    simple = {key: value for key, value in report["environment"].items() if isinstance(value, str | int | float)}
    parts += ["## Provenance", markdown_table(("", ""), [(key, str(value)) for key, value in simple.items()])]
    hashes = [*sorted(report["model"]["files"].items()), ("corpus", report["corpus"]["sha256"])]
    return "\n\n".join([*parts, markdown_table(("File", "SHA-256"), hashes)]) + "\n"


def print_latency(report: Report) -> None:
    """Tables on stdout."""
    print_tables(facts(report), sections(report))
