"""BiLSTM-CRF as a whole: files a user of PyTorch has, documents of any length in one window, decoding by its own chain."""

from __future__ import annotations

import dataclasses
import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.latency.steady import Steady
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.crf import marginals
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.safetensors import open_safetensors
from openmed_mlx_eval.runtime.viterbi import best_sequence
from openmed_mlx_eval.runtime.windows import UNBOUNDED

from .tiny_models import SPECIAL, WORDS, as_safetensors, network_logits

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden" / "bilstm-crf"
ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
VOCABULARY = len(SPECIAL) + len(WORDS)
TEXT = "Biopsy of the left Kidney: nephritis. Dr Quill , ward 7 ."


def sequences(lengths: list[int]) -> list[np.ndarray]:
    return [np.random.default_rng(size).integers(0, VOCABULARY, size).astype(np.int32) for size in lengths]


def word_level() -> Tokenizer:
    """Lower-cased words and punctuation, without special tokens; ids below those of the golden model's table."""
    vocabulary = {"[UNK]": 1, **{word: 4 + number for number, word in enumerate(WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def changed(folder: Path, tensors: dict[str, Any] | None = None, **changes: Any) -> Path:
    """The golden model with a tokenizer of words, other words in its config.json, None taking a key out, and other tensors."""
    shutil.copytree(GOLDEN, folder)
    config = json.loads((folder / "config.json").read_text("utf-8")) | changes
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}), "utf-8")
    word_level().save(str(folder / "tokenizer.json"))
    if tensors is not None:
        (folder / "model.safetensors").write_bytes(as_safetensors(tensors))
    return folder


def tensors_of() -> dict[str, Any]:
    return {name: tensor.float32() for name, tensor in open_safetensors(GOLDEN / "model.safetensors").items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_emissions_are_torchs_to_the_fifth_place(engine: str) -> None:
    with np.load(GOLDEN / "expected.npz") as golden:
        ids = np.split(golden["ids"], np.cumsum(golden["lengths"])[:-1])
        assert np.abs(np.concatenate(network_logits(GOLDEN, engine, ids)) - golden["logits"]).max() < 1e-5


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=8)
@given(lengths=st.lists(st.integers(1, 48), min_size=2, max_size=5))
def test_a_sequence_alone_and_in_company(engine: str, lengths: list[int]) -> None:
    ids = sequences(lengths)
    together = network_logits(GOLDEN, engine, ids)
    turned = network_logits(GOLDEN, engine, ids[::-1])[::-1]
    for one, rows, other in zip(ids, together, turned, strict=True):
        (alone,) = network_logits(GOLDEN, engine, [one])
        assert np.abs(alone - rows).max() < 1e-5
        assert np.abs(other - rows).max() < 1e-5


