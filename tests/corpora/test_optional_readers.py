"""DocBin and Parquet: with spaCy and pyarrow where they are installed, and everywhere against stand-ins for the few calls
that the readers make of them."""

from __future__ import annotations

import io
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from corpus_files import CANARY, gold, load

from openmed_mlx_eval.errors import InputError

NAMES = ["O", "B-NAME", "I-NAME"]
ROWS = [
    {"id": "7", "tokens": ["Dr", "Amy", "Quill"], "ner_tags": [0, 1, 2], "kind": "note"},
    {"id": "8", "tokens": ["x"], "ner_tags": [0]},
]
HUGGINGFACE = json.dumps(
    {"info": {"features": {"ner_tags": {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}}}}
)


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    made = ModuleType(name)
    made.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, made)


def parquet_stand_in(monkeypatch: pytest.MonkeyPatch, metadata: Any = None, fails: bool = False) -> None:
    def read_table(file: Any) -> Any:
        assert file.read().startswith(b"PAR1")
        if fails:
            raise OSError(CANARY)
        return SimpleNamespace(schema=SimpleNamespace(metadata=metadata), to_pylist=lambda: ROWS)

    parquet = SimpleNamespace(read_table=read_table)
    module(monkeypatch, "pyarrow", parquet=parquet)


def test_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    parquet_stand_in(monkeypatch, {b"huggingface": HUGGINGFACE.encode(), b"pandas": b"x"})
    for name in ("data", "data.parquet"):
        corpus = load(b"PAR1...", "huggingface", name=name)
        assert gold(corpus) == [[(3, 12, "NAME")], []]
        assert [document.id for document in corpus] == ["7", "8"]
        assert corpus.documents[0].metadata == {"kind": "note"}


def test_parquet_without_names_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    parquet_stand_in(monkeypatch)
    with pytest.raises(InputError, match="the tags are numbers without names"):
        load(b"PAR1", "huggingface")
    corpus = load({"a.parquet": b"PAR1", "features.json": json.dumps({"ner_tags": NAMES})}, "huggingface")
    assert gold(corpus)[0] == [(3, 12, "NAME")]
    parquet_stand_in(monkeypatch, {b"huggingface": CANARY.encode()})
    with pytest.raises(InputError, match="the JSON is broken") as error:
        load(b"PAR1", "huggingface")
    assert CANARY not in str(error.value)
    parquet_stand_in(monkeypatch, fails=True)
    with pytest.raises(InputError, match="the Parquet file is broken") as error:
        load(b"PAR1" + CANARY.encode(), "huggingface")
    assert CANARY not in str(error.value)
    assert error.value.__cause__ is None


def test_parquet_by_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist(ROWS).replace_schema_metadata({"huggingface": HUGGINGFACE})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    assert gold(load(buffer.getvalue(), "huggingface")) == [[(3, 12, "NAME")], []]
    with pytest.raises(InputError, match="the Parquet file is broken"):
        load(buffer.getvalue()[:-20], "huggingface")


def span(start: int, end: int, label: str) -> Any:
    return SimpleNamespace(start_char=start, end_char=end, label_=label)


def spacy_stand_in(monkeypatch: pytest.MonkeyPatch, *documents: Any) -> None:
    class DocBin:
        def from_bytes(self, data: bytes) -> DocBin:
            if data == CANARY.encode():
                raise ValueError(CANARY)
            return self

        def get_docs(self, vocab: Any) -> Any:
            assert vocab == "the vocabulary"
            return iter(documents)

    module(monkeypatch, "spacy", blank=lambda language: SimpleNamespace(vocab="the vocabulary"))
    module(monkeypatch, "spacy.tokens", DocBin=DocBin)


def test_docbin(monkeypatch: pytest.MonkeyPatch) -> None:
    ents = (span(3, 6, "NAME"), span(7, 12, "NAME"))
    grouped = {"sc": [span(3, 6, "NAME"), span(3, 12, "PERSON")], "other": [span(0, 2, "X")]}
    empty = SimpleNamespace(text="x", ents=(), spans={})
    spacy_stand_in(monkeypatch, SimpleNamespace(text="Dr Amy Quill", ents=ents, spans=grouped), empty)
    assert gold(load(b"\x78\x9c", "docbin")) == [[(3, 6, "NAME"), (7, 12, "NAME"), (3, 12, "PERSON")], []]


def test_a_docbin_that_is_broken_says_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    nameless = SimpleNamespace(text=CANARY, ents=(span(0, 1, ""),), spans={})
    spacy_stand_in(monkeypatch, nameless, SimpleNamespace(text=CANARY, ents=(), spans=None))
    for data, says in ((CANARY.encode(), "the DocBin is broken"), (b"", "document 1: a span without a label")):
        with pytest.raises(InputError, match=says) as error:
            load(data, "docbin")
        assert CANARY not in str(error.value)
    assert len(load(b"", "docbin", skip_bad=True).skipped) == 2


def test_docbin_by_spacy() -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin, Span

    document = spacy.blank("xx")("Dr Amy  Quill \U0001fa7a\n")
    document.ents = [Span(document, 1, 2, label="NAME")]
    document.spans["sc"] = [Span(document, 1, 4, label="PERSON")]
    content = DocBin(docs=[document]).to_bytes()
    corpus = load(content, "docbin")
    assert corpus.documents[0].text == document.text
    assert gold(corpus) == [[(3, 6, "NAME"), (3, document[3].idx + len(document[3]), "PERSON")]]
    for broken in (content[:-9], content[9:], b""):
        with pytest.raises(InputError, match="the DocBin is broken"):
            load(broken, "docbin")


@pytest.mark.parametrize(("format", "library"), [("docbin", "spacy"), ("huggingface", "pyarrow")])
def test_without_the_library_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, format: str, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"which is not installed – pip install {library}"):
        load(b"PAR1", format)
