"""Parity of the Privacy Filter with transformers, live: far beyond its window, every rotary scaling, padded batches, text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_golden import EXPERTS, build, reference
from runtime.test_privacy_filter import TEXT, o200k_like
from runtime.tiny_models import network_logits
from test_transformers_logits import assert_parity, engines, saved, sequences

from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.decoding import softmax
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.families.privacy_filter import PrivacyFilterConfig
from openmed_mlx_eval.runtime.weights import numbered, translated

LONG = {**EXPERTS, "max_position_embeddings": 512}
RAGGED = (400, 1, 7, 150, 150, 512)
STEM = "OpenAIPrivacyFilter"


@pytest.mark.parametrize("window", [0, 1, 31, 128, 600])
def test_windows_to_both_sides(tmp_path: Path, window: int) -> None:
    model = build(STEM, {**LONG, "sliding_window": window}, 31)
    assert_parity(saved(tmp_path, model), model, sequences(RAGGED), tolerance=2e-4)


ROPES: list[dict[str, Any]] = [
    {"rope_type": "default", "rope_theta": 500.0},
    {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "truncate": False, "rope_theta": 1000.0},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 256, "beta_fast": 8.0, "beta_slow": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "attention_factor": 0.8},
]


@pytest.mark.parametrize("rope", ROPES, ids=lambda rope: "-".join(map(str, rope.values())))
def test_rotary_scaling(tmp_path: Path, rope: dict[str, Any]) -> None:
    model = build(STEM, {**LONG, "head_dim": 16, "rope_parameters": rope}, 32)
    assert_parity(saved(tmp_path, model), model, sequences((512, 3, 90)), tolerance=2e-4)


@pytest.mark.parametrize("rope", [None, *ROPES], ids=str)
@pytest.mark.parametrize("width", [8, 64])
def test_frequencies_and_attention_factor(rope: dict[str, Any] | None, width: int) -> None:
    import transformers
    from transformers.models.openai_privacy_filter.modeling_openai_privacy_filter import OpenAIPrivacyFilterRotaryEmbedding

    config = transformers.OpenAIPrivacyFilterConfig(head_dim=width, rope_parameters=rope and dict(rope))
    theirs = OpenAIPrivacyFilterRotaryEmbedding(config)
    ours = PrivacyFilterConfig.of({**config.to_dict(), "num_labels": 33}).rope
    assert np.allclose(ours.frequencies(width), theirs.inv_freq.numpy(), rtol=5e-7, atol=0)
    assert ours.attention == pytest.approx(theirs.attention_scaling, rel=1e-12)


@pytest.mark.parametrize(("experts", "chosen"), [(1, 1), (8, 8), (40, 1), (40, 4)])
def test_few_and_many_experts(tmp_path: Path, experts: int, chosen: int) -> None:
    model = build(STEM, {**LONG, "num_local_experts": experts, "num_experts_per_tok": chosen}, 33)
    assert_parity(saved(tmp_path, model), model, sequences(RAGGED), tolerance=2e-4)


def test_a_padded_batch_of_transformers(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = build(STEM, {**LONG, "sliding_window": 5}, 34)
    folder, ids = saved(tmp_path, model), sequences((60, 1, 33))
    padded, mask = np.zeros((3, 60), dtype=np.int64), np.zeros((3, 60), dtype=np.int64)
    for row, sequence in enumerate(ids):
        padded[row, : len(sequence)], mask[row, : len(sequence)] = sequence, 1
    with torch.no_grad():
        theirs = model(torch.tensor(padded), attention_mask=torch.tensor(mask)).logits.numpy()
    for engine in engines():
        for mine, rows in zip(network_logits(folder, engine, ids), theirs, strict=True):
            assert np.abs(mine - rows[: len(mine)]).max() < 2e-4


def test_text_by_its_own_kind_of_tokenizer(tmp_path: Path) -> None:
    """Ids, logits and, with transformers' pipeline, spans of a text that has a special token's name in it."""
    import transformers

    tokenizer = o200k_like()
    labels = dict(enumerate(["O", *(f"{prefix}-{name}" for name in ("private_person", "secret") for prefix in "BIES")]))
    named = {"id2label": labels, "label2id": {label: i for i, label in labels.items()}}
    model = build(STEM, {**LONG, "vocab_size": tokenizer.get_vocab_size(), **named}, 35)
    folder = saved(tmp_path, model)
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|endoftext|>")
    wrapped.save_pretrained(folder)
    ids = np.array(wrapped(TEXT)["input_ids"], dtype=np.int32)
    expected = reference(model, [ids])[0]
    for engine in engines():
        classifier = TokenClassifier.load(folder, engine=engine, device="cpu")
        encoded, logits = classifier.logits(TEXT)
        assert classifier.window == 512
        assert np.array_equal(encoded.ids, ids)
        assert np.abs(logits - expected).max() < 2e-4
        assert np.abs(softmax(logits) - softmax(expected)).max() < 1e-4
        assert {span.label for span in next(iter(classifier.predict([TEXT])))} <= {"private_person", "secret"}


@pytest.mark.parametrize("labels", [33, 221])
def test_the_published_configuration_names_every_tensor(labels: int) -> None:
    """1.5 billion parameters on torch's meta device: OpenAI's labels, and as many as the Nemotron form has."""
    torch = pytest.importorskip("torch")
    import transformers

    config = transformers.OpenAIPrivacyFilterConfig(num_labels=labels)
    with torch.device("meta"):
        model = transformers.OpenAIPrivacyFilterForTokenClassification(config)
    family = family_of(config.to_dict())
    found = {}
    for name, tensor in model.state_dict().items():
        ours = translated(name.removeprefix("model."), family.names)
        pattern, number = numbered(ours)
        found[family.layout.scaled.get(pattern, (ours, 1.0))[0].replace("{i}", number)] = tuple(tensor.shape)
    assert found == family.shapes({**config.to_dict(), "num_labels": labels})
    assert family.window(config.to_dict() | {"num_labels": labels}) == 131072
