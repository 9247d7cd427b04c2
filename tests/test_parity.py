"""Parity: what is counted is right by hand, the same models are the same, and a changed one is told from its source."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.tiny_models import LABELS, bert_config, bert_tensors, word_piece, write_model

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.parity import TOLERANCES, Agreement, Tolerance, agreement, built_in_texts, parity, tolerance_for
from openmed_mlx_eval.reporting.parity import schema, to_markdown
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.spans import Span

STRICT = Tolerance(0.0, 1.0, 1.0)
SPANS = st.lists(st.builds(Span, st.integers(0, 3), st.integers(4, 6), st.sampled_from("XY")), max_size=4)
LOGITS = st.lists(st.tuples(*[st.floats(-9, 9, width=32)] * 3), max_size=5)


def rows(values: list[tuple[float, ...]]) -> Any:
    return np.array(values, dtype=np.float32).reshape(len(values), 3)


@given(LOGITS, SPANS)
def test_a_model_is_the_same_as_itself(values: list[tuple[float, ...]], spans: list[Span]) -> None:
    found = agreement(rows(values), rows(values), spans, spans)
    assert found.failures(STRICT) == []
    assert found.label_agreement in (1.0, None) and found.span_agreement in (1.0, None)
    assert (found.label_agreement is None) == (not values) and (found.span_agreement is None) == (not spans)


@given(st.data())
def test_counts_are_those_of_a_loop_and_the_same_from_either_side(data: st.DataObject) -> None:
    a = data.draw(LOGITS)
    b = data.draw(st.lists(st.tuples(*[st.floats(-9, 9, width=32)] * 3), min_size=len(a), max_size=len(a)))
    spans_a, spans_b = data.draw(SPANS), data.draw(SPANS)
    found = agreement(rows(a), rows(b), spans_a, spans_b)
    apart = [abs(x - y) for one, other in zip(a, b, strict=True) for x, y in zip(one, other, strict=True)]
    assert found.difference == max(apart, default=0)
    assert found.total == pytest.approx(sum(apart))
    assert found.labels == sum(one.index(max(one)) == other.index(max(other)) for one, other in zip(a, b, strict=True))
    assert found.spans == len({(s.start, s.end, s.label) for s in spans_a} & {(s.start, s.end, s.label) for s in spans_b})
    back = agreement(rows(b), rows(a), spans_b, spans_a)
    assert back == replace(found, spans_a=found.spans_b, spans_b=found.spans_a)


@given(st.lists(st.builds(Agreement, *[st.integers(0, 99)] * 3, *[st.floats(0, 9)] * 2, *[st.integers(0, 99)] * 4), max_size=4))
def test_agreements_add_up_and_the_largest_difference_stays(some: list[Agreement]) -> None:
    added = sum(some, Agreement())
    assert added.tokens == sum(one.tokens for one in some)
    assert added.difference == max((one.difference for one in some), default=0)


def test_every_kind_of_failure_is_named() -> None:
    found = Agreement(1, 100, 300, 0.5, 1.0, 98, 10, 10, 9)
    said = found.failures(Tolerance(0.1, 0.99, 0.95))
    assert len(said) == 3
    assert "differs by 0.5, more than 0.1" in said[0] and "0.980000" in said[1] and "0.900000" in said[2]
    assert found.failures(Tolerance(None, 0.98, 0.9)) == []


def test_the_coarsest_of_the_two_sets_the_tolerance() -> None:
    def model(dtype: str, stored: str, bits: int | None = None) -> Any:
        artifact = SimpleNamespace(dtype=stored, quantization=bits and SimpleNamespace(bits=bits))
        return SimpleNamespace(ops=SimpleNamespace(dtype=dtype), artifact=artifact)

    plain = model("float32", "float32")
    for other, kind in (
        (plain, "float32"),
        (model("float32", "float64"), "float32"),
        (model("float32", "float16"), "float16"),
        (model("bfloat16", "float16"), "bfloat16"),
        (model("float16", "float16", 8), "8-bit"),
        (model("float32", "bfloat16", 4), "4-bit"),
        (model("float32", "float32", 2), "4-bit"),
    ):
        assert tolerance_for(plain, other) is tolerance_for(other, plain) is TOLERANCES[kind]


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_what_both_are_stored_in_costs_nothing_between_them(bits: int | None) -> None:
    """Two engines that read one artifact."""
    artifact = SimpleNamespace(dtype="float16", quantization=bits and SimpleNamespace(bits=bits))
    a, b = (SimpleNamespace(ops=SimpleNamespace(dtype=dtype), artifact=artifact) for dtype in ("float32", "bfloat16"))
    assert tolerance_for(a, a) is TOLERANCES["float32"]
    assert tolerance_for(a, b) is TOLERANCES["bfloat16"]


def test_built_in_texts_are_of_many_scripts_and_longer_than_a_window() -> None:
    texts = built_in_texts()
    scripts = {unicodedata.name(character, "").split()[0] for text in texts for character in text if character.isalpha()}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "BENGALI", "TELUGU", "THAI", "HIRAGANA", "CJK",
            "HANGUL"} <= scripts  # fmt: skip
    assert len(texts) == len(set(texts)) > 20
    assert len(texts[-1].split()) > 512


def load(folder: Path, **options: Any) -> TokenClassifier:
    return TokenClassifier.load(folder, **{"engine": "numpy", "device": "cpu", **options})


@pytest.mark.parametrize("engine", ["numpy", "mlx"])
def test_engines_compute_the_same(tiny_model: Path, engine: str) -> None:
    if engine == "mlx":
        pytest.importorskip("mlx.core")
    record = parity(load(tiny_model), load(tiny_model, engine=engine), {"built_in": built_in_texts()})
    jsonschema.validate(record, schema())
    found = record["texts"]["built_in"]
    assert record["passed"] and found["failures"] == []
    assert found["label_agreement"] == found["span_agreement"] == 1.0
    assert found["spans"]["both"] > 50
    assert (found["max_absolute_difference"] == 0) == (engine == "numpy")
    assert record["models"]["b"]["engine"] == engine
    assert "the same" in to_markdown(record)


def changed(folder: Path, **tensors: Any) -> Path:
    """The tiny model with other tensors."""
    config = bert_config()
    return write_model(folder, config, {**bert_tensors(config, seed=4), **tensors})


def test_one_changed_weight_is_seen(tiny_model: Path, tmp_path: Path) -> None:
    bias = bert_tensors(bert_config(), seed=4)["classifier.bias"].copy()
    bias[1] += 0.01
    record = parity(load(tiny_model), load(changed(tmp_path / "m", **{"classifier.bias": bias})), {"built_in": ["left kidney"]})
    found = record["texts"]["built_in"]
    assert not record["passed"] and "a logit differs by 0.01" in found["failures"][0]
    assert found["mean_absolute_difference"] == pytest.approx(0.01 / 5, rel=1e-3)
    jsonschema.validate(record, schema())


def test_other_labels_and_other_tokenizers_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    config = {**bert_config(), "id2label": {str(number): label for number, label in enumerate(reversed(LABELS))}}
    other = write_model(tmp_path / "labels", config, bert_tensors(config, seed=4))
    with pytest.raises(ModelError, match="same labels in the same order"):
        parity(load(tiny_model), load(other), {"built_in": ["ok"]})
    cased = write_model(tmp_path / "cased", bert_config(), bert_tensors(bert_config(), seed=4), word_piece(lowercase=False))
    with pytest.raises(ModelError, match="text 2: the tokenizers"):
        parity(load(tiny_model), load(cased), {"built_in": ["ok", "LEFT kidney"]})


def test_texts_without_a_token_measure_nothing(tiny_model: Path) -> None:
    record = parity(load(tiny_model), load(tiny_model), {"built_in": ["", " "], "corpus": []})
    jsonschema.validate(record, schema())
    for one in record["texts"].values():
        assert one["label_agreement"] is one["span_agreement"] is one["max_absolute_difference"] is None
    json.dumps(record, allow_nan=False)
