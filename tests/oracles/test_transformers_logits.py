"""Parity with transformers, live: fresh random models of every architecture, activation and stored type, whole and sharded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import CASES, DISTIL, ENCODER, VOCABULARY, build, reference, window_of
from runtime.tiny_models import network_logits, word_piece

from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.engines.base import ACTIVATIONS

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # on models this small its threads only wait for each other
pytest.importorskip("transformers")

TOLERANCE = 1e-4
RAGGED = (5, 1, 33, 17, 17)


def engines() -> list[str]:
    """Both, where both are here."""
    from importlib.util import find_spec

    return ["numpy", "mlx"] if find_spec("mlx") else ["numpy"]


def saved(folder: Path, model: Any, **options: Any) -> Path:
    model.save_pretrained(folder, **options)
    word_piece().save(str(folder / "tokenizer.json"))
    return folder


def sequences(lengths: tuple[int, ...], seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, VOCABULARY, length).astype(np.int32) for length in lengths]


def assert_parity(folder: Path, model: Any, ids: list[Any], tolerance: float = TOLERANCE) -> None:
    expected = reference(model.float(), ids)
    for engine in engines():
        for mine, theirs in zip(network_logits(folder, engine, ids), expected, strict=True):
            assert np.abs(mine - theirs).max() < tolerance, engine


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("stem", "config"), [case[1::2] for case in CASES], ids=[case[0] for case in CASES])
def test_every_architecture_in_every_stored_type(tmp_path: Path, stem: str, config: dict[str, Any], dtype: str) -> None:
    model = build(stem, config, 11, dtype)
    folder = saved(tmp_path, model)
    assert open_artifact(folder).dtype == dtype
    assert_parity(folder, model, sequences((*RAGGED, window_of(config))))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(tmp_path: Path, activation: str) -> None:
    model = build("Bert", {**ENCODER, "hidden_act": activation}, 12)
    assert_parity(saved(tmp_path, model), model, sequences(RAGGED))
    model = build("DistilBert", {**DISTIL, "activation": activation}, 12)
    assert_parity(saved(tmp_path / "distilbert", model), model, sequences(RAGGED))


@pytest.mark.parametrize("case", ["Bert", "Roberta"])
def test_shards_give_the_logits_of_the_whole(tmp_path: Path, case: str) -> None:
    model = build(case, {**ENCODER, "hidden_size": 48}, 13)
    folder = saved(tmp_path, model, max_shard_size="40KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    assert_parity(folder, model, sequences(RAGGED))


@pytest.mark.parametrize("positions", [514, 130])
def test_roberta_window_ends_where_transformers_own_table_ends(tmp_path: Path, positions: int) -> None:
    config = {**ENCODER, "max_position_embeddings": positions, "pad_token_id": 1}
    model = build("Roberta", config, 14)
    folder = saved(tmp_path, model)
    window = open_artifact(folder).window
    assert window == positions - 2
    content = sequences((window, window - 1), seed=1)
    content = [np.where(ids == 1, 5, ids).astype(np.int32) for ids in content]
    assert_parity(folder, model, content)
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        reference(model, [np.full(window + 1, 5, dtype=np.int32)])


def test_text_through_the_classifier_gives_transformers_logits(tmp_path: Path) -> None:
    model = build("Electra", {**ENCODER, "embedding_size": 24}, 15)
    folder = saved(tmp_path, model)
    text = "biopsy of the left kidney , nephritis . ward 7"
    ids = np.array(word_piece().encode(text).ids, dtype=np.int32)
    expected = reference(model, [ids])[0][1:-1]
    for engine in engines():
        _, logits = TokenClassifier.load(folder, engine=engine, device="cpu").logits(text)
        assert np.abs(logits - expected).max() < TOLERANCE


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_arithmetic_stays_near_float32(tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("mlx.core")
    model = build("Bert", ENCODER, 16)
    folder = saved(tmp_path, model)
    text = "biopsy of the left kidney , nephritis . ward 7 " * 3
    exact = TokenClassifier.load(folder, engine="numpy").logits(text)[1]
    rough = TokenClassifier.load(folder, engine="mlx", device="cpu", dtype=dtype).logits(text)[1]
    assert 0 < np.abs(rough - exact).max() < (0.02 if dtype == "float16" else 0.2) * np.abs(exact).max()
