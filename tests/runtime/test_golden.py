"""Parity with transformers without transformers: both engines on the golden models that tests/make_golden.py wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier

from .tiny_models import network_logits

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
FOLDERS = (
    "bert", "camembert", "deberta-v2", "deberta-v2-convolved", "deberta-v3", "distilbert", "electra", "electra-narrow",
    "modernbert", "modernbert-biased", "eurobert", "eurobert-biased", "qwen3", "qwen3-bidirectional", "roberta", "xlm-roberta",
    "privacy-filter", "privacy-filter-plain",
    "longformer", "longformer-global", "bilstm-crf",
)  # fmt: skip


def expected(folder: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The sequences' ids and logits."""
    with np.load(GOLDEN / folder / "expected.npz") as stored:
        cuts = np.cumsum(stored["lengths"])[:-1]
        return np.split(stored["ids"], cuts), np.split(stored["logits"], cuts)


def test_no_golden_folder_is_left_out() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("engine", ["numpy", "mlx"])
def test_ragged_batch_gives_the_logits_of_transformers(folder: str, engine: str) -> None:
    if engine == "mlx":
        pytest.importorskip("mlx.core")
    ids, logits = expected(folder)
    found = network_logits(GOLDEN / folder, engine, ids)
    assert [len(rows) for rows in found] == [len(sequence) for sequence in ids]
    for mine, theirs in zip(found, logits, strict=True):
        assert np.abs(mine - theirs).max() < 1e-4


@pytest.mark.parametrize("folder", FOLDERS)
def test_window_is_the_longest_sequence_transformers_took(folder: str) -> None:
    ids, _ = expected(folder)
    artifact = open_artifact(GOLDEN / folder)
    assert artifact.window == max(map(len, ids))
    longest = max(ids, key=len)
    assert artifact.family.positions(artifact.config, longest).max() < artifact.config.get(
        "max_position_embeddings", artifact.window
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_golden_model_takes_a_text_longer_than_its_window(folder: str) -> None:
    encoded, logits = TokenClassifier.load(GOLDEN / folder, engine="numpy").logits("nephritis of the left kidney . " * 100)
    assert len(encoded.ids) == len(logits) == 800
    assert np.isfinite(logits).all()
