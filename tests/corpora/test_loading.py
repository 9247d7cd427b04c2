"""load_corpus: which files a path means, how they are told apart, and what a bad one does."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import sys
from pathlib import Path

import pytest
from corpus_files import CANARY, load

from openmed_mlx_eval.corpora import FORMATS, detect_format, load_corpus, load_fixtures
from openmed_mlx_eval.errors import InputError, UsageError

FIXTURES = json.dumps([{"id": "a", "text": "Quill", "spans": [{"start": 0, "end": 5, "label": "NAME"}]}])
CONLL = "Quill\tB-NAME\nward\tO\n"
PUBTATOR = "1|t|Quill\n1|a|ward\n1\t0\t5\tQuill\tNAME\n"
XML = "<?xml version='1.0'?>\n<R><TEXT><![CDATA[Quill]]></TEXT><TAGS><NAME start='0' end='5' text='Quill'/></TAGS></R>"
ONE_OF_EACH = {"openmed": FIXTURES, "conll": CONLL, "pubtator": PUBTATOR, "i2b2": XML}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("format", ONE_OF_EACH)
def test_a_format_is_told_by_what_a_file_begins_with(tmp_path: Path, format: str, mark: str) -> None:
    path = tmp_path / "no-suffix"
    path.write_text(mark + ONE_OF_EACH[format], encoding="utf-8")
    assert detect_format(path) == format
    corpus = load_corpus(path)
    assert [span.label for document in corpus for span in document.gold_spans] == ["NAME"]
    assert (corpus.name, corpus.format) == (format, format)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.json", "openmed"), ("a.JSONL", "openmed"), ("a.conll", "conll"), ("a.ann", "brat"), ("a.xml", "i2b2"),
     ("a.pubtator", "pubtator"), ("a.iob2", "conll")],
)  # fmt: skip
def test_a_format_is_told_by_a_name_before_content(tmp_path: Path, name: str, format: str) -> None:
    (tmp_path / name).write_text("")
    assert detect_format(tmp_path / name) == format
    (tmp_path / "README").write_text("x")
    assert detect_format(tmp_path) == format


@pytest.mark.parametrize("content", ["", "a\n", "some prose here\nmore of it\n", "a b c d e f g\n", "\xff\xfe"])
def test_what_shows_no_format_asks_for_one(tmp_path: Path, content: str) -> None:
    (tmp_path / CANARY).write_text(content)
    for path in (tmp_path / CANARY, tmp_path):
        with pytest.raises(UsageError, match=r"openmed\|conll\|brat\|pubtator\|i2b2") as error:
            load_corpus(path)
        assert CANARY not in str(error.value)


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.conll", "a.jsonl"])
def test_a_compressed_corpus_is_called_so(tmp_path: Path, module: str, name: str) -> None:
    (tmp_path / name).write_bytes(importlib.import_module(module).compress((FIXTURES + CONLL).encode()))
    for path in (tmp_path / name, tmp_path):
        with pytest.raises((UsageError, InputError), match=r"is compressed with (gzip|bzip2|xz) – unpack it first"):
            load_corpus(path)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_triples_under_entities_are_told_from_objects(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [{"text": "ward", "entities": [], "meta": {"start": 1}}, {"text": "Quill", "entities": [[0, 5, "NAME"]]}]
    path.write_text("\n".join(map(json.dumps, rows)) if name == "a.jsonl" else json.dumps(rows, indent=1))
    assert detect_format(path) == "doccano"
    assert [len(document.gold_spans) for document in load_corpus(path)] == [0, 1]
    path.write_text(json.dumps({"text": '"entities": [[', "entities": [{"start": 0, "end": 5, "label": "NAME"}]}))
    assert detect_format(path) == "openmed"


def test_a_folder_of_two_formats_asks_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(FIXTURES)
    (tmp_path / "b.xml").write_text(XML)
    with pytest.raises(UsageError, match="--format"):
        load_corpus(tmp_path)
    assert load_corpus(tmp_path, "i2b2").documents[0].id == "b"


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize("path", [CANARY, "", f"a\0{CANARY}", CANARY * 200])
def test_a_path_that_is_not_there(path: str, format: str | None) -> None:
    with pytest.raises(UsageError, match="no such file") as error:
        load_corpus(path, format)
    assert CANARY not in str(error.value)


def test_usage(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(FIXTURES)
    with pytest.raises(UsageError, match="unknown format"):
        load_corpus(path, CANARY)
    with pytest.raises(UsageError, match="--limit"):
        load_corpus(path, limit=0)
    with pytest.raises(UsageError, match=r"holds no \.xml file"):
        load_corpus(tmp_path, "i2b2")


@pytest.mark.skipif(sys.platform == "win32" or getattr(os, "geteuid", int)() == 0, reason="rights bind no root")
def test_files_without_rights(tmp_path: Path) -> None:
    path = tmp_path / (CANARY + ".json")
    path.write_text(FIXTURES)
    path.chmod(0)
    with pytest.raises(InputError, match="file 1 cannot be read"):
        load_corpus(path)


@pytest.mark.parametrize("format", ONE_OF_EACH)
def test_stdin(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    for given in (None, format):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ONE_OF_EACH[format].encode())))
        corpus = load_corpus("-", given)
        assert (corpus.format, len(corpus)) == (format, 1)
        assert corpus.documents[0].text[:5] == "Quill"
    with pytest.raises(UsageError, match="cannot come from stdin"):
        load_corpus("-", "brat")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_needs_a_format_and_is_read_once(tmp_path: Path) -> None:
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="--format"):
        load_corpus(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(CONLL,))
    writer.start()
    assert len(load_corpus(pipe, "conll")) == 1
    writer.join()


@pytest.mark.parametrize("format", ONE_OF_EACH)
def test_bytes_that_are_not_utf8(format: str) -> None:
    data = ONE_OF_EACH[format].encode()
    for wrong, says in (
        (data.replace(b"Quill", b"Qu\xefll"), f"not UTF-8 at byte {data.index(b'Quill') + 2}"),
        (ONE_OF_EACH[format].encode("utf-32"), "the file is UTF-32, not UTF-8 – convert it"),
    ):
        with pytest.raises(InputError, match=f"{format}, file 1.*{says}"):
            load(wrong, format)
    decoded = load(ONE_OF_EACH[format].encode("utf-16"), format)
    assert (len(decoded), decoded.notes) == (1, {"utf16_files": 1})


def test_a_folder_is_read_by_name_and_hidden_files_are_not(tmp_path: Path) -> None:
    for name, content in {"b": XML, "a-1": XML, "a": XML, "._a": "\0", ".x": "\0"}.items():
        (tmp_path / f"{name}.xml").write_text(content)
    (tmp_path / "sub.xml").mkdir()
    assert [document.id for document in load_corpus(tmp_path)] == ["a", "a-1", "b"]


def test_two_formats_of_one_corpus_have_one_order() -> None:
    names = ("a", "a-1", "a.b", "aa")
    brat = load({f"{n}{s}": "" for n in names for s in (".txt", ".ann")}, "brat")
    i2b2 = load({f"{n}.xml": XML for n in names}, "i2b2")
    assert [document.id for document in brat] == [document.id for document in i2b2] == list(names)


def test_ordinals_run_on_from_file_to_file() -> None:
    content = "a\tO\n\nb\tO\n"
    corpus = load({"1.conll": content, "2.conll": content + "\nx\n"}, "conll", skip_bad=True)
    assert [document.id for document in corpus] == ["1", "2", "3", "4"]
    assert [error.where for error in corpus.skipped] == ["conll, file 2, document 5, line 5"]


def test_sha256_is_that_of_the_bytes_in_reading_order(tmp_path: Path) -> None:
    files = {"b.txt": "B", "b.ann": "", "a.txt": "A", "a.ann": "T1\tX 0 1\tA\n", "c.json": "[]"}
    expected = hashlib.sha256(b"A" + files["a.ann"].encode() + b"B").hexdigest()
    assert load(files, "brat").sha256 == expected == load(files, "brat", limit=1).sha256


def test_limit_counts_good_documents_and_reads_no_further() -> None:
    rows = [{"text": "a", "spans": []}, {}, {"text": "b", "spans": []}, {}]
    corpus = load(json.dumps(rows), "openmed", skip_bad=True, limit=2)
    assert [document.text for document in corpus] == ["a", "b"]
    assert len(corpus.skipped) == 1


def test_an_id_given_and_an_ordinal_do_not_meet() -> None:
    rows = [{"id": 2, "text": "a", "spans": []}, {"text": "b", "spans": []}]
    with pytest.raises(InputError, match="document 2: the same id as document 1"):
        load(json.dumps(rows), "openmed")


def test_mismatched_documents_can_be_kept_for_counting_but_impossible_ones_cannot() -> None:
    span = {"start": 0, "end": 5, "label": "NAME", "text": "ward"}
    rows = [{"text": "Quill", "spans": [span]}, {"text": "Quill", "spans": [span, {**span, "end": 9}]}]
    corpus = load(json.dumps(rows), "openmed", keep_mismatched=True, skip_bad=True)
    assert [len(document.gold_spans) for document in corpus] == [1]
    assert [error.where for error in corpus.mismatched] == ["openmed, file 1, document 1, span 1, offsets 0–5"]
    assert [error.where for error in corpus.skipped] == ["openmed, file 1, document 2, span 1, offsets 0–5"]


def test_load_fixtures_is_openmeds_format_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(FIXTURES)
    assert [document.id for document in load_fixtures(path)] == ["a"]


def test_no_library_exception_hangs_behind_an_error() -> None:
    """A JSONDecodeError holds the whole document, a UnicodeDecodeError its bytes."""
    for format, data in (("openmed", b'[{"text": "QZX-7781'), ("conll", b"QZX\xff"), ("i2b2", b"<a>QZX-7781")):
        with pytest.raises(InputError) as error:
            load(data, format)
        assert error.value.__context__ is None or error.value.__suppress_context__
        assert error.value.__cause__ is None


@pytest.mark.parametrize("broken", ["be", "lung\tX\textra\tmore\tO"], ids=["cut short", "five columns"])
def test_a_damaged_row_does_not_hide_the_format(tmp_path, broken):
    """A short file that was cut in a row, or has one too wide, was said to have no format that can be told."""
    path = tmp_path / "notes.tsv"
    path.write_text("the\tO\nleft\tO\nlung\tB-ORGAN\n.\tO\n\n" * 5 + broken)
    with pytest.raises(InputError, match=r"conll, .*line 26: "):
        load_corpus(path)
