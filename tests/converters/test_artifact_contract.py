"""What is checked when an artifact is opened – hashes, names in its manifest – and pickles, which only convert reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoints import TEXT, config_of, random_tensors, write_checkpoint

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    convert(write_checkpoint(tmp_path / "source"), tmp_path / "out", Options(bits=8, group_size=32))
    return tmp_path / "out"


def change_manifest(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, **changes}), "utf-8")


FILES = ("config.json", "id2label.json", "tokenizer.json", "tokenizer_config.json", "weights.safetensors")


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_refused(artifact: Path, name: str) -> None:
    data = bytearray((artifact / name).read_bytes())
    if name == "weights.safetensors":
        data[-1] ^= 1
    else:
        data += b" "  # still the same JSON
    (artifact / name).write_bytes(data)
    with pytest.raises(ModelError, match=rf"{name} is not the file that was converted"):
        open_artifact(artifact)
    open_artifact(artifact, verify=False)


def test_no_verify_runs_a_changed_artifact_and_says_so(program: Callable[..., Any], artifact: Path, tmp_path: Path) -> None:
    from openmed_mlx_eval.demo import corpus_path

    (artifact / "tokenizer_config.json").write_text("{ }", "utf-8")
    arguments = ("run", "--model", artifact, "--corpus", corpus_path(), "--engine", "numpy", "--limit", 1, "--json")
    refused = program(*arguments)
    assert refused.code == 1 and "tokenizer_config.json is not the file that was converted" in refused.err
    assert "--no-verify" in refused.err
    done = program(*arguments, "--no-verify")
    assert done.code == 0 and done.json()["config"]["verify"] is False


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_by_name(artifact: Path, name: str) -> None:
    (artifact / name).unlink()
    with pytest.raises(ModelError, match=r"missing|none of its weights"):
        open_artifact(artifact)


def test_every_file_is_listed_and_every_used_file_must_be(artifact: Path) -> None:
    manifest = json.loads((artifact / MANIFEST).read_text("utf-8"))
    assert set(manifest["sha256"]) == set(FILES) == {path.name for path in artifact.iterdir()} - {MANIFEST}
    change_manifest(artifact, sha256={name: digest for name, digest in manifest["sha256"].items() if name != "tokenizer.json"})
    with pytest.raises(ModelError, match=r"does not list tokenizer\.json"):
        open_artifact(artifact)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "C:\\x", "..\\x", "a\0b", ""])
def test_a_name_that_leads_out_is_refused(artifact: Path, name: str) -> None:
    manifest = json.loads((artifact / MANIFEST).read_text("utf-8"))
    for change in ({"sha256": {**manifest["sha256"], name: ""}}, {"preferred_weights": name, "fallback_weights": [name]}):
        (artifact / MANIFEST).write_text(json.dumps({**manifest, **change}), "utf-8")
        if name or "sha256" in change:
            with pytest.raises(ModelError):
                open_artifact(artifact)


@pytest.mark.parametrize("table", [[], "x", {".": "x"}, {"config.json": 3}])
def test_a_hash_table_that_is_none_is_refused(artifact: Path, table: Any) -> None:
    change_manifest(artifact, sha256=table)
    with pytest.raises(ModelError):
        open_artifact(artifact)


def write_pickle(folder: Path, shards: int = 1, **save: Any) -> Path:
    torch = pytest.importorskip("torch")
    (folder / "model.safetensors").unlink()
    tensors = {name: torch.from_numpy(values) for name, values in random_tensors(config_of("bert")).items()}
    tensors["bert.embeddings.position_ids"] = torch.arange(80)[None]
    if shards == 1:
        torch.save(tensors, folder / "pytorch_model.bin", **save)
        return folder
    table = {name: f"pytorch_model-{number % shards}.bin" for number, name in enumerate(tensors)}
    for file in set(table.values()):
        torch.save({name: value for name, value in tensors.items() if table[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": table}))
    return folder


@pytest.mark.parametrize(
    ("shards", "save"), [(1, {}), (3, {}), (1, {"_use_new_zipfile_serialization": False})], ids=["zip", "shards", "of torch 1.5"]
)
def test_a_pickle_converts_to_what_safetensors_converts_to(tmp_path: Path, shards: int, save: dict[str, Any]) -> None:
    convert(write_checkpoint(tmp_path / "plain"), tmp_path / "expected")
    source = write_pickle(write_checkpoint(tmp_path / "source"), shards, **save)
    with pytest.raises(ModelError, match="openmed-mlx-eval convert DIR OUT"):
        open_artifact(source)
    convert(source, tmp_path / "out")
    text = [TokenClassifier.load(tmp_path / name, engine="numpy").logits(TEXT)[1] for name in ("expected", "out")]
    assert np.array_equal(*text)


def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    source = write_pickle(write_checkpoint(tmp_path / "source"))
    torch.save({"classifier.weight": Bomb(tmp_path / "exploded")}, source / "pytorch_model.bin")
    with pytest.raises(ModelError, match="refuses it as unsafe"):
        convert(source, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"source"}


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_a_pickle_without_torch_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_checkpoint(tmp_path / "source")
    (source / "model.safetensors").rename(source / "pytorch_model.bin")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match="pip install torch"):
        convert(source, tmp_path / "out")
