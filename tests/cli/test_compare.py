"""`compare` end to end: its files, streams and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.reporting.comparison import schema

VALIDATOR = Draft202012Validator(schema())


@pytest.fixture
def runs(program, tmp_path: Path) -> tuple[Path, Path]:
    """A is right throughout; B has lost the last document's span, one of three ANATOMY."""
    gold = small_corpora.write(tmp_path, "openmed")
    rows = small_corpora.rows(spans="spans")
    folders = []
    for name, kept in (("a", rows), ("b", rows[:-1])):
        predictions = small_corpora.write_rows(tmp_path / f"{name}.jsonl", kept)
        folders.append(tmp_path / f"run-{name}")
        assert program("score", gold, predictions, "--output", folders[-1], "--quiet").code == 0
    return folders[0], folders[1]


def test_the_files_and_streams(program, runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("compare", *runs, "--output", out)
    assert (said.code, said.err) == (0, "")
    assert "4 documents, 1 differ" in said.out
    assert "Exact recall of" in said.out
    assert "-0.3333" in said.out
    assert sorted(path.name for path in out.iterdir()) == ["comparison.json", "comparison.md"]
    written = (out / "comparison.json").read_text("utf-8")
    VALIDATOR.validate(json.loads(written))
    assert program("compare", *runs, "--json").out == written
    assert "## Relaxed F1 by label" in (out / "comparison.md").read_text("utf-8")


def test_a_loss_is_exit_code_3_after_the_result(program, runs: tuple[Path, Path], tmp_path: Path) -> None:
    said = program("compare", *runs, "--max-loss", "0.1", "--json", "--output", tmp_path / "out")
    assert said.code == 3
    assert said.err == "error: labels that lost more than 0.1 of exact_recall, or show nothing: ANATOMY (lost 0.3333)\n"
    assert said.json()["verdict"]["labels"]["ANATOMY"]["verdict"] == "failed"
    assert json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8")) == said.json()
    assert program("compare", *runs, "--max-loss", "0.1", "--labels", "PERSON").code == 0
    assert program("compare", *runs, "--max-loss", "0.1", "--metric", "exact_precision").code == 0
    assert program("compare", *runs, "--max-loss", "0.34").code == 0
    said = program("compare", *runs, "--max-loss", "1", "--labels", "PERSON, DISEASE")
    assert (said.code, said.err.endswith("show nothing: DISEASE (no gold)\n")) == (3, True)


def test_the_seed_the_method_and_the_number_of_resamples(program, runs: tuple[Path, Path]) -> None:
    made = program("compare", *runs, "--json", "--bootstrap", "50", "--interval", "percentile", "--seed", "4").json()
    assert made["uncertainty"] == {"resamples": 50, "level": 0.95, "seed": 4, "method": "percentile", "unit": "document"}
    none = program("compare", *runs, "--json", "--bootstrap", "0").json()
    VALIDATOR.validate(none)
    assert none["uncertainty"] is None is none["metrics"]["exact_span_f1"]["f1"]["p_value"]
    assert program("compare", *runs, "--bootstrap", "0").code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["{a}"], 2),
        (["{a}", "{a}", "{a}"], 2),
        (["{a}", "{a}/Quill"], 2),
        (["{a}", "{a}/report.json"], 1),
        (["{a}", "{a}", "--metric", "Quill"], 2),
        (["{a}", "{a}", "--max-loss", "2"], 2),
        (["{a}", "{a}", "--max-loss", "nan"], 2),
        (["{a}", "{a}", "--bootstrap", "-1"], 2),
        (["{a}", "{a}", "--seed", "-1"], 2),
        (["{a}", "{a}", "--output", "{a}/report.json"], 2),
    ],
)
def test_what_cannot_be_compared(program, runs: tuple[Path, Path], arguments: list[str], code: int) -> None:
    said = program("compare", *(argument.format(a=runs[0]) for argument in arguments))
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("error: ")
    assert "Quill" not in said.err
    assert str(runs[0].parent) not in said.err


def test_a_run_of_another_corpus_leaves_no_folder(program, runs: tuple[Path, Path], tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path / "other", "openmed", small_corpora.ENTRIES[:2])
    assert program("score", gold, gold, "--output", tmp_path / "run-c").code == 0
    said = program("compare", runs[0], tmp_path / "run-c", "--output", tmp_path / "out")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: the two runs are of different corpora")
    assert not (tmp_path / "out").exists()
