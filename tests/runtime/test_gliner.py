"""GLiNER models: parity with gliner without gliner, on the golden models that tests/make_gliner_golden.py wrote; and what texts,
windows and company may not change."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import EvaluationError, ModelError, UsageError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.families.gliner_config import SUPPORTED, UNSUPPORTED
from openmed_mlx_eval.runtime.loading import load_classifier
from openmed_mlx_eval.runtime.span_classifier import SpanClassifier

from .tiny_gliner import ASKED, FOLDERS, GOLDEN, TEXTS, changed
from .tiny_models import write_model

ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
WORDS = ("left", "kidney", "Dr.", "Quill-Ward", "fever", "5", "mg", ",", "🩺", "nephritis", "\u200b", "\n\n")


def load(folder: str | Path = "deberta", **options: Any) -> SpanClassifier:
    given_options = {"engine": "numpy", "device": "cpu", "labels": ASKED, **options}
    return SpanClassifier.load(GOLDEN / folder, **given_options)


def spans(classifier: TokenClassifier, *texts: str) -> list[list[tuple[int, int, str]]]:
    return [[(span.start, span.end, span.label) for span in found] for found in classifier.predict(texts)]


def expected(folder: str) -> tuple[np.ndarray, list[list[tuple[int, int, str]]]]:
    """Of TEXTS: the scores of all spans end to end, and the spans found."""
    with np.load(GOLDEN / folder / "expected.npz") as stored:
        rows = [(int(start), int(end), ASKED[label]) for start, end, label in stored["spans"]]
        ends = np.cumsum((0, *stored["counts"])).tolist()
        return stored["logits"], [rows[first:last] for first, last in pairwise(ends)]


def test_no_golden_folder_is_left_out() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_ragged_batch_gives_the_scores_and_spans_of_gliner(folder: str, engine: str) -> None:
    classifier = load(folder, engine=engine)
    logits, found = expected(folder)
    mine = np.concatenate(classifier.forward(classifier.encoder.encode(TEXTS)))
    assert mine.shape == logits.shape
    assert np.abs(mine - logits).max() < 1e-4
    assert spans(classifier, *TEXTS) == found


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=15)
@given(
    documents=st.lists(st.lists(st.sampled_from(WORDS), max_size=70).map(" ".join), min_size=1, max_size=6),
    batch=st.integers(1, 400),
)
def test_company_and_order_change_nothing(engine: str, documents: list[str], batch: int) -> None:
    classifier, alone = load(engine=engine, batch_tokens=batch), load(engine=engine)
    together = classifier.forward(classifier.encoder.encode(documents))
    turned = classifier.forward(classifier.encoder.encode(documents[::-1]))[::-1]
    for document, rows, other in zip(documents, together, turned, strict=True):
        (mine,) = alone.forward(alone.encoder.encode([document]))
        assert mine.shape == rows.shape == other.shape
        assert np.abs(mine - rows).max(initial=0) < 1e-4
        assert np.abs(other - rows).max(initial=0) < 1e-4


@settings(max_examples=30)
@given(text=st.text(max_size=80))
def test_any_text_gives_spans_of_whole_words_that_do_not_overlap(text: str) -> None:
    classifier = load(threshold=0.05)
    found = next(classifier.predict([text]))
    assert all(0 <= span.start < span.end <= len(text) and 0.05 < (span.score or 0) <= 1 for span in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(text[span.start : span.end] == text[span.start : span.end].strip() for span in found)


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u200b", "\x00"])
def test_a_text_without_a_word_has_no_span(text: str) -> None:
    assert spans(load(threshold=0.0), text) == [[]]
    assert load().seams(text) == ()


def test_an_emoji_is_a_word_of_its_own_and_offsets_are_code_points() -> None:
    encoded = load().encoder.encode(["🩺 Quill-Ward’s 5"])[0]
    assert sorted(set(encoded.offsets)) == [(0, 1), (2, 12), (12, 13), (13, 14), (15, 16)]


def test_a_word_the_tokenizer_makes_nothing_of_moves_no_other() -> None:
    with_it, without = spans(load(), "fever \u200b of left kidney ok", "fever   of left kidney ok")
    assert with_it == without


def test_one_word_of_10000_characters_keeps_as_many_tokens_as_a_window_holds() -> None:
    classifier = load("bert")
    rest = "neph" + "s" * 80
    assert len(spans(classifier, "s" * 10_000, rest)) == 2
    encoded = classifier.encoder.encode([rest])[0]
    assert len(encoded.ids) == classifier.window < 80
    assert len(classifier.forward([encoded])[0]) == 1


def test_a_document_longer_than_the_model_is_cut_and_nothing_is_lost() -> None:
    classifier = load(stride=9)
    text = "ok " * 200 + "left kidney of Dr. Quill"
    (rows,) = classifier.forward(classifier.encoder.encode([text]))
    words = 206
    assert len(rows) == sum(min(5, words - start) for start in range(words))
    assert np.isfinite(rows).all() and (rows != 0).all()
    assert len(classifier.seams(text)) == len(range(0, words - 9, 30 - 9)) - 1
    assert all(text[seam - 1] == " " for seam in classifier.seams(text))


def test_a_word_in_the_middle_of_a_window_has_that_windows_scores() -> None:
    """The windows of 30 words that share 9 begin at 0, 21, 42: words 30 to 45 are furthest from an edge in the second."""
    classifier = load(stride=9)
    text = " ".join(f"fever{'' if place % 3 else ' left kidney'}" for place in range(60))
    words = classifier.encoder.encode([text])[0].offsets
    (whole,) = classifier.forward(classifier.encoder.encode([text]))
    piece = text[words[21][0] : words[50][1]]
    (second,) = classifier.forward(classifier.encoder.encode([piece]))
    assert np.abs(whole[30 * 5 : 40 * 5] - second[9 * 5 : 19 * 5]).max() < 1e-4


@pytest.mark.parametrize("stride", [0, 3, 30, 31])
def test_windows_that_would_lose_a_span_are_refused(stride: int) -> None:
    with pytest.raises(UsageError, match=f"--stride {stride}: .*share 4 to 29 words"):
        load(stride=stride)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((), "there is no label"),
        (("fever", " fever "), "label 2 is given twice"),
        (("a\tb",), "label 1 holds a tab"),
        (("fever", "a\nb"), "label 2 holds"),
        (("",), "label 1 is empty"),
        (("x" * 201,), "more than 200 characters"),
        (("\u200b",), "can make nothing of a label"),
        (("fever <<ENT>> x",), "can make nothing of a label"),
        (tuple(f"left kidney {number}" for number in range(30)), "30 labels take .* too little for text"),
    ],
)
def test_labels_that_cannot_be_asked_for_are_refused(labels: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load("bert", labels=labels)


def test_more_labels_than_max_types_are_asked_as_gliner_asks_them(tmp_path: Path) -> None:
    few = SpanClassifier.load(changed(tmp_path / "m", max_types=2), engine="numpy", labels=ASKED)
    assert spans(few, *TEXTS) == expected("deberta")[1]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_that_is_no_probability_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="--gliner-threshold"):
        load(threshold=threshold)


def test_a_higher_threshold_finds_what_is_above_it() -> None:
    low, high = (next(load("deberta-plain", threshold=value).predict(TEXTS[2:3])) for value in (0.5, 0.99))
    assert [span for span in low if (span.score or 0) > 0.99] == high
    assert len(high) < len(low)


@pytest.mark.parametrize(
    ("options", "said"), [({"aggregation": "first"}, "--aggregation first"), ({"compile": True}, "--compile")]
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(**options)


def test_what_a_directory_is_decides_what_runs_it(tmp_path: Path) -> None:
    tokens = write_model(tmp_path / "tokens")
    assert type(load_classifier(tokens, engine="numpy")) is TokenClassifier
    assert type(load_classifier(GOLDEN / "bert", engine="numpy", gliner_labels=ASKED)) is SpanClassifier
    with pytest.raises(ModelError, match="no such folder"):
        load_classifier(tmp_path / "other", gliner_labels=ASKED)
    with pytest.raises(UsageError, match="--gliner-labels: this is no GLiNER model"):
        load_classifier(tokens, gliner_labels=ASKED)
    with pytest.raises(UsageError, match="--gliner-threshold: this is no GLiNER model"):
        load_classifier(tokens, gliner_threshold=0.3)
    with pytest.raises(UsageError, match="this is no GLiNER model"):
        SpanClassifier.load(tokens, labels=ASKED)
    for wrong in (lambda: load_classifier(GOLDEN / "bert"), lambda: TokenClassifier.load(GOLDEN / "bert")):
        with pytest.raises(UsageError, match="--gliner-labels"):
            wrong()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({key: "x"}, rf"{key}\).* is not supported") for key in UNSUPPORTED
    ]
    + [({key: "other"}, f"{key} 'other' is not supported") for key in SUPPORTED]
    + [
        ({"model_type": "gliner_bi_encoder_span"}, "model_type 'gliner_bi_encoder_span' is not supported"),
        ({"encoder_config": None}, "encoder_config is missing"),
        ({"encoder_config": []}, "encoder_config is missing"),
        ({"encoder_config": {"model_type": "t5", "hidden_size": 32}}, "vocab_size|type 't5'"),
        ({"encoder_config": {}}, "hidden_size is missing"),
        ({"max_width": 0}, "max_width must be"),
        ({"max_width": 1 << 20}, "max_width must be at most"),
        ({"max_len": "many"}, "max_len must be"),
        ({"num_rnn_layers": 17}, "num_rnn_layers must be at most 16"),
        ({"num_rnn_layers": 2}, "6 missing"),
        ({"num_rnn_layers": 0}, "6 unexpected"),
        ({"hidden_size": 26}, "misshapen"),
        ({"hidden_size": 25}, "must be even"),
        ({"vocab_size": 31}, "misshapen"),
        ({"class_token_index": 5}, "class_token_index is 5, but tokenizer.json has the token before a label as 28"),
        ({"ent_token": "<<WHAT>>"}, "does not know the token that stands before a label"),
        ({"ent_token": 3}, "ent_token must be a string"),
        ({"embed_ent_token": 3}, "embed_ent_token must be true or false"),
    ],
)  # fmt: skip
def test_a_config_of_another_kind_or_with_wrong_values_says_which(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        SpanClassifier.load(changed(tmp_path / "m", **changes), engine="numpy", labels=ASKED)


@settings(max_examples=40, deadline=None)
@given(
    key=st.sampled_from(
        [
            "encoder_config",
            "max_width",
            "max_len",
            "hidden_size",
            "num_rnn_layers",
            "span_mode",
            "model_type",
            "ent_token",
            "vocab_size",
        ]
    ),
    value=st.one_of(
        st.integers(),
        st.text(max_size=5),
        st.booleans(),
        st.floats(),
        st.lists(st.integers()),
        st.dictionaries(st.text(max_size=3), st.integers()),
    ),
)
def test_a_hostile_config_is_an_error_or_a_model(tmp_path_factory: pytest.TempPathFactory, key: str, value: Any) -> None:
    folder = changed(tmp_path_factory.mktemp("g") / "m", **{key: value})
    with suppress(EvaluationError):
        list(SpanClassifier.load(folder, engine="numpy", labels=ASKED).predict(["fever"]))


def test_defaults_are_gliners(tmp_path: Path) -> None:
    """Keys that older checkpoints do not have."""
    bare = changed(
        tmp_path / "m", max_types=None, subtoken_pooling=None, words_splitter_type=None, span_mode=None, num_rnn_layers=None,
        class_token_index=-1, vocab_size=-1, ent_token=None, sep_token=None, embed_ent_token=None, model_type="gliner",
    )  # fmt: skip
    assert spans(SpanClassifier.load(bare, engine="numpy", labels=ASKED), *TEXTS) == expected("deberta")[1]


@pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_half_precision_stays_near(folder: str, dtype: str) -> None:
    rough = load(folder, engine="mlx", dtype=dtype)
    found = np.concatenate(rough.forward(rough.encoder.encode(TEXTS)))
    logits = expected(folder)[0]
    assert np.abs(found - logits).max() < (0.02 if dtype == "float16" else 0.12) * np.abs(logits).max()


def test_the_window_of_relative_positions_is_bounded_by_words(tmp_path: Path) -> None:
    assert open_artifact(GOLDEN / "deberta").window == 2 * 48
    assert open_artifact(GOLDEN / "bert").window == 72
