"""`generate`: perfect answers, evalscope's figures, a real model through mlx-lm, and a run that was killed and resumed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from small_corpora import write

from openmed_mlx_eval import GenerateOptions, UsageError, load_corpus, run_generative
from openmed_mlx_eval.cli.generate import command
from openmed_mlx_eval.generative.protocol import load_protocol
from openmed_mlx_eval.generative.rendering import gold_answers
from openmed_mlx_eval.reporting.report import schema

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = Draft202012Validator(schema())
QUICK = ["--bootstrap", 0, "--quiet"]


def perfect(folder: Path, corpus: Path, benchmark: str) -> Path:
    path = folder / "perfect.jsonl"
    rows = gold_answers(load_corpus(corpus), load_protocol(benchmark))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    ("benchmark", "path"),
    [
        ("anat_em", "corpora/anatem/devel.tsv"),
        ("anat_em", "corpora/anatem/brat-devel"),
        ("bc5cdr", "corpora/bc5cdr/devel.pubtator.txt"),
        ("ncbi_disease", "corpora/ncbi-disease/brat-devel"),
    ],
)
def test_perfect_answers_score_exactly_one_and_are_clean(program, shared, tmp_path: Path, benchmark: str, path: str) -> None:
    corpus = shared(path)
    answers = perfect(tmp_path, corpus, benchmark)
    report = program("generate", "--answers", answers, "--benchmark", benchmark, "--corpus", corpus, "--json", *QUICK).json()
    VALIDATOR.validate(report)
    block = report["metrics"]["generative"]
    assert report["metrics"]["exact_span_f1"]["f1"] == block["token_level"]["f1"] == block["token_level"]["accuracy"] == 1.0
    assert block["states"]["clean"] == block["answers"] == len(load_corpus(corpus))
    assert (block["usable_answer_rate"], block["lost_tags"], block["documents_changed_by_alignment"]) == (1.0, 0, None)


def test_evalscope_alignment_gives_that_tools_figures_and_says_so(program, shared, tmp_path: Path) -> None:
    corpus = shared("corpora/anatem/devel.tsv")
    answers = perfect(tmp_path, corpus, "anat_em")
    said = program("generate", "--answers", answers, "--corpus", corpus, "--align", "evalscope", "--json", "--bootstrap", 0)
    report = said.json()
    VALIDATOR.validate(report)
    for block in (report["metrics"]["exact_span_f1"], report["metrics"]["generative"]["token_level"]):
        counts = [block[key] for key in ("true_positives", "false_positives", "false_negatives")]
        assert (counts, round(block["f1"], 4)) == ([2118, 3, 21], 0.9944)
    assert report["metrics"]["generative"]["documents_changed_by_alignment"] == 13
    assert "evalscope_alignment" in said.err and report["config"]["align"] == "evalscope"


def test_a_report_shows_states_and_lost_tags_and_no_answer(program, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", "openmed")
    rows = [
        {"id": "n1", "answer": "<response><anatomy>left kidney</anatomy> biopsy <organ>of</organ> dr quill .</response>"},
        {"id": "n2", "answer": "SECRET words of a model"},
        {"id": "n4", "answer": "<response>NEPHRITIS of the <anatomy>Kidneys</anatomy></response>"},
    ]
    answers = tmp_path / "a.jsonl"
    answers.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    out = tmp_path / "out"
    said = program("generate", "--answers", answers, "--corpus", corpus, "--output", out, "--bootstrap", 0)
    assert said.code == 0
    report = json.loads((out / "report.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    block = report["metrics"]["generative"]
    assert {state: n for state, n in block["states"].items() if n} == {"clean": 1, "case": 1, "no_response": 1, "empty": 1}
    assert block["lost_tags_by_reason"] == {"unknown_type": 1}
    assert report["config"]["labels"]["mapped"] == {"NAME": "ANATOMY"}
    for shown in (said.out, (out / "report.md").read_text("utf-8")):
        assert "answers: no_response" in shown.replace("\\", "") and "lost tags: unknown_type" in shown.replace("\\", "")
    assert {warning["code"] for warning in report["warnings"]} == {"missing_answers", "unusable_answers"}
    assert not any("SECRET" in path.read_text("utf-8") for path in out.iterdir())
    assert "SECRET" not in said.all


def test_types_of_ones_own(program, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", "openmed")
    answers = tmp_path / "a.jsonl"
    answers.write_text(
        json.dumps({"id": "n1", "answer": "<response>left kidney biopsy of dr <name>quill</name> .</response>"}), "utf-8"
    )
    report = program(
        "generate", "--answers", answers, "--corpus", corpus, "--benchmark", "custom",
        "--entity", "name=Names of people", "--limit", 1, "--json", *QUICK,
    ).json()  # fmt: skip
    assert report["metrics"]["by_label"]["NAME"]["exact"]["true_positives"] == 1
    assert [warning["code"] for warning in report["warnings"]] == ["labels_unknown_to_model"]
    assert (report["partial"], report["suite"]) == (True, "custom")


USAGE = {
    "no source": [],
    "two sources": ["--answers", "x", "--model", "y"],
    "not loopback": ["--endpoint", "http://example.org/v1"],
    "keep without a folder": ["--model", "x", "--keep-answers"],
    "keep what is there": ["--answers", "x", "--keep-answers", "--output", "OUT"],
    "more shots than there are": ["--answers", "x", "--shots", "6"],
    "entities without custom": ["--answers", "x", "--entity", "name"],
    "evalscope without tokens": ["--answers", "x", "--align", "evalscope"],
    "no model": ["--model", "no-such-folder"],
    "no temperature": ["--answers", "x", "--temp", "nan"],
    "no answers": ["--answers", "no-such-file"],
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_named(program, tmp_path: Path, name: str) -> None:
    corpus = write(tmp_path / "c", "openmed")
    arguments = [tmp_path / "out" if one == "OUT" else one for one in USAGE[name]]
    said = program("generate", "--corpus", corpus, *arguments)
    assert (said.code, said.out) == (2, ""), said
    assert said.err.startswith("error: ") and "example" not in said.err and "no-such" not in said.err
    assert not (tmp_path / "out").exists()


def test_shots_from_a_corpus(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", "openmed")
    answers = tmp_path / "a.jsonl"
    answers.write_text("", "utf-8")
    options = {"corpus": str(corpus), "answers": str(answers), "benchmark": "bc5cdr"}
    warned = run_generative(GenerateOptions(**options)).report
    assert ("fewer_shots", 5) in [(warning["code"], warning["count"]) for warning in warned["warnings"]]
    report = run_generative(GenerateOptions(**options, shots_file=str(corpus), shots=2)).report
    assert (report["config"]["shots"], report["config"]["shots_from"]) == (2, "file")
    assert report["config"]["protocol_sha256"] != warned["config"]["protocol_sha256"]
    with pytest.raises(UsageError):
        run_generative(GenerateOptions(**options, shots_file=str(corpus), shots=5))


def test_a_model_that_is_no_language_model_is_refused(program, tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlx_lm")
    corpus = write(tmp_path / "c", "openmed")
    said = program("generate", "--model", tiny_model, "--corpus", corpus, "--output", tmp_path / "out")
    assert (said.code, said.out) == (1, "")
    assert "a token classifier is scored with" in said.err and not (tmp_path / "out").exists()
    for number, config in enumerate(({"model_type": "none_such"}, {"model_type": "llama"}, {}, [])):
        folder = tmp_path / f"model{number}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        said = program("generate", "--model", folder, "--corpus", corpus)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("error: ") and str(tmp_path) not in said.err


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what is a clock's."""
    cost = report["metrics"]["generative"]["cost"]
    for name in ("seconds_per_document", "answer_tokens_per_second", "time_to_first_token_s", "cold_start_s"):
        del cost[name]
    return {key: value for key, value in report.items() if key != "timing"}


