"""`score` for taggers, end to end: three ways to hand over tags, one report; and options that do not go together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(schema())
GOLD = [["B-NAME", "I-NAME", "O", "B-DATE"], ["O", "B-ORGAN"], ["O"]]
PREDICTED = [["B-NAME", "O", "O", "I-DATE"], ["O", "B-ORGAN"], ["B-DATE"]]
WORDS = [["Amy", "Bo", "on", "Monday"], ["left", "kidney"], ["ok"]]
NAMES = ["O", "B-NAME", "I-NAME", "B-DATE", "I-DATE", "B-ORGAN"]
QUICK = ("--json", "--bootstrap", 0)


def conll(path: Path, tags: list[list[str]]) -> Path:
    blocks = ("".join(f"{word}\t{tag}\n" for word, tag in zip(*one, strict=True)) for one in zip(WORDS, tags, strict=True))
    path.write_text("\n".join(blocks), "utf-8")
    return path


@pytest.fixture
def given(tmp_path: Path) -> dict[str, list[object]]:
    """The same gold and predictions as the arguments of each way to read them."""
    gold, predicted = conll(tmp_path / "gold.conll", GOLD), conll(tmp_path / "predicted.conll", PREDICTED)
    columns = tmp_path / "columns.txt"
    rows = (zip(*sentence, strict=True) for sentence in zip(WORDS, GOLD, PREDICTED, strict=True))
    columns.write_text("\n".join("".join(f"{' x '.join(row[:2])} {row[2]}\n" for row in one) for one in rows), "utf-8")
    tables = [np.array([[*map(NAMES.index, one), *[-100] * (4 - len(one))] for one in side]) for side in (GOLD, PREDICTED)]
    np.savez(tmp_path / "both.npz", labels=tables[0], predictions=tables[1])
    np.savez(tmp_path / "gold.npz", tables[0])
    np.savez(tmp_path / "predicted.npz", tables[1])
    (tmp_path / "names.json").write_text(json.dumps(NAMES), "utf-8")
    names = ["--tag-names", tmp_path / "names.json"]
    return {
        "conll": [gold, predicted, "--tags", "lenient"],
        "conlleval": [columns, "--predictions-format", "conlleval"],
        "npz": [tmp_path / "both.npz", *names],
        "npz, two": [tmp_path / "gold.npz", tmp_path / "predicted.npz", *names],
    }


WAYS = ("conll", "conlleval", "npz", "npz, two")


@pytest.mark.parametrize("way", WAYS)
def test_three_ways_one_report(program, given: dict[str, list[object]], way: str) -> None:
    said = program("score", *given[way], *QUICK)
    assert (said.code, said.err) == (0, "")
    report = said.json()
    VALIDATOR.validate(report)
    block = report["metrics"]["tags"]
    assert (block["mode"], block["scheme"], block["token_accuracy"]) == ("lenient", "IOB2", 4 / 7)
    assert (block["tokens"], block["correct_tokens"], block["entities"]) == (7, 4, {"gold": 3, "predicted": 4, "correct": 2})
    assert block["unit"] == ("token" if way.startswith("npz") else "character")
    assert block["report"]["DATE"] == {"precision": 0.5, "recall": 1.0, "f1-score": 2 / 3, "support": 1}
    assert block["report"]["micro avg"] == {"precision": 0.5, "recall": 2 / 3, "f1-score": 0.5714285714285715, "support": 3}
    exact = report["metrics"]["exact_span_f1"]
    assert (exact["true_positives"], exact["false_positives"], exact["false_negatives"]) == (2, 2, 1)
    assert report["metrics"]["relaxed_span_f1"]["true_positives"] == 3
    assert report["corpus"]["format"] == way.split(",")[0]
    assert (report["corpus"]["documents_scored"], report["corpus"]["spans"]) == (3, 3)
    assert (report["config"]["tags"], report["config"]["scheme"]) == ("lenient", None)
    recall = report["metrics"]["character_recall"]
    of = ("token", 4) if way.startswith("npz") else ("grapheme_cluster", len("Amy Bo" + "Monday" + "kidney"))
    assert (recall["unit"], recall["denominator"]) == of


def test_the_schema_refuses_a_tags_block_that_is_none(program, given: dict[str, list[object]]) -> None:
    said = program("score", *given["npz"], *QUICK).out
    for changes in (
        {"unit": "word"},
        {"scheme": "IOB"},
        {"tokens": 1.5},
        {"token_accuracy": 2},
        {"report": {}},
        {"entities": {}},
        {"w": 0},
    ):
        report = json.loads(said)
        report["metrics"]["tags"].update(changes)
        assert list(VALIDATOR.iter_errors(report)), changes


@pytest.mark.parametrize("way", WAYS)
def test_strict(program, given: dict[str, list[object]], way: str) -> None:
    report = program("score", *given[way], "--tags", "strict", "--scheme", "IOB2", *QUICK).json()
    VALIDATOR.validate(report)
    block = report["metrics"]["tags"]
    assert (block["mode"], block["scheme"], report["config"]["scheme"]) == ("strict", "IOB2", "IOB2")
    assert block["entities"] == {"gold": 3, "predicted": 3, "correct": 1}
    assert report["metrics"]["exact_span_f1"]["true_positives"] == 1
    assert block["report"]["DATE"]["precision"] == 0.0


def test_tables_and_files(program, given: dict[str, list[object]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("score", *given["conlleval"], "--bootstrap", 0, "--output", out)
    assert said.code == 0
    for text in (said.out, (out / "report.md").read_text("utf-8")):
        assert "Type (lenient, IOB2)" in text
        assert "4 of 7 tokens" in text
        assert "weighted avg" in text
    lines = [json.loads(line) for line in (out / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert [(span["start"], span["end"], span["label"]) for span in lines[0]["spans"]] == [(0, 3, "PERSON"), (10, 16, "DATE")]


def test_spans_of_arrays_are_tokens(program, given: dict[str, list[object]], tmp_path: Path) -> None:
    said = program("score", *given["npz"], "--bootstrap", 0, "--output", tmp_path / "out")
    assert "of 4 tokens" in said.out
    assert "characters" not in said.out
    lines = [json.loads(line) for line in (tmp_path / "out" / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert [(span["start"], span["end"]) for span in lines[0]["spans"]] == [(0, 1), (3, 4)]


def test_labels_meet_in_the_spans_and_keep_their_names_in_seqevals_report(program, given: dict[str, list[object]]) -> None:
    report = program("score", *given["conll"], *QUICK).json()
    assert "PERSON" in report["metrics"]["by_label"]
    assert report["config"]["labels"]["mapped"]["NAME"] == "PERSON"
    assert [name for name in report["metrics"]["tags"]["report"] if " " not in name] == ["DATE", "NAME", "ORGAN"]


def test_without_tags_two_conll_files_are_scored_as_spans_alone(program, given: dict[str, list[object]]) -> None:
    report = program("score", *given["conll"][:2], *QUICK).json()
    assert "tags" not in report["metrics"]
    assert "tags" not in report["config"]
    with_tags = program("score", *given["conll"], *QUICK).json()
    assert report["metrics"] == {key: value for key, value in with_tags["metrics"].items() if key != "tags"}
    assert report["corpus"] == with_tags["corpus"]


def test_limit_and_bad_lines(program, given: dict[str, list[object]], tmp_path: Path) -> None:
    for way in WAYS:
        report = program("score", *given[way], "--limit", 1, *QUICK).json()
        VALIDATOR.validate(report)
        assert (report["metrics"]["tags"]["tokens"], report["partial"]) == (4, True)
        assert (report["corpus"]["documents"], report["corpus"]["documents_scored"]) == (3, 1)
        assert not program("score", *given[way], "--limit", 9, *QUICK).json()["partial"]
    bad = tmp_path / "bad.txt"
    bad.write_text("a O\n\nb B-X B-X\n", "utf-8")
    said = program("score", bad, "--predictions-format", "conlleval")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: conlleval, file 1, document 1, line 1: 2 columns, where token, gold tag and")
    report = program("score", bad, "--predictions-format", "conlleval", "--skip-bad", *QUICK).json()
    VALIDATOR.validate(report)
    assert [(one["code"], one["count"]) for one in report["warnings"]] == [("skipped_documents", 1)]


def test_nothing_is_null(program, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    for content, accuracy in (("", None), ("a O O\n", 1.0)):
        empty.write_text(content, "utf-8")
        for mode in ("lenient", "strict"):
            report = program("score", empty, "--predictions-format", "conlleval", "--tags", mode, *QUICK).json()
            VALIDATOR.validate(report)
            assert report["metrics"]["tags"]["token_accuracy"] == accuracy
            assert report["metrics"]["tags"]["report"]["macro avg"]["f1-score"] is None


def test_columns_and_either_conll_file_may_come_from_stdin(program, given: dict[str, list[object]]) -> None:
    columns, (gold, predicted, *_) = given["conlleval"][0], given["conll"]
    assert isinstance(columns, Path) and isinstance(gold, Path) and isinstance(predicted, Path)
    for arguments, data in (
        (["-", "--predictions-format", "conlleval"], columns),
        (["-", predicted, "--tags", "lenient"], gold),
        ([gold, "-", "--tags", "lenient"], predicted),
    ):
        report = program("score", *arguments, *QUICK, stdin=data.read_bytes()).json()
        assert report["metrics"]["tags"]["token_accuracy"] == 4 / 7


def test_the_public_corpus_against_itself(program, shared) -> None:
    path = shared("corpora/anatem/devel.tsv")
    block = program("score", path, path, "--tags", "strict", *QUICK).json()["metrics"]["tags"]
    assert (block["tokens"], block["token_accuracy"], block["scheme"]) == (58785, 1.0, "IOB2")
    assert block["report"]["Anatomy"] == {"precision": 1.0, "recall": 1.0, "f1-score": 1.0, "support": 2139}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{gold}"], "PREDICTIONS is missing"),
        (["{gold}", "{gold}", "--predictions-format", "conlleval"], "a conlleval file holds gold and predictions"),
        (["{both}"], "--tag-names FILE and .npz files of tag ids go together"),
        (["{gold}", "{gold}", "--tag-names", "{names}"], "--tag-names FILE and .npz files of tag ids go together"),
        (["{both}", "--tag-names", "{names}", "--predictions-format", "conlleval"], "a conlleval file holds"),
        (["{both}", "--tag-names", "{names}", "--format", "conll"], "--format is a corpus's"),
        (["{gold}", "{gold}", "--scheme", "IOB2"], "--scheme is for tags"),
        (["{json}", "{gold}", "--tags", "lenient"], "--tags compares the tags of two CoNLL files"),
        (["{gold}", "{json}", "--tags", "lenient"], "--tags compares the tags of two CoNLL files"),
        (["{gold}", "{gold}", "--tags", "lenient", "--format", "brat"], "--tags compares the tags of two CoNLL files"),
        (["{gold}", "{gold}", "--tags", "odd"], "'--tags': give one of lenient, strict"),
        (["{gold}", "{gold}", "--tags", "strict", "--scheme", "iob2"], "'--scheme': give one of IO, IOB1"),
        (["{both}", "--tag-names", "{gold}x"], "--tag-names: no file that can be read there"),
        (["{gold}x", "{gold}", "--tags", "lenient"], "no such file or folder"),
        (["{gold}x.npz", "--tag-names", "{names}"], "no such file or folder"),
    ],
)
def test_options_that_do_not_go_together(
    program, given: dict[str, list[object]], tmp_path: Path, arguments: list[str], said: str
) -> None:
    json_corpus = small_corpora.write(tmp_path, "openmed")
    paths = {"gold": given["conll"][0], "both": given["npz"][0], "names": given["npz"][2], "json": json_corpus}
    answer = program("score", *(argument.format(**paths) for argument in arguments), "--output", tmp_path / "out")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {said}")
    assert str(tmp_path) not in answer.err
    assert not (tmp_path / "out").exists()
