"""BRAT folders: pairs by name, pieces by policy, surfaces as witnesses."""

from __future__ import annotations

import pytest
from corpus_files import CANARY, documents, gold, load
from hypothesis import given

from openmed_mlx_eval.corpora import Document, GoldError
from openmed_mlx_eval.corpora.writers import to_brat
from openmed_mlx_eval.errors import InputError, UsageError

LEFT = {"a.txt": "left or lobe", "a.ann": "T1\tX 0 4;8 12\tleft lobe\n"}


@given(documents())
def test_writing_and_reading_is_the_identity_but_for_labels_with_spaces(made: list[Document]) -> None:
    written = to_brat(made)
    read = {document.id: document for document in load(written.files, "brat")} if made else {}
    assert {name: document.text for name, document in read.items()} == {d.id: d.text for d in made}
    for document in made:
        kept = tuple(span for span in document.gold_spans if " " not in span.label)
        assert read[document.id].gold_spans == kept
    lost = sum(" " in span.label for document in made for span in document.gold_spans)
    assert sum(written.lost.values()) == lost


def test_ids_that_are_no_file_names_become_numbers() -> None:
    for ids in (["../x", "y"], ["a", "A"], ["a/b", "c"], ["", "x"], [".a", "b"]):
        written = to_brat([Document(name, "t") for name in ids])
        assert sorted(written.files) == ["1.ann", "1.txt", "2.ann", "2.txt"]


@pytest.mark.parametrize(
    ("policy", "spans"),
    [("hull", [(0, 12, "X")]), ("split", [(0, 4, "X"), (8, 12, "X")]), ("first", [(0, 4, "X")])],
)
def test_discontinuous_annotations_follow_the_policy(policy: str, spans: list) -> None:
    corpus = load(LEFT, "brat", discontinuous=policy)
    assert gold(corpus) == [spans]
    assert corpus.documents[0].metadata["annotations_in_pieces"] == 1


def test_discontinuous_error_and_an_unknown_policy() -> None:
    with pytest.raises(InputError, match="span 1, offsets 0–12: a discontinuous annotation of 2 pieces"):
        load(LEFT, "brat", discontinuous="error")
    with pytest.raises(UsageError, match="hull, split, first, error"):
        load(LEFT, "brat", discontinuous="last")


def test_pieces_parted_by_a_line_break_alone_are_one() -> None:
    files = {"a.txt": "left\r\nlobe", "a.ann": "T1\tX 0 4;6 10\tleft lobe\n"}
    assert gold(load(files, "brat", discontinuous="error")) == [[(0, 10, "X")]]


def test_pieces_parted_by_a_space_are_two() -> None:
    files = {"a.txt": "left lobe", "a.ann": "T1\tX 0 4;5 9\tleft lobe\n"}
    assert gold(load(files, "brat", discontinuous="split")) == [[(0, 4, "X"), (5, 9, "X")]]


def test_other_kinds_of_lines_are_read_past() -> None:
    ann = "T1\tNAME 0 5\tQuill\nR1\tRel Arg1:T1 Arg2:T1\nE1\tEv:T1\nA1\tNeg T1\nM1\tNeg T1\nN1\tReference T1 X:1\n"
    ann += "#1\tAnnotatorNotes T1\tQZX-7781\n*\tEquiv T1 T1\n\nT2\tNAME 0 5\n"
    assert gold(load({"a.txt": "Quill", "a.ann": ann}, "brat")) == [[(0, 5, "NAME")] * 2]


def test_crlf_is_two_characters_and_the_mark_is_none() -> None:
    corpus = load({"a.txt": "\ufeffA\r\nQuill", "a.ann": "\ufeffT1\tNAME 3 8\tQuill\r\n"}, "brat")
    assert corpus.documents[0].text == "A\r\nQuill"
    assert gold(corpus) == [[(3, 8, "NAME")]]


