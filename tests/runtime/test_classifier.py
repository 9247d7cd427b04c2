"""The classifier as a whole: long documents, and that batch, order, engine and padding change no result (traps 9 to 11, 30 to 33)."""

from __future__ import annotations

import dataclasses
import json
import threading
import tracemalloc
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError, UsageError
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.tokenization import Encoded
from openmed_mlx_eval.runtime.windows import windows

from .tiny_models import SPECIAL, WORDS, bert_config, bert_tensors, under_the_padding, word_piece, write_model

ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
WHOLE_WORDS = [word for word in WORDS if not word.startswith("##")]


def load(folder: Path, **options: Any) -> TokenClassifier:
    return TokenClassifier.load(folder, **{"engine": "numpy", "device": "cpu", **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(folder: Path) -> TokenClassifier:
    return load(folder)


def name_tagger(folder: Path, model_type: str = "bert") -> Path:
    """A model that tags `quill` NAME and nothing else, by its embedding alone: no attention, no feed-forward."""
    roberta = {"max_position_embeddings": 514, "pad_token_id": 1}
    config = bert_config(model_type, **(roberta if model_type == "roberta" else {"max_position_embeddings": 512}))
    tensors = {name: np.zeros_like(values) for name, values in bert_tensors(config, f"{model_type}.").items()}
    for name in tensors:
        if name.endswith("LayerNorm.weight"):
            tensors[name] += 1
    table = tensors[f"{model_type}.embeddings.word_embeddings.weight"]
    table[:, 0], table[:, 1] = 1, -1
    quill = len(SPECIAL) + WORDS.index("quill")
    table[quill, :2] = -1, 1
    tensors["classifier.weight"][0, 0], tensors["classifier.weight"][3, 1] = 4, 4
    return write_model(folder, config, tensors)


def as_tuples(spans: Any) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label) for span in spans]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_name_behind_the_window_is_found(tmp_path: Path, engine: str) -> None:
    text = "ok " * 600 + "Quill"
    (spans,) = load(name_tagger(tmp_path), engine=engine).predict([text])
    assert as_tuples(spans) == [(1800, 1805, "NAME")]


