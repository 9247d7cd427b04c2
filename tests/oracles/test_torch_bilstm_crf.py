"""BiLSTM-CRF beside torch.nn.LSTM with packed sequences, live: depth, width, stored types, quantised artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import RECURRENT, VOCABULARY, build
from runtime.tiny_models import network_logits
from test_transformers_logits import engines, saved, sequences

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

TOLERANCE = 1e-5


def assert_parity(folder: Path, model: Any, ids: list[Any]) -> None:
    expected = model.float().packed(ids)
    for engine in engines():
        for mine, theirs in zip(network_logits(folder, engine, ids), expected, strict=True):
            assert np.abs(mine - theirs).max() < TOLERANCE, engine


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_packed_batches_of_any_lengths(tmp_path: Path, layers: int, dtype: str) -> None:
    model = build("BilstmCrf", {**RECURRENT, "num_layers": layers}, 51, dtype)
    folder = saved(tmp_path, model)
    assert open_artifact(folder).dtype == dtype
    assert_parity(folder, model, sequences((5, 1, 33, 17, 17, 48, 2)))


@pytest.mark.parametrize(("embedding", "hidden"), [(1, 1), (100, 128), (300, 7)])
def test_widths(tmp_path: Path, embedding: int, hidden: int) -> None:
    model = build("BilstmCrf", {**RECURRENT, "embedding_dim": embedding, "hidden_size": hidden, "num_layers": 1}, 52)
    with torch.no_grad():  # sums of hundreds of weights as large as the tiny models' would only show rounding
        for parameter in model.parameters():
            parameter.mul_(0.3)
    assert_parity(saved(tmp_path, model), model, sequences((9, 40, 1)))


def test_a_document_of_thousands_of_tokens(tmp_path: Path) -> None:
    """Many pieces of steps, one window."""
    model = build("BilstmCrf", RECURRENT, 53)
    del model.config.max_sequence_length
    folder = saved(tmp_path, model)
    ids = np.random.default_rng(0).integers(0, VOCABULARY, 3000).astype(np.int32)
    assert_parity(folder, model, [ids])


@pytest.mark.parametrize("bits", [8, 4])
def test_quantised_artifact_computes_what_its_dequantised_weights_say(tmp_path: Path, bits: int) -> None:
    model = build("BilstmCrf", {**RECURRENT, "embedding_dim": 32, "hidden_size": 32}, 54)
    convert(saved(tmp_path / "source", model), tmp_path / "out", Options(bits=bits, group_size=32))
    artifact = open_artifact(tmp_path / "out")
    names = artifact.checkpoint.quantized()
    inputs = [f"lstm.layers.{i}.{direction}.input" for i in (0, 1) for direction in ("backward", "forward")]
    assert names == ["classifier", "embeddings.word_embeddings", *inputs]
    theirs = {ours.removesuffix(".weight"): name.removesuffix(".weight") for name, ours in artifact.family.names.items()}
    state = model.state_dict()
    for name in names:
        original = "classifier" if name == "classifier" else theirs[name]
        stored = state[original if original in state else f"{original}.weight"]
        stored.copy_(torch.from_numpy(artifact.checkpoint.matrix(name).float32()))
    assert_parity(tmp_path / "out", model, sequences((5, 33, 17)))


def test_an_artifact_finds_the_spans_of_its_source(tmp_path: Path) -> None:
    folder = saved(tmp_path / "source", build("BilstmCrf", RECURRENT, 58))
    manifest = convert(folder, tmp_path / "out").manifest
    assert (manifest["family"], manifest["window"], manifest["tag_scheme"]) == ("bilstm-crf", 48, "IOB")
    text = "nephritis of the left kidney . quill , ward 7 " * 20
    for engine in engines():
        found = [
            list(TokenClassifier.load(model, engine=engine, device="cpu").predict([text])) for model in (folder, tmp_path / "out")
        ]
        assert found[0] == found[1]
        assert len(found[0][0]) > 10
