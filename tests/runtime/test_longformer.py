"""Longformer as a whole: company, order and padding change nothing; cost is linear; what it cannot be is refused by name."""

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

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.engines import open_engine
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.families.longformer import global_ids, reaches
from openmed_mlx_eval.runtime.safetensors import open_safetensors

from .tiny_models import SPECIAL, WORDS, as_safetensors, assert_company_changes_nothing, network_logits

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
FOLDERS = ("longformer", "longformer-global")
ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
VOCABULARY = len(SPECIAL) + len(WORDS)
WINDOW = 64


def sequences(lengths: list[int]) -> list[np.ndarray]:
    return [np.random.default_rng(size).integers(0, VOCABULARY, size).astype(np.int32) for size in lengths]


def changed(tmp_path: Path, folder: str, **changes: Any) -> Path:
    """A golden model with other words in its config.json; None takes a key out."""
    shutil.copytree(GOLDEN / folder, tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text("utf-8")) | changes
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}), "utf-8")
    return tmp_path / "model"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", FOLDERS)
@settings(max_examples=8)
@given(lengths=st.lists(st.integers(1, WINDOW), min_size=2, max_size=5))
def test_a_sequence_alone_and_in_company(folder: str, engine: str, lengths: list[int]) -> None:
    assert_company_changes_nothing(GOLDEN / folder, engine, sequences(lengths))


