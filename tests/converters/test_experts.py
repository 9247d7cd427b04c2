"""Stacks of experts in an artifact: packed along their inputs as OpenMed packs them, routers never, what does not divide listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoints import TEXT, write_checkpoint

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.engines import open_engine
from openmed_mlx_eval.runtime.footprint import weight_bytes
from openmed_mlx_eval.runtime.safetensors import StoredTensor, open_safetensors
from openmed_mlx_eval.runtime.weights import Checkpoint


def source(tmp_path: Path, **config: Any) -> Path:
    return write_checkpoint(tmp_path / "source", "openai_privacy_filter", **config)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_stack_is_packed_as_mlx_packs_its_transpose(tmp_path: Path, bits: int, dtype: str) -> None:
    mx = pytest.importorskip("mlx.core")
    plain = open_artifact(source(tmp_path)).checkpoint.tensors["encoder.layers.1.mlp.down.weight"].float32()
    convert(tmp_path / "source", tmp_path / "out", Options(dtype=dtype, bits=bits, group_size=32))
    stored = open_safetensors(tmp_path / "out" / "weights.safetensors")
    with mx.stream(mx.cpu):
        rounded = mx.array(plain.swapaxes(1, 2)).astype(getattr(mx, dtype)).astype(mx.float32)
        words, scales, _ = mx.quantize(rounded, group_size=32, bits=bits)
        scales = scales.astype(getattr(mx, dtype)).astype(mx.float32)
    assert np.array_equal(stored["block.1.mlp.out.weight"].array, np.array(words))
    assert np.array_equal(stored["block.1.mlp.out.scales"].float32(), np.array(scales))
    experts = open_artifact(tmp_path / "out").checkpoint.experts("encoder.layers.1.mlp.down")
    worst = max(np.abs(experts.float32(number) - plain[number]).max() for number in range(len(plain)))
    assert 0 < worst < 3 / (2**bits - 1)


def test_routers_stay_plain_and_what_does_not_divide_is_listed(tmp_path: Path) -> None:
    made = convert(source(tmp_path, intermediate_size=48), tmp_path / "out", Options(bits=8, group_size=64))
    layers = [f"block.{i}.{part}" for i in (0, 1) for part in ("attn.out", "mlp.gate", "mlp.out")]
    assert sorted(made.manifest["quantization"]["unquantized"]) == layers
    checkpoint = open_artifact(tmp_path / "out").checkpoint
    assert "encoder.layers.0.mlp.gate_up" in checkpoint.quantized()
    assert checkpoint.parameters() == open_artifact(tmp_path / "source").checkpoint.parameters()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_packed_experts_in_half_precision(tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("mlx.core")
    convert(source(tmp_path), tmp_path / "out", Options(bits=8, group_size=32))
    plain = TokenClassifier.load(tmp_path / "out", engine="numpy").logits(TEXT)[1]
    half = TokenClassifier.load(tmp_path / "out", engine="mlx", device="cpu", dtype=dtype).logits(TEXT)[1]
    assert 0 < np.median(np.abs(half - plain)) < 0.05 * np.abs(plain).max()


@pytest.mark.parametrize("part", ["scales", "biases"])
def test_half_a_packed_stack_is_named(tmp_path: Path, part: str) -> None:
    convert(source(tmp_path), tmp_path / "out", Options(bits=4, group_size=32))
    artifact = open_artifact(tmp_path / "out")
    tensors = dict(artifact.checkpoint.tensors)
    lost = tensors.pop(f"encoder.layers.0.mlp.down.{part}")
    shapes = artifact.family.shapes(artifact.config)
    with pytest.raises(ModelError, match=r"1 misshapen \(encoder\.layers\.0\.mlp\.down\.weight \(quantised, but not as"):
        Checkpoint(tensors, artifact.quantization).check(shapes)
    cut = StoredTensor(lost.name, lost.dtype, lost.array[:, :, :1])
    with pytest.raises(ModelError, match=r"1 misshapen \(encoder\.layers\.0\.mlp\.down\.weight \(scales or biases do not fit"):
        Checkpoint({**tensors, f"encoder.layers.0.mlp.down.{part}": cut}, artifact.quantization).check(shapes)


def test_footprint_counts_experts(tmp_path: Path) -> None:
    convert(source(tmp_path), tmp_path / "out", Options(bits=8, group_size=32))
    whole, packed = (open_artifact(tmp_path / name) for name in ("source", "out"))
    numpy = open_engine("numpy", "cpu")
    assert weight_bytes(whole, numpy) == whole.checkpoint.parameters() * 4
    tables = [
        sum(tensor.array.nbytes for name, tensor in one.checkpoint.tensors.items() if "word_embeddings" in name)
        for one in (whole, packed)
    ]
    assert weight_bytes(packed, numpy) == weight_bytes(whole, numpy) - tables[0] + tables[1]  # unpacked, but for the table
