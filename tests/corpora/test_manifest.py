"""Training manifests: every shape that is read gives the same rows, and what is refused is refused without its content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora.manifest import TrainingRow, load_training_manifest
from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError

HASH = hashlib.sha256(b"dr quill").hexdigest()
ROWS = [{"id": "a", "text": "dr quill"}, {"record_id": 7, "sha256": f"SHA256:{HASH.upper()}"}, {"id": "only"}]
EXPECTED = (TrainingRow(("a",), "dr quill"), TrainingRow(("7",), None, (HASH,)), TrainingRow(("only",)))


def written(folder: Path, value: Any, name: str = "manifest.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
SHAPES = {
    "list": ("m.json", ROWS),
    "records": ("m.json", {"records": ROWS, "note": "made by hand"}),
    "documents": ("m.json", {"documents": ROWS}),
    "rows": ("m.json", {"rows": ROWS}),
    "examples": ("m.json", {"examples": ROWS}),
    "fixtures": ("m.json", {"fixtures": ROWS}),
    "lines": ("m.jsonl", LINES),
    "ndjson, blank lines": ("m.ndjson", LINES.replace("\n", "\r\n\n")),
    "lines by shape": ("m.json", LINES),
    "indented": ("m.json", json.dumps(ROWS, indent=2)),
    "marked": ("m.json", "\ufeff" + json.dumps(ROWS)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_rows(tmp_path: Path, shape: str) -> None:
    name, value = SHAPES[shape]
    assert load_training_manifest(written(tmp_path, value, name)) == EXPECTED


@pytest.mark.parametrize("key", ["text", "document_text", "note_text", "full_text"])
@pytest.mark.parametrize("name", ["m.json", "m.jsonl"])
def test_one_object_is_one_row(tmp_path: Path, key: str, name: str) -> None:
    rows = load_training_manifest(written(tmp_path, {key: "x", "fixture_id": "f", "id": 3}, name))
    assert rows == (TrainingRow(("3", "f"), "x"),)


@pytest.mark.parametrize("key", ["sha256", "text_hash", "content_hash", "document_hash", "source_hash"])
def test_hashes(tmp_path: Path, key: str) -> None:
    for value in (HASH, HASH.upper(), f" sha256:{HASH} "):
        assert load_training_manifest(written(tmp_path, [{key: value}])) == (TrainingRow((), None, (HASH,)),)
    with pytest.raises(InputError, match="document 1: a row without id, text and SHA-256"):
        load_training_manifest(written(tmp_path, [{key: HASH[:32]}]))


@pytest.mark.parametrize("format", small_corpora.FORMATS)
def test_a_corpus_of_any_format_is_a_manifest(tmp_path: Path, format: str) -> None:
    rows = load_training_manifest(small_corpora.write(tmp_path, format))
    assert [row.text for row in rows] == [text for _, text, _ in small_corpora.ENTRIES]
    if format != "conll":  # the only one without ids
        assert [row.ids for row in rows] == [(name,) for name, _, _ in small_corpora.ENTRIES]
    else:
        assert all(row.ids == () for row in rows)


@pytest.mark.parametrize("format", ["brat", "pubtator", "i2b2"])
def test_bad_gold_in_a_manifest_is_no_fault(tmp_path: Path, format: str) -> None:
    path = small_corpora.write(tmp_path, format, [("a", "dr quill", [(3, 8, "NAME")]), ("b", "ward 7", [(0, 4, "UNIT")])])
    for file in [path] if path.is_file() else path.iterdir():
        file.write_bytes(
            file.read_bytes().replace(b" 3 8", b" 3 99").replace(b"\t3\t8", b"\t3\t99").replace(b'end="8"', b'end="99"')
        )
    assert [row.text for row in load_training_manifest(path)] == ["dr quill", "ward 7"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("m.json", "[]", "there is no row in it"),
        ("m.jsonl", "", "there is no row in it"),
        ("m.json", [{"id": "a"}, {"id": "b"}], "no row has a text or a SHA-256"),
        ("m.json", [{"content": "QZX"}], "document 1: a row without id, text and SHA-256"),
        ("m.json", [{"text": "ok"}, "QZX"], "document 2: a row that is no object"),
        ("m.json", [{"text": ["QZX"]}], "document 1: a text that is no string"),
        ("m.json", '"QZX"', "the JSON is not a list of rows"),
        ("m.json", '[{"text": "QZX', "the JSON is broken: line 1, column 11"),
        ("m.jsonl", '{"text": "ok"}\n{"text": QZX}\n', "line 2: the JSON is broken: column 10"),
        ("m.jsonl", '{"text": "ok"}\n{"QZX": 1}\n', "document 2, line 2: a row without"),
    ],
)
def test_a_bad_manifest_says_where_and_not_what(tmp_path: Path, name: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_training_manifest(written(tmp_path, value, name))
    assert str(caught.value).startswith("training manifest")
    assert said in str(caught.value)
    assert "QZX" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"text": "ok"}\n{"text": "\xff"}\n')
    with pytest.raises(InputError, match="line 2: the line is not UTF-8 at byte 10"):
        load_training_manifest(path)


def test_what_is_not_there_or_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "QZX").mkdir()
    for path in ("-", tmp_path / "QZX.json", tmp_path / "QZX", written(tmp_path, "QZX", "QZX.doc")):
        with pytest.raises(UsageError, match="--training-manifest: ") as caught:
            load_training_manifest(path)
        assert "QZX" not in str(caught.value)
        assert "--format" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "text", "sha256", "records", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["m.json", "m.jsonl"]))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: Any, name: str) -> None:
    path = written(tmp_path_factory.mktemp("fuzz"), json.dumps(value), name)
    try:
        assert all(isinstance(row, TrainingRow) for row in load_training_manifest(path))
    except EvaluationError as error:
        assert "training" in str(error)