def called(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "openmed_mlx_eval", "generate", *map(str, arguments)]


@pytest.fixture(scope="module")
def story(shared, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[object], Path, dict[str, Any]]:
    """The options of a run of the smallest language model, its folder and its report."""
    pytest.importorskip("mlx_lm")
    options: list[object] = [
        "--model", shared("models/stories260k"), "--corpus", shared("corpora/anatem/devel.tsv"), "--limit", 12, "--shots", 1,
        "--max-tokens", 24, "--batch-size", 2, "--keep-answers", "--bootstrap", 0, "--json",
    ]  # fmt: skip
    out = tmp_path_factory.mktemp("story") / "out"
    done = subprocess.run(called(*options, "--output", out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "answers.jsonl in the output folder keeps the answers" in done.stderr
    return options, out, json.loads(done.stdout)


def test_a_real_model_ends_with_every_answer_under_a_name(story) -> None:
    _, out, report = story
    VALIDATOR.validate(report)
    block = report["metrics"]["generative"]
    assert block["answers"] == 12 == sum(block["states"].values())
    assert block["usable_answer_rate"] == block["token_level"]["f1"] == 0.0
    assert block["cost"]["answers_cut_by_limit"] == 12 and block["cost"]["answer_tokens"] == 12 * 24
    assert block["cost"]["cold_start_s"] > 0 and block["cost"]["time_to_first_token_s"]["p50"] > 0
    assert {"no_chat_template", "prompt_past_window", "unusable_answers"} <= {warning["code"] for warning in report["warnings"]}
    assert (report["environment"]["engine"], report["model"]["family"]) == ("mlx", "llama")
    answers = [json.loads(line) for line in (out / "answers.jsonl").read_text("utf-8").splitlines()[1:]]
    assert sorted(row["document"] for row in answers) == list(range(12))
    for name in ("report.json", "report.md", "predictions.jsonl", "documents.jsonl"):
        written = (out / name).read_text("utf-8")
        assert not any(row["answer"][:20] in written for row in answers)


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX's")
def test_a_killed_run_resumes_to_the_report_of_an_unbroken_one(story, tmp_path: Path) -> None:
    options, unbroken, report = story
    journal = tmp_path / "out" / "answers.jsonl"
    running = subprocess.Popen(
        called(*options, "--output", tmp_path / "out"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 300
    while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 5):
        assert running.poll() is None, "ended before it could be killed"
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = journal.read_bytes()
    assert 5 <= kept.count(b"\n") < 13
    assert not (tmp_path / "out" / "report.json").exists()
    journal.write_bytes(kept + b'{"document": 9, "ans')
    done = subprocess.run(called(*options, "--output", tmp_path / "out"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "resuming: " in done.stderr and "half an answer" in done.stderr
    assert journal.read_bytes().startswith(kept)
    assert comparable(json.loads(done.stdout)) == comparable(report)
    answers = [
        {row["document"]: row["answer"] for row in map(json.loads, path.read_text("utf-8").splitlines()[1:])}
        for path in (journal, unbroken / "answers.jsonl")
    ]
    assert answers[0] == answers[1]


def test_the_commands_of_the_readme_are_understood() -> None:
    lines = re.findall(r"^openmed-mlx-eval generate (.*)$", (ROOT / "docs" / "generative.md").read_text("utf-8"), re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        assert command.make_context("generate", shlex.split(line)).params["corpus"]
