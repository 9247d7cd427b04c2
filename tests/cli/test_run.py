"""`run` end to end on a tiny random model: what it writes, what changes nothing, and what a failure leaves."""

from __future__ import annotations

import copy
import getpass
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.benchmark import RunOptions, run
from openmed_mlx_eval.demo import model_path
from openmed_mlx_eval.reporting.report import schema, to_json

VALIDATOR = Draft202012Validator(schema())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "corpora", "openmed")


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != "timing"}


def spans_of(folder: Path) -> list[list[tuple[int, int, str]]]:
    lines = (folder / "predictions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["document"] for row in rows] == list(range(len(rows)))
    return [[(span["start"], span["end"], span["label"]) for span in row["spans"]] for row in rows]


def test_the_files_and_streams_of_a_run(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--output", out, "--suite", "mine")
    assert said.code == 0
    assert said.err == ""
    assert "tiny (bert, " in said.out
    assert sorted(path.name for path in out.iterdir()) == ["documents.jsonl", "predictions.jsonl", "report.json", "report.md"]
    report = json.loads((out / "report.json").read_text("utf-8"))
    VALIDATOR.validate(report)
    assert report["suite"] == report["corpus"]["name"] == "mine"
    assert (report["corpus"]["documents"], report["corpus"]["documents_scored"], report["corpus"]["spans"]) == (4, 4, 5)
    assert report["corpus"]["labels"] == {"ANATOMY": 3, "PERSON": 2}
    assert (report["model"]["name"], report["model"]["family"], report["model"]["window"]) == ("tiny", "bert", 40)
    assert sorted(report["model"]["files"]) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert report["environment"]["engine"] == report["config"]["engine"] in ("numpy", "mlx")
    assert report["config"]["labels"]["mapped"] == {"NAME": "PERSON"}
    assert report["partial"] is False
    spans = spans_of(out)
    assert sum(map(len, spans)) == report["metrics"]["predicted"] > 4
    assert any(end > 150 for _, end, _ in spans[2])  # beyond the first window
    markdown = (out / "report.md").read_text("utf-8")
    assert markdown.startswith("# mine\n")
    assert report["corpus"]["sha256"] in markdown
    for text in (text for _, text, _ in small_corpora.ENTRIES):
        assert text not in markdown + to_json(report)


def test_json_is_the_file_and_nothing_else(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--output", out, "--json", "--label-map", "none")
    assert said.out == (out / "report.json").read_text("utf-8")
    VALIDATOR.validate(said.json())


@pytest.mark.parametrize("arguments", [[], ["--limit", "2"], ["--skip-bad"], ["--label-map", "none", "--aggregation", "viterbi"]])
@pytest.mark.parametrize("entries", [small_corpora.ENTRIES, small_corpora.ENTRIES[1:2], ()])
def test_every_report_is_valid(program, tiny_model: Path, tmp_path: Path, arguments: list[str], entries: Any) -> None:
    path = small_corpora.write(tmp_path, "openmed", entries)
    said = program("run", "--model", tiny_model, "--corpus", path, "--format", "openmed", "--json", *arguments)
    report = said.json()
    VALIDATOR.validate(report)
    limit = 2 if "--limit" in arguments else len(entries)
    assert report["corpus"]["documents_scored"] == min(limit, len(entries))
    assert report["partial"] is (limit < len(entries))
    codes = {warning["code"] for warning in report["warnings"]}
    assert ("no_documents" in codes) is (not entries)
    assert ("no_gold" in codes) is (len(entries) == 1)
    assert all(f"({code}: " in said.err for code in codes)


def test_bad_documents_are_left_out_and_counted(program, tiny_model: Path, tmp_path: Path) -> None:
    rows = small_corpora.rows()
    rows[1]["gold_spans"] = [{"start": 0, "end": 999, "label": "NAME"}]
    path = small_corpora.write_rows(tmp_path / "bad.jsonl", rows)
    said = program("run", "--model", tiny_model, "--corpus", path, "--json")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: openmed, file 1, document 2, line 2, span 1, offsets 0–999: span past the end")
    report = program("run", "--model", tiny_model, "--corpus", path, "--json", "--skip-bad").json()
    VALIDATOR.validate(report)
    assert (report["corpus"]["documents"], report["corpus"]["documents_scored"], report["partial"]) == (4, 3, False)
    assert [(w["code"], w["count"]) for w in report["warnings"]] == [("skipped_documents", 1)]


def test_a_bad_document_stops_before_the_model_is_opened(program, tmp_path: Path) -> None:
    path = small_corpora.write_rows(tmp_path / "bad.jsonl", [{"id": "a", "text": None, "spans": []}])
    said = program("run", "--model", tmp_path / "no-model", "--corpus", path)
    assert (said.code, said.err.startswith("error: openmed, file 1, document 1")) == (1, True)
    good = small_corpora.write(tmp_path, "openmed")
    said = program("run", "--model", tmp_path / "no-model", "--corpus", good)
    assert (said.code, "no such folder: the model" in said.err) == (1, True)


def test_predictions_scored_again_give_the_same_metrics(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    for more in ([], ["--limit", "3"]):
        out = tmp_path / f"out{len(more)}"
        report = program("run", "--model", tiny_model, "--corpus", corpus, "--output", out, "--json", *more).json()
        again = program("score", corpus, out / "predictions.jsonl", "--output", out / "again", "--json", *more).json()
        assert again["metrics"] == report["metrics"]
        assert again["corpus"] == report["corpus"]
        assert again["warnings"] == report["warnings"]
        assert spans_of(out / "again") == spans_of(out)


def test_two_runs_differ_in_time_alone(program, tiny_model: Path, corpus: Path) -> None:
    one, other = (program("run", "--model", tiny_model, "--corpus", corpus, "--json").json() for _ in range(2))
    assert timeless(one) == timeless(other)
    assert list(one) == list(other)


def test_batch_size_and_order_change_no_number(program, tiny_model: Path, tmp_path: Path) -> None:
    folders = []
    for tokens in (16, 64, 4096):
        folders.append(tmp_path / str(tokens))
        path = small_corpora.write(folders[-1] / "corpus", "openmed")
        arguments = ["--corpus", path, "--batch-tokens", tokens, "--output", folders[-1], "--json"]
        report = program("run", "--model", tiny_model, *arguments).json()
        assert report["config"]["batch_tokens"] == tokens
    backwards = small_corpora.write(tmp_path / "backwards", "openmed", small_corpora.ENTRIES[::-1])
    program("run", "--model", tiny_model, "--corpus", backwards, "--output", tmp_path / "reverse")
    first = spans_of(folders[0])
    assert all(spans_of(folder) == first for folder in folders)
    assert spans_of(tmp_path / "reverse") == first[::-1]
    blocks = [json.loads((folder / "report.json").read_text())["metrics"] for folder in (*folders, tmp_path / "reverse")]
    flat = [_without_scores(block) for block in blocks]
    assert flat.count(flat[0]) == len(flat)


def _without_scores(block: dict[str, Any]) -> dict[str, Any]:
    """Metrics that hang on counts alone, and on no confidence's last digit nor on the order of documents."""
    kept = copy.deepcopy(block)
    for key in ("calibration", "abstention", "per_document"):
        kept.pop(key, None)
    return kept


@pytest.mark.parametrize("engine", ["numpy", "mlx"])
def test_the_report_says_what_was_compiled(program, tiny_model: Path, corpus: Path, engine: str) -> None:
    if engine == "mlx":
        pytest.importorskip("mlx.core")
    for option in ([], ["--no-compile"]):  # on a CPU nothing is, unless asked for
        arguments = ["--corpus", corpus, "--engine", engine, "--device", "cpu", *option, "--json"]
        assert program("run", "--model", tiny_model, *arguments).json()["config"]["compile"] is False


def test_both_engines_give_the_same_spans(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlx.core")
    for engine in ("numpy", "mlx"):
        arguments = ("--engine", engine, "--device", "cpu", "--output", tmp_path / engine, "--json")
        report = program("run", "--model", tiny_model, "--corpus", corpus, *arguments).json()
        assert (report["environment"]["engine"], report["environment"]["device"]) == (engine, "cpu")
    assert spans_of(tmp_path / "numpy") == spans_of(tmp_path / "mlx")


def test_the_corpus_formats_give_the_same_metrics(program, tiny_model: Path, tmp_path: Path) -> None:
    blocks = []
    for format in small_corpora.FORMATS:
        path = small_corpora.write(tmp_path / format, format)
        report = program("run", "--model", tiny_model, "--corpus", path, "--json").json()
        assert report["corpus"]["format"] == format
        blocks.append(_without_scores(report["metrics"]))
    assert blocks.count(blocks[0]) == len(blocks)


def test_a_label_map_folds_and_is_listed(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    table = tmp_path / "map.json"
    table.write_text('{"*": "thing"}')
    report = program("run", "--model", tiny_model, "--corpus", corpus, "--json", "--label-map", table).json()
    assert report["config"]["label_map"] == "file"
    assert report["config"]["labels"] == {"mapped": {"ANATOMY": "THING", "NAME": "THING"}, "met": {"THING": ["ANATOMY", "NAME"]}}
    assert list(report["metrics"]["by_label"]) == ["THING"]
    table.write_text("[1]")
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--label-map", table)
    assert (said.code, said.out) == (2, "")
    assert "--label-map" in said.err


def test_gold_labels_the_model_never_gives_are_said(program, tiny_model: Path, tmp_path: Path) -> None:
    path = small_corpora.write(tmp_path, "openmed", [small_corpora.entry("a", "ward 7", ROOM="7")])
    said = program("run", "--model", tiny_model, "--corpus", path)
    assert "gold spans whose label the model never gives" in said.err
    assert program("run", "--model", tiny_model, "--corpus", path, "--quiet").err == ""


def test_the_corpus_may_come_from_stdin(program, tiny_model: Path, corpus: Path) -> None:
    by_path = program("run", "--model", tiny_model, "--corpus", corpus, "--json").json()
    piped = program("run", "--model", tiny_model, "--corpus", "-", "--json", stdin=corpus.read_bytes()).json()
    assert timeless(piped) == timeless(by_path)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--stride", "38"], "--stride"),
        (["--stride", "500"], "less than the window of 38 content tokens"),
        (["--stride", "-1"], "'--stride': give a number of at least 0"),
        (["--limit", "0"], "'--limit': give a number of at least 1"),
        (["--batch-tokens", "0"], "'--batch-tokens'"),
        (["--engine", "fast"], "'--engine': give one of auto, mlx, numpy"),
        (["--engine", "numpy", "--device", "metal"], "metal"),
        (["--engine", "numpy", "--compile"], "--engine numpy compiles nothing"),
        (["--label-map", "/no/such/file.json"], "--label-map"),
    ],
)
def test_a_wrong_option_is_a_usage_error_before_anything_is_encoded(
    program, monkeypatch, tiny_model: Path, corpus: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    monkeypatch.setattr("openmed_mlx_eval.runtime.tokenization.TextEncoder.encode", lambda *_: pytest.fail("a text was encoded"))
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--output", tmp_path / "out", *arguments)
    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert not (tmp_path / "out").exists()


def test_model_and_corpus_come_together(program, tiny_model: Path, corpus: Path) -> None:
    assert "--corpus is missing" in program("run", "--model", tiny_model).err
    assert "--model is missing" in program("run", "--corpus", corpus).err


@pytest.mark.parametrize("where", ["corpus", "model", "label map", "output"])
def test_a_wrong_path_is_not_repeated(program, tiny_model: Path, corpus: Path, tmp_path: Path, where: str) -> None:
    wrong = tmp_path / "Quill-1970"
    if where == "output":
        wrong.write_text("a file in the way")
    arguments = {
        "corpus": ["--model", tiny_model, "--corpus", wrong],
        "model": ["--model", wrong, "--corpus", corpus],
        "label map": ["--model", tiny_model, "--corpus", corpus, "--label-map", wrong],
        "output": ["--model", tiny_model, "--corpus", corpus, "--output", wrong],
    }[where]
    said = program("run", *arguments)
    assert (said.code, said.out) == (1 if where == "model" else 2, "")
    assert said.err.startswith("error: ")
    assert "Quill-1970" not in said.err
    assert str(tmp_path) not in said.err


def full(*_: object) -> None:
    raise OSError(28, "No space left on device", "/a/path")


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("target", "failure", "code"),
    [
        ("os.fsync", full, 1),
        ("openmed_mlx_eval.runtime.classifier.TokenClassifier.predict", interrupted, 130),
        ("openmed_mlx_eval.runtime.classifier.TokenClassifier._begin", interrupted, 130),
        ("os.fsync", interrupted, 130),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_a_failure_leaves_nothing_half_written(
    program, monkeypatch, tiny_model: Path, corpus: Path, tmp_path: Path, target: str, failure: Any, code: int, before: bool
) -> None:
    out = tmp_path / "new" / "out"
    if before:
        out.mkdir(parents=True)
        (out / "report.json").write_text("the last run's")
    monkeypatch.setattr(target, failure)
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--output", out)
    assert said.code == code
    assert ("exact" in said.out) is (failure is full)  # a full disk takes the files, not the report
    assert "Traceback" not in said.err
    assert "/a/path" not in said.err
    left = {path.name: path.read_text() for path in out.iterdir()} if out.exists() else {}
    assert ("journal.jsonl" in left) is (target == "os.fsync")  # what was predicted is not lost with the rest
    left.pop("journal.jsonl", None)
    assert left == ({"report.json": "the last run's"} if before else {})
    assert out.exists() is (before or target == "os.fsync")


def test_no_output_names_a_place_or_a_person(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    table = tmp_path / "map.json"
    table.write_text('{"NAME": "PERSON"}')
    said = program("run", "--model", tiny_model, "--corpus", corpus, "--output", out, "--label-map", table)
    everything = said.all + "".join(path.read_text("utf-8") for path in out.iterdir())
    for path in (
        tmp_path,
        tiny_model.parent,
        corpus.name,
        table.name,
        Path.home() if Path.home() != Path("/") else tmp_path,
        Path.cwd(),
    ):
        assert str(path) not in everything
    for name in (getpass.getuser(), platform.node()):
        assert not re.search(rf"\b{re.escape(name)}\b", everything)


def test_the_library_s_run_is_the_command_s(program, tiny_model: Path, corpus: Path) -> None:
    result = run(RunOptions(model=str(tiny_model), corpus=str(corpus)))
    assert timeless(json.loads(to_json(result.report))) == timeless(
        program("run", "--model", tiny_model, "--corpus", corpus, "--json").json()
    )


def test_json_is_utf_8_in_any_locale(tiny_model: Path, tmp_path: Path) -> None:
    corpus = small_corpora.write(tmp_path, "openmed", [("a", "left kidney", ((5, 11, "腎é"),))])
    command = [sys.executable, "-m", "openmed_mlx_eval", "run", "--model", str(tiny_model), "--corpus", str(corpus), "--json"]
    ascii_locale = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    made = subprocess.run(command, capture_output=True, check=True, env=ascii_locale)
    report = json.loads(made.stdout.decode("utf-8"))
    VALIDATOR.validate(report)
    assert report["corpus"]["labels"] == {"腎É": 1}
    assert made.stderr.decode("utf-8").startswith("warning: gold spans whose label the model never gives (腎É)")


@pytest.mark.skipif(not (model_path() / "config.json").exists(), reason="the embedded demo is not made yet")
def test_the_embedded_demo(program, tmp_path: Path) -> None:
    said = program("run", "--output", tmp_path / "out", "--json")
    report = said.json()
    VALIDATOR.validate(report)
    assert said.code == 0
    assert report["corpus"]["documents_scored"] >= 40
    assert report["metrics"]["exact_span_f1"]["f1"] > 0.6  # tests/demo holds the figure


def test_the_two_meddocan_formats_differ_in_the_corpus_block_alone(program, shared, tiny_model: Path) -> None:
    brat, xml = (
        program(
            "run", "--model", tiny_model, "--corpus", shared(f"corpora/meddocan/dev/{format}"), "--limit", "3", "--json"
        ).json()
        for format in ("brat", "xml")
    )
    for report in (brat, xml):
        del report["timing"], report["corpus"]["format"], report["corpus"]["name"], report["corpus"]["sha256"]
    assert brat == xml


def test_a_closed_pipe_after_the_files_leaves_no_journal(
    program, monkeypatch, tiny_model: Path, corpus: Path, tmp_path: Path
) -> None:
    """`run … | head` left one beside a finished report."""

    def closed(report: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("openmed_mlx_eval.cli.options.print_report", closed)
    assert program("run", "--model", tiny_model, "--corpus", corpus, "--output", tmp_path / "out").code == 1
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["documents.jsonl", "predictions.jsonl", "report.json", "report.md"]
