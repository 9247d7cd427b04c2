"""Quantised artifacts: what mx.quantize packs, both engines unpack alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.families import BERT
from openmed_mlx_eval.runtime.safetensors import open_safetensors
from openmed_mlx_eval.runtime.weights import Matrix, Quantization

from .tiny_models import as_safetensors, bert_config, bert_tensors, openmed_names, write_model

mx = pytest.importorskip("mlx.core")

TEXT = "biopsy of the left kidney , nephritis . ward 7 " * 6


def packed(values: Any, bits: int, group: int) -> dict[str, Any]:
    with mx.stream(mx.cpu):
        words, scales, biases = mx.quantize(mx.array(values), group_size=group, bits=bits)
        return {"weight": np.array(words), "scales": np.array(scales), "biases": np.array(biases)}


@pytest.mark.parametrize("stored", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matrix_unpacks_as_mlx_does(tmp_path: Path, bits: int, group: int, stored: str) -> None:
    values = np.random.default_rng(bits * group).normal(0, 1, (6, 256)).astype(np.float32)
    path = tmp_path / "q.safetensors"
    path.write_bytes(as_safetensors(packed(values, bits, group), stored))
    parts = open_safetensors(path)
    matrix = Matrix(parts["weight"], parts["scales"], parts["biases"], Quantization(bits, group))
    with mx.stream(mx.cpu):
        scales, biases = (mx.array(parts[name].float32()) for name in ("scales", "biases"))
        expected = np.array(mx.dequantize(mx.array(parts["weight"].array), scales, biases, group_size=group, bits=bits))
    assert matrix.shape == (6, 256)
    assert np.abs(matrix.float32() - expected).max() < 1e-6
    assert np.abs(matrix.float32() - values).max() < 6 / (2**bits - 1) + 0.05
    assert np.array_equal(matrix.float32(np.array([4, 1, 4])), matrix.float32()[[4, 1, 4]])


def quantized(
    folder: Path, bits: int, group: int, *, embeddings: bool = True, hidden: int = 128, leave: str = "", **changes: Any
) -> Path:
    """An artifact whose matrices are quantised where their width divides; the rest is plain."""
    config = bert_config(hidden_size=hidden, intermediate_size=160)
    tensors: dict[str, Any] = {}
    for name, values in openmed_names(bert_tensors(config, ""), BERT.names).items():
        stem = name.removesuffix(".weight")
        fits = values.ndim == 2 and values.shape[1] % group == 0 and (not leave or leave not in name)
        if fits and (embeddings or not name.startswith("embeddings.")):
            tensors |= {f"{stem}.{part}": array for part, array in packed(values, bits, group).items()}
        else:
            tensors[name] = values
    write_model(folder, config, tensors)
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    manifest = {"format": "openmed-mlx", "format_version": 2, "quantization": {"bits": bits, "group_size": group}, **changes}
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    return folder


@pytest.mark.parametrize("embeddings", [True, False])
@pytest.mark.parametrize(("bits", "group"), [(2, 32), (4, 32), (4, 64), (8, 32), (8, 128)])
def test_both_engines_agree(tmp_path: Path, bits: int, group: int, embeddings: bool) -> None:
    folder = quantized(tmp_path, bits, group, embeddings=embeddings)
    plain = TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1]
    mlx = TokenClassifier.load(folder, engine="mlx", device="cpu").logits(TEXT)[1]
    assert np.abs(plain - mlx).max() < 1e-3
    listed = open_artifact(folder).checkpoint.quantized()
    assert ("embeddings.word_embeddings" in listed) is embeddings
    assert "encoder.layers.0.attention.query_proj" in listed


def test_layers_that_do_not_divide_stay_plain(tmp_path: Path) -> None:
    artifact = open_artifact(quantized(tmp_path, 4, 64))  # 160 inputs of linear2 are no multiple of 64
    listed = artifact.checkpoint.quantized()
    assert "encoder.layers.0.linear1" in listed
    assert "encoder.layers.0.linear2" not in listed
    assert artifact.checkpoint.matrix("encoder.layers.0.linear2").quantization is None
    assert artifact.checkpoint.parameters() == sum(int(np.prod(values.shape)) for values in bert_tensors(
        bert_config(hidden_size=128, intermediate_size=160)).values())  # fmt: skip


def test_one_plain_layer_in_a_fused_product(tmp_path: Path) -> None:
    folder = quantized(tmp_path, 8, 32, leave="key_proj")
    plain, mlx = (TokenClassifier.load(folder, engine=e, device="cpu").logits(TEXT)[1] for e in ("numpy", "mlx"))
    assert np.abs(plain - mlx).max() < 1e-3


def test_eight_bits_stay_near_the_whole(tmp_path: Path) -> None:
    config = bert_config(hidden_size=128, intermediate_size=160)
    whole = TokenClassifier.load(write_model(tmp_path / "whole", config), engine="numpy").logits(TEXT)[1]
    eight = TokenClassifier.load(quantized(tmp_path / "eight", 8, 32), engine="numpy").logits(TEXT)[1]
    four = TokenClassifier.load(quantized(tmp_path / "four", 4, 32), engine="numpy").logits(TEXT)[1]
    assert 0 < np.abs(eight - whole).mean() < np.abs(four - whole).mean()
    assert np.abs(eight - whole).mean() < 0.1 * np.abs(whole).mean()


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (None, "does not say with how many bits"),
        ({"bits": 8, "group_size": 32}, "do not fit 8 bits in groups of 32"),
        ({"bits": 4, "group_size": 64}, "do not fit 4 bits in groups of 64"),
        ({"bits": 4, "group_size": 128}, "do not fit 4 bits in groups of 128"),
    ],
)
def test_a_manifest_that_says_otherwise(tmp_path: Path, said: Any, says: str) -> None:
    folder = quantized(tmp_path, 4, 32, quantization=said)
    with pytest.raises(ModelError, match=says):
        open_artifact(folder)


@pytest.mark.parametrize("lost", ["scales", "biases"])
def test_half_a_quantised_layer(tmp_path: Path, lost: str) -> None:
    folder = quantized(tmp_path, 4, 32)
    tensors = {name: tensor.array for name, tensor in open_safetensors(folder / "weights.safetensors").items()}
    kept = {name: values for name, values in tensors.items() if name != f"classifier.{lost}"}
    (folder / "cut.safetensors").write_bytes(as_safetensors(kept))
    manifest = json.loads((folder / MANIFEST).read_text("utf-8")) | {"preferred_weights": "cut.safetensors"}
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ModelError, match=r"classifier\.weight \(quantised, but not as packed uint32 with scales and biases\)"):
        open_artifact(folder)
