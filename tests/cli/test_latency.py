"""`latency` end to end on a tiny random model: its file and its schema, its exit codes, and what Ctrl-C leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.demo import corpus_path
from openmed_mlx_eval.latency import cold, measure
from openmed_mlx_eval.latency.cold import PHASES, ColdSample
from openmed_mlx_eval.reporting.latency import schema
from openmed_mlx_eval.reporting.report import schema as report_schema

VALIDATOR = Draft202012Validator(schema())
BRIEF = ("--lengths", "8", "--batches", "1,2", "--warmups", "0", "--iterations", "2", "--seconds", "0")
NO_PROCESS = ("--processes", "0", *BRIEF)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "corpora", "openmed")


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


def test_the_files_of_a_measurement(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--model", tiny_model, "--corpus", corpus, "--engine", "numpy", "--device", "cpu")
    said = program("latency", *arguments, *BRIEF, "--processes", 2, "--output", out, "--json")
    assert said.code == 0, said.err
    assert sorted(path.name for path in out.iterdir()) == ["latency.json", "latency.md"]
    assert said.out == (out / "latency.json").read_text("utf-8")
    report = said.json()
    VALIDATOR.validate(report)
    assert (report["corpus"]["documents"], report["corpus"]["documents_measured"], report["partial"]) == (4, 4, False)
    assert report["metrics"]["latency"]["cold_start_ms"] == report["cold_start"]["cold_start_ms"]["median"]
    assert report["metrics"]["latency"]["p50_ms"] == report["documents"]["latency_ms"]["median"]
    assert report["metrics"]["latency"]["p99_ms"] is None
    assert [(cell["length"], cell["batch"]) for cell in report["steady_state"]] == [(8, 1), (8, 2)]
    for one in report["cold_start"]["samples"]:
        assert sum(one["phases_ms"].values()) == pytest.approx(one["total_ms"], rel=0.05)
    assert report["roofline"] is report["budget"] is report["comparison"] is None
    markdown = (out / "latency.md").read_text("utf-8")
    assert "start to first spans" in markdown
    assert report["corpus"]["sha256"] in markdown


def test_the_blocks_are_the_ones_a_report_has(program, tiny_model: Path, corpus: Path) -> None:
    block = program("latency", "--model", tiny_model, "--corpus", corpus, *NO_PROCESS, "--json").json()["metrics"]
    metrics = report_schema()["$defs"]["metrics"]["properties"]
    of_runs = ["phases_ms", "samples_ms"]  # in latency.json they stand in the blocks beside
    for name in ("latency", "resources"):
        assert list(block[name]) == [key for key in metrics[name]["properties"] if key not in of_runs]


def test_without_a_model_the_embedded_demo_is_measured(program) -> None:
    said = program("latency", *NO_PROCESS, "--limit", 2)
    assert said.code == 0
    assert "tiny-phi-bert" in said.out
    assert "2 of 64 documents" in said.out


@pytest.mark.parametrize(
    "entries",
    [(), (("a", "", ()),), (("a", "", ()), ("b", " \n", ())), small_corpora.ENTRIES[:1]],
    ids=["0", "1", "empty", "one"],
)
def test_little_to_measure_is_numbers_or_null(program, tiny_model: Path, tmp_path: Path, entries: Any) -> None:
    path = small_corpora.write(tmp_path, "openmed", entries)
    said = program("latency", "--model", tiny_model, "--corpus", path, "--format", "openmed", *NO_PROCESS, "--json")
    assert said.code == 0, said.err
    report = said.json()
    VALIDATOR.validate(report)
    assert report["documents"]["documents"] == len(entries)
    assert (report["metrics"]["latency"]["p50_ms"] is None) is (not entries)
    assert ("no_documents" in {warning["code"] for warning in report["warnings"]}) is (not entries)
    assert len(report["steady_state"]) == 2
    assert program("latency", "--model", tiny_model, "--corpus", path, "--format", "openmed", *NO_PROCESS).code == 0


def test_a_budget_not_kept_is_exit_code_3(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    arguments = ("--model", tiny_model, "--corpus", corpus, *NO_PROCESS)
    said = program("latency", *arguments, "--budget", "p95_ms=0,p50_ms=1e9,cold_start_ms=1e9", "--output", tmp_path / "out")
    assert said.code == 3
    assert "2 of 3 budgets not kept: p95_ms is " in said.err
    assert "cold_start_ms is not measured, at most 1e+09" in said.err
    report = json.loads((tmp_path / "out" / "latency.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    assert [row["met"] for row in report["budget"]] == [False, True, False]
    assert program("latency", *arguments, "--budget", "p50_ms=1e9").code == 0
    assert program("latency", *arguments, "--budget", "fast").code == 2


def test_a_run_is_compared_with_an_older_one(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    arguments = ("--model", tiny_model, "--corpus", corpus, "--roofline", *NO_PROCESS)
    program("latency", *arguments, "--output", tmp_path / "old")
    said = program("latency", *arguments, "--compare", tmp_path / "old" / "latency.json", "--output", tmp_path / "new")
    assert said.code == 0
    assert "New / old" in said.out
    report = json.loads((tmp_path / "new" / "latency.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    assert [(row["part"], row["paired"]) for row in report["comparison"]["rows"]] == [
        ("document", True), ("forward", False), ("cell", False), ("forward", False), ("cell", False),
    ]  # fmt: skip
    assert report["comparison"]["unlike"] == []
    assert report["roofline"]["cells"][0]["matmul_share"] > 0
    said = program("latency", *arguments, "--compare", corpus)
    assert (said.code, said.out) == (1, "")
    assert "not JSON" in said.err or "not a latency.json" in said.err


@pytest.mark.parametrize(
    ("place", "kept"),
    [("measure_cell", {"cold": 1, "documents": 4, "cells": 1}), ("document_times", {"cold": 1, "documents": 2, "cells": 0})],
)
def test_ctrl_c_keeps_what_was_measured(
    program, monkeypatch: pytest.MonkeyPatch, tiny_model: Path, corpus: Path, tmp_path: Path, place: str, kept: dict[str, int]
) -> None:
    def stopped_cell(*arguments: Any, calls: list[int] = []) -> Any:  # noqa: B006
        calls.append(1)
        if len(calls) > kept["cells"]:
            raise KeyboardInterrupt
        return measured_cell(*arguments)

    def stopped_documents(*arguments: Any) -> Any:
        for number, one in enumerate(document_times(*arguments)):
            if number == kept["documents"]:
                raise KeyboardInterrupt
            yield one

    measured_cell, document_times = measure.measure_cell, measure.document_times
    one = ColdSample(dict.fromkeys(PHASES, 1.0), 9.0, 0, "numpy", "cpu", 1.0, None, 1.0)
    monkeypatch.setattr(cold.ColdStart, "_sample", lambda *_: one)
    monkeypatch.setattr(measure, place, stopped_cell if place == "measure_cell" else stopped_documents)
    arguments = ("--model", tiny_model, "--corpus", corpus, "--processes", 1, *BRIEF, "--output", tmp_path / "out")
    said = program("latency", *arguments)
    assert said.code == 130
    assert "stopped with Ctrl-C" in said.err
    report = json.loads((tmp_path / "out" / "latency.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    assert report["partial"] is True
    found = {"cold": report["cold_start"]["processes"], "documents": report["documents"]["documents"]}
    assert {**found, "cells": len(report["steady_state"])} == kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lengths", "a"), "--lengths: give whole numbers"),
        (("--batches", "1,,2"), "--batches: give whole numbers"),
        (("--lengths", "8,41"), "--lengths: 41 does not lie between 3 and the window of 40"),
        (("--batches", "0"), "give numbers of at least 1"),
        (("--page-cache", "x"), "one of warm, cold"),
        (("--seconds", "nan"), "'--seconds': give a number of at least 0"),
        (("--seconds", "inf"), "'--seconds': give a number of at least 0"),
    ],
)
def test_a_wrong_call_is_exit_code_2(program, tiny_model: Path, arguments: tuple[str, ...], said: str) -> None:
    found = program("latency", "--model", tiny_model, "--corpus", corpus_path(), *arguments)
    assert (found.code, found.out) == (2, "")
    assert said in found.err


def test_run_measures_latency_when_asked_to_and_only_then(program, tiny_model: Path, corpus: Path) -> None:
    arguments = ("run", "--model", tiny_model, "--corpus", corpus, "--bootstrap", 0)
    without = program(*arguments, "--json").json()
    report = program(*arguments, "--json", "--cold-start", 2).json()
    Draft202012Validator(report_schema()).validate(report)
    assert not {"latency", "resources"} & set(without["metrics"])
    assert (without["config"]["cold_start"], report["config"]["cold_start"]) == (None, 2)
    latency, resources = report["metrics"].pop("latency"), report["metrics"].pop("resources")
    assert report["metrics"] == without["metrics"]
    assert latency["count"] == len(latency["samples_ms"]) == 4
    assert latency["cold_start_ms"] > 0
    assert tuple(latency["phases_ms"]) == PHASES
    assert latency["p99_ms"] is resources["peak_device_mib"] is None
    assert resources["model_mib"] > 0
    shown = program(*arguments, "--cold-start", 1)
    assert "cold start" in shown.out
    assert "peak resident memory" in shown.out


def test_run_measures_a_corpus_without_documents(program, tiny_model: Path, tmp_path: Path) -> None:
    path = small_corpora.write(tmp_path, "openmed", ())
    said = program("run", "--model", tiny_model, "--corpus", path, "--format", "openmed", "--cold-start", 1, "--json")
    report = said.json()
    Draft202012Validator(report_schema()).validate(report)
    assert (report["metrics"]["latency"]["count"], report["metrics"]["latency"]["p50_ms"]) == (0, None)