@pytest.mark.parametrize("folder", FOLDERS)
def test_ids_under_the_padding_change_nothing(folder: str) -> None:
    """Not even where they are those of global tokens."""
    mx = pytest.importorskip("mlx.core")
    classifier = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu")
    ids = sequences([60, 3, 41])
    inputs = classifier.ops.inputs(ids, [classifier.artifact.family.positions(classifier.artifact.config, one) for one in ids])
    padded = np.array(inputs.ids).reshape(inputs.layout.sequences, inputs.layout.length)
    padding = np.arange(padded.shape[1]) >= np.array(inputs.lengths)[:, None]
    padded[padding] = np.random.default_rng(3).choice([2, 9, 5], padding.sum())
    other = dataclasses.replace(inputs, ids=mx.array(padded.reshape(-1)))
    assert np.array_equal(*(classifier.ops.host(classifier._network(batch), batch) for batch in (inputs, other)))
    assert np.isfinite(np.array(classifier._network(other))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_half_precision_stays_near_float32(folder: str, dtype: str) -> None:
    pytest.importorskip("mlx.core")
    text = "nephritis of the left kidney . quill , ward 7 " * 20
    exact = TokenClassifier.load(GOLDEN / folder, engine="numpy").logits(text)[1]
    rough = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu", dtype=dtype).logits(text)[1]
    assert 0 < np.abs(rough - exact).max() < (0.05 if dtype == "float16" else 0.4) * np.abs(exact).max()


def test_a_global_token_is_heard_at_the_other_end(tmp_path: Path) -> None:
    """Two layers of 4 and 4 tokens to a side reach 8; only through a global token does a token hear another 50 away."""
    ids = np.full(60, 5, dtype=np.int32)
    ids[20] = 9
    first, last = ids.copy(), ids.copy()
    first[2] = last[57] = 7
    for folder, hears in ((GOLDEN / "longformer-global", True),
                          (changed(tmp_path, "longformer-global", global_attention_token_ids=None), False)):  # fmt: skip
        plain, one, other = (network_logits(folder, "numpy", [each])[0] for each in (ids, first, last))
        assert bool(np.abs(one[40:] - plain[40:]).max() > 1e-5) is hears
        assert bool(np.abs(other[:10] - plain[:10]).max() > 1e-5) is hears


@pytest.mark.parametrize("engine", ENGINES)
def test_projections_of_global_tokens_are_laid_out_only_where_there_are_any(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, int] = {}
    for folder in FOLDERS:
        artifact, ops = open_artifact(GOLDEN / folder), open_engine(engine, "cpu")
        original = ops.linear

        def counted(linear: Any, folder: str = folder, original: Any = original) -> Any:
            made[folder] = made.get(folder, 0) + len(linear.matrices)
            return original(linear)

        monkeypatch.setattr(ops, "linear", counted)
        artifact.family.network(ops, artifact.checkpoint, artifact.config)
    assert made == {"longformer": 2 * 6 + 1, "longformer-global": 2 * 9 + 1}


LENGTHS = (1024, 2048, 4096)


def long_model(tmp_path: Path, **changes: Any) -> Path:
    """longformer-global for 4,096 tokens."""
    model = changed(tmp_path, "longformer-global", max_position_embeddings=4098, attention_window=64, **changes)
    tensors = {name: tensor.float32() for name, tensor in open_safetensors(model / "model.safetensors").items()}
    name = "longformer.embeddings.position_embeddings.weight"
    tensors[name] = np.random.default_rng(0).normal(0, 0.3, (4098, tensors[name].shape[1])).astype(np.float32)
    (model / "model.safetensors").write_bytes(as_safetensors(tensors))
    return model


@pytest.mark.parametrize("ids", [[], [9]], ids=["no global tokens", "global tokens"])
@pytest.mark.parametrize("engine", ENGINES)
def test_scores_computed_grow_with_the_length_and_not_with_its_square(
    tmp_path: Path, engine: str, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every q·k of every layer is counted: at most twice as many for twice the text, about window and a half a token."""
    model = long_model(tmp_path, global_attention_token_ids=ids)
    computed = [0]
    if engine == "numpy":
        from openmed_mlx_eval.runtime.engines import numpy_bands, numpy_globals

        original = numpy_bands.softmax_product

        def counted(scores: Any, *others: Any, **more: Any) -> None:
            computed[0] += scores().size
            original(scores, *others, **more)

        monkeypatch.setattr(numpy_bands, "softmax_product", counted)
        monkeypatch.setattr(numpy_globals, "softmax_product", counted)
    else:
        import mlx.core as mx

        fused = mx.fast.scaled_dot_product_attention

        def counted_fused(q: Any, k: Any, v: Any, **more: Any) -> Any:
            computed[0] += q.size // q.shape[-1] * k.shape[2]
            return fused(q, k, v, **more)

        monkeypatch.setattr(mx.fast, "scaled_dot_product_attention", counted_fused)
    counts = []
    for length in LENGTHS:
        computed[0] = 0
        sequence = np.full(length, 5, dtype=np.int32)
        sequence[[3, 700]] = 9  # two global tokens, however long the text
        assert np.isfinite(network_logits(model, engine, [sequence])[0]).all()
        counts.append(computed[0])
    layers, heads = 2, 2
    assert 0 < counts[0] <= LENGTHS[0] * layers * heads * (3 * 64 + 4 * bool(ids))
    assert counts[1] <= 2.05 * counts[0]
    assert counts[2] <= 2.05 * counts[1]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"attention_window": 5}, "attention_window must be an even number of at least 2"),
    ({"attention_window": 0}, "attention_window must be an even number of at least 2"),
    ({"attention_window": -8}, "attention_window must be an even number of at least 2"),
    ({"attention_window": [8, 7]}, "attention_window must be an even number of at least 2"),
    ({"attention_window": [8]}, "attention_window must be one number, or one for each of 2 layers"),
    ({"attention_window": [8, 8, 8]}, "attention_window must be one number, or one for each of 2 layers"),
    ({"attention_window": [8, "wide"]}, "attention_window must be an even number of at least 2"),
    ({"attention_window": "wide"}, "attention_window must be an even number of at least 2"),
    ({"attention_window": 8.0}, "attention_window must be an even number of at least 2"),
    ({"attention_window": [8, None]}, "attention_window must be an even number of at least 2"),
    ({"attention_window": True}, "attention_window must be an even number of at least 2"),
    ({"global_attention_token_ids": 2}, "global_attention_token_ids must be a list of token ids"),
    ({"global_attention_token_ids": ["[CLS]"]}, "global_attention_token_ids must be a list of token ids"),
    ({"global_attention_token_ids": [VOCABULARY]}, "global_attention_token_ids must be a list of token ids"),
    ({"global_attention_token_ids": [-1]}, "global_attention_token_ids must be a list of token ids"),
    ({"hidden_act": "swoosh"}, "hidden_act 'swoosh' is not supported"),
    ({"num_attention_heads": 5}, "hidden_size is no multiple of num_attention_heads"),
    ({"pad_token_id": 65}, "max_position_embeddings leaves no position behind pad_token_id"),
]


@pytest.mark.parametrize(("changes", "says"), REFUSED)
def test_what_a_configuration_cannot_ask_for_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"config\.json: {says}"):
        TokenClassifier.load(changed(tmp_path, "longformer", **changes), engine="numpy")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 80) | st.floats() | st.sampled_from(["8", "x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["0", "1"]), inner),
)
KEYS = ("attention_window", "global_attention_token_ids", "num_hidden_layers", "pad_token_id", "max_position_embeddings",
        "type_vocab_size", "vocab_size", "layer_norm_eps")  # fmt: skip


@settings(max_examples=150)
@given(changes=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1))
def test_any_configuration_is_read_or_refused(changes: dict[str, Any]) -> None:
    config = {**json.loads((GOLDEN / "longformer" / "config.json").read_text("utf-8")), "num_labels": 5, **changes}
    try:
        assert family_of(config).shapes(config)
        assert len(reaches(config)) == config["num_hidden_layers"]
        assert all(reach > 0 for reach in reaches(config))
        assert all(number < config["vocab_size"] for number in global_ids(config))
    except ModelError as error:
        assert "config.json" in str(error)


@pytest.mark.parametrize(
    "lost", ["encoder.layer.1.attention.self.key_global.bias", "encoder.layer.0.attention.self.value.weight"]
)
def test_missing_tensors_are_named(tmp_path: Path, lost: str) -> None:
    model = changed(tmp_path, "longformer")
    tensors = {name: tensor.float32() for name, tensor in open_safetensors(model / "model.safetensors").items()}
    del tensors[f"longformer.{lost}"]
    (model / "model.safetensors").write_bytes(as_safetensors(tensors))
    ours = lost.replace("layer.", "layers.").replace("self.key_global", "key_global_proj").replace("self.value", "value_proj")
    with pytest.raises(ModelError, match=rf"1 missing \({ours}\)"):
        open_artifact(model)


@pytest.mark.parametrize("folder", FOLDERS)
def test_window_is_what_the_positions_leave_behind_the_padding(tmp_path: Path, folder: str) -> None:
    classifier = TokenClassifier.load(changed(tmp_path, folder), engine="numpy")
    assert (classifier.artifact.window, classifier.window) == (64, 62)
    encoded, logits = classifier.logits("left kidney " * 100)
    assert logits.shape == (len(encoded.ids), 5) == (200, 5)
    assert [bool(spans) for spans in classifier.predict(["", " "])] == [False, False]