def test_offsets_that_count_the_mark_are_moved_if_the_surfaces_show_it() -> None:
    files = {"a.txt": "\ufeffA\r\nQuill", "a.ann": "T1\tNAME 4 9\tQuill\nT2\tX 1 2\tA\n"}
    corpus = load(files, "brat")
    assert corpus.documents[0].text == "A\r\nQuill"
    assert gold(corpus) == [[(3, 8, "NAME"), (0, 1, "X")]]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("Quill, ward 7", "T7\tNAME 0 4\tQuill", "inclusive end: add 1"),
        ("Dr Quill, ward 7", "T7\tNAME 4 9\tQuill", "count from 1: subtract 1"),
        ("Dr Quill, ward 7", "T7\tNAME 4 8\tQuill", "count from 1 and have an inclusive end"),
        ("A\r\nQuill", "T7\tNAME 2 7\tQuill", "count \\r\\n as one character"),
        ("A\nQuill", "T7\tNAME 3 8\tQuill", "count a line break as two"),
        ("A", "T7\tNAME 0 0\tA", "inclusive end"),
    ],
)
def test_surfaces_say_what_offsets_really_count(text: str, line: str, says: str) -> None:
    with pytest.raises(GoldError) as error:
        load({"a.txt": text, "a.ann": "#1\tnote\n" + line}, "brat")
    assert says in str(error.value)
    assert str(error.value).startswith("brat, file 1, document 1, line 2, span 1, offsets ")
    assert "Quill" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "offsets", "code"),
    [("🩺 Dr Quill", [(6, 11), (3, 5)], "utf16_offsets"), ("Ødé Dr Quill", [(9, 14), (6, 8)], "byte_offsets")],
)
def test_offsets_in_other_units_are_converted_and_said_if_all_surfaces_show_it(
    text: str, offsets: list[tuple[int, int]], code: str
) -> None:
    lines = [
        f"T{n}\tX {start} {end}\t{said}" for n, ((start, end), said) in enumerate(zip(offsets, ("Quill", "Dr"), strict=True))
    ]
    corpus = load({"a.txt": text, "a.ann": "\n".join(lines)}, "brat")
    assert [text[start:end] for start, end, _ in gold(corpus)[0]] == ["Quill", "Dr"]
    assert corpus.notes == {code: 1}
    for other, says in (
        (f"T9\tX {text.index('Dr')} {text.index('Dr') + 2}\tDr", "its own text would fit"),
        ("T9\tX 0 99\t", "past"),
    ):
        with pytest.raises(GoldError, match=says):
            load({"a.txt": text, "a.ann": "\n".join([*lines, other])}, "brat")


def test_every_bad_span_of_a_document_is_kept() -> None:
    ann = "T1\tX 0 9\tQuill\nT2\tX 0 5\tQuill\nT3\tX 2 2\t\nT4\tX 0 1\tq\n"
    corpus = load({"a.txt": "Quill", "a.ann": ann}, "brat", skip_bad=True)
    (error,) = corpus.skipped
    assert isinstance(error, GoldError)
    assert "(and 2 more gold spans of this document)" in str(error)
    assert [(p.where[-30:].split("line ")[1], p.what) for p in error.problems] == [
        ("1, span 1, offsets 0–9", "span past the end of its document (text of 5 code points)"),
        ("3, span 3, offsets 2–2", "empty span (text of 5 code points)"),
        ("4, span 4, offsets 0–1", "the text at the offsets is not the annotation's own text"),
    ]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.txt": CANARY}, "a .txt file without its .ann"),
        ({"a.ann": "T1\tX 0 1\ta"}, "an .ann file without its .txt"),
        ({"a.txt": "a", "a.ann": CANARY}, "line 1: a line of no known kind"),
        ({"a.txt": "a", "a.ann": f"T1\tX {CANARY} 1\ta"}, "line 1: an annotation without label or offsets"),
        ({"a.txt": "a", "a.ann": f"T1\tX 0 1;\t{CANARY}"}, "line 1: an annotation without label or offsets"),
        ({"a.txt": "a", "a.ann": f"T1 X 0 1 {CANARY}"}, "line 1: a line of no known kind"),
        ({"a.txt": b"caf\xe9", "a.ann": ""}, "the .txt is not UTF-8 at byte 3"),
        ({"a.txt": b"\xef\xbb\xbfcaf\xe9", "a.ann": ""}, "the .txt is not UTF-8 at byte 6"),
        ({"a.txt": "a", "a.ann": "T1\tX 0 1\ta".encode("utf-32")}, "the .ann is UTF-32"),
        ({"a.txt": b"\xff\xfea", "a.ann": ""}, "the .txt is not UTF-16, whose mark it bears, at byte 2"),
    ],
)
def test_a_bad_pair_is_one_bad_document(files: dict, says: str) -> None:
    more = {**files, "b.txt": "Quill", "b.ann": "T1\tNAME 0 5\tQuill", CANARY + ".txt": "", CANARY + ".ann": ""}
    with pytest.raises(InputError) as error:
        load(more, "brat")
    assert says in str(error.value)
    assert str(error.value).startswith("brat, file 2, document 2")
    assert CANARY not in str(error.value)
    assert [document.id for document in load(more, "brat", skip_bad=True)] == [CANARY, "b"]
