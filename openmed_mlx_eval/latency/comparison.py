"""Two latency.json: how much slower or faster each part of the new one is, with an interval.

Single documents are paired where both runs measured the same ones; fresh processes and iterations have no partners,
and there the two medians are compared. A ratio above 1 is slower than before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import EvaluationError, UsageError
from .statistics import median, ratio

Report = Mapping[str, Any]

SCHEMA = "openmed-mlx-eval/latency"
SCHEMA_VERSION = 1

LEAST_MS, MOST_MS = 1e-9, 1e12
"""What no clock measures is a damaged file's; a ratio to less might be no number."""


def load_report(path: str) -> dict[str, Any]:
    """A latency.json written before. Raises UsageError where it cannot be read, EvaluationError where it is none."""
    try:
        report = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--compare: the file cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise EvaluationError("--compare: the file is not JSON – give a latency.json that `latency --output` wrote") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA or report.get("schema_version") != SCHEMA_VERSION:
        raise EvaluationError("--compare: not a latency.json of this version – measure again with `latency --output`")
    if not _is_whole(report):
        raise EvaluationError("--compare: the latency.json is damaged – measure again with `latency --output`")
    return report


def comparison_block(old: Report, new: Report) -> dict[str, Any]:
    """`comparison` of latency.json: {rows: [{part, length, batch, paired, old_ms, new_ms, ratio, interval}], unlike}.

    unlike: the keys of model, corpus, environment and config in which the runs differ, without which a ratio says something
    else.
    """
    return {"rows": [row for row in _rows(old, new) if row is not None], "unlike": list(_unlike(old, new))}


def _rows(old: Report, new: Report) -> Iterator[dict[str, Any] | None]:
    before, after = ([one["cold_start_ms"] for one in report["cold_start"]["samples"]] for report in (old, new))
    yield _row("cold start", before, after)
    before, after = (report["documents"]["samples_ms"] for report in (old, new))
    same = old["corpus"]["sha256"] == new["corpus"]["sha256"] and len(before) == len(after)
    yield _row("document", before, after, paired=same)
    cells = {(cell["length"], cell["batch"]): cell for cell in old["steady_state"]}
    for cell in new["steady_state"]:
        partner = cells.get((cell["length"], cell["batch"]))
        if partner is not None:
            place = {"length": cell["length"], "batch": cell["batch"]}
            yield _row("forward", partner["samples_ms"]["forward"], cell["samples_ms"]["forward"], **place)
            yield _row("cell", _totals(partner), _totals(cell), **place)


def _totals(cell: Mapping[str, Any]) -> list[float]:
    return [sum(parts) for parts in zip(*cell["samples_ms"].values(), strict=True)]


def _row(
    part: str,
    before: Sequence[float],
    after: Sequence[float],
    *,
    paired: bool = False,
    length: int | None = None,
    batch: int | None = None,
) -> dict[str, Any] | None:
    found = ratio(before, after, paired=paired)
    if found is None:
        return None
    place = {"part": part, "length": length, "batch": batch, "paired": paired}
    return {**place, "old_ms": median(before), "new_ms": median(after), **found}


def _unlike(old: Report, new: Report) -> Iterator[str]:
    for block, keys in (
        ("model", ("name", "files")),
        ("corpus", ("sha256", "documents_measured")),
        ("environment", ("chip", "cores", "engine", "device", "dtype", "package", "python", "numpy", "tokenizers", "mlx")),
        (
            "config",
            ("batch_tokens", "compile", "stride", "aggregation", "gliner_labels", "gliner_threshold", "page_cache", "jit_cache"),
        ),
    ):
        for key in keys:
            if old[block].get(key) != new[block].get(key):
                yield f"{block}.{key}"


def _is_whole(report: Report) -> bool:
    """Whether everything that is read here is there and of its kind."""

    def numbers(values: Any) -> bool:
        return isinstance(values, list) and all(
            type(value) in (int, float) and (value == 0 or LEAST_MS <= value < MOST_MS) for value in values
        )

    def is_cell(cell: Any) -> bool:
        samples = [cell["samples_ms"][part] for part in ("tokenization", "forward", "decoding")]
        natural = type(cell["length"]) is int and type(cell["batch"]) is int
        return natural and len(cell["samples_ms"]) == 3 and all(map(numbers, samples)) and len({*map(len, samples)}) == 1

    try:
        return (
            numbers([one["cold_start_ms"] for one in report["cold_start"]["samples"]])
            and numbers(report["documents"]["samples_ms"])
            and all(map(is_cell, report["steady_state"]))
            and all(isinstance(report[block], dict) for block in ("model", "environment", "config"))
            and isinstance(report["corpus"]["sha256"], str)
        )
    except (KeyError, TypeError, AttributeError):
        return False
