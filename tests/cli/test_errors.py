"""`errors`, `errors from` and `errors show` end to end on a tiny random model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.demo import model_path
from openmed_mlx_eval.reporting.error_report import errors_schema
from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(errors_schema())
RUN_FILES = ["documents.jsonl", "predictions.jsonl", "report.json", "report.md"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "corpora", "openmed")


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def without(report: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in keys}


def assert_reconciled(errors: dict[str, Any], report: dict[str, Any]) -> None:
    """Rows add up to the support, columns to the predictions, the diagonal to the relaxed true positives."""
    matrix, metrics = errors["confusion_matrix"], report["metrics"]
    assert errors["by_label"].keys() == metrics["by_label"].keys()
    for label, block in metrics["by_label"].items():
        assert sum(matrix.get(label, {}).values()) == block["support"]
        assert sum(row.get(label, 0) for row in matrix.values()) == block["predicted"]
        assert matrix.get(label, {}).get(label, 0) == block["relaxed"]["true_positives"]
        assert errors["by_label"][label]["exact"] == block["exact"]["true_positives"]
    assert sum(map(sum, (row.values() for row in matrix.values()))) == (
        metrics["support"] + metrics["predicted"] - errors["overall"]["exact"] - errors["overall"]["boundary"]
        - errors["overall"]["label_confusion"]
    )  # fmt: skip
    assert errors["corpus"] == {key: report["corpus"][key] for key in errors["corpus"]}
    assert (errors["suite"], errors["model"]["name"]) == (report["suite"], report["model"]["name"])


def test_the_files_and_streams(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("errors", "--model", tiny_model, "--corpus", corpus, "--output", out, "--suite", "mine", "--bootstrap", 0)
    assert (said.code, said.err) == (0, "")
    assert "Errors" not in said.out and "In pieces" in said.out and "exact F1" in said.out
    assert sorted(path.name for path in out.iterdir()) == sorted([*RUN_FILES, "errors.json", "errors.md"])
    errors, report = read(out / "errors.json"), read(out / "report.json")
    VALIDATOR.validate(errors)
    Draft202012Validator(schema()).validate(report)
    assert_reconciled(errors, report)
    assert (out / "errors.md").read_text("utf-8").startswith("# Errors: mine\n")
    assert errors["config"] == {"example_cap": 5, "context_window": 24, "seed": 0, "hash_key": "random"}
    for _, text, _ in small_corpora.ENTRIES:
        assert text not in "".join(path.read_text("utf-8") for path in out.iterdir())
    plain = program("run", "--model", tiny_model, "--corpus", corpus, "--json", "--suite", "mine", "--bootstrap", 0).json()
    assert without(plain, "timing") == without(report, "timing")


def test_json_is_the_file_and_nothing_else(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    where = ["--model", tiny_model, "--corpus", corpus]
    said = program("errors", *where, "--output", out, "--json", "--examples", 1, "--seed", 7, "--context-window", 3)
    assert said.out == (out / "errors.json").read_text("utf-8")
    assert said.json()["config"] == {"example_cap": 1, "context_window": 3, "seed": 7, "hash_key": "random"}


@pytest.mark.parametrize("arguments", [[], ["--limit", "2"], ["--label-map", "none", "--aggregation", "viterbi"]])
@pytest.mark.parametrize("entries", [small_corpora.ENTRIES, small_corpora.ENTRIES[1:2], ()])
def test_every_errors_json_is_valid(program, tiny_model: Path, tmp_path: Path, arguments: list[str], entries: Any) -> None:
    path = small_corpora.write(tmp_path, "openmed", entries)
    where = ["--model", tiny_model, "--corpus", path, "--format", "openmed", "--output", tmp_path / "out"]
    said = program("errors", *where, "--json", *arguments)
    VALIDATOR.validate(said.json())
    assert_reconciled(said.json(), read(tmp_path / "out" / "report.json"))
    assert ("no_documents" in said.err) is (not entries)
    assert program("errors", *where, "--quiet", *arguments).err == ""


def test_a_run_read_again_gives_the_same_errors(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    run, from_run = tmp_path / "run", tmp_path / "from"
    options = ["--hash-key-file", key, "--seed", 3, "--examples", 2]
    direct = program(
        "errors", "--model", tiny_model, "--corpus", corpus, "--output", run, "--json", "--stride", 0, *options
    ).json()
    said = program("errors", "from", run, "--corpus", corpus, "--output", from_run, "--json", *options)
    again = said.json()
    VALIDATOR.validate(again)
    seam = again["examples"]["columns"].index("seam_distance")
    for report in (direct, again):
        distances = [row.pop(seam) for row in report["examples"]["rows"]]
        assert any(distance is not None for distance in distances) is (report is direct)
    assert without(again, "generated_at") == without(direct, "generated_at")
    assert sorted(path.name for path in from_run.iterdir()) == ["errors.json", "errors.md"]
    assert "Missed" in program("errors", "from", run, "--corpus", corpus).out


def test_a_score_folder_will_do(program, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    program("score", corpus, corpus, "--output", run)
    errors = program("errors", "from", run, "--corpus", corpus, "--json").json()
    VALIDATOR.validate(errors)
    assert errors["overall"]["exact"] == errors["overall"]["support"] == 5
    assert errors["examples"]["rows"] == []
    assert_reconciled(errors, read(run / "report.json"))


def hashes(errors: dict[str, Any]) -> set[str]:
    places = [n for n, column in enumerate(errors["examples"]["columns"]) if column.endswith("_hash")]
    return {row[n] for row in errors["examples"]["rows"] for n in places} - {None}


def test_two_runs_share_no_hash_but_by_a_key_file(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    run, key = tmp_path / "run", tmp_path / "key"
    key.write_bytes(os.urandom(32))
    where = ["errors", "--model", tiny_model, "--corpus", corpus, "--json"]
    program(*where, "--output", run)
    one, other = (program(*where).json() for _ in range(2))
    keyed = [program("errors", "from", run, "--corpus", corpus, "--json", "--hash-key-file", key).json() for _ in range(2)]
    assert hashes(one) and not hashes(one) & hashes(other)
    assert hashes(keyed[0]) == hashes(keyed[1])
    assert [report["config"]["hash_key"] for report in (one, keyed[0])] == ["random", "given"]
    assert key.read_bytes().hex() not in json.dumps(keyed[0])


def test_the_page_of_a_run_shows_its_errors(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    program("errors", "--model", tiny_model, "--corpus", corpus, "--output", out)
    assert program("report", out).code == 0
    page = (out / "report.html").read_text("utf-8")
    assert "Confusion" in page and "Boundary shifts" in page


def test_wrong_calls(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    short = tmp_path / "short"
    short.write_bytes(b"abc")
    for arguments, words in (
        (["--model", tiny_model], "--corpus is missing"),
        (["--corpus", corpus], "--model is missing"),
        (["--model", tiny_model, "--corpus", corpus, "--output", out, "--hash-key-file", short], "at least 16 bytes"),
        (["--model", tiny_model, "--corpus", corpus, "--examples", -1], "at least 0"),
        (["--limit", 3, "show", out], "options stand behind the command: errors show OPTIONS"),
        (["of"], "choose one of from, show"),
        (["from"], "Missing argument"),
        (["from", tmp_path / "none", "--corpus", corpus, "--output", out], "report.json cannot be read"),
        (["show", tmp_path / "none", "--corpus", corpus, "--allow-pipe"], "report.json cannot be read"),
        (["show", tmp_path / "none", "--kind", "exact"], "boundary"),
    ):
        said = program("errors", *arguments)
        assert (said.code, said.out) == (2, ""), arguments
        assert words in said.err
        assert not out.exists()


@pytest.fixture
def recorded(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    program("errors", "--model", tiny_model, "--corpus", corpus, "--output", out)
    return out


def test_show_puts_the_text_back_where_it_is_allowed(program, recorded: Path, corpus: Path) -> None:
    said = program("errors", "show", recorded, "--corpus", corpus)
    assert (said.code, said.out) == (2, "")
    assert "stdout is not a terminal" in said.err
    said = program("errors", "show", recorded, "--corpus", corpus, "--allow-pipe")
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    errors = read(recorded / "errors.json")
    places = [errors["examples"]["columns"].index(name) for name in ("document", "start", "end")]
    for row in errors["examples"]["rows"]:  # the examples of the file are those that are shown
        document, start, end = (row[place] for place in places)
        assert f"document {document + 1}, {start}–{end}" in said.out
        surface = small_corpora.ENTRIES[document][1][start:end]
        assert surface in said.out.replace("[", "").replace("]", "").replace("{", "").replace("}", "")
    assert said.out.count("· document") == len(errors["examples"]["rows"])


def test_show_can_be_narrowed(program, recorded: Path, corpus: Path) -> None:
    show = ["errors", "show", recorded, "--corpus", corpus, "--allow-pipe"]
    every = program(*show, "--examples", 1000).out.splitlines()
    missed = program(*show, "--examples", 1000, "--kind", "missed", "--kind", "boundary").out.splitlines()
    kinds = {line.split(" · ")[0] for line in every if " · document" in line}
    assert len(kinds) > 1
    assert {line.split(" · ")[0] for line in missed if " · document" in line} == kinds & {"missed", "boundary"}
    one = program(*show, "--label", "ANATOMY").out
    assert "\nANATOMY\n" in one and "\nPERSON\n" not in one
    assert program(*show, "--examples", 0).out == "[gold] {predicted}\n"


def test_show_refuses_another_corpus_before_it_prints(program, recorded: Path, tmp_path: Path) -> None:
    other = small_corpora.write(tmp_path / "other", "openmed", small_corpora.ENTRIES[:3])
    said = program("errors", "show", recorded, "--corpus", other, "--allow-pipe")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: corpus: its files are not those of the run")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX's")
def test_show_on_a_terminal_needs_no_leave_and_has_colours(recorded: Path, corpus: Path) -> None:
    import pty

    own, other = pty.openpty()
    command = [sys.executable, "-m", "openmed_mlx_eval", "errors", "show", recorded, "--corpus", corpus]
    with subprocess.Popen(command, stdout=other, stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm-256color"}) as process:
        os.close(other)
        said = b""
        while True:
            try:
                piece = os.read(own, 4096)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not piece:
                break
            said += piece
    os.close(own)
    assert (process.returncode, process.stderr and process.stderr.closed) == (0, True)
    assert b"\x1b[" in said
    assert b"missed" in said


def test_an_escape_sequence_in_a_text_or_label_is_not_obeyed(program, tmp_path: Path) -> None:
    text = "dr \x1b]0;owned\x07quill \x9b2J"
    rows = [{"id": "a", "text": text, "gold_spans": [{"start": 3, "end": 9, "label": "\x1b[31mNAME"}]}]
    corpus = small_corpora.write_rows(tmp_path / "odd.jsonl", rows)
    predictions = small_corpora.write_rows(tmp_path / "p.jsonl", [{"document": 0, "spans": []}])
    program("score", corpus, predictions, "--label-map", "none", "--output", tmp_path / "run")
    for arguments in (["from"], ["show", "--allow-pipe"]):
        said = program("errors", arguments[0], tmp_path / "run", "--corpus", corpus, *arguments[1:])
        assert said.code == 0
        assert not set(said.out) & set("\x1b\x07\x9b")


@pytest.mark.skipif(not (model_path() / "config.json").exists(), reason="the embedded demo is not made yet")
def test_the_embedded_demo(program, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert program("errors", "--output", out, "--quiet", "--bootstrap", 0).code == 0
    assert_reconciled(read(out / "errors.json"), read(out / "report.json"))
    assert (out / "errors.json").stat().st_size < 64 * 1024
    assert "PERSON" in program("errors", "show", out, "--allow-pipe").out
