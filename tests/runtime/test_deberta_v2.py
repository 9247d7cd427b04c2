"""DeBERTa-v2 and v3: relative positions, and that batch, order, padding and engine change no result – without torch.

Parity with transformers is in test_golden.py and, with torch, in oracles/test_transformers_deberta.py.
"""

from __future__ import annotations

import json
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
from openmed_mlx_eval.runtime.families.deberta_v2 import DebertaConfig, rows_of_distances
from openmed_mlx_eval.runtime.safetensors import open_safetensors
from openmed_mlx_eval.runtime.tokenization import TextEncoder

from .tiny_models import SPECIAL, WORDS, as_safetensors, deberta_unigram, network_logits, under_the_padding

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
FOLDERS = ("deberta-v2", "deberta-v2-convolved", "deberta-v3")
ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
VOCABULARY = len(SPECIAL) + len(WORDS)
WHOLE_WORDS = [word for word in WORDS if not word.startswith("##")]


def sequences(lengths: tuple[int, ...], seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, VOCABULARY, length).astype(np.int32) for length in lengths]


def changed(folder: Path, source: str, *, scale: float = 1.0, of: str = "", **config: Any) -> Path:
    """A copy of a golden model with other config keys, and the tensors whose name holds `of` scaled."""
    folder.mkdir(exist_ok=True)
    described = json.loads((GOLDEN / source / "config.json").read_text("utf-8")) | config
    (folder / "config.json").write_text(json.dumps(described), "utf-8")
    stored = open_safetensors(GOLDEN / source / "model.safetensors")
    tensors = {name: tensor.float32() * (scale if of and of in name else 1) for name, tensor in stored.items()}
    (folder / "model.safetensors").write_bytes(as_safetensors(tensors))
    (folder / "tokenizer.json").write_bytes((GOLDEN / source / "tokenizer.json").read_bytes())
    return folder


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", FOLDERS)
def test_order_and_company_change_no_result(folder: str, engine: str) -> None:
    ids = sequences((48, 3, 20, 1, 20, 33, 2))
    alone = [network_logits(GOLDEN / folder, engine, [sequence])[0] for sequence in ids]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 4, 2, 0, 1, 3, 5]):
        together = network_logits(GOLDEN / folder, engine, [ids[i] for i in order])
        for place, number in enumerate(order):
            assert np.abs(together[place] - alone[number]).max() < 2e-5


@pytest.mark.parametrize("folder", FOLDERS)
def test_engines_agree(folder: str) -> None:
    pytest.importorskip("mlx.core")
    ids = sequences((48, 3, 20, 1, 20, 33, 2), seed=1)
    for plain, mlx in zip(*(network_logits(GOLDEN / folder, engine, ids) for engine in ("numpy", "mlx")), strict=True):
        assert np.abs(plain - mlx).max() < 2e-5


