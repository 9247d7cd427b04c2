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


class SchemaStandIn(list[Any]):
    """Fields, and the metadata that pyarrow has beside them."""

    metadata: Any = None


def parquet_stand_in(monkeypatch: pytest.MonkeyPatch, metadata: Any = None, fails: bool = False) -> None:
    def read_table(file: Any) -> Any:
        assert file.read().startswith(b"PAR1")
        if fails:
            raise OSError(CANARY)
        schema = SchemaStandIn(SimpleNamespace(name=name, type=name) for name in (*ROWS[0], "time"))
        schema.metadata = metadata
        chosen = SimpleNamespace(to_pylist=lambda: ROWS)
        return SimpleNamespace(schema=schema, select=lambda names: chosen if names == list(ROWS[0]) else None)

    parquet = SimpleNamespace(read_table=read_table)
    module(monkeypatch, "pyarrow", parquet=parquet, types=SimpleNamespace(is_temporal=lambda type: type == "time"))


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


def parquet_bytes(columns: dict[str, Any], features: Any = None, **options: Any) -> bytes:
    import pyarrow
    from pyarrow import parquet

    said = {"huggingface": json.dumps({"info": {"features": features}})} if features else None
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(said), buffer, **options)
    return buffer.getvalue()


CLASS_LABEL = {"names": NAMES, "_type": "ClassLabel"}


