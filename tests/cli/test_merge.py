"""`run --shard` and `merge` end to end: the files of one run, to the byte but for times; refusals and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.demo import corpus_path, model_path
from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(schema())
FILES = ("report.json", "report.md", "predictions.jsonl", "documents.jsonl")
ALONE = ("--batch-tokens", 1)
"""Each window computed alone: what shares a batch with it shows in the last digits of a confidence."""


def timeless(path: Path) -> str:
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return "\n".join(line for line in text.splitlines() if not line.startswith("| Speed "))
    return text if path.suffix == ".jsonl" else json.dumps({**json.loads(text), "timing": None})


def test_three_shards_are_the_single_run(program, tmp_path: Path) -> None:
    model = ("--model", model_path(), "--corpus", corpus_path(), "--quiet", "--limit", 20, "--slice-by", "kind", *ALONE)
    assert program("run", *model, "--output", tmp_path / "whole").code == 0
    shards = [tmp_path / f"shard-{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(shards, start=1):
        assert program("run", *model, "--shard", f"{number}/3", "--output", folder).code == 0
        report = json.loads((folder / "report.json").read_text("utf-8"))
        VALIDATOR.validate(report)
        assert (report["config"]["shard"], report["partial"]) == (f"{number}/3", True)
        assert f"yes: shard {number}/3" in (folder / "report.md").read_text("utf-8")
    said = program("merge", *reversed(shards), "--output", tmp_path / "merged", "--fail-over", "documents=20")
    assert (said.code, said.err) == (0, "")
    assert "20 of 64 documents" in said.out
    VALIDATOR.validate(json.loads((tmp_path / "merged" / "report.json").read_text("utf-8")))
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == sorted(FILES)
    assert [name for name in FILES if timeless(tmp_path / "merged" / name) != timeless(tmp_path / "whole" / name)] == []


@pytest.fixture
def shards(program, tiny_model: Path, tmp_path: Path) -> list[Path]:
    corpus = small_corpora.write(tmp_path, "openmed")
    model = ("--model", tiny_model, "--corpus", corpus, "--quiet")
    folders = [tmp_path / f"shard-{number}" for number in range(1, 8)]
    for number, folder in enumerate(folders, start=1):
        assert program("run", *model, "--shard", f"{number}/7", "--output", folder).code == 0
    return folders


def test_shards_of_which_some_are_empty(program, shards: list[Path], tmp_path: Path) -> None:
    scored = [json.loads((folder / "report.json").read_text("utf-8"))["corpus"]["documents_scored"] for folder in shards]
    assert (sum(scored), 0 in scored) == (4, True)
    report = program("merge", *shards, "--json", "--quiet").json()
    assert report["corpus"]["documents_scored"] == report["metrics"]["documents"] == 4
    assert report["corpus"]["labels"] == {"ANATOMY": 3, "PERSON": 2}


def test_what_is_refused(program, shards: list[Path], tmp_path: Path) -> None:
    said = program("merge", *shards[1:], "--output", tmp_path / "out")
    assert (said.code, said.err) == (
        1,
        "error: merge: shard 1/7 missing – run what is missing with the options of the others\n",
    )
    assert not (tmp_path / "out").exists()
    assert program("merge", *shards, shards[0]).code == 1
    assert program("merge", *shards[1:], tmp_path / "nothing").code == 2
    assert program("merge").code == 2
    assert program("merge", *shards, "--quiet", "--fail-over", "documents=3").code == 3
    before = {path.name: path.read_bytes() for path in shards[0].iterdir()}
    said = program("merge", *shards, "--output", shards[0])
    assert (said.code, "one of the shards, which would be overwritten" in said.err) == (2, True)
    assert {path.name: path.read_bytes() for path in shards[0].iterdir()} == before
    gated = ("gate", shards[0], "--fail-under", "exact_f1=0")
    for arguments in (("compare", shards[0], shards[1]), ("errors", "from", shards[0]), gated):
        said = program(*arguments)
        assert (said.code, "one shard of a run – put its shards together with `merge` first" in said.err) == (1, True)


@pytest.mark.parametrize("options", [("--shard", "0/3"), ("--shard", "Quill"), ("--shard", "1/2", "--cold-start", 1)])
def test_options_of_run_that_are_wrong(program, options: tuple[object, ...]) -> None:
    said = program("run", *options)
    assert (said.code, "Quill" in said.all) == (2, False)
