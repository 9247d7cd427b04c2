"""An older latency.json beside a newer one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.latency.comparison import comparison_block, load_report


def report(**changes: Any) -> dict[str, Any]:
    cells = [
        {"length": 32, "batch": batch, "samples_ms": {"tokenization": [1.0, 1.0], "forward": [2.0, 4.0], "decoding": [1.0, 1.0]}}
        for batch in (1, 8)
    ]
    made = {
        "schema": "openmed-mlx-eval/latency",
        "schema_version": 1,
        "model": {"name": "m", "files": {}},
        "environment": {"engine": "numpy", "chip": "c"},
        "config": {"stride": 9},
        "corpus": {"sha256": "a" * 64},
        "cold_start": {"samples": [{"cold_start_ms": 100.0}, {"cold_start_ms": 120.0}]},
        "documents": {"samples_ms": [10.0, 20.0, 30.0]},
        "steady_state": cells,
    }
    return copy.deepcopy({**made, **changes})


def rows(old: dict[str, Any], new: dict[str, Any]) -> dict[tuple[str, int | None], dict[str, Any]]:
    return {(row["part"], row["batch"]): row for row in comparison_block(old, new)["rows"]}


def test_a_run_beside_itself_is_one() -> None:
    found = rows(report(), report())
    assert list(found) == [
        ("cold start", None), ("document", None), ("forward", 1), ("cell", 1), ("forward", 8), ("cell", 8),
    ]  # fmt: skip
    for row in found.values():
        assert row["ratio"] == 1
        assert row["interval"]["lower"] <= 1 <= row["interval"]["upper"]
    assert found["document", None]["interval"] == {"lower": 1.0, "upper": 1.0}
    assert found["cell", 1]["old_ms"] == 5.0
    assert comparison_block(report(), report())["unlike"] == []


def test_documents_are_paired_where_they_are_the_same() -> None:
    slower = report(documents={"samples_ms": [20.0, 40.0, 60.0]})
    assert rows(report(), slower)["document", None] == {
        "part": "document", "length": None, "batch": None, "paired": True, "old_ms": 20.0, "new_ms": 40.0,
        "ratio": 2.0, "interval": {"lower": 2.0, "upper": 2.0},
    }  # fmt: skip
    other = report(corpus={"sha256": "b" * 64})
    fewer = report(documents={"samples_ms": [10.0, 20.0]})
    for new in (other, fewer):
        assert rows(report(), new)["document", None]["paired"] is False


def test_only_cells_of_both_are_compared() -> None:
    new = report()
    new["steady_state"][1]["length"] = 64
    new["cold_start"]["samples"] = []
    assert list(rows(report(), new)) == [("document", None), ("forward", 1), ("cell", 1)]


def test_what_else_differs_is_listed() -> None:
    new = report(environment={"engine": "mlx", "chip": "c"}, config={"stride": 8})
    assert comparison_block(report(), new)["unlike"] == ["environment.engine", "config.stride"]


def test_documents_of_another_corpus_are_said_to_be(tmp_path: Path) -> None:
    """Their ratio was given without a word, as that of two models would not be."""
    other = report(corpus={"sha256": "b" * 64, "documents_measured": 3})
    assert comparison_block(report(), other)["unlike"] == ["corpus.sha256", "corpus.documents_measured"]


def test_a_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "latency.json"
    path.write_text(json.dumps(report()))
    assert load_report(str(path)) == report()
    with pytest.raises(UsageError, match="cannot be read"):
        load_report(str(tmp_path / "none"))


@given(
    st.sampled_from(sorted(report())),
    st.sampled_from([None, 0, "x", [], {}, [None], {"samples": 3}, {"samples_ms": [1e-320]}, [[]], [{}], -1.5]),
)
def test_a_damaged_report_is_refused_or_compared(key: str, value: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "latency.json"
        path.write_text(json.dumps({**report(), key: value}))
        try:
            old = load_report(str(path))
        except EvaluationError as error:
            assert "--compare" in str(error)
            return
    json.dumps(comparison_block(old, report()), allow_nan=False)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"schema": "openmed-mlx-eval/report"}', b"[" * 100_000])
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(EvaluationError, match="--compare"):
        load_report(str(path))
