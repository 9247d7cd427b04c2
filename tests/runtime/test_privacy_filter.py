"""The Privacy Filter: its operations against their formulas, its experts packed, its tokenizer, its Viterbi biases.

Parity with transformers is in test_golden.py; company, padding, half precision and refused configurations in
test_rotary_families.py; parity with openmed in converters/test_openmed_privacy_filter.py.
"""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.decoding import Decoder
from openmed_mlx_eval.runtime.safetensors import open_safetensors
from openmed_mlx_eval.runtime.tokenization import TextEncoder
from openmed_mlx_eval.runtime.viterbi import BIASES, Constraints, best_path
from openmed_mlx_eval.runtime.weights import Experts, Linear, Matrix

from .test_bands import batch, by_heads, by_tokens, laid_out, stored
from .tiny_models import as_safetensors

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
ENGINES = ["numpy", pytest.param("mlx", marks=pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed"))]
TEXT = "Dr Ødegård: 🩺 crème  5 mg, 腎臓 don't <|endoftext|> 12345\n\n  mail a.quill@ward7.example\n"


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 150), min_size=1, max_size=4),
    reach=st.tuples(st.none() | st.integers(0, 40), st.none() | st.integers(0, 40)),
    heads=st.sampled_from([(1, 1), (4, 2), (6, 2), (3, 3)]),
    scale=st.sampled_from([0.3, 30.0]),
    sink=st.sampled_from([-200.0, 0.0, 3.0, 90.0]),
)
def test_a_sink_takes_its_share_of_the_softmax(
    engine: str, lengths: list[int], reach: tuple[int | None, int | None], heads: tuple[int, int], scale: float, sink: float
) -> None:
    ops, inputs = batch(engine, lengths)
    rng = np.random.default_rng(sum(lengths))
    q, k, v = (rng.normal(0, 1, (sum(lengths), count, 8)).astype(np.float32) for count in (heads[0], heads[1], heads[1]))
    logits = sink + rng.normal(0, 1, heads[0])
    parts = [by_heads(ops, inputs, x) for x in (q, k, v)]
    sinks = ops.sinks(stored(logits / np.log(2)))
    found = ops.host(ops.banded_attention(*parts, ops.band(inputs, *reach), scale=scale, sinks=sinks), inputs)
    cuts, share, rows = np.cumsum(lengths)[:-1], heads[0] // heads[1], []
    for one_q, one_k, one_v in zip(*(np.split(x.astype(np.float64), cuts) for x in (q, k, v)), strict=True):
        distance = np.arange(len(one_q)) - np.arange(len(one_q))[:, None]
        before, after = (len(one_q) if far is None else far for far in reach)
        seen = (distance >= -before) & (distance <= after)
        by_head = []
        for head in range(heads[0]):
            scores = np.where(seen, scale * one_q[:, head] @ one_k[:, head // share].T, -np.inf)
            scores = np.concatenate([scores, np.full((len(scores), 1), logits[head])], axis=1)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            by_head.append((weights / weights.sum(axis=1, keepdims=True))[:, :-1] @ one_v[:, head // share])
        rows.append(np.concatenate(by_head, axis=1))
    assert np.abs(found - np.concatenate(rows)).max() < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_rotary_turns_neighbours(engine: str) -> None:
    ops, inputs = batch(engine, [300, 1, 40])
    x = np.random.default_rng(5).normal(0, 1, (341, 3, 16)).astype(np.float32)
    frequencies = np.geomspace(1, 1e-4, 8).astype(np.float32)
    angles = np.concatenate([np.arange(length) for length in (300, 1, 40)])[:, None, None] * frequencies.astype(np.float64)
    pairs = x[..., ::2].astype(np.float64) + 1j * x[..., 1::2]
    turned = pairs * np.exp(1j * angles)
    expected = np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)
    turn = ops.rotary(frequencies, neighbours=True)
    found = by_tokens(ops, inputs, turn(by_heads(ops, inputs, x), inputs))
    assert np.abs(found - expected.reshape(len(x), -1)).max() < 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(1, 12)),
    data=st.data(),
)
def test_a_mixture_is_its_formula(engine: str, lengths: list[int], sizes: tuple[int, int, int], data: Any) -> None:
    experts, hidden, inner = sizes
    chosen = data.draw(st.integers(1, experts))
    rng = np.random.default_rng(sum(lengths))
    made = {
        name: rng.normal(0, 1, shape).astype(np.float32)
        for name, shape in {"rw": (experts, hidden), "rb": (experts,), "gw": (experts, hidden, 2 * inner),
                            "gb": (experts, 2 * inner), "dw": (experts, inner, hidden), "db": (experts, hidden)}.items()
    }  # fmt: skip
    x = rng.normal(0, 1, (sum(lengths), hidden)).astype(np.float32)
    ops, inputs = batch(engine, lengths)
    router = Linear((Matrix(stored(made["rw"])),), (stored(made["rb"]),))
    stacks = [Experts(Matrix(stored(made[f"{name}w"])), stored(made[f"{name}b"])) for name in "gd"]
    given_x = laid_out(inputs, x)
    found = ops.host(ops.mixture(router, *stacks, chosen, 1.3, 1.5)(given_x), inputs)
    assert np.array_equal(ops.host(given_x, inputs), x)
    wide = {name: values.astype(np.float64) for name, values in made.items()}
    for row, y in zip(x.astype(np.float64), found, strict=True):
        logits = wide["rw"] @ row + wide["rb"]
        best = np.argsort(-logits)[:chosen]
        shares = np.exp(logits[best] - logits[best].max())
        expected = np.zeros(hidden)
        for expert, share in zip(best, shares / shares.sum(), strict=True):
            gate, up = np.split(row @ wide["gw"][expert] + wide["gb"][expert], 2)
            gate, up = np.minimum(gate, 1.5), np.clip(up, -1.5, 1.5)
            expected += share * (((up + 1) * gate / (1 + np.exp(-1.3 * gate))) @ wide["dw"][expert] + wide["db"][expert])
        assert np.abs(y - expected).max() < 1e-4


def test_mlx_computes_many_tokens_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlx.core")
    from openmed_mlx_eval.runtime.engines import mlx_experts

    ops, inputs = batch("mlx", [50, 9])
    rng = np.random.default_rng(2)
    router = Linear((Matrix(stored(rng.normal(0, 1, (5, 4)))),), ())
    stacks = [
        Experts(Matrix(stored(rng.normal(0, 1, (5, *shape)))), stored(np.zeros((5, shape[1])))) for shape in ((4, 6), (3, 4))
    ]
    x = rng.normal(0, 1, (59, 4)).astype(np.float32)
    whole, parts = [], []
    for rows, found in ((8192, whole), (7, parts)):
        monkeypatch.setattr(mlx_experts, "ROWS", rows)
        found.append(ops.host(ops.mixture(router, *stacks, 2, 1.0, 7.0)(laid_out(inputs, x)), inputs))
    assert np.abs(whole[0] - parts[0]).max() < 1e-5


def test_numpy_widens_only_the_experts_that_are_met() -> None:
    met: list[int] = []

    class Counted(Experts):
        def float32(self, expert: int) -> Any:
            met.append(expert)
            return super().float32(expert)

    ops, _ = batch("numpy", [1])
    rng = np.random.default_rng(0)
    router = Linear((Matrix(stored(rng.normal(0, 1, (64, 4)))),), ())
    up = Counted(Matrix(stored(rng.normal(0, 1, (64, 4, 6)))), stored(np.zeros((64, 6))))
    down = Experts(Matrix(stored(rng.normal(0, 1, (64, 3, 4)))), stored(np.zeros((64, 4))))
    mixture = ops.mixture(router, up, down, 2, 1.0, 7.0)
    x = rng.normal(0, 1, (3, 4)).astype(np.float32)
    mixture(x), mixture(x)
    assert len(met) == len(set(met)) <= 6


def copied(tmp_path: Path, folder: str = "privacy-filter", **files: Any) -> Path:
    shutil.copytree(GOLDEN / folder, tmp_path / "model")
    for stem, value in files.items():
        (tmp_path / "model" / f"{stem}.json").write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("model.layers.1.mlp.experts.down_proj_bias", r"1 missing \(encoder\.layers\.1\.mlp\.down\.bias\)"),
        ("model.layers.0.self_attn.sinks", r"1 missing \(encoder\.layers\.0\.attention\.sinks\)"),
        ("model.layers.2.self_attn.k_proj.weight", r"1 missing \(encoder\.layers\.2\.attention\.key_proj\.weight\)"),
        ("score.bias", r"1 missing \(classifier\.bias\)"),
    ],
)
def test_a_missing_tensor_is_named(tmp_path: Path, lost: str, named: str) -> None:
    model = copied(tmp_path)
    tensors = {name: tensor.float32() for name, tensor in open_safetensors(model / "model.safetensors").items()}
    del tensors[lost]
    (model / "model.safetensors").write_bytes(as_safetensors(tensors))
    with pytest.raises(ModelError, match=named):
        open_artifact(model)


