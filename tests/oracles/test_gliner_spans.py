"""Parity with the gliner package: tiny random models of each kind that is run here, from the directory its save_pretrained writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_gliner_golden import BERT, DEBERTA, build, found, reference
from make_golden import DISTIL, NO_BUCKETS
from runtime.tiny_gliner import ASKED, TEXTS
from runtime.tiny_models import WORDS, deberta_unigram

from openmed_mlx_eval.runtime.span_classifier import SpanClassifier

torch = pytest.importorskip("torch")
pytest.importorskip("gliner")
pytest.importorskip("mlx.core")

PROJECTED = {"encoder_config": DEBERTA, "hidden_size": 20, "max_width": 4, "max_len": 60}
VARIANTS: dict[str, dict[str, Any]] = {
    "deberta, projected, LSTM": PROJECTED,
    "deberta, no projection": {**PROJECTED, "hidden_size": 32},
    "deberta, no LSTM": {**PROJECTED, "num_rnn_layers": 0},
    "deberta-v2": {**PROJECTED, "encoder_config": {**DEBERTA, **NO_BUCKETS, "max_position_embeddings": 160}},
    "bert": {**PROJECTED, "encoder_config": BERT},
    "bert, no LSTM": {**PROJECTED, "encoder_config": BERT, "num_rnn_layers": 0},
    "bert, three LSTMs": {**PROJECTED, "encoder_config": BERT, "num_rnn_layers": 3},
    "distilbert": {**PROJECTED, "encoder_config": {"model_type": "distilbert", **DISTIL, "max_position_embeddings": 160}},
    "roberta": {
        **PROJECTED,
        "encoder_config": {**BERT, "model_type": "roberta", "pad_token_id": 0, "max_position_embeddings": 160},
    },
    "electra, narrow": {**PROJECTED, "encoder_config": {**BERT, "model_type": "electra", "embedding_size": 16}},
    "the token behind <<ENT>>": {**PROJECTED, "embed_ent_token": False},
    "one word": {**PROJECTED, "max_width": 1},
    "wider than the text": {**PROJECTED, "max_width": 30},
}
MORE = (
    *TEXTS,
    "Fever, fever-fever_5: ward of the lung 🩺🩺 left\n\n\nkidneys.",
    "á İpek Öz ½ ﬁ … 腎臓と肺",
    "nephrectomy " * 20,
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_and_spans(tmp_path: Path, variant: str) -> None:
    model = build(VARIANTS[variant], 41)
    assert_parity(tmp_path / "m", model, list(ASKED), MORE)


@pytest.mark.parametrize("multilingual", [False, True])
def test_a_tokenizer_as_deberta_v3_has_it(tmp_path: Path, multilingual: bool) -> None:
    from tokenizers import AddedToken

    pieces = ["▁", *(f"▁{word}" for word in WORDS if word[0].isalpha()), *"abcdefghijklmnopqrstuvwxyz.,:-5", "▁腎", "臓"]
    tokenizer = deberta_unigram(pieces, multilingual=multilingual)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ("<<ENT>>", "<<SEP>>")])
    model = build({**PROJECTED, "max_len": 100}, 42, tokenizer)
    assert_parity(tmp_path / "m", model, [*ASKED, "name of a person", "腎臓"], MORE)


@pytest.mark.parametrize("count", [1, 12])
def test_numbers_of_labels(tmp_path: Path, count: int) -> None:
    """max_types is a matter of training: gliner asks for as many as it is given."""
    model = build({**PROJECTED, "max_types": 5}, 43)
    assert_parity(tmp_path / "m", model, [f"{WORDS[place]} {WORDS[place + 5]}" for place in range(count)], MORE)


def test_a_word_without_a_token_shifts_the_spans_of_gliner_and_none_here(tmp_path: Path) -> None:
    """What docs/models.md says: its state is the next word's, so that of n + 1 words gliner's first n are those without it."""
    model = build({**PROJECTED, "num_rnn_layers": 0, "max_width": 1}, 44)
    model.save_pretrained(tmp_path, safe_serialization=True)
    text, labels = "fever \u200b of left kidney", list(ASKED)
    shifted, without = (reference(model, one, labels) for one in (text, text.replace("\u200b", "")))
    assert (len(shifted), len(without)) == (5, 4)
    assert np.abs(shifted[:4] - without).max() < 1e-5
    classifier = SpanClassifier.load(tmp_path, engine="numpy", labels=labels, threshold=0.0)
    (mine,) = classifier.forward(classifier.encoder.encode([text]))
    assert np.abs(mine - without).max() < 2e-4
    assert [(span.start, span.end) for span in next(classifier.predict([text]))] == [(0, 5), (8, 10), (11, 15), (16, 22)]


def assert_parity(folder: Path, model: Any, labels: list[str], texts: tuple[str, ...]) -> None:
    model.save_pretrained(folder, safe_serialization=True)
    logits = [reference(model, text, labels) for text in texts]
    for engine in ("numpy", "mlx"):
        classifier = SpanClassifier.load(folder, engine=engine, device="cpu", labels=labels)
        for mine, theirs in zip(classifier.forward(classifier.encoder.encode(texts)), logits, strict=True):
            assert mine.shape == theirs.shape
            assert np.abs(mine - theirs).max() < 2e-4
        for threshold in (0.5, 0.05, 0.95):
            given = SpanClassifier.load(folder, engine=engine, device="cpu", labels=labels, threshold=threshold)
            for text, spans in zip(texts, given.predict(texts), strict=True):
                want = found(model, text, labels, threshold)
                assert [(span.start, span.end, span.label) for span in spans] == [one[:3] for one in want]
                assert np.allclose([span.score for span in spans], [one[3] for one in want], atol=1e-4)
