"""Parity with transformers' Longformer, live: windows a layer, global tokens, batches with a mask, sequences up to the window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import LONG, VOCABULARY, build
from runtime.tiny_models import network_logits
from test_transformers_logits import assert_parity, engines, saved, sequences

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.runtime.artifact import open_artifact

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

WINDOWS = [4, 16, [4, 16], [64, 8], 512]
"""All of a model divide the widest, and none is 2: there transformers fails."""


@pytest.mark.parametrize("ids", [None, [2], [1, 7, 11]], ids=["no global tokens", "one id", "three ids, padding's among them"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_ragged_batch_up_to_the_window(tmp_path: Path, window: Any, ids: list[int] | None) -> None:
    marked = {"global_attention_token_ids": ids} if ids else {}
    model = build("Longformer", {**LONG, "attention_window": window, **marked}, 41)
    folder = saved(tmp_path, model)
    assert open_artifact(folder).window == 64
    assert_parity(folder, model, sequences((5, 1, 33, 17, 17, 64, 63, 2, 64)))


@pytest.mark.parametrize("ids", [None, [2, 9]], ids=["no global tokens", "global tokens"])
def test_far_beyond_the_window_of_attention(tmp_path: Path, ids: list[int] | None) -> None:
    """512 tokens, where both engines cut a sequence into blocks."""
    marked = {"global_attention_token_ids": ids} if ids else {}
    config = {**LONG, "max_position_embeddings": 514, "attention_window": [32, 64], **marked}
    model = build("Longformer", config, 42)
    assert_parity(saved(tmp_path, model), model, sequences((512, 1, 511, 130, 130)))


def test_a_padded_batch_of_transformers(tmp_path: Path) -> None:
    """What stands behind a shorter sequence is seen there by nobody, as here there is nothing."""
    model = build("Longformer", {**LONG, "attention_window": 8}, 43)
    folder = saved(tmp_path, model)
    ids = [one[one != 1] for one in sequences((40, 7, 23))]
    longest = max(map(len, ids))
    padded = torch.tensor(np.stack([np.pad(one, (0, longest - len(one)), constant_values=1) for one in ids]).astype(np.int64))
    mask = torch.tensor(np.stack([np.arange(longest) < len(one) for one in ids]).astype(np.int64))
    with torch.no_grad():
        expected = model(padded, attention_mask=mask).logits.numpy()
    for engine in engines():
        for mine, theirs in zip(network_logits(folder, engine, ids), expected, strict=True):
            assert np.abs(mine - theirs[: len(mine)]).max() < 1e-4


@pytest.mark.parametrize("bits", [8, 4])
def test_quantised_artifact_computes_what_its_dequantised_weights_say(tmp_path: Path, bits: int) -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "attention_window": [4, 16], "global_attention_token_ids": [2]}
    model = build("Longformer", {**LONG, **sizes}, 44)
    convert(saved(tmp_path / "source", model), tmp_path / "out", Options(bits=bits, group_size=32))
    artifact = open_artifact(tmp_path / "out")
    names = artifact.checkpoint.quantized()
    assert "encoder.layers.0.attention.key_global_proj" in names
    theirs = {ours: name for name, ours in artifact.family.names.items()}
    state = model.state_dict()
    for name in names:
        layer = name.split(".")[2] if ".layers." in name else ""
        original = theirs[name.replace(f".{layer}.", ".{i}.")].replace("{i}", layer)
        base = "" if name == "classifier" else "longformer."
        state[f"{base}{original}.weight"].copy_(torch.from_numpy(artifact.checkpoint.matrix(name).float32()))
    assert_parity(tmp_path / "out", model, sequences((5, 33, 17)))


def test_without_marked_tokens_transformers_has_none_global(tmp_path: Path) -> None:
    """What a pipeline does: its logits are those of a mask of zeros, and change where a token is marked."""
    model = build("Longformer", {**LONG, "attention_window": 4}, 45)
    ids = torch.tensor(np.random.default_rng(0).integers(2, VOCABULARY, (1, 40)))
    zeros = torch.zeros_like(ids)
    marked = zeros.clone()
    marked[0, 0] = 1
    with torch.no_grad():
        plain, none, one = (model(ids, global_attention_mask=mask).logits for mask in (None, zeros, marked))
    assert torch.equal(plain, none)
    assert (plain - one).abs().max() > 1e-2
