"""`corpus agreement` end to end."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_corpora
from small_corpora import entry, rows, write, write_rows

OTHER = (
    entry("n1", "left kidney biopsy of dr quill .", ANATOMY="kidney", NAME="quill"),
    entry("n2", "fever , ward 7 ok", FINDING="fever"),
    *small_corpora.ENTRIES[2:],
)


@pytest.mark.parametrize("format", small_corpora.FORMATS)
def test_formats_agree_with_themselves_and_each_other(program, tmp_path: Path, format: str) -> None:
    one, other = write(tmp_path / "a", format), write(tmp_path / "b", "openmed")
    result = program("corpus", "agreement", one, other, "--json").json()
    assert (result["annotators"], result["documents"], result["pairs"][0]["spans"]) == (2, 4, [5, 5])
    assert result["mean"] == {"exact_f1": 1.0, "relaxed_f1": 1.0, "kappa": 1.0}


def test_the_numbers_and_the_tables(program, tmp_path: Path) -> None:
    one, other = write(tmp_path / "a", "openmed"), write(tmp_path / "b", "openmed", OTHER)
    said = program("corpus", "agreement", one, other, one, "--label-map", "none", "--json")
    assert (said.code, said.err) == (0, "")
    result = said.json()
    pair = result["pairs"][0]
    assert pair["spans"] == [5, 6]
    assert pair["exact"] == {"matched": 4, "f1": 8 / 11}
    assert pair["relaxed"] == {"matched": 5, "f1": 10 / 11}
    assert pair["by_label"]["FINDING"] == {
        "spans": [0, 1],
        "exact": {"matched": 0, "f1": 0.0},
        "relaxed": {"matched": 0, "f1": 0.0},
        "kappa": 0.0,
    }
    assert pair["by_label"]["NAME"]["kappa"] == 1.0
    assert 0 < pair["by_label"]["ANATOMY"]["kappa"] < 1
    assert result["pairs"][1]["kappa"] == 1.0
    tables = program("corpus", "agreement", one, other, one, "--label-map", "none").out
    assert "3 annotators, 4 documents, 81 tokens" in tables
    assert "Spans of 3" in tables
    assert "FINDING" in tables
    assert "mean of the pairs" in tables


def test_labels_meet_before_they_are_compared(program, tmp_path: Path) -> None:
    one = write_rows(tmp_path / "a.jsonl", rows((entry("1", "dr quill", Patient="quill"),)))
    other = write_rows(tmp_path / "b.jsonl", rows((entry("1", "dr quill", DOCTOR="quill"),)))
    result = program("corpus", "agreement", one, other, "--json").json()
    assert result["mean"]["exact_f1"] == 1.0
    assert result["labels"]["met"] == {"PERSON": ["DOCTOR", "Patient"]}
    assert program("corpus", "agreement", one, other, "--json", "--label-map", "none").json()["mean"]["exact_f1"] == 0.0


def test_stdin_is_one_of_them(program, tmp_path: Path) -> None:
    one = write(tmp_path, "openmed")
    assert program("corpus", "agreement", one, "-", "--json", stdin=one.read_bytes()).json()["mean"]["kappa"] == 1.0
    assert program("corpus", "agreement", "-", "-").code == 2


@pytest.mark.parametrize("count", [0, 1])
def test_one_copy_is_a_usage_error(program, tmp_path: Path, count: int) -> None:
    said = program("corpus", "agreement", *[write(tmp_path, "openmed")] * count)
    assert (said.code, said.out) == (2, "")
    assert "two annotators" in said.err


def test_another_text_fails(program, tmp_path: Path) -> None:
    changed = (*small_corpora.ENTRIES[:3], entry("n4", "nephritis of both kidneys"))
    one, other = write(tmp_path / "a", "openmed"), write(tmp_path / "b", "openmed", changed)
    said = program("corpus", "agreement", one, other)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: openmed, document 4: the text in copy 2 is not that in copy 1, from offset 13 on")


def test_no_document_is_null_and_said(program, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text("[]")
    said = program("corpus", "agreement", path, path, "--json")
    assert (said.code, said.err) == (0, "warning: no document was read\n")
    assert said.json()["mean"] == {"exact_f1": None, "relaxed_f1": None, "kappa": None}


def test_public_copies_in_two_formats_agree(program, shared) -> None:
    result = program(
        "corpus", "agreement", *(shared(f"corpora/meddocan/dev/{name}") for name in ("brat", "xml")), "--json"
    ).json()
    assert (result["documents"], result["pairs"][0]["spans"]) == (250, [5801, 5801])
    assert result["mean"] == {"exact_f1": 1.0, "relaxed_f1": 1.0, "kappa": 1.0}