def test_a_packed_product_of_the_wrong_height_is_named(tmp_path: Path) -> None:
    model = copied(tmp_path)
    tensors = {name: tensor.float32() for name, tensor in open_safetensors(model / "model.safetensors").items()}
    tensors["block.0.attn.qkv.weight"] = np.zeros((79, 32))
    (model / "model.safetensors").write_bytes(as_safetensors(tensors))
    with pytest.raises(ModelError, match=r"'block\.0\.attn\.qkv\.weight' must have 80 rows"):
        open_artifact(model)


def o200k_like() -> Tokenizer:
    """Byte-level BPE behind the pattern of o200k_base, as transformers writes the Privacy Filter's; nothing around a text."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    short = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    pattern = (
        rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{short}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{short}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return tokenizer


def test_its_tokenizer_covers_every_visible_character_and_adds_nothing(tmp_path: Path) -> None:
    o200k_like().save(str(tmp_path / "tokenizer.json"))
    encoder = TextEncoder.load(tmp_path / "tokenizer.json")
    assert encoder.special_tokens == 0
    (encoded,) = encoder.encode([TEXT])
    covered = {place for start, end in encoded.offsets for place in range(start, end)}
    assert covered == {place for place, character in enumerate(TEXT) if not character.isspace()}
    stethoscope = TEXT.index("🩺")
    assert next(offsets for offsets in encoded.offsets if offsets[0] == stethoscope) == (stethoscope, stethoscope + 1)


IOBES = ("O", *(f"{prefix}-{label}" for label in ("NAME", "DATE") for prefix in "BIES"))


@settings(max_examples=80)
@given(
    biases=st.dictionaries(st.sampled_from(sorted(BIASES)), st.floats(-3, 3).map(float)),
    seed=st.integers(0, 99),
    tokens=st.integers(1, 5),
)
def test_biases_are_added_to_the_transitions_they_name(biases: dict[str, float], seed: int, tokens: int) -> None:
    """Against all paths, with the rules written out."""
    tags = [(tag[0], tag[2:]) for tag in IOBES]
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(len(tags)), tokens).astype(np.float32)

    def step(before: tuple[str, str], after: tuple[str, str]) -> float:
        if before[0] in "BI":
            key = {"I": "inside_to_continue", "E": "inside_to_end"}.get(after[0]) if before[1] == after[1] else None
            return biases.get(f"transition_bias_{key}", 0.0) if key else -np.inf
        if after[0] in "IE":
            return -np.inf
        where = "background" if before[0] == "O" else "end"
        to = "to_start" if after[0] in "BS" else {"background": "stay", "end": "to_background"}[where]
        return biases.get(f"transition_bias_{where}_{to}", 0.0)

    def score(path: list[int]) -> float:
        if tags[path[0]][0] in "IE" or tags[path[-1]][0] in "BI":
            return -np.inf
        total = float(np.log(probabilities[range(len(path)), path].astype(np.float64)).sum())
        return total + sum(step(tags[a], tags[b]) for a, b in pairwise(path))

    found = best_path(probabilities, Constraints.of(tags, biases)).tolist()
    heads: dict[int, tuple[float, list[int]]] = {tag: (score_of_one(probabilities, tags, tag), [tag]) for tag in range(len(tags))}
    for place in range(1, tokens):
        heads = {
            tag: max(
                (total + step(tags[path[-1]], tags[tag]) + float(np.log(probabilities[place, tag])), [*path, tag])
                for total, path in heads.values()
            )
            for tag in range(len(tags))
        }
    best = max(total for total, path in heads.values() if tags[path[-1]][0] not in "BI")
    assert score(found) == pytest.approx(best, abs=1e-4)


def score_of_one(probabilities: Any, tags: list[tuple[str, str]], tag: int) -> float:
    return -np.inf if tags[tag][0] in "IE" else float(np.log(probabilities[0, tag]))


def point(biases: Any) -> Any:
    return {"operating_points": {"default": {"biases": biases}}}


STAY, START = "transition_bias_background_stay", "transition_bias_background_to_start"


def test_biases_come_from_the_calibration_beside_a_checkpoint(tmp_path: Path) -> None:
    assert open_artifact(GOLDEN / "privacy-filter").transition_biases == {}
    model = copied(tmp_path, viterbi_calibration=point({STAY: 4, START: 0.0, "other": "x"}))
    artifact = open_artifact(model)
    assert artifact.transition_biases == {STAY: 4.0}
    assert "viterbi_calibration.json" in artifact.hashes()
    text = "left kidney . quill , ward 7 " * 4
    viterbi = [
        TokenClassifier.load(folder, engine="numpy", aggregation="viterbi") for folder in (GOLDEN / "privacy-filter", model)
    ]
    spans = [len(next(iter(classifier.predict([text])))) for classifier in viterbi]
    assert spans[1] < spans[0]
    for aggregation in ("simple", "first"):
        assert Decoder.of(artifact.labels, aggregation, artifact.transition_biases).constraints is None


@pytest.mark.parametrize(
    ("calibration", "says"),
    [
        ({}, "operating_points.default.biases is missing"),
        ({"operating_points": {"strict": {"biases": {}}}}, "operating_points.default.biases is missing"),
        ({"operating_points": [1]}, "operating_points.default.biases is missing"),
        (point([1]), "must be an object"),
        (point({STAY: "much"}), f"{STAY} must be a finite number"),
        (point({START: True}), f"{START} must be a finite number"),
        ('{"operating_points": {"default": {"biases": {"transition_bias_end_to_start": NaN}}}}', "must be a finite number"),
        ("{", "not valid JSON"),
    ],
)
def test_a_calibration_that_is_none_is_named(tmp_path: Path, calibration: Any, says: str) -> None:
    with pytest.raises(ModelError, match=rf"viterbi_calibration\.json: .*{says}"):
        open_artifact(copied(tmp_path, viterbi_calibration=calibration))


def test_biases_of_an_artifacts_config_are_read(tmp_path: Path) -> None:
    config = json.loads((GOLDEN / "privacy-filter" / "config.json").read_text("utf-8"))
    model = copied(tmp_path, config={**config, "_mlx_viterbi_biases": {STAY: -1}})
    assert open_artifact(model).transition_biases == {STAY: -1.0}
    (model / "config.json").write_text(json.dumps({**config, "_mlx_viterbi_biases": 3}), "utf-8")
    with pytest.raises(ModelError, match=r"config\.json: the Viterbi biases must be an object"):
        open_artifact(model)
