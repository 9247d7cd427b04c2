"""Operations counted from the configuration, by hand; the peaks are numbers, and shares are of them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from runtime.tiny_models import bert_config, bert_tensors, write_model

from openmed_mlx_eval.latency import roofline
from openmed_mlx_eval.latency.roofline import flops_per_token, roofline_block, weight_bytes
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.families.base import Sight
from openmed_mlx_eval.runtime.footprint import is_table

GOLDEN = Path(__file__).parents[1] / "data" / "golden"

HIDDEN, INNER, LAYERS, LABELS, LENGTH = 32, 48, 2, 5, 17
MATRICES = LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER) + LABELS * HIDDEN


def test_the_operations_of_a_bert_are_those_counted_by_hand(tiny_model: Path) -> None:
    artifact = open_artifact(tiny_model)
    assert flops_per_token(artifact, LENGTH) == 2 * MATRICES + LAYERS * 2 * 2 * LENGTH * HIDDEN
    assert weight_bytes(artifact, 4) == 4 * MATRICES


def test_a_projection_of_embeddings_counts_and_their_tables_do_not(tmp_path: Path) -> None:
    config = bert_config("electra", embedding_size=16)
    tensors = bert_tensors(config, "electra.")
    for name in list(tensors):
        if "embeddings." in name:
            tensors[name] = tensors[name][..., :16]
    tensors |= {"electra.embeddings_project.weight": np.ones((HIDDEN, 16)), "electra.embeddings_project.bias": np.ones(HIDDEN)}
    artifact = open_artifact(write_model(tmp_path / "electra", config, tensors))
    assert weight_bytes(artifact, 1) == MATRICES + HIDDEN * 16


@pytest.mark.parametrize("length", [1, 2, 9, 17, 200])
@pytest.mark.parametrize(("before", "after"), [(None, None), (None, 0), (4, 4), (3, 0), (300, 8)])
def test_tokens_seen_are_those_of_a_mask_counted(length: int, before: int | None, after: int | None) -> None:
    distance = np.arange(length) - np.arange(length)[:, None]
    seen = (distance >= -(length if before is None else before)) & (distance <= (length if after is None else after))
    assert roofline._seen(Sight(1, before, after), length) == seen.sum()


@pytest.mark.parametrize("folder", ["modernbert", "longformer", "longformer-global", "privacy-filter", "qwen3"])
def test_a_window_costs_what_is_in_it(folder: str) -> None:
    """Far beyond every window a token of a longer text costs no more; where a layer sees all, it does."""
    artifact = open_artifact(GOLDEN / folder)
    layers = artifact.family.sight(artifact.config)
    assert len(layers) == artifact.config["num_hidden_layers"]
    unbounded = sum(4 * one.width for one in layers if one.before is None or one.after is None)
    grown = flops_per_token(artifact, 200_000) - flops_per_token(artifact, 100_000)
    causal = folder == "qwen3"
    assert grown == pytest.approx(unbounded * (50_000 if causal else 100_000), rel=1e-3, abs=2)


def test_of_experts_those_chosen_count_and_what_few_tokens_go_through_does_not() -> None:
    experts = open_artifact(GOLDEN / "privacy-filter")
    one = {name: math.prod(shape[1:]) for name, shape in experts.family.shapes(experts.config).items() if len(shape) == 3}
    chosen = experts.family.chosen(experts.config)
    assert 1 < chosen < experts.config["num_local_experts"]
    whole = weight_bytes(experts, 1)
    plain = dataclasses.replace(experts, family=dataclasses.replace(experts.family, stacks=()))
    assert whole - weight_bytes(plain, 1) == chosen * sum(one.values())
    local = open_artifact(GOLDEN / "longformer")
    counted = dataclasses.replace(local, family=dataclasses.replace(local.family, seldom=()))
    width, layers = local.config["hidden_size"], local.config["num_hidden_layers"]
    assert weight_bytes(counted, 1) - weight_bytes(local, 1) == layers * 3 * width * width


def test_projections_of_relative_positions_are_made_at_load_and_cost_no_token_anything() -> None:
    """They raised the share of a DeBERTa-v2 that has its own by a sixth."""
    own = open_artifact(GOLDEN / "deberta-v2")
    assert not own.config["share_att_key"]
    c = own.config
    width, inner, layers = c["hidden_size"], c["intermediate_size"], c["num_hidden_layers"]
    linear = layers * (4 * width * width + 2 * width * inner) + c["num_labels"] * width + width * c["embedding_size"]
    assert flops_per_token(own, LENGTH) == 2 * linear + layers * 4 * LENGTH * width


def test_packed_weights_are_read_packed(tmp_path: Path) -> None:
    from openmed_mlx_eval.converters import Options, convert

    source, target = write_model(tmp_path / "whole"), tmp_path / "four"
    convert(source, target, Options(bits=4, group_size=32))
    whole, four = open_artifact(source), open_artifact(target)
    assert four.checkpoint.quantized()
    assert weight_bytes(four, 4) == weight_bytes(four, 4, packed=False) == weight_bytes(whole, 4)
    assert weight_bytes(whole, 2, packed=True) == weight_bytes(whole, 2)
    layers = [stem for stem in four.checkpoint.quantized() if not is_table(stem)]
    values = sum(math.prod(four.checkpoint.matrix(stem).shape) for stem in layers)
    scale = four.checkpoint.tensors[f"{layers[0]}.scales"].array.itemsize
    saved = weight_bytes(four, 2) - weight_bytes(four, 2, packed=True)
    assert saved == values * 2 - values / 2 - values / 32 * 2 * scale > 0


@pytest.mark.parametrize("engine", ["numpy", "mlx"])
def test_shares_are_of_the_peaks_measured(tiny_model: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    if engine == "mlx":
        pytest.importorskip("mlx.core")
    for name, value in (("MATRIX", 64), ("STREAM_MIB", 1), ("SECONDS", 0.0), ("ATTEMPTS", 1)):
        monkeypatch.setattr(roofline, name, value)
    classifier = TokenClassifier.load(tiny_model, engine=engine, device="cpu")
    cells = [{"length": LENGTH, "batch": 3, "tokens": 3 * LENGTH, "forward_ms": {"median": 2.0}}]
    block = roofline_block(classifier, cells)
    (cell,) = block["cells"]
    assert cell["flops"] == 3 * LENGTH * flops_per_token(classifier.artifact, LENGTH)
    assert cell["flops_per_second"] == pytest.approx(cell["flops"] / 0.002)
    assert cell["matmul_share"] == pytest.approx(cell["flops_per_second"] / block["matmul_flops_per_second"])
    assert cell["bandwidth_share"] == pytest.approx(block["weight_bytes"] / 0.002 / block["bandwidth_bytes_per_second"])
    assert cell["bound"] in ("arithmetic", "memory")
    assert roofline_block(classifier, [])["cells"] == []


def test_the_best_of_several_attempts_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 3.0, 3.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0, 9.5])
    monkeypatch.setattr(roofline.time, "perf_counter", lambda: next(times))
    assert roofline.best_seconds(lambda: None) == 1.0
