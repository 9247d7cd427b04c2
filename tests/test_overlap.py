"""Gold that was trained on: the kinds, their order, and that neither ids alone nor other texts are mistaken for it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.corpora.manifest import TrainingRow
from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.overlap import checked_overlap, normalised, training_overlap

TEXT = "Dr. Amélie Quill saw the patient on ward 7 for a routine control of both kidneys."
WORDS = st.sampled_from(["Dr", "Quill", "ß", "İpek", "ﬁne", "½", "ward", "é", "e\u0301", "Σίσυφος", "腎臓"])
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)  # eight words at most: too short for a near-duplicate


def kind(text: str, *rows: TrainingRow, id: str = "1") -> str | None:
    return training_overlap([Document(id, text)], rows).kinds[0]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def row(text: str | None = None, *ids: str, hashed: str | None = None) -> TrainingRow:
    return TrainingRow(ids, text, (sha256(hashed),) if hashed is not None else ())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(TEXT, "1")], "id_and_text"),
        ([row(TEXT.upper(), "1")], "id_and_text"),
        ([row(None, "1", hashed=TEXT)], "id_and_text"),
        ([row(TEXT, "2")], "exact_text"),
        ([row(TEXT)], "exact_text"),
        ([row(None, "2", hashed=TEXT)], "exact_text"),
        ([row(TEXT + " ")], "normalised_text"),
        ([row(TEXT.upper())], "normalised_text"),
        ([row(unicodedata.normalize("NFD", TEXT))], "normalised_text"),
        ([row(TEXT.replace(".", " .").replace(" ", " \n"))], "normalised_text"),
        ([row(TEXT.replace("kidneys", "kid\u00adneys").replace(" on ", "\u00a0on\u200b "))], "normalised_text"),
        ([row("Note of today: " + TEXT + " All well.")], "near_duplicate"),
        ([row(TEXT.replace("Amélie Quill", "Bo Marsh"))], "near_duplicate"),
        ([row(TEXT.replace("Amélie Quill", "Bo Marsh"), "1")], "near_duplicate"),
        ([row("another note with other words altogether", "1")], None),
        ([row(None, "1"), row("another note")], None),
        ([row("", "1"), row("another note")], None),
        ([row(None, "1", hashed=TEXT + " ")], None),
        ([row("ward 7"), row(TEXT + "!"), row(TEXT), row("x", "1")], "exact_text"),
    ],
)
def test_the_strongest_kind(rows: list[TrainingRow], expected: str | None) -> None:
    assert kind(TEXT, *rows) == expected


def test_a_generic_id_is_no_overlap_and_a_space_defeats_nothing() -> None:
    """OpenMed 3.1.0 reports the first and misses the second."""
    assert kind("a note", row("another", "1"), id="1") is None
    assert kind("a note", row("a note ")) == "normalised_text"


def test_the_ids_of_the_metadata_are_ids() -> None:
    document = Document("1", TEXT, metadata={"source_record_id": 77})
    assert training_overlap([document], [row(TEXT, "77")]).kinds == ("id_and_text",)


def test_a_document_without_text_is_nobodys() -> None:
    assert kind(" \n\u200b", row("  ", "1"), row("", "1"), row("ok")) is None


DRESS = {
    "upper": str.upper,
    "folded": str.casefold,
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "NFKC": lambda text: unicodedata.normalize("NFKC", text),
    "spaces": lambda text: text.replace(" ", " \t\u00a0\r\n") + "\n",
    "no spaces": lambda text: text.replace(" ", ""),
    "invisible": lambda text: "\ufeff" + text.replace(" ", "\u200b \u00ad"),
}


@pytest.mark.parametrize("dress", DRESS)
@given(TEXTS, st.sampled_from(sorted(DRESS)))
def test_the_same_text_in_other_dress_is_found(dress: str, text: str, also: str) -> None:
    assert kind(text, row(DRESS[also](DRESS[dress](text)), "1")) == "id_and_text"


@given(TEXTS, TEXTS)
def test_short_texts_are_the_same_only_if_they_are(text: str, other: str) -> None:
    same = normalised(text).replace(" ", "") == normalised(other).replace(" ", "")
    assert (kind(text, row(other)) is not None) == same


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_manifest_changes_nothing(texts: list[str], manifest: list[str], shuffle) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    rows = [row(text, str(number)) for number, text in enumerate(manifest)]
    before = training_overlap(documents, rows)
    shuffle.shuffle(rows)
    assert training_overlap(documents, rows) == before
    assert sum(before.by_kind.values()) == len(before.documents)
    for document, found in zip(documents, before.kinds, strict=True):
        assert (found in ("id_and_text", "exact_text")) >= (document.text in manifest)


def documents() -> list[Document]:
    texts = [TEXT, "nothing of that", TEXT.upper(), "left lung", TEXT + " Quite so."]
    return [Document(str(number), text) for number, text in enumerate(texts, start=1)]


def test_the_block_of_a_report() -> None:
    overlap = training_overlap(documents(), [row(TEXT, "1"), row("left lung", "9"), row(None, "5")])
    assert overlap.to_dict() == {
        "manifest_documents": 3,
        "manifest_not_comparable": 1,
        "by_kind": {"id_and_text": 1, "exact_text": 1, "normalised_text": 1, "near_duplicate": 1},
        "documents": [1, 3, 4, 5],
        "share": 0.8,
    }
    assert [(warning.code, warning.count) for warning in overlap.warnings()] == [
        ("training_overlap", 4),
        ("training_manifest_not_comparable", 1),
    ]
    with pytest.raises(EvaluationError, match=r"4 of 5 documents .*exact_text 1.*documents 1, 3, 4, 5") as caught:
        overlap.forbid()
    assert (caught.value.exit_code, "Quill" in str(caught.value)) == (1, False)


def test_no_overlap_is_silent_and_no_document_is_null() -> None:
    clean = training_overlap(documents(), [row("another note")])
    clean.forbid()
    assert clean.warnings() == []
    assert clean.to_dict()["share"] == 0.0
    assert training_overlap([], [row("another note")]).to_dict()["share"] is None


def test_the_options(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps([{"text": TEXT}]))
    assert checked_overlap(documents(), None, forbid=False) is None
    with pytest.raises(UsageError, match="--forbid-overlap needs --training-manifest"):
        checked_overlap(documents(), None, forbid=True)
    found = checked_overlap(documents(), str(path), forbid=False)
    assert found is not None
    assert found.documents == (1, 3, 5)
    with pytest.raises(EvaluationError, match="--forbid-overlap"):
        checked_overlap(documents(), str(path), forbid=True)


def test_public_sentences_are_found_in_their_abstracts(shared) -> None:
    """AnatEM's devel split by sentence and by document: the same text with other spaces, cut in another way."""
    from openmed_mlx_eval import load_corpus

    whole = load_corpus(shared("corpora/anatem/brat-devel")).documents
    found = training_overlap(whole, shared("corpora/anatem/devel.tsv"))
    assert len(found.documents) >= 199
    assert training_overlap(whole, shared("corpora/anatem/train-first5.tsv")).documents == ()
