"""`score` end to end: gold against itself, and predictions that are missing, foreign, twice or impossible."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(schema())
PUBLIC = {
    "anatem/devel.tsv": (2118, 2139),
    "anatem/brat-devel": (202, 2139),
    "bc5cdr/devel.pubtator.txt": (500, 9591),
    "ncbi-disease/brat-devel": (100, 787),
    "meddocan/dev/brat": (250, 5801),
    "meddocan/dev/xml": (250, 5801),
    "presidio/generated_small.json": (100, 173),
}
RULES = ("exact_span_f1", "relaxed_span_f1", "relaxed_maximum", "relaxed_two_sided")


def assert_perfect(report: dict, documents: int, spans: int) -> None:
    VALIDATOR.validate(report)
    assert (report["corpus"]["documents_scored"], report["corpus"]["spans"]) == (documents, spans)
    for rule in RULES:
        block = report["metrics"][rule]
        assert [block[key] for key in ("precision", "recall", "f1", "true_positives")] == [1.0, 1.0, 1.0, spans]
    for block in report["metrics"]["by_label"].values():
        assert block["exact"]["f1"] == block["relaxed"]["f1"] == 1.0


@pytest.mark.parametrize("label_map", [[], ["--label-map", "none"]])
@pytest.mark.parametrize("format", small_corpora.FORMATS)
def test_gold_against_itself_is_right_in_every_format(program, tmp_path: Path, format: str, label_map: list[str]) -> None:
    path = small_corpora.write(tmp_path, format)
    said = program("score", path, path, "--json", *label_map)
    assert (said.code, said.err) == (0, "")
    assert_perfect(said.json(), 4, 5)


@pytest.mark.parametrize("corpus", PUBLIC)
def test_public_gold_against_itself_is_right(program, shared, corpus: str) -> None:
    path = shared(f"corpora/{corpus}")
    assert_perfect(program("score", path, path, "--json").json(), *PUBLIC[corpus])


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "gold", "openmed")


def predictions(tmp_path: Path, rows: list) -> Path:
    return small_corpora.write_rows(tmp_path / "predictions.jsonl", rows)


def counts(report: dict) -> tuple[int, int, int]:
    block = report["metrics"]["exact_span_f1"]
    return block["true_positives"], block["false_positives"], block["false_negatives"]


def codes(report: dict) -> dict[str, int]:
    return {warning["code"]: warning["count"] for warning in report["warnings"]}


def test_the_files_and_streams(program, gold: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = program("score", gold, gold, "--output", out)
    assert (said.code, said.err) == (0, "")
    assert "1.0000" in said.out
    assert sorted(path.name for path in out.iterdir()) == ["documents.jsonl", "predictions.jsonl", "report.json", "report.md"]
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert_perfect(report, 4, 5)
    assert report["environment"]["engine"] is None
    assert_perfect(program("score", gold, out / "predictions.jsonl", "--json").json(), 4, 5)


def test_a_missing_document_counts_as_missed(program, gold: Path, tmp_path: Path) -> None:
    said = program("score", gold, predictions(tmp_path, small_corpora.rows(spans="spans")[1:]), "--json")
    report = said.json()
    VALIDATOR.validate(report)
    assert (counts(report), codes(report)) == ((3, 0, 2), {"missing_predictions": 1})
    assert said.err.startswith("warning: documents without a row in the predictions")


def test_unknown_documents_are_said_and_not_scored(program, gold: Path, tmp_path: Path) -> None:
    stranger = {"id": "Quill-1970", "spans": [{"start": 0, "end": 1, "label": "NAME"}]}
    said = program("score", gold, predictions(tmp_path, [*small_corpora.rows(), stranger]), "--json")
    assert (counts(said.json()), codes(said.json())) == ((5, 0, 0), {"unknown_documents": 1})
    assert "Quill-1970" not in said.all


def test_a_document_twice_is_refused(program, gold: Path, tmp_path: Path) -> None:
    said = program("score", gold, predictions(tmp_path, small_corpora.rows()[:1] * 2), "--output", tmp_path / "out")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: predictions, document 2: a second row for one document")
    assert not (tmp_path / "out").exists()


def test_impossible_predictions_are_counted_by_reason(program, gold: Path, tmp_path: Path) -> None:
    rows = small_corpora.rows(spans="spans")
    rows[1]["spans"] = [
        {"label": "NAME", "score": math.nan, **offsets}
        for offsets in (
            {"start": 0, "end": 99},
            {"start": 3, "end": 1},
            {"start": 2, "end": 2},
            {"start": -3, "end": 2},
            {"start": "0", "end": 2},
            {"start": 0.5, "end": 2},
            {"end": 2},
        )
    ]
    path = predictions(tmp_path, rows)
    said = program("score", gold, path, "--json", "--output", tmp_path / "out")
    report = said.json()
    VALIDATOR.validate(report)
    assert report["metrics"]["invalid_predictions"] == {
        "empty": 1, "inverted": 1, "negative_offset": 1, "not_an_offset": 3, "past_end": 1,
    }  # fmt: skip
    assert counts(report) == (5, 7, 0)
    assert sum(w["count"] for w in report["warnings"] if w["code"] == "invalid_predictions") == 7
    assert "scores_out_of_range" in codes(report)
    assert "NaN" not in said.out + (tmp_path / "out" / "predictions.jsonl").read_text()


def test_limit_scores_the_first_documents_alone(program, gold: Path, tmp_path: Path) -> None:
    for rows in (small_corpora.rows(), small_corpora.rows()[:2]):
        report = program("score", gold, predictions(tmp_path, rows), "--limit", "2", "--json").json()
        VALIDATOR.validate(report)
        assert (counts(report), codes(report), report["partial"]) == ((2, 0, 0), {}, True)
        assert (report["corpus"]["documents"], report["corpus"]["documents_scored"]) == (4, 2)


def test_bad_gold_stops_or_is_left_out(program, tmp_path: Path) -> None:
    rows = small_corpora.rows()
    rows[0]["gold_spans"] = [{"start": 5, "end": 2, "label": "NAME"}]
    gold = small_corpora.write_rows(tmp_path / "gold.jsonl", rows)
    made = predictions(tmp_path, small_corpora.rows())
    assert program("score", gold, made).code == 1
    report = program("score", gold, made, "--skip-bad", "--json").json()
    VALIDATOR.validate(report)
    assert (counts(report), codes(report)) == ((3, 0, 0), {"skipped_documents": 1, "unknown_documents": 1})


def test_nothing_to_score_is_null_and_said(program, tmp_path: Path) -> None:
    for entries, code in (((), "no_documents"), (small_corpora.ENTRIES[1:2], "no_gold")):
        gold = small_corpora.write(tmp_path, "openmed", entries)
        said = program("score", gold, gold, "--format", "openmed", "--json")
        VALIDATOR.validate(said.json())
        assert said.code == 0
        assert list(codes(said.json())) == [code]
        assert said.json()["metrics"]["exact_span_f1"]["f1"] is None
        assert f"({code}: 1)" in said.err
        assert program("score", gold, gold, "--format", "openmed", "--quiet").err == ""


def test_either_side_may_be_stdin(program, gold: Path) -> None:
    data = gold.read_bytes()
    assert_perfect(program("score", "-", gold, "--json", stdin=data).json(), 4, 5)
    assert_perfect(program("score", gold, "-", "--json", stdin=data).json(), 4, 5)
    said = program("score", "-", "-", stdin=data)
    assert (said.code, said.err) == (2, "error: only one of GOLD and PREDICTIONS can be -\n")


def test_a_conll_corpus_may_come_from_stdin_on_either_side(program, tmp_path: Path) -> None:
    path = small_corpora.write(tmp_path, "conll")
    data = path.read_bytes()
    assert_perfect(program("score", "-", path, "--json", stdin=data).json(), 4, 5)
    assert_perfect(program("score", path, "-", "--predictions-format", "conll", "--json", stdin=data).json(), 4, 5)


def test_labels_meet_by_alias_and_by_map_and_unknown_ones_do_not(program, tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path / "a", "openmed", [small_corpora.entry("a", "dr quill", TREATMENT="dr", NAME="quill")])
    other = small_corpora.write(tmp_path / "b", "openmed", [small_corpora.entry("a", "dr quill", HOSPITAL="dr", PERSON="quill")])
    assert counts(program("score", gold, other, "--json").json()) == (1, 1, 1)
    assert counts(program("score", gold, other, "--json", "--label-map", "none").json()) == (0, 2, 2)
    table = tmp_path / "map.json"
    table.write_text('{"hospital": "treatment"}')
    report = program("score", gold, other, "--json", "--label-map", table).json()
    assert counts(report) == (2, 0, 0)
    assert report["config"]["labels"]["met"]["TREATMENT"] == ["HOSPITAL", "TREATMENT"]


@pytest.mark.parametrize("arguments", [["{wrong}", "{gold}"], ["{gold}", "{wrong}"], ["{gold}", "{gold}", "{wrong}"]])
def test_a_wrong_path_is_a_usage_error_that_does_not_repeat_it(program, gold: Path, arguments: list[str]) -> None:
    paths = {"wrong": gold.parent / "Quill-1970", "gold": gold}
    said = program("score", *(argument.format(**paths) for argument in arguments))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert "Quill-1970" not in said.err
    assert str(gold.parent) not in said.err


def test_a_full_disk_leaves_no_folder_and_the_report_is_printed(
    program, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    said = program("score", gold, gold, "--output", tmp_path / "out")
    assert said.code == 1
    assert "relaxed, maximum" in said.out
    assert "No space left on device" in said.err
    assert not (tmp_path / "out").exists()


def rows_by_ordinal(entries, left_out: tuple[int, ...] = ()) -> str:
    """Perfect predictions, by ordinal from 0."""
    rows = [
        {"document": n, "spans": [{"start": s, "end": e, "label": label} for s, e, label in gold]}
        for n, (_, _, gold) in enumerate(entries)
        if n not in left_out
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_ordinals_of_the_whole_corpus_stay_those_when_documents_are_skipped(program, tmp_path: Path) -> None:
    """Once the second document's predictions were scored on the third one's text."""
    rows = small_corpora.rows()
    rows[0]["gold_spans"] = [{"start": 5, "end": 2, "label": "NAME"}]
    gold = small_corpora.write_rows(tmp_path / "gold.jsonl", rows)
    made = tmp_path / "p.jsonl"
    made.write_text(rows_by_ordinal(small_corpora.ENTRIES), "utf-8")
    report = program("score", gold, made, "--skip-bad", "--json").json()
    assert report["metrics"]["exact_span_f1"]["f1"] == 1.0
    kept = small_corpora.ENTRIES[1:]
    made.write_text(rows_by_ordinal(kept), "utf-8")  # as a run with --skip-bad writes them
    assert program("score", gold, made, "--skip-bad", "--json").json()["metrics"]["exact_span_f1"]["f1"] == 1.0
    made.write_text(rows_by_ordinal(kept[:2]), "utf-8")  # as one with --limit 2 besides
    report = program("score", gold, made, "--skip-bad", "--limit", 2, "--json").json()
    assert (report["metrics"]["exact_span_f1"]["f1"], codes(report)) == (1.0, {"skipped_documents": 1})
    made.write_text(rows_by_ordinal(kept[:-1]), "utf-8")
    said = program("score", gold, made, "--skip-bad")
    assert (said.code, "by ordinal for a corpus of which 1 documents were left out" in said.err) == (1, True)


def test_a_row_s_own_text_is_compared(program, tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path, "openmed")
    rows = [{"id": name, "text": " " + text, "spans": []} for name, text, _ in small_corpora.ENTRIES]
    made = small_corpora.write_rows(tmp_path / "p.jsonl", rows)
    assert codes(program("score", gold, made, "--json").json()) == {"different_text": 4}


def test_ids_from_zero_are_not_the_numbers_of_documents_without_ids(program, tmp_path: Path) -> None:
    """Once each row was scored on the document before its own."""
    rows = [{key: value for key, value in row.items() if key != "id"} for row in small_corpora.rows()]
    gold = small_corpora.write_rows(tmp_path / "gold.jsonl", rows)
    made = tmp_path / "p.json"
    made.write_text(json.dumps([{"id": n, "spans": []} for n in range(4)]))
    said = program("score", gold, made)
    assert (said.code, "count from 0" in said.err) == (1, True)
    made.write_text(json.dumps([{"id": "2", "document": 0, "spans": []}]))
    assert program("score", gold, made).code == 1


def test_missing_predictions_are_called_by_their_name(program, tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path, "openmed")
    said = program("score", gold, tmp_path / "none.json")
    assert (said.code, "the predictions" in said.err) == (2, True)
    said = program("score", gold, gold, "--output", "")
    assert (said.code, "--output" in said.err) == (2, True)
