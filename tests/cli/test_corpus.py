"""`corpus check|stats|convert` end to end, in a process of its own where exit codes and streams are what is tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.cli.main import main
from openmed_mlx_eval.corpora import load_corpus

CANARY = "QZX-7781"
ROW = {"id": CANARY, "text": f"Dr {CANARY}\r\nward 7", "spans": [{"start": 3, "end": 11, "label": "NAME", "text": CANARY}]}
GOOD = [
    ROW,
    {"id": "2", "text": "Amy", "lang": "de", "spans": [{"start": 0, "end": 3, "label": "NAME"}], "metadata": {"a": CANARY}},
]
BAD_SPANS = [{"start": 0, "end": 3, "label": "NAME", "text": CANARY}, {"start": 0, "end": 99, "label": "NAME"}]
BAD = [*GOOD, {"id": "3", "text": f"Bo {CANARY}", "spans": BAD_SPANS}, {"id": CANARY, "text": "x", "spans": []}]


CRLF = "note: 1 documents with \\r\\n line ends, both of whose characters count\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return written(tmp_path, GOOD)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return written(tmp_path, BAD)


def written(folder: Path, rows: list) -> Path:
    path = folder / f"{CANARY}.json"
    path.write_text(json.dumps(rows))
    return path


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.said = out + err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as left:
            main(["corpus", *map(str, arguments)])
        captured = capsys.readouterr()
        return Result(left.value.code, captured.out, captured.err)

    return call


def test_check_of_a_good_corpus(run, good: Path) -> None:
    result = run("check", good)
    assert (result.code, result.err) == (0, CRLF)
    assert run("check", good, "--quiet").err == ""
    assert json.loads(run("check", good, "--json").out)["notes"] == {"crlf_documents": 1}
    assert result.out == "openmed – good documents: 2, with spans: 2; bad documents: 0, with problems: 0\n"


def test_check_lists_every_problem_and_exits_1(run, bad: Path) -> None:
    result = run("check", bad)
    assert result.code == 1
    lines = result.out.splitlines()
    assert [line.split(": ")[0] for line in lines[:-1]] == [
        "openmed, file 1, document 3, span 1, offsets 0–3",
        "openmed, file 1, document 3, span 2, offsets 0–99",
        "openmed, file 1, document 4",
    ]
    assert lines[-1].endswith("good documents: 2, with spans: 2; bad documents: 2, with problems: 3")
    listed = json.loads(run("check", bad, "--json").out)
    assert (listed["documents"], listed["bad_documents"], listed["problems"]) == (4, 2, 3)
    assert [problem["where"] for problem in listed["problem_list"]] == [line.split(": ")[0] for line in lines[:-1]]


def test_stats_json_and_tables(run, good: Path) -> None:
    counted = json.loads(run("stats", good, "--json", "--name", "mine").out)
    assert (counted["name"], counted["documents"], counted["spans"], counted["characters"]) == ("mine", 2, 2, 22)
    assert (counted["labels"], counted["languages"]) == ({"NAME": 2}, {"de": 1, "en": 1})
    table = run("stats", good)
    assert (table.code, table.err) == (0, CRLF)
    for cell in ("documents", "characters", "nested spans", "NAME", "documents in de"):
        assert cell in table.out


def test_stats_of_a_bad_corpus(run, bad: Path) -> None:
    assert run("stats", bad).code == 1
    result = run("stats", bad, "--skip-bad", "--json")
    assert (result.code, json.loads(result.out)["skipped"]) == (0, 2)
    assert result.err == "note: 2 bad documents left out – `corpus check` lists them\n" + CRLF
    assert run("stats", bad, "--skip-bad", "--json", "--quiet").err == ""


def test_labels_are_no_markup(run, tmp_path: Path) -> None:
    row = {"text": "abc", "spans": [{"start": 0, "end": 3, "label": "[red]X[/]\x1b[31m"}]}
    assert "[red]X[/]\ufffd[31m" in run("stats", written(tmp_path, [row])).out


def test_an_empty_corpus_is_said(run, tmp_path: Path) -> None:
    for name in ("check", "stats"):
        result = run(name, written(tmp_path, []))
        assert (result.code, result.err) == (0, "warning: no document was read – is openmed its format?\n")


@pytest.mark.parametrize("arguments", [["check"], ["stats"], ["stats", "--json"], ["convert", "--to", "brat", "-o", "x"]])
def test_a_path_that_is_not_there_is_a_usage_error(run, arguments: list[str]) -> None:
    result = run(arguments[0], f"/{CANARY}/{CANARY}", *arguments[1:])
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: no such file or folder")
    assert CANARY not in result.err


@pytest.mark.parametrize("to", ["openmed", "brat", "doccano"])
def test_convert_there_and_back(run, good: Path, tmp_path: Path, to: str) -> None:
    middle, end = tmp_path / "middle", tmp_path / "end.jsonl"
    assert run("convert", good, "--to", to, "-o", middle).code == 0
    assert run("convert", middle, "--to", "openmed", "-o", end).code == 0
    before, after = load_corpus(good), load_corpus(end)
    if to != "brat":
        assert after.documents == before.documents
    assert sorted((d.text, d.gold_spans) for d in after) == sorted((d.text, d.gold_spans) for d in before)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([good.name, "middle", "end.jsonl"])


def test_convert_to_conll_refuses_to_lose_gold_and_counts_it_with_lossy(run, tmp_path: Path) -> None:
    spans = [{"start": s, "end": e, "label": "X"} for s, e in ((0, 5), (0, 8), (6, 8), (1, 3), (4, 6))]
    path, target = written(tmp_path, [{"text": "Quill Bo x", "spans": spans}]), tmp_path / "out.conll"
    result = run("convert", path, "--to", "conll", "-o", target)
    assert (result.code, target.exists()) == (1, False)
    assert "2 spans that overlap another one" in result.err
    assert "2 spans that cut a word or end in white space" in result.err
    result = run("convert", path, "--to", "conll", "-o", target, "--lossy", "--json")
    assert json.loads(result.out)["lost"] == {
        "spans that overlap another one": 2,
        "spans that cut a word or end in white space": 2,
    }
    assert target.read_text() == "Quill\t_\tB-X\nBo\t_\tI-X\nx\t_\tO\n\n"
    assert "note: 2 spans that overlap another one (lost)" in result.err


def test_convert_does_not_replace_without_force_nor_what_it_should_not(run, good: Path, tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("mine")
    folder.mkdir()
    (folder / "letter.doc").write_text("mine")
    for target, to, more, says in (
        (file, "openmed", (), "--force"),
        (file, "brat", ("--force",), "a folder cannot replace a file"),
        (folder, "openmed", ("--force",), "a folder cannot replace a file"),
        (folder, "brat", ("--force",), "holds other files"),
        (tmp_path / "none" / "x", "openmed", (), "does not exist"),
    ):
        result = run("convert", good, "--to", to, "-o", target, *more)
        assert result.code == 2
        assert says in result.err
    assert file.read_text() == (folder / "letter.doc").read_text() == "mine"
    (folder / "letter.doc").unlink()
    (folder / "old.ann").write_text("")
    assert run("convert", good, "--to", "brat", "-o", folder, "--force").code == 0
    assert run("convert", good, "--to", "openmed", "-o", file, "--force").code == 0
    assert "old.ann" not in [p.name for p in folder.iterdir()]
    assert len(load_corpus(folder)) == len(load_corpus(file)) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([good.name, "file", "folder"])


def test_a_failing_disk_leaves_what_was_there(run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("mine")
    folder.mkdir()
    (folder / "a.ann").write_text("mine")
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    for to, target in (("openmed", file), ("brat", folder)):
        result = run("convert", good, "--to", to, "-o", target, "--force")
        assert (result.code, "No space left" in result.err, CANARY in result.said) == (1, True, False)
    assert file.read_text() == (folder / "a.ann").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([good.name, "file", "folder"])


def process(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "openmed_mlx_eval", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env={**os.environ, "PYTHONUTF8": "1"})


def test_pipes() -> None:
    made = process("corpus", "convert", "-", "--to", "conll", "-o", "-", stdin=json.dumps(GOOD).encode())
    assert made.returncode == 0
    checked = process("corpus", "check", "-", stdin=made.stdout)
    said = "conll – good documents: 2, with spans: 2; bad documents: 0, with problems: 0"
    assert checked.stdout.decode().strip() == said
    assert process("corpus", "convert", "-", "--to", "brat", "-o", "-", stdin=json.dumps(GOOD).encode()).returncode == 2


@pytest.mark.parametrize("rows", [GOOD, BAD, "broken"])
def test_no_stream_holds_text_ids_or_names(tmp_path: Path, rows: list | str) -> None:
    path = written(tmp_path, GOOD if rows == "broken" else rows)
    if rows == "broken":
        path.write_text(path.read_text()[:-30] + CANARY)
    folder = tmp_path / "out"
    for arguments in (
        ["check"], ["check", "--json"], ["stats"], ["stats", "--json"], ["stats", "--skip-bad"],
        ["convert", "--to", "openmed", "-o", folder / CANARY], ["convert", "--to", "brat", "-o", folder],
        ["convert", "--to", "conll", "-o", tmp_path / "c", "--skip-bad", "--lossy"], ["check", "--format", "i2b2"],
        ["check", "--format", "conll"], ["check", "--format", "brat"], ["check", "--format", "pubtator"],
        ["check", "--discontinuous", "never"],
    ):  # fmt: skip
        made = process("corpus", arguments[0], path, *arguments[1:])
        assert made.returncode in (0, 1, 2)
        assert CANARY.encode() not in made.stdout + made.stderr, arguments
        assert b"Traceback" not in made.stderr and b"internal error" not in made.stderr, arguments


def test_check_says_in_json_that_a_file_is_no_corpus(program, tmp_path: Path) -> None:
    """Once stdout stayed empty, where every other problem was listed."""
    (tmp_path / "cut.json").write_text('[{"id": "a", "text": "Qui')
    said = program("corpus", "check", tmp_path / "cut.json", "--json")
    assert (said.code, said.err) == (1, "")
    assert (said.json()["problems"], said.json()["documents"]) == (1, 0)
    assert "the JSON is broken" in said.json()["problem_list"][0]["what"]
