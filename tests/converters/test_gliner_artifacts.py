"""GLiNER models as artifacts: what they compute is what they were made of, in each storage, and OpenMed's runtime reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.tiny_gliner import ASKED, FOLDERS, GOLDEN, TEXTS
from runtime.tiny_gliner import changed as golden

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.parity import proof_of_parity
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact
from openmed_mlx_eval.runtime.safetensors import StoredTensor
from openmed_mlx_eval.runtime.span_classifier import SpanClassifier
from openmed_mlx_eval.runtime.weights import Matrix, Quantization


def load(folder: Path, **options: Any) -> SpanClassifier:
    return SpanClassifier.load(folder, **{"engine": "numpy", "device": "cpu", "labels": ASKED, **options})


def scores(folder: Path, **options: Any) -> np.ndarray:
    classifier = load(folder, **options)
    return np.concatenate(classifier.forward(classifier.encoder.encode(TEXTS)))


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_artifact_computes_what_its_source_computes(tmp_path: Path, folder: str) -> None:
    made = convert(GOLDEN / folder, tmp_path / "out", proofs=[proof_of_parity])
    assert made.manifest["task"] == "zero-shot-ner"
    assert made.manifest["family"] == "gliner-uni-encoder-span"
    assert made.manifest["prompt_spec"] == {"entity_token": "<<ENT>>", "separator_token": "<<SEP>>"}
    assert made.manifest["parity"]["passed"]
    assert np.abs(scores(tmp_path / "out") - scores(GOLDEN / folder)).max() < 1e-5
    again = convert(tmp_path / "out", tmp_path / "again")
    assert (tmp_path / "again" / "weights.safetensors").read_bytes() == (tmp_path / "out" / "weights.safetensors").read_bytes()
    assert again.manifest["family"] == made.manifest["family"]


@pytest.mark.parametrize("bits", [8, 4])
def test_a_quantised_artifact_is_the_same_on_both_engines(tmp_path: Path, bits: int) -> None:
    pytest.importorskip("mlx.core")
    source = golden(tmp_path / "source", "deberta-plain")
    made = convert(source, tmp_path / "out", Options(bits=bits, group_size=32))
    plain = made.manifest["quantization"]["unquantized"]
    assert "span_rep_layer.out_project.linear1" not in plain
    assert open_artifact(tmp_path / "out").checkpoint.quantized()
    one, other = (scores(tmp_path / "out", engine=engine) for engine in ("numpy", "mlx"))
    assert np.abs(one - other).max() < 2e-4
    apart = np.abs(one - scores(source)).max()
    assert 0 < apart < (0.5 if bits == 8 else 12)


def test_recurrent_layers_stay_whole(tmp_path: Path) -> None:
    convert(GOLDEN / "bert", tmp_path / "out", Options(bits=8, group_size=32))
    assert not [name for name in open_artifact(tmp_path / "out").checkpoint.quantized() if name.startswith("rnn.")]


def test_keep_classifier_keeps_what_scores_spans(tmp_path: Path) -> None:
    convert(GOLDEN / "deberta-plain", tmp_path / "out", Options(bits=8, group_size=32, keep=("classifier",)))
    names = open_artifact(tmp_path / "out").checkpoint.quantized()
    assert names and not [name for name in names if name.startswith(("span_rep_layer", "prompt_rep_layer"))]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes(tmp_path: Path, dtype: str) -> None:
    convert(GOLDEN / "bert", tmp_path / "out", Options(dtype=dtype))
    assert open_artifact(tmp_path / "out").dtype == dtype
    limit = {"float32": 1e-5, "float16": 0.05, "bfloat16": 0.5}[dtype]
    assert np.abs(scores(tmp_path / "out") - scores(GOLDEN / "bert")).max() < limit


@pytest.mark.parametrize("cut", [(0, 64), (64, 128), (32, 96), (20, 50)])
def test_columns_of_a_quantised_matrix_are_those_of_its_values(cut: tuple[int, int]) -> None:
    from openmed_mlx_eval.converters.quantization import quantize

    values = np.random.default_rng(1).normal(0, 1, (5, 128)).astype(np.float32)
    how = Quantization(4, 32)
    parts = [StoredTensor("w", kind, part) for kind, part in zip(("U32", "F32", "F32"), quantize(values, how), strict=True)]
    matrix = Matrix(parts[0], parts[1], parts[2], how)
    assert np.array_equal(matrix.columns(*cut).float32(), matrix.float32()[:, slice(*cut)])
    assert (matrix.columns(*cut).quantization is None) == (cut == (20, 50))


def test_a_pickle_is_converted_and_never_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    source = golden(tmp_path / "source", "deberta")
    from openmed_mlx_eval.runtime.safetensors import open_safetensors

    tensors = {name: torch.tensor(tensor.float32()) for name, tensor in open_safetensors(source / "model.safetensors").items()}
    torch.save(tensors, source / "pytorch_model.bin")
    (source / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="pickle"):
        load(source)
    convert(source, tmp_path / "out")
    assert np.abs(scores(tmp_path / "out") - scores(GOLDEN / "deberta")).max() < 1e-4


def test_config_of_the_artifact_is_flat_and_names_no_label_of_its_encoder(tmp_path: Path) -> None:
    convert(GOLDEN / "deberta", tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert config["encoder_hidden_size"] == 32 and config["hidden_size"] == 24
    assert not {"encoder_config", "id2label", "num_labels"} & set(config)
    assert not (tmp_path / "out" / "id2label.json").exists()


@pytest.mark.parametrize("changes", [{"task": "zero-shot-relation-extraction"}, {"task": 3}])
def test_another_task_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    convert(GOLDEN / "deberta", tmp_path / "out")
    path = tmp_path / "out" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")
    with pytest.raises(ModelError, match="its task is none of token-classification, zero-shot-ner"):
        load(tmp_path / "out")


@pytest.mark.parametrize("options", [Options("float32"), Options("float32", 8, 32)], ids=["float32", "8-bit"])
def test_our_artifact_runs_in_openmed_with_the_same_spans(tmp_path: Path, options: Options) -> None:
    """With a projection and one recurrent layer, which OpenMed's model always has."""
    for name in ("mlx.core", "openmed.mlx.inference", "transformers"):
        pytest.importorskip(name)
    from openmed.mlx.inference import create_mlx_pipeline

    source = golden(tmp_path / "source", "deberta")
    names = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "PAD", "CLS", "SEP")}
    (source / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **names}), "utf-8")
    convert(source, tmp_path / "out", options)
    theirs = create_mlx_pipeline(str(tmp_path / "out"))
    for text, spans in zip(TEXTS, load(tmp_path / "out").predict(TEXTS), strict=True):
        want = theirs.predict_entities(text, list(ASKED))
        assert [(span.start, span.end, span.label) for span in spans] == [
            (one["start"], one["end"], one["label"]) for one in want
        ]
        assert np.allclose([span.score for span in spans], [one["score"] for one in want], atol=1e-4)
