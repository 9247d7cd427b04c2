"""`report`: pages into run folders, and what is no run is refused before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_corpora


@pytest.fixture
def saved(program, tiny_model: Path, tmp_path: Path) -> Path:
    corpus = small_corpora.write(tmp_path / "corpora", "openmed")
    assert program("run", "--model", tiny_model, "--corpus", corpus, "--output", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_a_page_stands_in_the_run_s_folder(program, saved: Path) -> None:
    said = program("report", saved)
    assert (said.code, said.out, said.err) == (0, "wrote report.html\n", "")
    html = (saved / "report.html").read_text("utf-8")
    exact = json.loads((saved / "report.json").read_text("utf-8"))["metrics"]["exact_span_f1"]["f1"]
    assert f"{exact:.4f}" in html
    for text in (text for _, text, _ in small_corpora.ENTRIES):
        assert text not in html


def test_a_model_card_stands_beside_it(program, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "card"
    said = program("report", saved, "--output", out, "--model-card", "--dataset-id", "me/set", "--json")
    assert said.json() == {"files": [".eval_results/set.yaml", "model-card.md", "report.html"]}
    assert "model-index:" in (out / "model-card.md").read_text("utf-8")
    assert "me/set" in (out / ".eval_results" / "set.yaml").read_text("utf-8")


def test_several_runs_have_one_page(program, saved: Path, tmp_path: Path) -> None:
    said = program("report", saved, saved, "--output", tmp_path / "both")
    assert (said.code, said.out) == (0, "wrote runs.html\n")
    assert "2 runs" in (tmp_path / "both" / "runs.html").read_text("utf-8")
    for arguments in ([saved, saved], [saved, saved, "--output", tmp_path / "x", "--model-card"]):
        assert program("report", *arguments).code == 2
    assert not (tmp_path / "x").exists()


def test_errors_beside_the_run_are_drawn_and_others_refused(program, saved: Path) -> None:
    corpus = json.loads((saved / "report.json").read_text("utf-8"))["corpus"]
    matrix = {"PERSON": {"PERSON": 1, "missed": 1}}
    overall = {"shifts": {"start": {"+1": 1}, "end": {}}}
    buckets = {"missed": "missed", "spurious": "spurious"}
    errors = {"corpus": {"sha256": corpus["sha256"]}, "confusion_matrix": matrix, "overall": overall, "buckets": buckets}
    (saved / "errors.json").write_text(json.dumps(errors))
    assert program("report", saved).code == 0
    assert 'aria-label="Confusion"' in (saved / "report.html").read_text("utf-8")
    before = (saved / "report.html").read_bytes()
    for wrong in ("{", "[]", json.dumps({**errors, "corpus": {"sha256": "0" * 64}}), json.dumps({**errors, "overall": 1})):
        (saved / "errors.json").write_text(wrong)
        said = program("report", saved)
        assert (said.code, said.out) == (1, ""), wrong
        assert (saved / "report.html").read_bytes() == before


@pytest.mark.parametrize("path", [("metrics", "by_label"), ("metrics", "exact_span_f1"), ("config",), ("metrics", "calibration")])
def test_a_report_of_another_inside_is_bad_input(program, saved: Path, path: tuple[str, ...]) -> None:
    report = json.loads((saved / "report.json").read_text("utf-8"))
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = {"QZX": "QZX"}
    (saved / "report.json").write_text(json.dumps(report))
    said = program("report", saved)
    assert (said.code, said.out) == (1, "")
    assert "report.json" in said.err and "QZX" not in said.err and "internal error" not in said.err
    assert not (saved / "report.html").exists()
