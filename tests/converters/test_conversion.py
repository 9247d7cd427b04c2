"""Conversion: what is converted computes what its source computes, and what cannot be converted leaves nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoints import LABELS, MODEL_TYPES, TEXT, config_of, random_tensors, write_checkpoint, write_weights

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.converters.manifest import source_of
from openmed_mlx_eval.errors import EvaluationError, ModelError, UsageError
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.safetensors import open_safetensors


def logits(folder: Path) -> Any:
    return TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1]


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text("utf-8"))


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_artifact_gives_its_sources_logits_bit_for_bit(tmp_path: Path, model_type: str) -> None:
    source = write_checkpoint(tmp_path / "source", model_type)
    made = convert(source, tmp_path / "out")
    assert np.array_equal(logits(source), logits(tmp_path / "out"))
    assert {path.name for path in tmp_path.iterdir()} == {"source", "out"}
    assert made.manifest == manifest_of(tmp_path / "out")
    assert made.manifest["window"] == open_artifact(source).window
    assert open_artifact(tmp_path / "out").labels == LABELS


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_artifact_converts_again_to_itself(tmp_path: Path, model_type: str) -> None:
    convert(write_checkpoint(tmp_path / "source", model_type), tmp_path / "first")
    convert(tmp_path / "first", tmp_path / "second")
    for name in ("weights.safetensors", "id2label.json", "tokenizer.json"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


@pytest.mark.parametrize("stored", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize("dtype", [None, "float32", "float16", "bfloat16"])
def test_values_are_rounded_once(tmp_path: Path, stored: str, dtype: str | None) -> None:
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    source = write_checkpoint(tmp_path / "source")
    tensors = {name: torch.tensor(values).to(kinds[stored]) for name, values in random_tensors(config_of("bert")).items()}
    save_file(tensors, source / "model.safetensors")
    convert(source, tmp_path / "out", Options(dtype=dtype))
    expected = "float32" if stored == "F64" else str(kinds[stored]).removeprefix("torch.")
    written = open_safetensors(tmp_path / "out" / "weights.safetensors")["classifier.weight"]
    right = tensors["classifier.weight"].to(torch.float32).to(getattr(torch, dtype or expected))
    assert np.array_equal(written.float32(), right.float().numpy())
    assert manifest_of(tmp_path / "out")["dtype"] == (dtype or expected)
    assert json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))["torch_dtype"] == (dtype or expected)


def test_written_file_is_read_by_the_reference_library(tmp_path: Path) -> None:
    load_file = pytest.importorskip("safetensors.numpy").load_file
    convert(write_checkpoint(tmp_path / "source"), tmp_path / "out", Options(bits=4, group_size=32))
    theirs = load_file(tmp_path / "out" / "weights.safetensors")
    ours = open_safetensors(tmp_path / "out" / "weights.safetensors")
    assert set(theirs) == set(ours)
    assert all(np.array_equal(theirs[name], ours[name].array) for name in ours)


def test_layers_that_do_not_divide_stay_plain_and_are_listed(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", hidden=96)
    said = convert(source, tmp_path / "out", Options(bits=8, group_size=64)).manifest["quantization"]
    artifact = open_artifact(tmp_path / "out")
    assert artifact.checkpoint.quantized() == ["encoder.layers.0.linear2", "encoder.layers.1.linear2"]
    plain = {name.removesuffix(".weight") for name, t in open_artifact(source).checkpoint.tensors.items() if len(t.shape) == 2}
    assert set(said["unquantized"]) == plain - set(artifact.checkpoint.quantized())
    assert np.abs(logits(source) - logits(tmp_path / "out")).max() < 0.1


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_eight_bits_stay_close_and_four_bits_less_so(tmp_path: Path, model_type: str) -> None:
    source = write_checkpoint(tmp_path / "source", model_type)
    whole = logits(source)
    error = {}
    for bits in (8, 4):
        convert(source, tmp_path / str(bits), Options(bits=bits, group_size=32))
        error[bits] = np.sqrt(np.mean((logits(tmp_path / str(bits)) - whole) ** 2)) / whole.std()
    assert error[8] < 0.15  # of random weights, which amplify what trained ones do not
    assert 4 * error[8] < error[4] < 1


@pytest.mark.parametrize("options", [Options(bits=8, group_size=32), Options(bits=4, group_size=32), Options(dtype="bfloat16")])
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_both_engines_read_an_artifact_alike(tmp_path: Path, model_type: str, options: Options) -> None:
    pytest.importorskip("mlx.core")
    convert(write_checkpoint(tmp_path / "source", model_type), tmp_path / "out", options)
    plain = logits(tmp_path / "out")
    mlx = TokenClassifier.load(tmp_path / "out", engine="mlx", device="cpu").logits(TEXT)[1]
    assert np.abs(plain - mlx).max() < 1e-3


@pytest.mark.parametrize(("model_type", "epsilon"), [("bert", 1e-12), ("deberta-v2", 1e-7)])
def test_an_epsilon_left_out_is_written_as_transformers_has_it(tmp_path: Path, model_type: str, epsilon: float) -> None:
    source = write_checkpoint(tmp_path / "source", model_type)
    assert "layer_norm_eps" not in json.loads((source / "config.json").read_text("utf-8"))
    convert(source, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))["layer_norm_eps"] == epsilon


@pytest.mark.parametrize("keep", [("classifier",), ("embeddings",), ("classifier", "embeddings")])
def test_what_is_kept_is_not_quantised(tmp_path: Path, keep: tuple[str, ...]) -> None:
    source = write_checkpoint(tmp_path / "source")
    convert(source, tmp_path / "out", Options(bits=8, group_size=32, keep=keep))
    artifact = open_artifact(tmp_path / "out")
    for word in ("classifier", "embeddings"):
        quantized = [name for name in artifact.checkpoint.quantized() if name.split(".")[0] == word]
        assert (quantized == []) == (word in keep)


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [(np.nan, None, "not finite"), (np.inf, None, "not finite"), (70_000, "float16", "too large for F16")],
)
def test_bad_values_are_named_and_leave_nothing(tmp_path: Path, value: float, dtype: str | None, words: str) -> None:
    tensors = random_tensors(config_of("bert"))
    tensors["classifier.bias"][1] = value
    source = write_checkpoint(tmp_path / "source", tensors=tensors)
    with pytest.raises(ModelError, match=rf"'classifier\.bias'.*{words}"):
        convert(source, tmp_path / "out", Options(dtype=dtype))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openmed_mlx_eval.converters import conversion

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    source = write_checkpoint(tmp_path / "source")
    monkeypatch.setattr(conversion, "_copy_tokenizer", full)
    with pytest.raises(EvaluationError, match="No space left"):
        convert(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_quantised_source_is_refused(tmp_path: Path) -> None:
    convert(write_checkpoint(tmp_path / "source"), tmp_path / "q8", Options(bits=8, group_size=32))
    with pytest.raises(ModelError, match="quantised already"):
        convert(tmp_path / "q8", tmp_path / "q4", Options(bits=4, group_size=32))


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", vocab_size=9)
    with pytest.raises(ModelError, match="embedding table only 9 rows"):
        convert(source, tmp_path / "out")


class TestTarget:
    def test_is_never_the_source_nor_holds_it(self, tmp_path: Path) -> None:
        source = write_checkpoint(tmp_path / "a" / "source")
        for target in (source, source / ".." / "source", tmp_path / "a", tmp_path):
            with pytest.raises(UsageError, match="never replaces its source"):
                convert(source, target, Options(force=True))
        link = tmp_path / "link"
        link.symlink_to(source)
        with pytest.raises(UsageError, match="never replaces its source"):
            convert(source, link, Options(force=True))
        assert (source / "model.safetensors").is_file()

    def test_that_exists_needs_force(self, tmp_path: Path) -> None:
        source = write_checkpoint(tmp_path / "source")
        convert(source, tmp_path / "out")
        before = (tmp_path / "out" / "weights.safetensors").read_bytes()
        with pytest.raises(UsageError, match="OUT exists"):
            convert(source, tmp_path / "out", Options(dtype="float16"))
        assert (tmp_path / "out" / "weights.safetensors").read_bytes() == before
        convert(source, tmp_path / "out", Options(dtype="float16", force=True))
        assert open_artifact(tmp_path / "out").dtype == "float16"
        assert {path.name for path in tmp_path.iterdir()} == {"source", "out"}

    def test_that_is_no_artifact_is_never_replaced(self, tmp_path: Path) -> None:
        source = write_checkpoint(tmp_path / "source")
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.txt").write_text("x")
        with pytest.raises(UsageError, match="no artifact"):
            convert(source, tmp_path / "thesis", Options(force=True))
        assert (tmp_path / "thesis" / "chapter.txt").read_text() == "x"

    def test_that_fails_to_be_replaced_is_as_it_was(self, tmp_path: Path) -> None:
        source = write_checkpoint(tmp_path / "source")
        convert(source, tmp_path / "out")
        tensors = random_tensors(config_of("bert"))
        tensors["classifier.bias"][0] = np.nan
        (source / "model.safetensors").unlink()
        write_weights(source / "model.safetensors", tensors)
        with pytest.raises(ModelError):
            convert(source, tmp_path / "out", Options(force=True))
        assert open_artifact(tmp_path / "out").labels == LABELS

    def test_comes_back_where_the_last_rename_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = write_checkpoint(tmp_path / "source")
        convert(source, tmp_path / "out")
        rename = Path.rename

        def failing(self: Path, target: Path) -> Path:
            if self.name.startswith(".converting-"):
                raise OSError(5, "Input/output error")
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", failing)
        with pytest.raises(EvaluationError, match="Input/output error"):
            convert(source, tmp_path / "out", Options(dtype="float16", force=True))
        assert open_artifact(tmp_path / "out").dtype == "float32"
        assert {path.name for path in tmp_path.iterdir()} == {"source", "out"}


def test_no_path_of_this_machine_is_written(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", _name_or_path=str(tmp_path / "private" / "run-7"))
    manifest = convert(source, tmp_path / "out").manifest
    for path in (tmp_path / "out").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()
    assert manifest["source"]["name"] == manifest["source_model_id"] == "source"


def test_the_hub_name_is_kept(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", _name_or_path="Some-Org/some.model_1")
    assert convert(source, tmp_path / "out").manifest["source"]["name"] == "Some-Org/some.model_1"


def test_a_snapshot_of_the_hugging_face_cache_says_name_and_revision(tmp_path: Path) -> None:
    """There every file is a link to ../../blobs, which is no way out of the model."""
    made = write_checkpoint(tmp_path / "made")
    repository = tmp_path / "models--Some-Org--some-model"
    snapshot = repository / "snapshots" / ("a1" * 20)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for path in made.iterdir():
        path.rename(repository / "blobs" / path.name)
        (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
    convert(snapshot, tmp_path / "out")
    assert source_of(open_artifact(snapshot)) == {"name": "Some-Org/some-model", "revision": "a1" * 20}
    assert not any(path.is_symlink() for path in (tmp_path / "out").iterdir())


def test_a_link_out_of_the_source_is_not_followed(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source")
    (tmp_path / "secret").write_text("x")
    (source / "vocab.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelError, match="out of the model directory"):
        convert(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
