"""Both ways between this project and openmed 3.1.0: either reads what the other converts, and finds the same tags.

The models are tiny, random and made by transformers, so their tags are arbitrary, and equal only if every tensor,
position and label is at its place.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_checkpoints import TEXT, config_of, write_tokenizer

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.parity import proof_of_parity
from openmed_mlx_eval.runtime.artifact import MANIFEST
from openmed_mlx_eval.runtime.classifier import TokenClassifier

Tags = list[tuple[int, int, str]]


@pytest.fixture(params=["bert", "distilbert", "roberta", "xlm-roberta", "camembert", "modernbert", "deberta-v2", "longformer"])
def model_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(tmp_path: Path, model_type: str) -> Path:
    for name in ("mlx.core", "openmed.mlx.inference"):
        pytest.importorskip(name)
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(5)
    config = transformers.AutoConfig.for_model(**config_of(model_type, initializer_range=0.2))
    folder = tmp_path / "source"
    transformers.AutoModelForTokenClassification.from_config(config).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def tags_here(folder: Path, engine: str = "numpy") -> Tags:
    classifier = TokenClassifier.load(folder, engine=engine, device="cpu")
    encoded, rows = classifier.logits(TEXT)
    tags = [classifier.artifact.labels[i] for i in rows.argmax(axis=-1)]
    return [(start, end, tag) for (start, end), tag in zip(encoded.offsets, tags, strict=True) if tag != "O"]


def tags_in_openmed(folder: Path) -> Tags:
    from openmed.mlx.inference import create_mlx_pipeline

    found = create_mlx_pipeline(str(folder), aggregation_strategy=None)(TEXT)
    return [(token["start"], token["end"], token["entity"]) for token in found]


OPTIONS = [
    Options(),
    Options(dtype="float16"),
    Options(bits=8, group_size=32),
    Options(bits=4, group_size=64, keep=("classifier",)),
]


@pytest.mark.parametrize("options", OPTIONS, ids=["float32", "float16", "8-bit", "4-bit"])
def test_our_artifact_runs_in_openmed_with_the_same_tags(source: Path, tmp_path: Path, options: Options) -> None:
    convert(source, tmp_path / "out", options)
    found = tags_here(tmp_path / "out")
    assert len(found) > 10
    if options.dtype == "float16":  # openmed computes in what is stored, numpy in float32
        assert len(set(found) ^ set(tags_in_openmed(tmp_path / "out"))) <= 2
    else:
        assert found == tags_in_openmed(tmp_path / "out") == tags_here(tmp_path / "out", "mlx")


@pytest.mark.parametrize("model_type", ["bert"], indirect=True)
def test_an_artifact_that_carries_its_proof_runs_in_openmed(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "out", Options(bits=8, group_size=32), proofs=[proof_of_parity])
    assert json.loads((tmp_path / "out" / MANIFEST).read_text("utf-8"))["parity"]["passed"]
    assert tags_here(tmp_path / "out") == tags_in_openmed(tmp_path / "out")


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_openmeds_artifact_runs_here_with_the_same_tags(source: Path, tmp_path: Path, model_type: str, bits: int | None) -> None:
    if model_type == "camembert":
        pytest.skip("openmed converts no CamemBERT")
    from openmed.mlx.convert import convert as openmed_convert

    openmed_convert(str(source), tmp_path / "theirs", quantize_bits=bits, quantize_group_size=32)
    found = tags_here(tmp_path / "theirs")
    assert len(found) > 10
    assert found == tags_here(tmp_path / "theirs", "mlx")
    if bits and model_type == "deberta-v2":  # it packs the relative positions, and then reads the packed words for rows
        with pytest.raises(ValueError, match="layer_norm"):
            tags_in_openmed(tmp_path / "theirs")
    else:
        assert found == tags_in_openmed(tmp_path / "theirs")


@pytest.mark.parametrize("bits", [None, 8])
def test_manifest_and_config_say_what_openmeds_say(source: Path, tmp_path: Path, model_type: str, bits: int | None) -> None:
    if model_type == "camembert":
        pytest.skip("openmed converts no CamemBERT")
    from openmed.mlx.convert import convert as openmed_convert

    openmed_convert(str(source), tmp_path / "theirs", quantize_bits=bits, quantize_group_size=32)
    convert(source, tmp_path / "ours", Options(bits=bits, group_size=32))
    ours, theirs = read(tmp_path, MANIFEST)
    different = {key for key in theirs if ours.get(key) != theirs[key]}
    allowed = {"source_model_id", "fallback_weights", "tokenizer", "quantization"}
    behind_padding = "roberta" in model_type or model_type == "longformer"
    assert different <= allowed | ({"max_sequence_length"} if behind_padding else set())
    assert (theirs["quantization"] or {}).items() <= (ours["quantization"] or {}).items()

    ours, theirs = read(tmp_path, "config.json")
    used = ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size",
            "max_position_embeddings", "type_vocab_size", "num_labels", "id2label",
            "norm_eps" if model_type == "modernbert" else "layer_norm_eps")  # fmt: skip
    marked = [key for key in theirs if key.startswith("_mlx_") and key != "_mlx_quantization"]
    assert {key: ours.get(key) for key in (*used, *marked)} == {key: theirs.get(key) for key in (*used, *marked)}
    assert (theirs.get("_mlx_quantization") or {}).items() <= (ours.get("_mlx_quantization") or {}).items()


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_tensors_are_openmeds_bit_for_bit(source: Path, tmp_path: Path, model_type: str, bits: int | None) -> None:
    if model_type == "camembert":
        pytest.skip("openmed converts no CamemBERT")
    import numpy as np
    from openmed.mlx.convert import convert as openmed_convert

    from openmed_mlx_eval.runtime.safetensors import open_safetensors

    openmed_convert(str(source), tmp_path / "theirs", quantize_bits=bits, quantize_group_size=32)
    convert(source, tmp_path / "ours", Options(bits=bits, group_size=32))
    ours, theirs = (open_safetensors(tmp_path / who / "weights.safetensors") for who in ("ours", "theirs"))
    for tensors in (ours, theirs) if bits else ():  # see above: the one layer that only they quantise
        for part in ("weight", "scales", "biases"):
            tensors.pop(f"deberta.encoder.rel_embeddings.{part}", None)
    assert set(ours) == set(theirs)
    assert all(np.array_equal(ours[name].array, theirs[name].array) for name in ours)


def read(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    ours, theirs = (json.loads((folder / who / name).read_text("utf-8")) for who in ("ours", "theirs"))
    return ours, theirs