@pytest.mark.parametrize(
    "written",
    [
        {"feature": CLASS_LABEL, "_type": "Sequence"},  # datasets 2 and 3
        {"feature": CLASS_LABEL, "length": -1, "_type": "List"},  # datasets 4
        [CLASS_LABEL],  # datasets 1
    ],
)
@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none"])
def test_parquet_by_pyarrow(written: Any, compression: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    features = {"id": {"dtype": "string", "_type": "Value"}, "tokens": {"_type": "Sequence"}, "ner_tags": written}
    for kind in (pyarrow.list_(pyarrow.int64()), pyarrow.large_list(pyarrow.int8())):
        tokens = pyarrow.array([row["tokens"] for row in ROWS], pyarrow.large_list(pyarrow.large_string()))
        columns = {"id": ["7", "8"], "tokens": tokens, "ner_tags": pyarrow.array([row["ner_tags"] for row in ROWS], kind)}
        content = parquet_bytes(columns, features, compression=compression, row_group_size=1)
        corpus = load(content, "huggingface", name="train-00000-of-00001.parquet")
        assert gold(corpus) == [[(3, 12, "NAME")], []]
        assert [document.id for document in corpus] == ["7", "8"]
    with pytest.raises(InputError, match="the Parquet file is broken"):
        load(content[:-20], "huggingface")


def test_parquet_whose_names_stand_in_a_file_beside() -> None:
    pytest.importorskip("pyarrow")
    content = parquet_bytes({"tokens": [["Dr", "Amy", "Quill"]], "ner_tags": [[0, 1, 2]]})
    with pytest.raises(InputError, match="the tags are numbers without names"):
        load({"a.parquet": content}, "huggingface")
    for name, said in (
        ("features.json", {"ner_tags": NAMES}),
        ("dataset_info.json", {"features": {"ner_tags": {"feature": CLASS_LABEL, "_type": "List"}}}),
    ):
        corpus = load(
            {"a.parquet": content, name: json.dumps(said), "b.jsonl": '{"tokens": ["x"], "ner_tags": [1]}'}, "huggingface"
        )
        assert gold(corpus) == [[(3, 12, "NAME")], [(0, 1, "NAME")]]


def test_parquet_of_nanoseconds_was_said_to_be_broken_without_pandas() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    when = pyarrow.array([1_700_000_000_123_456_789], pyarrow.timestamp("ns", "Europe/Berlin"))
    tags = pyarrow.ListArray.from_arrays([0, 2], pyarrow.array(["O", "B-NAME"]).dictionary_encode())
    content = parquet_bytes({"tokens": [["Dr", "Amy"]], "ner_tags": tags, "when": when, "ward": [7], "raw": [b"\xff"]})
    corpus = load(content, "huggingface")
    assert gold(corpus) == [[(3, 6, "NAME")]]
    assert corpus.documents[0].metadata == {"ward": 7}


def test_parquet_cells_that_are_null() -> None:
    pytest.importorskip("pyarrow")
    for tokens, tags, says in (
        (None, ["O"], "document 1: 0 tokens and 1 tags"),
        (["x"], None, "document 1: 1 tokens and 0 tags"),
        (["x", None], ["O", "O"], "document 1: token 2 is null"),
        (["x"], [None], "document 1: tag 1 is null"),
    ):
        content = parquet_bytes({"tokens": [tokens, ["Dr"]], "ner_tags": [tags, ["O"]]})
        with pytest.raises(InputError, match=says):
            load(content, "huggingface")
        assert len(load(content, "huggingface", skip_bad=True)) == 1


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
    empty = SimpleNamespace(text="x", ents=(), spans={}, has_annotation=lambda attribute: attribute == "ENT_IOB")
    unannotated = SimpleNamespace(text="x", ents=(), spans={}, has_annotation=lambda attribute: False)
    spacy_stand_in(monkeypatch, SimpleNamespace(text="Dr Amy Quill", ents=ents, spans=grouped), empty, unannotated)
    corpus = load(b"\x78\x9c", "docbin")
    assert gold(corpus) == [[(3, 6, "NAME"), (7, 12, "NAME"), (3, 12, "PERSON")], []]
    assert corpus.notes == {"not_accepted": 1}


def test_a_docbin_that_is_broken_says_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    nameless = SimpleNamespace(text=CANARY, ents=(span(0, 1, ""),), spans={}, has_annotation=bool)
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


def test_docbin_without_annotation_is_not_one_without_entities() -> None:
    """A file written without ENT_IOB was read as documents without gold."""
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc, DocBin, Span

    language = spacy.blank("de")
    annotated, without, never, grouped = (language(text) for text in ("Dr Amy Quill", "none here", "not read", "span groups"))
    annotated.ents = [Span(annotated, 1, 3, label="NAME", kb_id="Q1")]
    without.ents = []
    grouped.spans["sc"] = []
    joined = Doc(language.vocab, words=["a", "b", "c"], spaces=[False] * 3, ents=["B-X", "I-X", "O"])
    documents = [annotated, without, never, grouped, joined, language("")]
    corpus = load(DocBin(docs=documents, store_user_data=True).to_bytes(), "docbin")
    assert gold(corpus) == [[(3, 12, "NAME")], [], [], [(0, 2, "X")], []]
    assert [document.text for document in corpus][1:3] == ["none here", "span groups"]
    assert corpus.notes == {"not_accepted": 1}
    assert gold(load(DocBin(attrs=["ENT_IOB", "ENT_TYPE"], docs=[annotated]).to_bytes(), "docbin")) == [[(3, 12, "NAME")]]
    bare = load(DocBin(attrs=["LEMMA"], docs=[annotated]).to_bytes(), "docbin")
    assert (len(bare), bare.notes) == (0, {"not_accepted": 1})


def test_docbin_spans_that_cannot_be_scored() -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin, Span

    for end, label, says in (
        (2, "", "document 1: a span without a label"),
        (1, "NAME", "document 1, span 1, offsets 4–4: empty span"),
    ):
        document = spacy.blank("xx")("Amy Quill")
        document.spans["sc"] = [Span(document, 1, end, label=label)]
        with pytest.raises(InputError, match=says):
            load(DocBin(docs=[document]).to_bytes(), "docbin")


@pytest.mark.parametrize(("format", "library"), [("docbin", "spacy"), ("huggingface", "pyarrow")])
def test_without_the_library_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, format: str, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"which is not installed – pip install {library}"):
        load(b"PAR1", format)
