"""OpenMed fixtures: every shape and alias gives the same documents; every wrong value is named by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpus_files import CANARY, documents, gold, load
from hypothesis import given

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.corpora.writers import to_openmed
from openmed_mlx_eval.errors import InputError

SPAN = {"start": 0, "end": 5, "label": "NAME"}
ROW = {"id": "a", "text": "Quill, ward 7", "gold_spans": [SPAN]}


@given(documents())
def test_writing_and_reading_fixtures_is_the_identity(made: list[Document]) -> None:
    for lines in (False, True):
        written = to_openmed(made, lines=lines)
        suffix = ".jsonl" if lines else ".json"
        assert list(load(written.files[""], "openmed", name="x" + suffix)) == made
        assert (written.lost, written.changed) == ({}, {})


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x"])
@pytest.mark.parametrize(
    "content",
    [
        json.dumps([ROW]),
        json.dumps({"fixtures": [ROW]}, indent=1),
        "\ufeff" + json.dumps([ROW], indent=2),
    ],
)
def test_lists_and_the_fixtures_key(content: str, name: str) -> None:
    if name.endswith("l"):
        content = json.dumps(ROW) + "\r\n\n" + json.dumps({**ROW, "id": "b"})
    corpus = load(content, "openmed", name=name)
    assert gold(corpus)[0] == [(0, 5, "NAME")]
    assert corpus.documents[0].text == "Quill, ward 7"


def test_lines_are_told_by_their_shape_where_the_name_does_not() -> None:
    content = json.dumps(ROW) + "\n" + json.dumps({**ROW, "id": "b"}) + "\n"
    assert len(load(content, "openmed", name="x.json")) == 2


def test_a_line_separator_inside_a_string_divides_no_line() -> None:
    row = json.dumps({"id": 1, "text": "A\u2028B\u0085C", "entities": []}, ensure_ascii=False)
    assert load(row + "\n", "openmed", name="x.jsonl").documents[0].text == "A\u2028B\u0085C"


@pytest.mark.parametrize("key", ["id", "fixture_id"])
@pytest.mark.parametrize("language", ["language", "lang"])
@pytest.mark.parametrize("text", ["text", "full_text"])
@pytest.mark.parametrize("spans", ["gold_spans", "entities", "spans"])
def test_document_aliases(key: str, language: str, text: str, spans: str) -> None:
    corpus = load(json.dumps([{key: 7, language: "es", text: "Quill", spans: [SPAN]}]), "openmed")
    assert corpus.documents[0].id == "7"
    assert corpus.documents[0].language == "es"
    assert gold(corpus) == [[(0, 5, "NAME")]]


@pytest.mark.parametrize("label", ["canonical_label", "label", "entity_type", "entity_group", "entity"])
@pytest.mark.parametrize(("start", "end"), [("start", "end"), ("start_position", "end_position")])
@pytest.mark.parametrize("surface", ["text", "entity_value", "word"])
def test_span_aliases(label: str, start: str, end: str, surface: str) -> None:
    span = {label: "NAME", start: 0, end: 5, surface: "Quill"}
    assert gold(load(json.dumps([{"text": "Quill, ward 7", "spans": [span]}]), "openmed")) == [[(0, 5, "NAME")]]


def test_documents_without_ids_are_numbered_and_keep_what_else_is_said() -> None:
    rows = [{"full_text": "a", "spans": [], "template_id": 3, "metadata": None}, {"text": "b", "spans": [], "id": ""}]
    corpus = load(json.dumps(rows), "openmed")
    assert [document.id for document in corpus] == ["1", "2"]
    assert [dict(document.metadata) for document in corpus] == [{"template_id": 3}, {}]


def test_crlf_stays_in_the_text() -> None:
    row = {"text": "A\r\nQuill", "gold_spans": [{"start": 3, "end": 8, "label": "NAME", "text": "Quill"}]}
    corpus = load(json.dumps([row]), "openmed")
    assert corpus.documents[0].text[3:8] == "Quill"


def with_span(**changes: Any) -> dict[str, Any]:
    return {**ROW, "gold_spans": [SPAN, {**SPAN, **changes}]}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**ROW, "text": None}, "text is missing or null"),
        ({"id": CANARY, "gold_spans": []}, "text is missing or null"),
        ({**ROW, "text": 5}, "text is an integer"),
        ([CANARY], "a document is a list"),
        (CANARY, "a document is a string"),
        ({**ROW, "gold_spans": CANARY}, "gold is a string"),
        ({"id": "a", "text": CANARY}, "gold is missing"),
        ({**ROW, "gold_spans": [CANARY]}, "span 1: a gold span is a string"),
        ({**ROW, "id": True}, "id is true or false"),
        ({**ROW, "language": 5}, "language is an integer"),
        ({**ROW, "text": "a\ud800"}, "half a surrogate pair at 1"),
        (with_span(start=True), "span 2: the start is true or false"),
        (with_span(start=0.0), "span 2: the start is a decimal number"),
        (with_span(end="5"), "span 2: the end is a string"),
        (with_span(end=None), "span 2: the end is missing"),
        (with_span(label=None), "span 2: the label is missing"),
        (with_span(label=" "), "span 2: the label is a string, not a string that is not empty"),
        (with_span(text=5), "span 2: the span's text is an integer"),
        (with_span(end=99), "span 2, offsets 0–99: span past the end"),
        (with_span(start=-1), "span 2, offsets -1–5: negative offset"),
        (with_span(end=0), "span 2, offsets 0–0: empty span"),
        (with_span(start=3, end=1), "span 2, offsets 3–1: end before start"),
        (with_span(end=10**40), "span 2: span past the end"),
        (with_span(text=CANARY), "the text at the offsets is not the annotation's own text"),
    ],
)
def test_a_bad_document_is_named_by_its_place_and_can_be_left_out(row: Any, says: str) -> None:
    good = {"id": "good", "text": "x", "gold_spans": []}
    content = json.dumps([good, row])
    with pytest.raises(InputError) as error:
        load(content, "openmed")
    assert says in str(error.value)
    assert str(error.value).startswith("openmed, file 1, document 2")
    assert CANARY not in str(error.value)
    lines = json.dumps(good) + "\n\n" + json.dumps(row) + "\n" + json.dumps({**good, "id": "last"})
    corpus = load(lines, "openmed", name="x.jsonl", skip_bad=True)
    assert [document.id for document in corpus] == ["good", "last"]
    assert [problem.where.split(", ")[2:4] for problem in corpus.skipped] == [["document 2", "line 3"]]


def test_broken_json_ends_the_reading_but_a_broken_line_only_its_document() -> None:
    with pytest.raises(InputError, match="line 1, column"):
        load('[{"id": "a", "text": "QZX-7781', "openmed", skip_bad=True)
    lines = b'{"id": "a", "text": "QZX-7781\n{"id": "b", "text": "\xff", "spans": []}\n{"id": "c", "text": "", "spans": []}'
    corpus = load(lines, "openmed", name="x.jsonl", skip_bad=True)
    assert [document.id for document in corpus] == ["c"]
    assert [str(problem).split(", ", 3)[3][:n] for problem, n in zip(corpus.skipped, (34, 40), strict=True)] == [
        "line 1: the JSON is broken: column",
        "line 2: the line is not UTF-8 at byte 21",
    ]
    assert not any(CANARY in str(problem) for problem in corpus.skipped)


@pytest.mark.parametrize("content", ["[" * 100_000, "[" + "9" * 5000 + "]", '{\n"a": 1}', "5", "null", '"x"', ""])
def test_json_that_is_no_list_of_documents(content: str) -> None:
    with pytest.raises(InputError, match="openmed, file 1: the JSON"):
        load(content, "openmed", name="x.json")


def test_duplicate_ids_are_named_by_ordinal() -> None:
    rows = [{"id": CANARY, "text": "x", "spans": []}, {"text": "y", "spans": []}, {"id": CANARY, "text": "z", "spans": []}]
    with pytest.raises(InputError, match="document 3: the same id as document 1") as error:
        load(json.dumps(rows), "openmed")
    assert CANARY not in str(error.value)


def test_a_pipelines_word_may_differ_in_case_accents_and_spacing_only() -> None:
    row = {"text": "Dr Ødégaard-Bo", "spans": [{"start": 3, "end": 14, "entity_group": "NAME", "word": "ødegaard - bo"}]}
    assert len(load(json.dumps([row]), "openmed")) == 1
    row["spans"][0]["word"] = "other"  # type: ignore[index]
    with pytest.raises(InputError, match="own text"):
        load(json.dumps([row]), "openmed")


@pytest.mark.parametrize("place", ["span", "metadata"])
def test_critical_findings_are_read_and_written_again(place: str) -> None:
    said = {"critical_category": "Allergy"}
    span = {"start": 0, "end": 5, "label": "DRUG", **(said if place == "span" else {"metadata": said})}
    rows = [{"id": "a", "text": "Quill saw Bo", "gold_spans": [span, {"start": 10, "end": 12, "label": "NAME"}]}]
    read = tuple(load(json.dumps(rows).encode(), "openmed"))
    assert read[0].categories == ("drug_allergy", None)
    assert tuple(load(to_openmed(read).files[""], "openmed")) == read
