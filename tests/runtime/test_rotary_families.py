"""Models with rotary positions as a whole: company, order and padding change nothing; what is not supported is refused by name."""

from __future__ import annotations

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
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.tokenization import TextEncoder

from .tiny_models import SPECIAL, WORDS, assert_company_changes_nothing, byte_bpe, network_logits, under_the_padding

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
FOLDERS = ("modernbert", "modernbert-biased", "qwen3", "qwen3-bidirectional", "eurobert", "eurobert-biased",
           "privacy-filter", "privacy-filter-plain")  # fmt: skip
ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]


def sequences(lengths: list[int]) -> list[np.ndarray]:
    return [np.random.default_rng(size).integers(0, len(SPECIAL) + len(WORDS), size).astype(np.int32) for size in lengths]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", FOLDERS)
@settings(max_examples=6)
@given(lengths=st.lists(st.integers(1, 136), min_size=2, max_size=5))
def test_a_sequence_alone_and_in_company(folder: str, engine: str, lengths: list[int]) -> None:
    assert_company_changes_nothing(GOLDEN / folder, engine, sequences(lengths))


@pytest.mark.parametrize("folder", FOLDERS)
def test_engines_agree_beyond_every_window(folder: str) -> None:
    pytest.importorskip("mlx.core")
    ids = sequences([136, 97, 1, 20, 20, 136])
    for plain, mlx in zip(*(network_logits(GOLDEN / folder, engine, ids) for engine in ("numpy", "mlx")), strict=True):
        assert np.abs(plain - mlx).max() < 1e-4


