"""Parity with transformers' DeBERTa-v2: every kind of relative attention, its buckets, and sequences up to the window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import NO_BUCKETS, RELATIVE, build, reference
from test_transformers_logits import assert_parity, saved, sequences

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.families.deberta_v2 import DebertaConfig, rows_of_distances

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

VARIANTS: dict[str, dict[str, Any]] = {
    "v3": {},
    "own projections": {"share_att_key": False},
    "c2p": {"share_att_key": False, "pos_att_type": ["c2p"]},
    "p2c": {"pos_att_type": "p2c"},
    "no terms": {"pos_att_type": None},
    "no relative attention": {"relative_attention": False, "position_biased_input": True, "norm_rel_ebd": "none"},
    "v2": NO_BUCKETS,
    "distances beyond the table": {**NO_BUCKETS, "max_relative_positions": 5},
    "odd buckets": {"position_buckets": 7, "max_relative_positions": 30},
    "normalised with a bar": {"norm_rel_ebd": "layer_norm | other"},
    "convolved": {"conv_kernel_size": 3, "conv_act": "gelu"},
    "widely convolved": {"conv_kernel_size": 7, "conv_act": "tanh"},
    "narrow": {"embedding_size": 24, "type_vocab_size": 2, "position_biased_input": True},
    "other activation": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_ragged_batch_up_to_the_window(tmp_path: Path, variant: str) -> None:
    model = build("DebertaV2", {**RELATIVE, **VARIANTS[variant]}, 31)
    folder = saved(tmp_path, model)
    assert open_artifact(folder).window == 48
    assert_parity(folder, model, sequences((5, 1, 33, 17, 17, 48, 47, 2, 48)))


def test_sequences_beyond_one_block_of_attention_weights(tmp_path: Path) -> None:
    """512 tokens in the buckets of the published v3 models: several blocks a head, and distances in logarithmic steps."""
    model = build("DebertaV2", {**RELATIVE, "max_position_embeddings": 512, "position_buckets": 256}, 32)
    assert_parity(saved(tmp_path, model), model, sequences((512, 511, 200)))


@pytest.mark.parametrize("bits", [8, 4])
def test_quantised_artifact_computes_what_its_dequantised_weights_say(tmp_path: Path, bits: int) -> None:
    model = build("DebertaV2", {**RELATIVE, "hidden_size": 64, "intermediate_size": 96, "share_att_key": False}, 33)
    convert(saved(tmp_path / "source", model), tmp_path / "out", Options(bits=bits, group_size=32))
    checkpoint = open_artifact(tmp_path / "out").checkpoint
    names = checkpoint.quantized()
    assert "encoder.rel_embeddings" not in names
    assert "encoder.layer.1.attention.self.pos_query_proj" in names
    theirs = {"attention.out_proj": "attention.output.dense", "linear1": "intermediate.dense", "linear2": "output.dense"}
    state = model.state_dict()
    for name in names:
        original = next((name.replace(ours, hf) for ours, hf in theirs.items() if name.endswith(ours)), name)
        base = "" if name == "classifier" else "deberta."
        state[f"{base}{original}.weight"].copy_(torch.from_numpy(checkpoint.matrix(name).float32()))
    assert_parity(tmp_path / "out", model, sequences((5, 33, 17)))


@pytest.mark.parametrize(
    ("buckets", "farthest"), [(256, 512), (8, 48), (7, 48), (2, 48), (32, 512), (64, 128), (256, 1024), (-1, 512), (-1, 20)]
)
def test_buckets_are_those_of_transformers(buckets: int, farthest: int) -> None:
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    counts = {"vocab_size": 9, "num_labels": 2, "max_position_embeddings": farthest}
    c = DebertaConfig.of({**sizes, **counts, "position_buckets": buckets, "max_relative_positions": farthest})
    for length in (1, 2, 48, 512):
        tokens = torch.zeros(1, length, 1)
        square = build_relative_position(tokens, tokens, buckets, farthest)[0].numpy()
        expected = np.clip(square + c.span, 0, 2 * c.span - 1)
        index = np.arange(length)
        assert np.array_equal(rows_of_distances(length, c)[index[:, None] - index + length - 1], expected)


def test_a_position_beyond_the_window_fails_in_transformers_too(tmp_path: Path) -> None:
    model = build("DebertaV2", {**RELATIVE, **NO_BUCKETS}, 34)
    with pytest.raises((IndexError, RuntimeError)):
        reference(model, [np.full(49, 5, dtype=np.int32)])