def test_ids_under_the_padding_change_nothing() -> None:
    mx = pytest.importorskip("mlx.core")
    classifier = TokenClassifier.load(GOLDEN, engine="mlx", device="cpu")
    ids = sequences([45, 3, 31])
    inputs = classifier.ops.inputs(ids, [np.arange(len(one), dtype=np.int32) for one in ids])
    padded = np.array(inputs.ids).reshape(inputs.layout.sequences, inputs.layout.length)
    padding = np.arange(padded.shape[1]) >= np.array(inputs.lengths)[:, None]
    padded[padding] = np.random.default_rng(3).integers(0, VOCABULARY, padding.sum())
    other = dataclasses.replace(inputs, ids=mx.array(padded.reshape(-1)))
    assert np.array_equal(*(classifier.ops.host(classifier._network(batch), batch) for batch in (inputs, other)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays_near_float32(dtype: str) -> None:
    pytest.importorskip("mlx.core")
    exact = TokenClassifier.load(GOLDEN, engine="numpy").logits(TEXT * 20)[1]
    rough = TokenClassifier.load(GOLDEN, engine="mlx", device="cpu", dtype=dtype).logits(TEXT * 20)[1]
    assert 0 < np.abs(rough - exact).max() < (0.01 if dtype == "float16" else 0.1) * np.abs(exact).max()


def test_a_document_is_one_window_unless_the_configuration_says_otherwise(tmp_path: Path) -> None:
    text = f"{TEXT} " * 200
    whole = TokenClassifier.load(changed(tmp_path / "whole", max_sequence_length=None), engine="numpy")
    assert whole.artifact.window == whole.window == UNBOUNDED
    assert whole.seams(text) == ()
    encoded, logits = whole.logits(text)
    assert np.abs(network_logits(tmp_path / "whole", "numpy", [encoded.ids])[0] - logits).max() < 1e-5
    cut = TokenClassifier.load(changed(tmp_path / "cut"), engine="numpy")
    assert cut.window == 48
    assert len(cut.seams(text)) > 50
    assert cut.logits(text)[1].shape == logits.shape
    assert Steady().cells(UNBOUNDED, 0) == [(length, batch) for length in (32, 128, 512) for batch in (1, 8, 32)]


@pytest.mark.parametrize("aggregation", ["simple", "viterbi"])
def test_one_best_sequence_over_the_windows_of_a_document(tmp_path: Path, aggregation: str) -> None:
    """Emissions are stitched and the chain runs over all of them: no window's edge is the start or end of a sequence."""
    classifier = TokenClassifier.load(changed(tmp_path / "m", max_sequence_length=8), engine="numpy", aggregation=aggregation)
    text = f"{TEXT} " * 10
    encoded, logits = classifier.logits(text)
    chain = classifier.decoder.chain
    assert chain is not None
    tags = [classifier.artifact.labels[i] for i in best_sequence(logits, chain)]
    (spans,) = classifier.predict([text])
    probabilities = marginals(logits, chain)
    assert len(spans) > 10
    for span in spans:
        inner = [i for i, (start, end) in enumerate(encoded.offsets) if span.start <= start and end <= span.end]
        assert {tags[i][2:] for i in inner} == {span.label}
        chosen = [probabilities[i, classifier.artifact.labels.index(tags[i])] for i in inner]
        assert span.score == pytest.approx(np.mean(chosen), abs=1e-5)
    covered = {i for span in spans for i, (start, end) in enumerate(encoded.offsets) if span.start <= start and end <= span.end}
    assert covered == {i for i, tag in enumerate(tags) if tag != "O"}


def test_transitions_decide(tmp_path: Path) -> None:
    """Emissions that say nothing: the chain alone goes B, I, I, … and pays for nothing else."""
    tensors = tensors_of()
    for name in ("classifier.weight", "classifier.bias", "crf.transitions", "crf.start_transitions", "crf.end_transitions"):
        tensors[name] = np.zeros_like(tensors[name])
    tensors["crf.start_transitions"][1] = 20
    tensors["crf.transitions"][1, 2] = tensors["crf.transitions"][2, 2] = 20
    for engine in ("numpy", "mlx") if find_spec("mlx") else ("numpy",):
        model = changed(tmp_path / engine, tensors)
        for aggregation in ("simple", "first", "average", "max", "viterbi"):
            classifier = TokenClassifier.load(model, engine=engine, device="cpu", aggregation=aggregation)
            (spans,) = classifier.predict([TEXT])
            assert [(span.start, span.end, span.label) for span in spans] == [(0, len(TEXT), "ANATOMY")]
            assert spans[0].score == pytest.approx(1.0, abs=1e-5)


def test_words_and_what_is_no_word(tmp_path: Path) -> None:
    classifier = TokenClassifier.load(changed(tmp_path / "m"), engine="numpy")
    assert classifier.encoder.special_tokens == 0
    encoded, logits = classifier.logits(TEXT)
    words = ["Biopsy", "of", "the", "left", "Kidney", ":", "nephritis", ".", "Dr", "Quill", ",", "ward", "7", "."]
    assert [TEXT[start:end] for start, end in encoded.offsets] == words
    assert encoded.ids[words.index("Kidney")] == 4 + WORDS.index("kidney")
    assert encoded.ids[words.index("nephritis")] == 1  # unknown
    assert logits.shape == (14, 5)
    assert list(classifier.predict(["", " \n", "🩺"]))[:2] == [[], []]


def test_the_head_may_be_called_hidden2tag_and_a_prefix_may_stand_before_all(tmp_path: Path) -> None:
    renamed = {f"model.{name.replace('classifier.', 'hidden2tag.')}": values for name, values in tensors_of().items()}
    ids = sequences([30, 7])
    for mine, other in zip(
        *(network_logits(folder, "numpy", ids) for folder in (GOLDEN, changed(tmp_path / "m", renamed))), strict=True
    ):
        assert np.array_equal(mine, other)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"hidden_size": None}, "hidden_size is missing"),
    ({"embedding_dim": None}, "embedding_dim is missing"),
    ({"embedding_dim": "20"}, "embedding_dim must be an integer of at least 1"),
    ({"num_layers": 0}, "num_layers must be an integer of at least 1"),
    ({"num_layers": 17}, "num_layers must be at most 16"),
    ({"max_sequence_length": -1}, "max_sequence_length must be an integer of at least 1"),
    ({"vocab_size": None}, "vocab_size is missing"),
]