@pytest.mark.parametrize("folder", FOLDERS)
def test_ids_under_the_padding_change_nothing(folder: str) -> None:
    pytest.importorskip("mlx.core")
    classifier = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu")
    ids = sequences([130, 3, 61])
    inputs = classifier.ops.inputs(ids, [np.arange(len(one), dtype=np.int32) for one in ids])
    other = under_the_padding(inputs, len(SPECIAL) + len(WORDS))
    assert np.array_equal(*(classifier.ops.host(classifier._network(batch), batch) for batch in (inputs, other)))
    assert np.isfinite(np.array(classifier._network(other))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_half_precision_stays_near_float32(folder: str, dtype: str) -> None:
    pytest.importorskip("mlx.core")
    text = "nephritis of the left kidney . quill , ward 7 " * 20
    exact = TokenClassifier.load(GOLDEN / folder, engine="numpy").logits(text)[1]
    rough = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu", dtype=dtype).logits(text)[1]
    # A token near the border between two experts may go to the other one: there the largest difference says nothing.
    difference = np.abs(rough - exact)
    worst = np.quantile(difference, 0.9) if folder.startswith("privacy-filter") else difference.max()
    assert 0 < worst < (0.05 if dtype == "float16" else 0.4) * np.abs(exact).max()
    assert np.isfinite(rough).all()


def changed(tmp_path: Path, folder: str, **changes: Any) -> Path:
    """A golden model with other words in its config.json."""
    shutil.copytree(GOLDEN / folder, tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")
    return tmp_path / "model"


YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("qwen3", {"rope_parameters": YARN}, "rope_parameters: rotary scaling 'yarn' is not supported"),
    ("eurobert", {"rope_scaling": {"type": "linear", "factor": 2}}, "rope_scaling: rotary scaling 'linear' is not supported"),
    ("qwen3", {"rope_scaling": {"type": ["x"]}}, "rope_scaling: rotary scaling is not supported"),
    ("qwen3", {"rope_scaling": "yarn"}, "rope_scaling must be an object"),
    ("modernbert", {"rope_parameters": {"full_attention": PLAIN, "sliding_attention": YARN}},
     r"rope_parameters\.sliding_attention: rotary scaling 'yarn'"),
    ("modernbert", {"rope_parameters": {"full_attention": 7}}, r"rope_parameters\.full_attention must be an object"),
    ("modernbert", {"rope_parameters": 7}, r"rope_parameters\.full_attention must be an object"),
    ("qwen3", {"rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5}}, "partial_rotary_factor is not supported"),
    ("qwen3", {"rope_parameters": {"rope_theta": "many"}}, r"rope_parameters\.rope_theta must be a number"),
    ("qwen3", {"rope_parameters": None, "rope_theta": -1}, "rope_theta must be greater than 0"),
    ("qwen3", {"rope_parameters": {"rope_theta": float("inf")}}, "rope_theta must be greater than 0 and finite"),
    ("modernbert", {"layer_types": ["full_attention"] * 3}, "layer_types must be .* for each of 4 layers"),
    ("modernbert", {"layer_types": ["full_attention"] * 3 + [["chunked"]]}, "layer_types must be"),
    ("modernbert", {"norm_bias": "no"}, "norm_bias must be true or false"),
    ("modernbert", {"hidden_activation": "swoosh"}, "hidden_act 'swoosh' is not supported"),
    ("modernbert", {"num_attention_heads": 5}, "hidden_size must be an even multiple of num_attention_heads"),
    ("modernbert", {"local_attention": 1}, "local_attention must be an integer of at least 2"),
    ("qwen3", {"head_dim": 9}, "head_dim must be even"),
    ("qwen3", {"num_key_value_heads": 3}, "num_attention_heads is no multiple of num_key_value_heads"),
    ("qwen3", {"layer_types": ["sliding_attention"] * 3}, "use_sliding_window is not true"),
    ("qwen3", {"is_causal": True, "use_bidirectional_attention": True}, "contradict each other"),
    ("qwen3", {"use_bidirectional_attention": "all"}, "use_bidirectional_attention must be true or false"),
    ("eurobert", {"num_attention_heads": 3, "head_dim": None}, "hidden_size is no multiple of num_attention_heads"),
    ("privacy-filter", {"rope_parameters": {**YARN, "rope_type": "longrope"}}, "rotary scaling 'longrope' is not supported"),
    ("privacy-filter", {"rope_parameters": {**YARN, "factor": 0}}, r"rope_parameters\.factor must be greater than 0"),
    ("privacy-filter", {"rope_parameters": {**YARN, "factor": 0.5}}, "factor of rotary scaling must be at least 1"),
    ("privacy-filter", {"rope_parameters": {**YARN, "mscale": 1.0}}, "rope_parameters: mscale is not supported"),
    ("privacy-filter", {"rope_parameters": {**YARN, "truncate": "no"}}, r"rope_parameters\.truncate must be true or false"),
    ("privacy-filter", {"rope_parameters": {**YARN, "rope_theta": 1}}, "rope_theta must be greater than 1"),
    ("privacy-filter", {"rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5}}, "partial_rotary_factor is not supported"),
    ("privacy-filter", {"rope_parameters": [1]}, "rope_parameters must be an object"),
    ("privacy-filter", {"quantization_config": {"quant_method": "mxfp4"}}, "quantization_config: only weights that are plain"),
    ("privacy-filter", {"num_experts_per_tok": 9}, "more experts a token than experts"),
    ("privacy-filter", {"num_key_value_heads": 4}, "num_attention_heads is no multiple of num_key_value_heads"),
    ("privacy-filter", {"head_dim": 7}, "head_dim must be even"),
    ("privacy-filter", {"sliding_window": -1}, "sliding_window must be an integer of at least 0"),
    ("privacy-filter", {"swiglu_limit": 0}, "swiglu_limit must be greater than 0"),
    ("privacy-filter", {"bidirectional_left_context": -1}, "bidirectional_left_context must be an integer of at least 0"),
    ("eurobert", {"max_position_embeddings": 0}, "max_position_embeddings must be an integer of at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("folder", "changes", "says"), REFUSED, ids=[f"{case[0]}-{i}" for i, case in enumerate(REFUSED)])
def test_what_a_configuration_cannot_ask_for_is_named(tmp_path: Path, folder: str, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"config\.json: .*{says}|config\.json: {says}"):
        TokenClassifier.load(changed(tmp_path, folder, **changes), engine="numpy")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 80) | st.floats() | st.sampled_from(["default", "yarn", "full_attention", "x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["rope_type", "rope_theta", "full_attention", "factor", "beta_fast", "original_max_position_embeddings"]),
        inner,
    ),
)  # fmt: skip
KEYS = ("rope_parameters", "rope_scaling", "layer_types", "is_causal", "sliding_window", "use_sliding_window", "head_dim",
        "num_key_value_heads", "norm_bias", "local_attention", "max_window_layers", "rms_norm_eps", "hidden_size",
        "num_local_experts", "experts_per_token", "rope_scaling_factor", "bidirectional_right_context", "swiglu_limit",
        "rope_theta", "initial_context_length", "classifier_bias")  # fmt: skip


@settings(max_examples=150)
@given(folder=st.sampled_from(FOLDERS), changes=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1))
def test_any_configuration_is_read_or_refused(folder: str, changes: dict[str, Any]) -> None:
    config = {**json.loads((GOLDEN / folder / "config.json").read_text("utf-8")), "num_labels": 5, **changes}
    try:
        assert family_of(config).shapes(config)
    except ModelError as error:
        assert "config.json" in str(error)


def test_bidirectional_by_either_key(tmp_path: Path) -> None:
    ids = sequences([60])
    causal = network_logits(GOLDEN / "qwen3", "numpy", ids)[0]
    found = [
        network_logits(changed(tmp_path / str(i), "qwen3", **said), "numpy", ids)[0]
        for i, said in enumerate([{"is_causal": False}, {"use_bidirectional_attention": True}, {"is_causal": True}])
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[2], causal)
    assert np.abs(found[0] - causal).max() > 1e-2


@pytest.mark.parametrize("folder", FOLDERS)
def test_window_is_what_the_configuration_says(tmp_path: Path, folder: str) -> None:
    model = changed(tmp_path, folder, max_position_embeddings=8192)
    assert open_artifact(model).window == 8192
    encoded, logits = TokenClassifier.load(model, engine="numpy").logits("left kidney " * 600)
    assert logits.shape == (len(encoded.ids), 5) == (1200, 5)


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("trim", [True, False])
def test_byte_level_tokenizers_with_and_without_special_tokens(tmp_path: Path, special: bool, trim: bool) -> None:
    text = "Dr Ødegård: 🩺 crème  5 mg, 腎臓\n"
    byte_bpe([text], trim=trim, special=special, size=270).save(str(tmp_path / "tokenizer.json"))
    encoder = TextEncoder.load(tmp_path / "tokenizer.json")
    assert (encoder.prefix.tolist(), encoder.suffix.tolist()) == (([0], [2]) if special else ([], []))
    (encoded,) = encoder.encode([text])
    assert not {0, 2} & set(encoded.ids.tolist())
    covered = {place for start, end in encoded.offsets for place in range(start, end)}
    assert covered == {place for place, character in enumerate(text) if not character.isspace()}
    assert encoder.encode([""])[0].ids.size == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_without_special_tokens_takes_texts_of_any_length(tmp_path: Path, engine: str) -> None:
    model = changed(tmp_path, "qwen3")
    tokenizer = json.loads((model / "tokenizer.json").read_text("utf-8")) | {"post_processor": None}
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    classifier = TokenClassifier.load(model, engine=engine, device="cpu")
    assert (classifier.window, classifier.encoder.special_tokens) == (136, 0)
    texts = ["", "kidney", "left kidney " * 200, " ", "ward 7 " * 68]
    assert len(list(classifier.predict(texts))) == 5
    for text in texts:
        encoded, logits = classifier.logits(text)
        assert logits.shape == (len(encoded.ids), 5)
        assert np.isfinite(logits).all()
