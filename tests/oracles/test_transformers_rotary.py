"""Parity of the rotary families with transformers, live: far beyond the local window, old and new configuration keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import BIASES, DECODER, ROTARY, build, reference
from runtime.tiny_models import byte_bpe
from test_transformers_logits import TOLERANCE, assert_parity, engines, saved, sequences

from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier

LONG = {**ROTARY, "max_position_embeddings": 512}
RAGGED = (400, 1, 7, 150, 150, 512)
TEXT = "Biopsy of the left kidney: nephritis.  Dr Ødegård saw 🩺 Quill on ward 7.\n" * 3


@pytest.mark.parametrize("window", [2, 10, 63, 128, 2000])
def test_modernbert_far_beyond_its_local_window(tmp_path: Path, window: int) -> None:
    model = build("ModernBert", {**LONG, "local_attention": window}, 21)
    assert_parity(saved(tmp_path, model), model, sequences(RAGGED))


@pytest.mark.parametrize("bias", [*BIASES, "none"])
def test_modernbert_biases_are_where_the_configuration_says(tmp_path: Path, bias: str) -> None:
    model = build("ModernBert", {**LONG, "local_attention": 8, bias: True}, 22)
    folder = saved(tmp_path, model)
    names = {"norm_bias": "final_norm", "attention_bias": "encoder.layers.1.attention.qkv_proj", "mlp_bias":
             "encoder.layers.0.mlp.wi_proj", "classifier_bias": "head.dense"}  # fmt: skip
    checkpoint = open_artifact(folder).checkpoint
    assert {key for key, name in names.items() if f"{name}.bias" in checkpoint} == {bias} & set(BIASES)
    assert_parity(folder, model, sequences((90, 3)))


def rewritten(folder: Path, **changes: Any) -> None:
    """config.json with these keys; None takes a key out."""
    config = json.loads((folder / "config.json").read_text("utf-8")) | changes
    kept = {key: value for key, value in config.items() if value is not None or key not in changes}
    (folder / "config.json").write_text(json.dumps(kept), "utf-8")


@pytest.mark.parametrize("every", [1, 2, 4])
def test_modernbert_as_transformers_4_wrote_it(tmp_path: Path, every: int) -> None:
    from transformers import AutoModelForTokenClassification

    model = build("ModernBert", {**LONG, "local_attention": 8}, 23)
    folder = saved(tmp_path, model)
    old = {"global_attn_every_n_layers": every, "global_rope_theta": 80000.0, "local_rope_theta": 500.0}
    rewritten(folder, layer_types=None, rope_parameters=None, **old)
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    assert model.config.layer_types.count("full_attention") == 4 // every
    assert_parity(folder, model, sequences((90, 3)))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sliding", [{}, {"sliding_window": 7, "max_window_layers": 1}, {"sliding_window": 40}], ids=str)
def test_qwen3_sees_what_it_sees_in_transformers(tmp_path: Path, causal: bool, sliding: dict[str, Any]) -> None:
    windowed = {"use_sliding_window": True, "max_window_layers": 0, **sliding} if sliding else {}
    direction = {} if causal else {"is_causal": False}
    model = build("Qwen3", {**DECODER, "max_position_embeddings": 512, **windowed, **direction}, 25)
    ids = sequences(RAGGED)
    assert_parity(saved(tmp_path, model), model, ids)
    changed = ids[0].copy()
    changed[3] = changed[3] + 1 if changed[3] < 20 else 4
    first, second = reference(model, [ids[0], changed])
    assert (first[:3] == second[:3]).all() == causal


@pytest.mark.parametrize("heads", [(4, 4), (4, 1), (6, 3)])
def test_qwen3_shares_key_heads(tmp_path: Path, heads: tuple[int, int]) -> None:
    config = {**DECODER, "num_attention_heads": heads[0], "num_key_value_heads": heads[1], "attention_bias": True}
    model = build("Qwen3", config, 26)
    assert_parity(saved(tmp_path, model), model, sequences((136, 1, 50, 50)))


@pytest.mark.parametrize(("stem", "config"), [("Qwen3", DECODER), ("EuroBert", ROTARY)], ids=["qwen3", "eurobert"])
def test_one_rotary_base_as_transformers_4_wrote_it(tmp_path: Path, stem: str, config: dict[str, Any]) -> None:
    from transformers import AutoModelForTokenClassification

    folder = saved(tmp_path, build(stem, config, 27))
    rewritten(folder, rope_parameters=None, layer_types=None, rope_theta=700.0, rope_scaling=None)
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    assert_parity(folder, model, sequences((90, 3)))


@pytest.mark.parametrize("heads", [(4, 4), (4, 1), (4, 2)])
def test_eurobert_shares_key_heads_over_the_whole_text(tmp_path: Path, heads: tuple[int, int]) -> None:
    config = {**LONG, "num_attention_heads": heads[0], "num_key_value_heads": heads[1], "mlp_bias": heads[1] == 1}
    model = build("EuroBert", config, 28)
    # transformers' own float32 is 1.3e-4 from its float64 here, the engines' 5e-5.
    assert_parity(saved(tmp_path, model), model, sequences(RAGGED), tolerance=2e-4)


STEMS = [("ModernBert", ROTARY), ("Qwen3", DECODER), ("EuroBert", ROTARY)]


@pytest.mark.parametrize(("stem", "config"), STEMS, ids=[stem for stem, _ in STEMS])
@pytest.mark.parametrize("special", [True, False])
def test_byte_level_text_gives_transformers_logits(tmp_path: Path, stem: str, config: dict[str, Any], special: bool) -> None:
    tokenizer = byte_bpe([TEXT], trim=False, special=special)
    model = build(stem, {**config, "max_position_embeddings": 512, "vocab_size": tokenizer.get_vocab_size()}, 24)
    folder = saved(tmp_path, model)
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = np.array(tokenizer.encode(TEXT).ids, dtype=np.int32)
    expected = reference(model, [ids])[0][1:-1] if special else reference(model, [ids])[0]
    for engine in engines():
        classifier = TokenClassifier.load(folder, engine=engine, device="cpu")
        assert classifier.window == 512 - 2 * special
        encoded, logits = classifier.logits(TEXT)
        assert np.array_equal(encoded.ids, ids[1:-1] if special else ids)
        assert np.abs(logits - expected).max() < TOLERANCE
