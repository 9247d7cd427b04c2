"""What a manifest may say: the loader and the JSON Schema agree on every row, and a refusal names a place and no content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval import model_manifest
from openmed_mlx_eval.model_manifest.entries import Entry, FileFact, ManifestError, entry_of, is_inside

SCHEMA = json.loads((Path(model_manifest.__file__).parent / "manifest.schema.json").read_text("utf-8"))
DIGEST = "0123456789abcdef" * 4
FULL = Entry(
    "a-model_1.0",
    repository="owner/a",
    revision=DIGEST[:40],
    artifact_repository="owner/a-mlx",
    path="models/a",
    architecture="bert",
    family="bert",
    languages=("de", "en"),
    labels=("NAME",),
    parameters=7,
    window=512,
    formats=("mlx-fp",),
    parity={"logits": 1e-6},
    files={"config.json": FileFact(DIGEST, 3), "tokenizer/tokenizer.json": FileFact(DIGEST, 0)},
)


def accepted_by_schema(row: Any) -> bool:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator({**SCHEMA["$defs"]["model"], "$defs": SCHEMA["$defs"]})
    return bool(validator.is_valid(row))


def accepted_by_loader(row: Any) -> bool:
    try:
        entry_of(row, 1)
    except ManifestError:
        return False
    return True


PIECES = st.sampled_from(["a", "config.json", "..", ".", "", " ", "C:", "\\", "~", "é", "\0"])
PATHS = st.one_of(st.lists(PIECES, max_size=4).map("/".join), st.sampled_from(["/etc/x", "a/../b", "a/./b", "a//b", "a/", "..a"]))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 3),
        st.floats(0.25, 3.75),
        PATHS,
        st.sampled_from([DIGEST, DIGEST[:40], DIGEST.upper(), "owner/name", "-x/y", "owner/na me", "x" * 201, "name"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(PATHS, inner, max_size=2),
        st.fixed_dictionaries({"sha256": inner, "bytes": inner}),
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*FULL.to_json(), "other"]), VALUES, max_size=3), st.booleans())
def test_loader_and_schema_accept_the_same_rows(changes: dict[str, Any], whole: bool) -> None:
    row = {**(FULL.to_json() if whole else {"name": "a"}), **changes}
    assert accepted_by_loader(row) == accepted_by_schema(row)


@given(PATHS, st.fixed_dictionaries({"sha256": st.sampled_from([DIGEST, DIGEST[1:]]), "bytes": st.integers(-1, 1)}))
def test_loader_and_schema_accept_the_same_files(name: str, fact: dict[str, Any]) -> None:
    row = {"name": "a", "files": {name: fact}}
    assert accepted_by_loader(row) == accepted_by_schema(row)


@given(st.one_of(VALUES, st.lists(VALUES, max_size=1)))
def test_a_row_that_is_no_object_with_a_name_is_refused(row: Any) -> None:
    with pytest.raises(ManifestError, match="entry 3"):
        entry_of(row, 3)


def test_an_entry_comes_back_from_json_as_it_was() -> None:
    assert entry_of(json.loads(json.dumps(FULL.to_json())), 1) == FULL
    assert set(FULL.to_json()) == set(SCHEMA["$defs"]["model"]["properties"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("path", "../QZX"),
        ("path", "/QZX"),
        ("files", {"../QZX": {"sha256": DIGEST, "bytes": 1}}),
        ("files", {"a": {"sha256": "QZX", "bytes": 1}}),
        ("revision", "main-QZX"),
        ("repository", "https://QZX/a"),
        ("name", "QZX/a"),
        ("parameters", True),
        ("labels", "QZX"),
    ],
)
def test_a_wrong_value_is_told_by_its_key_and_ordinal_and_not_quoted(key: str, value: Any) -> None:
    with pytest.raises(ManifestError, match=f"entry 7: {key} must be ") as caught:
        entry_of({"name": "a", key: value}, 7)
    assert "QZX" not in str(caught.value)


def test_an_unknown_key_is_refused_and_not_quoted() -> None:
    with pytest.raises(ManifestError, match="1 unknown keys – known are name, ") as caught:
        entry_of({"name": "a", "QZX": 1}, 1)
    assert "QZX" not in str(caught.value)


@given(PATHS)
def test_a_path_inside_stays_inside(path: str) -> None:
    folder = Path("/somewhere/model")
    if is_inside(path):
        joined = folder / path
        assert joined.resolve() != folder
        assert joined.resolve().is_relative_to(folder)