@pytest.mark.parametrize("folder", FOLDERS)
def test_ids_under_the_padding_change_nothing(folder: str) -> None:
    pytest.importorskip("mlx.core")
    classifier = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu")
    ids = sequences((20, 3, 7))
    inputs = classifier.ops.inputs(ids, [np.arange(len(sequence), dtype=np.int32) for sequence in ids])
    other = under_the_padding(inputs, VOCABULARY)
    rows = [classifier.ops.host(classifier._network(batch), batch) for batch in (inputs, other)]
    assert np.array_equal(*rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_text_is_cut_into_windows_of_the_table(engine: str) -> None:
    classifier = TokenClassifier.load(GOLDEN / "deberta-v3", engine=engine, device="cpu", stride=11)
    assert (classifier.artifact.window, classifier.window) == (48, 46)
    text = " ".join(np.random.default_rng(0).choice(WHOLE_WORDS, 150))
    encoded, logits = classifier.logits(text)
    first = classifier.logits(text[: encoded.offsets[45][1]])[1]
    assert len(logits) == 150
    assert np.abs(first[:40] - logits[:40]).max() < 2e-5


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("of", ["query_proj", "rel_embeddings", "encoder.LayerNorm"])
def test_large_scores_of_any_term_stay_finite(tmp_path: Path, folder: str, of: str) -> None:
    if of == "encoder.LayerNorm" and folder == "deberta-v2":
        pytest.skip("its relative positions are not normalised")
    source = changed(tmp_path, folder, scale=300, of=of)  # products far beyond what exp takes
    ids = sequences((33, 5))
    plain = network_logits(source, "numpy", ids)
    assert all(np.isfinite(rows).all() for rows in plain)
    if find_spec("mlx"):
        for mine, theirs in zip(plain, network_logits(source, "mlx", ids), strict=True):
            assert np.abs(mine - theirs).max() < 1e-2 * np.abs(mine).max()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_half_precision_stays_near_float32(folder: str, dtype: str) -> None:
    pytest.importorskip("mlx.core")
    text = "biopsy of the left kidney , nephritis . ward 7 " * 3
    exact = TokenClassifier.load(GOLDEN / folder, engine="numpy").logits(text)[1]
    rough = TokenClassifier.load(GOLDEN / folder, engine="mlx", device="cpu", dtype=dtype).logits(text)[1]
    assert 0 < np.abs(rough - exact).max() < (0.02 if dtype == "float16" else 0.2) * np.abs(exact).max()


def config_of(**changes: Any) -> dict[str, Any]:
    return {**json.loads((GOLDEN / "deberta-v3" / "config.json").read_text("utf-8")), "num_labels": 5, **changes}


@settings(max_examples=60)
@given(buckets=st.integers(2, 64).map(lambda half: 2 * half), more=st.integers(2, 400), length=st.integers(1, 600))
def test_rows_are_odd_monotonous_and_of_the_table(buckets: int, more: int, length: int) -> None:
    farthest = buckets // 2 + more
    c = DebertaConfig.of(config_of(position_buckets=buckets, max_relative_positions=farthest, max_position_embeddings=600))
    rows = rows_of_distances(length, c)
    assert rows.shape == (2 * length - 1,)
    assert rows.min() >= 0
    assert rows.max() < 2 * buckets
    assert (np.diff(rows) >= 0).all()
    within = slice(max(0, length - farthest), length - 1 + farthest)  # beyond, the last row stands for all
    assert np.array_equal(rows[within] - buckets, (buckets - rows[::-1])[within])
    near = np.arange(-min(length - 1, buckets // 2), min(length - 1, buckets // 2) + 1)
    assert np.array_equal(rows[near + length - 1], near + buckets)


@pytest.mark.parametrize(("span", "length"), [(20, 48), (48, 48), (1, 3)])
def test_without_buckets_a_row_stands_for_a_distance(span: int, length: int) -> None:
    rows = rows_of_distances(length, DebertaConfig.of(config_of(position_buckets=-1, max_relative_positions=span)))
    assert np.array_equal(rows, np.clip(np.arange(1 - length, length) + span, 0, 2 * span - 1))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_attention_heads": 3}, "no multiple of num_attention_heads"),
        ({"attention_head_size": 8}, "attention_head_size must be"),
        ({"position_buckets": 1}, "position_buckets does not fit"),
        ({"position_buckets": 64, "max_relative_positions": 20}, "position_buckets does not fit"),
        ({"position_buckets": "8"}, "position_buckets must be an integer"),
        ({"conv_kernel_size": 4}, "conv_kernel_size must be odd"),
        ({"conv_kernel_size": 3, "conv_groups": 2}, "conv_groups 1"),
        ({"pos_att_type": 3}, "pos_att_type must be a list of strings"),
        ({"pos_att_type": [3]}, "pos_att_type must be a list of strings"),
        ({"relative_attention": "yes"}, "relative_attention must be true or false"),
        ({"hidden_act": "mish"}, "hidden_act 'mish' is not supported"),
        ({"type_vocab_size": 2}, r"1 missing \(embeddings.token_type_embeddings.weight\)"),
        ({"share_att_key": False}, "8 missing .*pos_key_proj"),
        ({"norm_rel_ebd": "none"}, r"2 unexpected \(encoder.LayerNorm"),
        ({"position_buckets": 9}, r"rel_embeddings.weight \(\[16, 32\], not \[18, 32\]\)"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must be at most 1024"),
    ],
)
def test_a_config_that_cannot_be_run_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        TokenClassifier.load(changed(tmp_path, "deberta-v3", **changes), engine="numpy")


def test_terms_may_be_written_with_bars_or_as_a_list(tmp_path: Path) -> None:
    ids = sequences((9,))
    found = [
        network_logits(changed(tmp_path / str(number), "deberta-v3", pos_att_type=terms), "numpy", ids)[0]
        for number, terms in enumerate((["c2p", "p2c"], "P2C | c2p", "c2p"))
    ]
    assert np.array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 0.01


def test_parameters_are_those_of_the_file() -> None:
    stored = open_safetensors(GOLDEN / "deberta-v2-convolved" / "model.safetensors")
    expected = sum(tensor.array.size for tensor in stored.values())
    assert open_artifact(GOLDEN / "deberta-v2-convolved").checkpoint.parameters() == expected


@pytest.mark.parametrize("multilingual", [False, True])
def test_special_tokens_and_offsets_of_its_tokenizers(tmp_path: Path, multilingual: bool) -> None:
    pieces = ["▁left", "▁kid", "ney", "▁", *"leftkidny,."]
    tokenizer = deberta_unigram(pieces, multilingual=multilingual)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoder = TextEncoder.load(tmp_path / "tokenizer.json")
    assert (encoder.prefix.tolist(), encoder.suffix.tolist()) == ([1], [2])
    text = "  left \n\t kidney, left"
    (encoded,) = encoder.encode([text])
    shown = [text[start:end] for start, end in encoded.offsets]
    assert [piece for piece in shown if piece] == ["left", "kid", "ney", ",", "left"]
