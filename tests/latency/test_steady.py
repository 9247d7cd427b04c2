"""Steady state and single documents: texts of exactly the length asked for, every part counted, nothing pooled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.tiny_models import bert_config, bert_tensors, byte_bpe, unigram, write_model

from openmed_mlx_eval.errors import ModelError, UsageError
from openmed_mlx_eval.latency import steady
from openmed_mlx_eval.latency.documents import document_times, documents_block, latency_metrics
from openmed_mlx_eval.latency.steady import CellTimes, Steady, cut, measure_cell, source_of
from openmed_mlx_eval.runtime.classifier import TokenClassifier

TEXTS = ["left kidney biopsy of dr quill .", "fever , ward 7 ok", "", "the right lung " + "ok " * 30 + "dr quill"]
BRIEF = Steady(warmups=0, iterations=2, seconds=0)


@pytest.fixture(scope="module")
def classifier(tiny_model: Path) -> TokenClassifier:
    return TokenClassifier.load(tiny_model, engine="numpy", device="cpu")


@pytest.mark.parametrize(
    ("window", "cells"),
    [(40, [32, 40]), (128, [32, 128]), (512, [32, 128, 512]), (8192, [32, 128, 512, 8192]), (20, [20])],
)
def test_the_lengths_are_those_the_window_holds_and_the_window(window: int, cells: list[int]) -> None:
    assert Steady().cells(window, 2) == [(length, batch) for length in cells for batch in (1, 8, 32)]


@pytest.mark.parametrize("length", [1, 2, 41, 512])
def test_a_length_that_cannot_be_is_refused(length: int) -> None:
    with pytest.raises(UsageError, match=r"between 3 and the window of 40"):
        Steady(lengths=(8, length)).cells(40, 2)


@pytest.mark.parametrize("changes", [{"lengths": (0,)}, {"batches": (1, 0)}, {"iterations": 0}, {"batches": (1, 10**20)}])
def test_numbers_that_cannot_be_are_refused(changes: dict) -> None:
    with pytest.raises(UsageError):
        Steady(**changes)


@pytest.mark.parametrize("texts", [TEXTS, ["ok"], [], ["", " \n"]])
def test_pieces_have_exactly_the_length_whatever_there_is_to_cut(classifier: TokenClassifier, texts: list[str]) -> None:
    source = source_of(classifier, texts, 38)
    assert len(source.ids) >= 38
    for tokens, count in ((1, 3), (6, 8), (38, 5)):
        for piece in cut(source, tokens, count):
            assert len(piece.ids) == len(piece.offsets) == len(piece.reported) == tokens
            assert piece.offsets[0][0] == 0
            assert piece.offsets[-1][1] == len(piece.text)


def test_a_piece_is_a_slice_of_its_source(classifier: TokenClassifier) -> None:
    source = source_of(classifier, TEXTS, 38)
    pieces = cut(source, 5, len(source.ids) // 5)
    assert np.concatenate([piece.ids for piece in pieces]).tolist() == source.ids[: 5 * len(pieces)].tolist()
    words = [piece.text[start:end] for piece in pieces for start, end in piece.offsets]
    assert words == [source.text[start:end] for start, end in source.offsets[: len(words)]]


@pytest.mark.parametrize("kind", ["byte-level", "metaspace"])
def test_tokenizers_that_see_spaces_are_cut_too(tmp_path: Path, kind: str) -> None:
    tokenizer = byte_bpe(TEXTS, trim=False) if kind == "byte-level" else unigram(["▁left", "▁", *"leftkidnyoc ."])
    config = bert_config("roberta", vocab_size=tokenizer.get_vocab_size(), pad_token_id=1)
    model = write_model(tmp_path / kind, config, bert_tensors(config, "roberta."), tokenizer)
    found = TokenClassifier.load(model, engine="numpy", device="cpu")
    cell = measure_cell(found, source_of(found, TEXTS, 30), 12, 3, BRIEF)
    assert (cell.tokens, len(cell.times)) == (36, 2)


def test_a_cell_counts_every_part(classifier: TokenClassifier) -> None:
    source = source_of(classifier, TEXTS, 38)
    cell = measure_cell(classifier, source, 16, 4, BRIEF)
    documents = cut(source, 14, 4)
    rows = classifier.forward(documents)
    pairs = zip(documents, rows, strict=True)
    spans = sum(len(classifier.decoder.spans(document, row, classifier.encoder)) for document, row in pairs)
    block = cell.to_dict()
    assert (block["tokens"], block["spans"], block["iterations"]) == (64, spans, 2)
    assert all(len(block["samples_ms"][part]) == 2 for part in ("tokenization", "forward", "decoding"))
    assert block["total_ms"]["min"] >= block["forward_ms"]["min"]
    assert block["tokens_per_second"] == pytest.approx(block["documents_per_second"] * 16, rel=1e-3)


def test_iterations_go_on_until_both_are_enough(classifier: TokenClassifier) -> None:
    source = source_of(classifier, TEXTS, 38)
    assert len(measure_cell(classifier, source, 8, 1, Steady(warmups=1, iterations=7, seconds=0)).times) == 7
    long = measure_cell(classifier, source, 8, 1, Steady(warmups=0, iterations=1, seconds=0.2))
    assert sum(long.total) > 100
    assert len(long.times) > 1


@given(st.lists(st.tuples(*[st.floats(0.001, 100)] * 3), max_size=30))
def test_a_total_is_the_sum_of_its_parts(rows: list[tuple[float, float, float]]) -> None:
    cell = CellTimes(32, 8, 256, 5, None, rows)
    assert cell.total == [sum(row) for row in rows]
    block = cell.to_dict()
    assert block["total_ms"]["count"] == len(rows)
    assert (block["documents_per_second"] is None) is (not rows)


def test_ctrl_c_in_a_later_iteration_keeps_the_earlier_ones(classifier: TokenClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, calls: list[int] = []) -> Any:  # noqa: B006
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return iteration(*arguments)

    iteration, kept = steady._iteration, list[CellTimes]()
    monkeypatch.setattr(steady, "_iteration", stopped)
    with pytest.raises(KeyboardInterrupt):
        measure_cell(classifier, source_of(classifier, TEXTS, 38), 8, 2, Steady(warmups=1, seconds=60), kept.append)
    assert [len(cell.times) for cell in kept] == [2]


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_seconds_without_an_end_are_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="--seconds"):
        Steady(seconds=seconds)


def test_a_text_without_a_space_is_not_repeated_until_memory_ends(classifier: TokenClassifier) -> None:
    blob = "x" * (1 << 18)
    assert len(classifier.encoder.encode([blob])[0].ids) == 1
    source = source_of(classifier, [blob], 38)
    assert len(source.ids) >= 38
    assert "x" * 100 not in source.text


def test_a_tokenizer_that_makes_no_tokens_is_named(classifier: TokenClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = classifier.encoder.encode([""])[0]
    monkeypatch.setattr(type(classifier.encoder), "encode", lambda *_: [nothing])
    with pytest.raises(ModelError, match="too few tokens"):
        source_of(classifier, TEXTS, 38)


def test_documents_are_timed_in_order(classifier: TokenClassifier) -> None:
    times = list(document_times(classifier, TEXTS))
    spans = [len(found) for found in classifier.predict(TEXTS)]
    assert [one.spans for one in times] == spans
    assert [one.tokens for one in times] == [len(encoded.ids) for encoded in classifier.encoder.encode(TEXTS)]
    block = documents_block(times)
    assert (block["documents"], block["spans"]) == (4, sum(spans))
    assert len(block["samples_ms"]) == block["latency_ms"]["count"] == 4


@pytest.mark.parametrize("texts", [[], [""], ["", " "]])
def test_nothing_to_time_is_numbers_or_null(classifier: TokenClassifier, texts: list[str]) -> None:
    block = documents_block(list(document_times(classifier, texts)))
    assert (block["documents"], block["tokens"], block["spans"]) == (len(texts), 0, 0)
    assert (block["documents_per_second"] is None) is (not texts)
    metrics = latency_metrics(None, block)
    assert metrics["cold_start_ms"] is metrics["p99_ms"] is None
    assert (metrics["p50_ms"] is None) is (not texts)
    assert metrics["count"] == len(texts)
