"""Artifacts with openmed-mlx.json: what its manifest may say, where its paths may lead, and the hashes it lists."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError, UsageError
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact, sha256
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.families import BERT

from .faults import Break, halved, rewritten, written
from .tiny_models import bert_config, bert_tensors, openmed_names, write_model

TEXT = "biopsy of the left kidney , nephritis ."


def manifested(folder: Path, **changes: Any) -> Path:
    """An artifact with openmed-mlx.json, as OpenMed's converter writes it."""
    config = bert_config()
    write_model(folder, config, openmed_names(bert_tensors(config, ""), BERT.names))
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    (folder / "id2label.json").write_text(json.dumps(config["id2label"]), "utf-8")
    manifest = {
        "format": "openmed-mlx",
        "format_version": 2,
        "task": "token-classification",
        "preferred_weights": "weights.safetensors",
        "fallback_weights": ["weights.npz"],
        "config_path": "config.json",
        "label_map_path": "id2label.json",
        "tokenizer": {"path": "."},
        **changes,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    return folder


def test_manifest_and_plain_directory_compute_the_same(tmp_path: Path) -> None:
    plain, artifact = write_model(tmp_path / "plain"), manifested(tmp_path / "artifact")
    expected, found = (TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1] for folder in (plain, artifact))
    assert np.array_equal(expected, found)


@pytest.mark.parametrize("key", ["config_path", "label_map_path", "preferred_weights"])
@pytest.mark.parametrize(
    "path", ["../outside.json", "a/../../outside.json", "/etc/hosts", "..\\outside.json", "C:\\x.json", "\0", "link.json"]
)
def test_manifest_paths_never_leave_the_directory(tmp_path: Path, key: str, path: str) -> None:
    (tmp_path / "outside.json").write_text('{"0": "O"}', "utf-8")
    folder = manifested(tmp_path / "model", **{key: path})
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(ModelError, match="leads out of the model directory – refused"):
        open_artifact(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": "gguf"}, "not format openmed-mlx"),
        ({"format_version": 3}, "version 1 or 2"),
        ({"format_version": [2]}, "version 1 or 2"),
        ({"task": "text-generation"}, "its task is none of token-classification, zero-shot-ner"),
        ({"preferred_weights": "weights.npz", "fallback_weights": []}, "none of its weights"),
        ({"fallback_weights": "weights.npz"}, "fallback_weights is not a list"),
        ({"preferred_weights": {"a": 1}}, "no file name"),
        ({"config_path": ["config.json"]}, "no file name"),
        ({"label_map_path": "absent.json"}, "absent.json is missing"),
        ({"tokenizer": {"path": ".."}}, "leads out of the model directory"),
        ({"tokenizer": {"path": ["."]}}, "no file name|tokenizer.json is missing"),
        ({"quantization": {"bits": 3}}, "bits must be 2, 4 or 8"),
        ({"quantization": {"bits": [4]}}, "bits must be 2, 4 or 8"),
        ({"quantization": {"bits": 4, "group_size": 16}}, "group_size 32, 64 or 128"),
        ({"quantization": {"bits": 4, "mode": "mxfp4"}}, "affine"),
        ({"quantization": "q4"}, "affine"),
        ({"sha256": []}, "sha256 is not an object"),
        ({"sha256": {"weights.safetensors": "00"}}, "sha256 does not list config.json"),
    ],
)
def test_manifest_faults(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    folder = manifested(tmp_path / "model", **changes)
    with pytest.raises(ModelError, match=says):
        open_artifact(folder)


@pytest.mark.parametrize(
    "fault",
    [halved("weights.safetensors"), written("tokenizer.json", b"{"), rewritten("openmed-mlx.json", quantization="q4")],
    ids=["weights", "tokenizer", "manifest"],
)
def test_a_hash_that_differs_is_said_before_what_else_it_broke(tmp_path: Path, fault: Break) -> None:
    """Files are parsed while they are hashed; which of the two fails first is chance, what is said is not."""
    folder = manifested(tmp_path / "model")
    hashes = {path.name: sha256(path) for path in folder.iterdir() if path.name != MANIFEST}
    rewritten(MANIFEST, sha256={**hashes, "id2label.json": "00"})(folder)
    fault(folder)
    with pytest.raises(ModelError, match="is not the file that was converted"):
        TokenClassifier.load(folder, engine="numpy")
    with pytest.raises(ModelError, match="is not the file that was converted"):
        TokenClassifier.load(folder, engine="numpy", stride=1 << 20)
    with pytest.raises(ModelError, match=r"^(?!.*SHA-256).+"):
        TokenClassifier.load(folder, engine="numpy", verify=False)


def test_hashes_that_agree_are_compared_beside_the_tokenizer(tmp_path: Path) -> None:
    folder = manifested(tmp_path / "model")
    hashes = {path.name: sha256(path) for path in folder.iterdir() if path.name != MANIFEST}
    rewritten(MANIFEST, sha256=hashes)(folder)
    before = set(threading.enumerate())  # another test's may be ending
    assert TokenClassifier.load(folder, engine="numpy").artifact.hashes().items() >= hashes.items()
    assert set(threading.enumerate()) <= before


ODD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
MANIFEST_KEYS = ("format", "format_version", "task", "preferred_weights", "fallback_weights", "config_path", "label_map_path",
                 "tokenizer", "quantization", "sha256")  # fmt: skip


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return manifested(tmp_path_factory.mktemp("artifact") / "model")


@settings(max_examples=150)
@given(name=st.sampled_from([MANIFEST, "config.json", "id2label.json"]), data=st.data())
def test_any_value_of_any_key_is_read_or_a_model_error(artifact: Path, name: str, data: st.DataObject) -> None:
    original = (artifact / name).read_bytes()
    table = json.loads(original)
    key = data.draw(st.sampled_from(sorted(table) if name != MANIFEST else MANIFEST_KEYS))
    table[key] = data.draw(ODD_JSON)
    (artifact / name).write_text(json.dumps(table), "utf-8")
    try:
        list(TokenClassifier.load(artifact, engine="numpy").predict([TEXT]))
    except (ModelError, UsageError):
        pass
    finally:
        (artifact / name).write_bytes(original)


@settings(max_examples=150)
@given(
    name=st.sampled_from([MANIFEST, "config.json", "id2label.json", "tokenizer.json"]),
    position=st.integers(min_value=0),
    content=st.binary(max_size=4),
    cut=st.booleans(),
)
def test_any_bytes_in_a_file_are_read_or_a_model_error(
    artifact: Path, name: str, position: int, content: bytes, cut: bool
) -> None:
    """Some bytes written over the file's own, and the rest of it cut off or not."""
    original = (artifact / name).read_bytes()
    at = position % (len(original) + 1)
    (artifact / name).write_bytes(original[:at] + content + (b"" if cut else original[at + len(content) :]))
    try:
        list(TokenClassifier.load(artifact, engine="numpy").predict([TEXT]))
    except ModelError:
        pass
    finally:
        (artifact / name).write_bytes(original)


@pytest.mark.parametrize("name", [MANIFEST, "config.json", "id2label.json", "tokenizer.json", "weights.safetensors"])
def test_an_empty_file_of_an_artifact_is_named(tmp_path: Path, name: str) -> None:
    folder = manifested(tmp_path / "model")
    (folder / name).write_bytes(b"")
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        TokenClassifier.load(folder, engine="numpy")