def test_truncation_and_padding_stored_in_the_tokenizer_change_nothing(tmp_path: Path) -> None:
    name_tagger(tmp_path)
    text = "ok " * 600 + "Quill"
    expected = load(tmp_path).logits(text)[1]
    tokenizer = word_piece()
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=1000)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    stored = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    assert stored["truncation"]["max_length"] == 6
    assert stored["padding"] is not None
    encoded, logits = load(tmp_path).logits(text)
    assert len(encoded.ids) == 601
    assert np.array_equal(logits, expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tokens", [509, 510, 511, 512, 513, 1024])
@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_at_the_limit_every_name_is_found(tmp_path: Path, model_type: str, tokens: int, engine: str) -> None:
    classifier = load(name_tagger(tmp_path, model_type), engine=engine)
    assert classifier.window == 510
    words = ["ok"] * tokens
    for place in (0, tokens // 2, 505, tokens - 1):
        words[place] = "quill"
    text = " ".join(words)
    (spans,) = classifier.predict([text])
    places = [place for place, word in enumerate(words) if word == "quill"]
    assert as_tuples(spans) == [
        (len(" ".join(words[:place])) + (place > 0), len(" ".join(words[: place + 1])), "NAME") for place in places
    ]


def test_stride_without_a_step_is_refused_before_anything_is_encoded(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"--stride 38: .*less than the window of 38 content tokens"):
        load(folder, stride=38)
    for options in ({"aggregation": "last"}, {"batch_tokens": 0}, {"engine": "torch"}, {"device": "tpu"}, {"dtype": "float8"}):
        with pytest.raises(UsageError):
            load(folder, **options)


def test_logits_come_from_the_window_that_keeps_them(folder: Path) -> None:
    classifier = load(folder, stride=11)
    text = " ".join(np.random.default_rng(0).choice(WHOLE_WORDS, 150))
    encoded, logits = classifier.logits(text)
    for window in windows(len(encoded.ids), classifier.window, 11):
        piece = text[encoded.offsets[window.start][0] : encoded.offsets[window.end - 1][1]]
        alone = classifier.logits(piece)[1]
        kept = slice(window.kept_from - window.start, window.kept_to - window.start)
        assert np.abs(alone[kept] - logits[window.kept_from : window.kept_to]).max() < 1e-5


DOCUMENTS = st.lists(st.lists(st.sampled_from(WHOLE_WORDS), max_size=90).map(" ".join), min_size=1, max_size=6)


@settings(max_examples=40)
@given(documents=DOCUMENTS, batch_tokens=st.integers(1, 500), seed=st.randoms(use_true_random=False))
def test_batch_order_and_company_change_no_result(
    model: TokenClassifier, documents: list[str], batch_tokens: int, seed: Any
) -> None:
    together = list(dataclasses.replace(model, batch_tokens=batch_tokens).predict(documents))
    shuffled = list(range(len(documents)))
    seed.shuffle(shuffled)
    other = list(model.predict([documents[i] for i in shuffled]))
    for place, number in enumerate(shuffled):
        (alone,) = model.predict([documents[number]])
        for found in (together[number], other[place]):
            assert as_tuples(found) == as_tuples(alone)
            assert [span.score for span in found] == pytest.approx([span.score for span in alone], abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_runs_are_bit_equal(folder: Path, engine: str) -> None:
    rng = np.random.default_rng(1)
    documents = [" ".join(rng.choice(WHOLE_WORDS, size)) for size in rng.integers(0, 120, 20)]
    first, second = (list(load(folder, engine=engine).predict(documents)) for _ in range(2))
    assert first == second


def test_engines_agree(folder: Path) -> None:
    pytest.importorskip("mlx.core")
    rng = np.random.default_rng(2)
    documents = [" ".join(rng.choice(WHOLE_WORDS, size)) for size in rng.integers(0, 120, 20)]
    plain, mlx = (list(load(folder, engine=engine, batch_tokens=300).predict(documents)) for engine in ("numpy", "mlx"))
    assert list(map(as_tuples, plain)) == list(map(as_tuples, mlx))
    scores = [[span.score for document in found for span in document] for found in (plain, mlx)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_ids_under_the_padding_change_nothing(folder: Path) -> None:
    pytest.importorskip("mlx.core")
    classifier = load(folder, engine="mlx")
    sequences = [np.arange(4, 4 + size, dtype=np.int32) for size in (20, 3, 7)]
    inputs = classifier.ops.inputs(sequences, [np.arange(len(ids), dtype=np.int32) for ids in sequences])
    other = under_the_padding(inputs, len(SPECIAL) + len(WORDS))
    rows = [classifier.ops.host(classifier._network(batch), batch) for batch in (inputs, other)]
    assert np.array_equal(*rows)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("longest", [128, 160, 256])
def test_half_precision_batches_of_full_buckets_are_finite(tmp_path: Path, dtype: str, longest: int) -> None:
    pytest.importorskip("mlx.core")
    write_model(tmp_path, bert_config(max_position_embeddings=256))
    classifier = load(tmp_path, engine="mlx", dtype=dtype)
    classifier.ops.least_share = 0.0  # short and long in one batch
    rng = np.random.default_rng(longest)
    documents = [" ".join(rng.choice(WHOLE_WORDS, size)) for size in (longest - 2, 5, 77)]
    encoded = classifier.encoder.encode(documents)
    for document, together in zip(encoded, classifier.forward(encoded), strict=True):
        (alone,) = classifier.forward([document])
        assert np.isfinite(together).all()
        assert np.abs(together - alone).max() < (0.02 if dtype == "float16" else 0.2) * np.abs(alone).max()


def test_overflow_in_half_precision_names_the_remedy(tmp_path: Path) -> None:
    pytest.importorskip("mlx.core")
    config = bert_config()
    tensors = bert_tensors(config)
    tensors["classifier.weight"] *= 1e6
    write_model(tmp_path, config, tensors)
    with pytest.raises(ModelError, match="not finite, computing in float16 – run it with --dtype float32"):
        list(load(tmp_path, engine="mlx", dtype="float16").predict(["left kidney"]))
    list(load(tmp_path, engine="mlx").predict(["left kidney"]))


def test_large_attention_scores_stay_finite(tmp_path: Path) -> None:
    config = bert_config()
    tensors = bert_tensors(config)
    for name in tensors:
        if "attention.self" in name:
            tensors[name] *= 100  # products far beyond what exp takes
    write_model(tmp_path, config, tensors)
    text = " ".join(WHOLE_WORDS)
    plain = load(tmp_path).logits(text)[1]
    assert np.isfinite(plain).all()
    if find_spec("mlx"):
        assert np.abs(plain - load(tmp_path, engine="mlx").logits(text)[1]).max() < 1e-2 * np.abs(plain).max()


def test_empty_and_blank_documents(model: TokenClassifier) -> None:
    assert list(model.predict(["", " \n\t", "\u200b"]))[:2] == [[], []]
    assert list(model.predict([])) == []


def test_progress_counts_every_document(model: TokenClassifier) -> None:
    done: list[int] = []
    assert len(list(model.predict(["left kidney"] * 7, progress=done.append))) == 7
    assert sum(done) == 7


def test_texts_are_taken_as_they_are_needed(model: TokenClassifier) -> None:
    taken = 0

    def texts() -> Any:
        nonlocal taken
        for _ in range(50):
            taken += 1
            yield "left kidney " * 5000

    results = model.predict(texts())
    next(results)
    assert taken < 25
    results.close()


def test_a_chunk_is_computed_while_the_one_before_is_handed_out_and_changes_no_result(folder: Path) -> None:
    texts = ["left kidney , nephritis .", "", "Amy Quill 7 " * 30, " ", "lung"] * 40
    whole = load(folder)
    expected = [as_tuples(spans) for spans in whole.predict(texts)]
    for batch_tokens in (1, 7, 40):  # chunks of 32, 224 and 1,280 characters
        small = load(folder, batch_tokens=batch_tokens)
        assert [as_tuples(spans) for spans in small.predict(iter(texts))] == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_read_before_a_failure_is_handed_out_first(folder: Path, engine: str) -> None:
    def texts() -> Any:
        yield from ["left kidney " * 40] * 9
        raise KeyError

    found = []
    with pytest.raises(KeyError):
        for spans in load(folder, engine=engine, batch_tokens=8).predict(texts()):
            found.append(spans)
    assert len(found) == 8  # the ninth waits for others of its chunk


def test_threads_end_and_blas_has_its_own_again(folder: Path) -> None:
    from threadpoolctl import threadpool_info

    def state() -> Any:
        return set(threading.enumerate()), [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = state()
    texts = ["left kidney " * 40] * 20
    classifiers = [load(folder, batch_tokens=8) for _ in range(2)]
    for classifier in classifiers:
        classifier.ops.workers = 2
    first, second = (classifier.predict(texts) for classifier in classifiers)
    assert next(first) == next(second)
    assert state() != before
    first.close()
    assert next(second) is not None
    second.close()
    threads, blas = state()
    assert threads <= before[0]  # another test's may have ended meanwhile
    assert blas == before[1]


def test_blas_has_its_threads_again_whichever_thread_is_the_last(folder: Path) -> None:
    """threadpoolctl 3.7 obeys one thread alone: closed by another, a generator left BLAS with one thread for good."""
    from threadpoolctl import threadpool_info

    def blas() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = blas()
    classifier = load(folder, batch_tokens=8)
    classifier.ops.workers = 2
    here = classifier.predict(["left kidney " * 40] * 20)
    next(here)
    assert set(blas()) <= {1}
    closing = threading.Thread(target=here.close)
    closing.start()
    closing.join()
    assert blas() == before

    begun, leave, inside = threading.Event(), threading.Event(), []

    def another() -> None:
        there = classifier.predict(["left kidney " * 40] * 20)
        next(there)
        inside.extend(blas())
        there.close()
        begun.set()
        leave.wait()  # alive, as the threads of a server are

    other = threading.Thread(target=another)
    other.start()
    begun.wait()
    assert set(inside) <= {1}
    list(classifier.predict(["left kidney " * 40] * 20))
    assert blas() == before
    leave.set()
    other.join()


def test_a_document_of_a_megabyte_in_bounded_memory(tmp_path: Path) -> None:
    write_model(tmp_path, bert_config(max_position_embeddings=512))
    classifier = load(tmp_path)
    sizes = []
    for repeats in (20_000, 80_000):
        text = "left kidney ." * repeats
        tracemalloc.start()
        encoded, logits = classifier.logits(text)
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(logits) == len(encoded.ids) == 3 * repeats
    assert len(text) > 1_000_000
    assert sizes[1] < 400 * len(text)  # attention over the whole would be 4 bytes × 240,000² a head
    assert sizes[1] < 5 * sizes[0]


def test_a_lone_surrogate_keeps_offsets_true(tmp_path: Path) -> None:
    (spans,) = load(name_tagger(tmp_path)).predict(["\ud800 ok Quill"])
    assert as_tuples(spans) == [(5, 10, "NAME")]


def test_a_tokenizer_that_fails_tells_no_text(model: TokenClassifier) -> None:
    class Failing:
        def encode_batch(self, texts: list[str], **options: Any) -> list[Encoded]:
            raise RuntimeError(texts[0])

    broken = dataclasses.replace(model, encoder=dataclasses.replace(model.encoder, tokenizer=Failing()))
    with pytest.raises(ModelError) as caught:
        list(broken.predict(["QZX-7781"]))
    assert "QZX-7781" not in str(caught.value)
    assert caught.value.__suppress_context__
