"""`gate`, and `--fail-under` of `run` and `score`: exit code 3 names every rule that is not met."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_corpora


@pytest.fixture
def run(program, tmp_path: Path) -> Path:
    """The folder of a run with exact recall 0.8: one of three ANATOMY is missed, both PERSON are found."""
    gold = small_corpora.write(tmp_path, "openmed")
    predictions = small_corpora.write_rows(tmp_path / "made.jsonl", small_corpora.rows(spans="spans")[:-1])
    assert program("score", gold, predictions, "--output", tmp_path / "run", "--quiet").code == 0
    return tmp_path / "run"


def rules(tmp_path: Path, *lines: str, min_support: int = 1) -> Path:
    path = tmp_path / "gates.toml"
    path.write_text(f"min_support = {min_support}\nrules = {json.dumps(lines)}\n", "utf-8")
    return path


def test_rules_that_are_met(program, run: Path, tmp_path: Path) -> None:
    path = rules(tmp_path, "exact_recall >= 0.8", "by_label.PERSON.exact.recall >= 1", "leakage.any_label <= 0.3", min_support=2)
    said = program("gate", run, "--rules", path)
    assert (said.code, said.err) == (0, "")
    assert "by_label.PERSON.exact.recall >= 1" in said.out
    assert program("gate", run / "report.json", "--rules", path).out == said.out
    assert program("gate", "-", "--rules", path, stdin=(run / "report.json").read_bytes()).out == said.out


def test_rules_that_are_not_met_are_named(program, run: Path, tmp_path: Path) -> None:
    path = rules(
        tmp_path,
        "exact_recall >= 0.8",
        "exact_recall > 0.8",
        "by_label.DATE.exact.f1 > 0",
        "by_label.PERSON.exact.f1 > 0",
        min_support=3,
    )
    said = program("gate", run, "--rules", path, "--fail-over", "leakage=0.01", "--fail-under", "p95_ms=1", "--json")
    assert (said.code, said.out) == (2, "")  # less is better of a latency
    said = program("gate", run, "--rules", path, "--fail-over", "leakage=0.01", "--json")
    assert said.code == 3
    assert said.json()["passed"] is False
    assert [(one["rule"], one["passed"], one["reason"]) for one in said.json()["rules"]] == [
        ("exact_recall >= 0.8", True, None),
        ("exact_recall > 0.8", False, "not met"),
        ("by_label.DATE.exact.f1 > 0", False, "absent"),
        ("by_label.PERSON.exact.f1 > 0", False, "rests on 2 gold spans, fewer than 3"),
        ("leakage <= 0.01", False, "not met"),
    ]
    assert said.json()["rules"][0] == {"rule": "exact_recall >= 0.8", "value": 0.8, "limit": 0.8, "passed": True, "reason": None}
    assert said.err.startswith("error: 4 of 5 rules not met: exact_recall > 0.8 (is 0.8); by_label.DATE.exact.f1 > 0 (absent); ")
    assert program("gate", run, "--rules", path).err.startswith("error: 3 of 4 rules not met")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "no rule was given"),
        (["--fail-under", "exat_f1=0.5"], 2, "did you mean exact_f1"),
        (["--fail-under", "exact_f1"], 2, "write KEY=NUMBER"),
        (["--rules", "Quill.toml"], 2, "cannot be read"),
        (["--fail-under", "by_label.Quill\x1b[31m.exact.f1=0.5"], 3, "by_label.Quill\ufffd[31m.exact.f1 >= 0.5 (absent)"),
    ],
)
def test_wrong_rules(program, run: Path, arguments: list[str], code: int, said: str) -> None:
    done = program("gate", run, *arguments)
    assert done.code == code
    assert said in done.err
    assert "\x1b" not in done.all


def test_a_run_that_is_none(program, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    assert program("gate", tmp_path, "--fail-under", "exact_f1=0").code == 1
    assert program("gate", tmp_path / "Quill", "--fail-under", "exact_f1=0").code == 2
    said = program("gate", "-", "--fail-under", "exact_f1=0", stdin=b'{"Quill"')
    assert (said.code, said.out, "Quill" in said.err) == (1, "", False)


def test_a_hostile_report_is_no_internal_error(program, run: Path) -> None:
    report = json.loads((run / "report.json").read_text("utf-8"))
    for metrics in ({"by_label": []}, {"by_label": {"X": []}, "leakage": {"by_label": {"X": 1}}}, {"exact_span_f1": 3}, {}):
        (run / "report.json").write_text(json.dumps({**report, "metrics": metrics}), "utf-8")
        keys = ("by_label.X.exact.f1=0", "exact_f1=0")
        said = program("gate", run, "--fail-under", keys[0], "--fail-under", keys[1], "--fail-over", "leakage.by_label.X=2")
        assert said.code == 3
        assert "3 of 3 rules not met" in said.err


@pytest.mark.parametrize("command", ["run", "score"])
def test_fail_under_of_a_command_comes_after_its_report(program, tiny_model: Path, tmp_path: Path, command: str) -> None:
    gold = small_corpora.write(tmp_path, "openmed")
    predictions = small_corpora.write_rows(tmp_path / "made.jsonl", small_corpora.rows(spans="spans")[:-1])
    arguments = {"run": ["--model", tiny_model, "--corpus", gold], "score": [gold, predictions]}[command]
    out = tmp_path / "out"
    said = program(command, *arguments, "--fail-under", "exact_f1=0.99", "--fail-over", "leakage=1", "--output", out, "--json")
    assert said.code == 3
    assert "error: 1 of 2 rules not met: exact_f1 >= 0.99 (is " in said.err
    assert json.loads((out / "report.json").read_text("utf-8")) == said.json()
    assert program(command, *arguments, "--fail-under", "exact_f1=0", "--fail-over", "leakage=1").code == 0


def test_a_wrong_fail_under_is_found_before_the_work(program, tmp_path: Path) -> None:
    said = program("run", "--fail-under", "exact_span=0.5", "--output", tmp_path / "out")
    assert (said.code, said.out) == (2, "")
    assert "did you mean exact_span_f1" in said.err
    assert not (tmp_path / "out").exists()