@pytest.mark.parametrize(("changes", "says"), REFUSED)
def test_what_a_configuration_cannot_ask_for_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"config\.json: {says}"):
        TokenClassifier.load(changed(tmp_path / "m", **changes), engine="numpy")


@settings(max_examples=100)
@given(
    changes=st.dictionaries(
        st.sampled_from(["vocab_size", "embedding_dim", "hidden_size", "num_layers", "max_sequence_length"]),
        st.none() | st.booleans() | st.integers(-2, 80) | st.floats() | st.text(max_size=3) | st.lists(st.integers()),
        min_size=1,
    )
)
def test_any_configuration_is_read_or_refused(changes: dict[str, Any]) -> None:
    config = {**json.loads((GOLDEN / "config.json").read_text("utf-8")), "num_labels": 5, **changes}
    try:
        family = family_of(config)
        assert family.shapes(config)
        assert family.window(config) >= 1
    except ModelError as error:
        assert "config.json" in str(error)


CHANGED: list[tuple[str, Any, str]] = [
    ("crf.transitions", None, r"1 missing \(crf\.transitions\)"),
    ("lstm.weight_hh_l1_reverse", None, r"1 missing \(lstm\.layers\.1\.backward\.state\.weight\)"),
    ("lstm.bias_ih_l0", None, r"1 missing \(lstm\.layers\.0\.forward\.input\.bias\)"),
    ("lstm.weight_hr_l0", np.zeros((3, 12)), r"1 unexpected \(lstm\.weight_hr_l0\)"),
    ("crf.transitions", np.zeros((5, 6)), r"crf\.transitions \(\[5, 6\], not \[5, 5\]\)"),
    ("lstm.weight_ih_l1", np.zeros((48, 12)), r"lstm\.layers\.1\.forward\.input\.weight \(\[48, 12\], not \[48, 24\]\)"),
    ("classifier.weight", np.zeros((3, 24)), "id2label has 5 labels, but the classification head has 3 rows"),
    ("crf.start_transitions", np.array([0, 0, np.nan, 0, 0]), r"crf\.start_transitions: a score is not finite"),
]


@pytest.mark.parametrize(("name", "values", "says"), CHANGED)
def test_tensors_that_do_not_fit_are_named(tmp_path: Path, name: str, values: Any, says: str) -> None:
    tensors = tensors_of()
    tensors.pop(name, None)
    if values is not None:
        tensors[name] = values
    with pytest.raises(ModelError, match=says):
        TokenClassifier.load(changed(tmp_path / "m", tensors), engine="numpy")


def test_a_word_beyond_the_table_is_told(tmp_path: Path) -> None:
    model = changed(tmp_path / "m")
    tokenizer = word_level()
    tokenizer.add_tokens([f"word{number}" for number in range(9)])
    tokenizer.save(str(model / "tokenizer.json"))
    with pytest.raises(ModelError, match="embedding table only 28 rows"):
        TokenClassifier.load(model, engine="numpy")


def test_parameters_are_those_of_the_files() -> None:
    assert open_artifact(GOLDEN).checkpoint.parameters() == sum(values.size for values in tensors_of().values())
