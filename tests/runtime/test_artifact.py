"""Model directories: what may be opened, and for everything else one clear ModelError, at once."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier

from .faults import Break, halved, removed, rewritten, written
from .tiny_models import as_safetensors, bert_config, bert_tensors, write_model

TEXT = "biopsy of the left kidney , nephritis ."


def tensors_changed(change: Callable[[dict[str, Any]], Any]) -> Break:
    def apply(folder: Path) -> None:
        tensors = bert_tensors(bert_config())
        change(tensors)
        (folder / "model.safetensors").write_bytes(as_safetensors(tensors))

    return apply


def labels(*names: str) -> Break:
    return rewritten("config.json", id2label={str(i): name for i, name in enumerate(names)})


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


_OUTPUT = "bert.encoder.layer.0.output"

FAULTS: list[tuple[str, Break, str]] = [
    ("config empty", written("config.json", b""), r"config\.json: not valid JSON"),
    ("config a list", written("config.json", b"[]"), r"config\.json: must be one JSON object"),
    ("config not text", written("config.json", b"\xff\xfe{"), r"config\.json: not valid JSON"),
    ("config deep", written("config.json", b"[" * 200_000), r"config\.json: not valid JSON"),
    ("config missing", removed("config.json"), r"config\.json is missing"),
    ("model type", rewritten("config.json", model_type="gpt2"), "'gpt2' is not supported – .*bert, bilstm-crf, camembert, .*longformer, .*xlm-roberta"),
    ("model type none", rewritten("config.json", model_type=None), "model_type is missing, or no name – supported are"),
    ("model type odd", rewritten("config.json", model_type=["bert"]), "or no name – supported are"),
    ("hidden a string", rewritten("config.json", hidden_size="32"), "hidden_size must be an integer"),
    ("hidden a bool", rewritten("config.json", hidden_size=True), "hidden_size must be an integer"),
    ("hidden missing", rewritten("config.json", hidden_size=None), "hidden_size is missing"),
    ("heads", rewritten("config.json", num_attention_heads=5), "no multiple of num_attention_heads"),
    ("layers", rewritten("config.json", num_hidden_layers=3), "16 missing"),
    ("too many layers", rewritten("config.json", num_hidden_layers=10**9), "num_hidden_layers"),
    ("positions", rewritten("config.json", position_embedding_type="relative_key"), "must be 'absolute'"),
    ("decoder", rewritten("config.json", is_decoder=True), "is_decoder must be false"),
    ("epsilon", rewritten("config.json", layer_norm_eps="small"), "layer_norm_eps must be a number"),
    ("activation", rewritten("config.json", hidden_act="swiglu"), "'swiglu' is not supported – supported are gelu"),
    ("activation odd", rewritten("config.json", hidden_act=["gelu"]), "hidden_act .* is not supported"),
    ("three labels", labels("O", "B-X", "I-X"), "id2label has 3 labels, but the classification head has 5 rows"),
    ("nameless", labels(*(f"LABEL_{i}" for i in range(5))), "--label-map FILE"),
    ("label a number", rewritten("config.json", id2label={"0": 1}), "a label is not a string"),
    ("label ids", rewritten("config.json", id2label={"0": "O", "2": "X"}), "ids are not 0 to 1"),
    ("label keys", rewritten("config.json", id2label={"zero": "O"}), "a key is not an integer"),
    ("label keys long", rewritten("config.json", id2label={"9" * 5000: "O"}), "id2label"),
    ("no labels", rewritten("config.json", id2label=None), "id2label is missing"),
    ("labels by label2id, one id twice", rewritten("config.json", id2label=None, label2id={"O": 0, "X": 0}), "id2label is missing"),
    ("labels by label2id, none", rewritten("config.json", id2label=None, label2id={"O": None}), "a key is not an integer"),
    ("labels by number", rewritten("config.json", id2label=None, num_labels=5), "5 labels have no names .*--label-map FILE"),
    ("labels by default", rewritten("config.json", id2label=None, architectures=["BertForTokenClassification"]), "has 2 labels"),
    ("labels by a billion", rewritten("config.json", id2label=None, num_labels=10**9), "num_labels must be at most"),
    ("a chain beside it", tensors_changed(lambda t: t.update({"crf.transitions": np.ones((5, 5))})), r"1 unexpected \(crf\.trans"),
    ("a tensor without a dot", tensors_changed(lambda t: t.update({"step": np.ones(1)})), r"1 unexpected \(step\)"),
    ("no tokenizer", removed("tokenizer.json"), r"tokenizer\.json is missing – .*AutoTokenizer"),
    ("tokenizer empty", written("tokenizer.json", b""), r"tokenizer\.json: .*cannot read it"),
    ("tokenizer half", halved("tokenizer.json"), r"tokenizer\.json: .*cannot read it"),
    ("tokenizer no JSON object", written("tokenizer.json", b'"trim_offsets": true'), r"tokenizer\.json: .*cannot read it"),
    ("weights half", halved("model.safetensors"), r"model\.safetensors: tensor"),
    ("weights empty", written("model.safetensors", b""), "file is empty"),
    ("weights missing", removed("model.safetensors"), "no weights"),
    ("pickle", pickled, r"pickle \(pytorch_model\.bin\).*never read.*openmed-mlx-eval convert"),
    ("NaN", tensors_changed(lambda t: t["classifier.bias"].__setitem__(2, np.nan)), "not finite.*weights are damaged"),
    ("infinite", tensors_changed(lambda t: t["classifier.weight"].__setitem__((1, 2), np.inf)), "not finite"),
    (
        "one renamed",
        tensors_changed(lambda t: t.update({f"{_OUTPUT}.dens.bias": t.pop(f"{_OUTPUT}.dense.bias")})),
        r"1 missing \(encoder\.layers\.0\.linear2\.bias\); 1 unexpected \(encoder\.layer\.0\.output\.dens\.bias\)",
    ),
    (
        "a whole layer short",
        tensors_changed(lambda t: [t.pop(name) for name in list(t) if ".layer.1." in name]),
        r"16 missing \((encoder\.layers\.1\.[a-z0-9_.]+(, )?){5} and 11 more\)",
    ),
    ("misshapen", tensors_changed(lambda t: t.update({"classifier.bias": np.ones(4)})), r"classifier\.bias \(\[4\], not \[5\]\)"),
    ("scalar head", tensors_changed(lambda t: t.update({"classifier.weight": np.zeros(())})), "head has 0 rows"),
    ("words for numbers", tensors_changed(lambda t: t.update({"classifier.bias": np.zeros(5, np.uint32)})), "stored as U32"),
    ("small table", rewritten("config.json", vocab_size=20), r"word_embeddings\.weight \(\[28, 32\], not \[20, 32\]\)"),
    ("no window", rewritten("config.json", max_position_embeddings=2), "misshapen"),
]  # fmt: skip


def test_labels_that_only_label2id_has_are_the_models(tmp_path: Path) -> None:
    named = open_artifact(write_model(tmp_path / "a")).labels
    ids = {label: number for number, label in enumerate(named)}
    folder = write_model(tmp_path / "b")
    rewritten("config.json", id2label=None, label2id=dict(reversed(ids.items())))(folder)
    assert open_artifact(folder).labels == named


def test_two_labels_without_names_which_transformers_leaves_out_of_the_config_can_be_named(tmp_path: Path) -> None:
    tensors = bert_tensors(bert_config(id2label={"0": "O", "1": "PHI"}))
    folder = write_model(tmp_path)
    rewritten("config.json", id2label=None, architectures=["BertForTokenClassification"])(folder)
    (folder / "model.safetensors").write_bytes(as_safetensors(tensors))
    assert open_artifact(folder).labels == ("LABEL_0", "LABEL_1")


@pytest.mark.parametrize("name", ["loss_fct.weight", "cls.predictions.bias", "model.lm_head.weight", "criterion.weight"])
def test_heads_of_other_tasks_beside_the_classifier_are_read_past(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path)
    plain = open_artifact(folder).checkpoint.tensors
    tensors_changed(lambda t: t.update({name: np.ones(5, np.float32)}))(folder)
    assert set(open_artifact(folder).checkpoint.tensors) == set(plain)


@pytest.mark.parametrize(("fault", "says"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_a_fault_is_one_clear_error_at_once(tmp_path: Path, fault: Break, says: str) -> None:
    folder = write_model(tmp_path / "model")
    fault(folder)
    start = time.perf_counter()
    with pytest.raises(ModelError, match=says) as caught:
        list(TokenClassifier.load(folder, engine="numpy").predict([TEXT]))
    assert time.perf_counter() - start < 30  # no hang; speed is for benchmarks
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_no_directory(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "absent", "no such folder: the model"), (Path(__file__), "the model is not a directory")):
        with pytest.raises(ModelError, match=words):
            open_artifact(path)


def test_vocabulary_beyond_the_table(tmp_path: Path) -> None:
    config = bert_config(vocab_size=20)
    folder = write_model(tmp_path, config)
    with pytest.raises(ModelError, match="token id 27, but the embedding table only 20 rows"):
        TokenClassifier.load(folder, engine="numpy")


def test_window_without_room(tmp_path: Path) -> None:
    folder = write_model(tmp_path, bert_config(max_position_embeddings=2))
    with pytest.raises(ModelError, match="window of 2 positions has no room between 2 special tokens"):
        TokenClassifier.load(folder, engine="numpy")


def test_position_table_that_ends_at_the_padding(tmp_path: Path) -> None:
    config = bert_config("roberta", max_position_embeddings=2, pad_token_id=1)
    folder = write_model(tmp_path, config, bert_tensors(config, "roberta."))
    with pytest.raises(ModelError, match="no position behind pad_token_id"):
        open_artifact(folder)


def test_a_label_map_gives_names(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    labels("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3", "LABEL_4")(folder)
    names = ("O", "B-ANATOMY", "I-ANATOMY", "B-NAME", "I-NAME")
    model = TokenClassifier.load(folder, engine="numpy", rename=lambda _: names)
    assert model.entity_labels == ("ANATOMY", "NAME")


@pytest.mark.parametrize("prefix", ["bert.", "model.", "", "model.bert."])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F64"])
def test_prefixes_and_tensors_without_use(tmp_path: Path, prefix: str, dtype: str) -> None:
    config = bert_config()
    plain = write_model(tmp_path / "plain", config, bert_tensors(config), dtype=dtype)
    extra = {
        f"{prefix}embeddings.position_ids": np.arange(40.0)[None],
        f"{prefix}embeddings.token_type_ids": np.zeros((1, 40)),
        f"{prefix}pooler.dense.weight": np.zeros((32, 32)),
        f"{prefix}pooler.dense.bias": np.zeros(32),
    }
    other = write_model(tmp_path / "other", config, bert_tensors(config, prefix) | extra, dtype=dtype)
    expected, found = (TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1] for folder in (plain, other))
    assert np.array_equal(expected, found)


def test_layer_norms_of_tensorflow(tmp_path: Path) -> None:
    config = bert_config()
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def old(name: str) -> str:
        return next((name.replace(new, gone) for new, gone in names.items() if name.endswith(new)), name)

    tensors = bert_tensors(config)
    plain = write_model(tmp_path / "plain", config, tensors)
    other = write_model(tmp_path / "other", config, {old(name): values for name, values in tensors.items()})
    expected, found = (TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1] for folder in (plain, other))
    assert np.array_equal(expected, found)


def test_two_models_in_one_checkpoint(tmp_path: Path) -> None:
    config = bert_config()
    folder = write_model(tmp_path, config, bert_tensors(config, "bert.") | bert_tensors(config, ""))
    with pytest.raises(ModelError, match="more than one model"):
        open_artifact(folder)


# Shards


def sharded(folder: Path) -> Path:
    """The model of `write_model` in two files and an index."""
    write_model(folder)
    tensors = list(bert_tensors(bert_config()).items())
    (folder / "model.safetensors").unlink()
    table = {}
    for number, part in enumerate((tensors[:10], tensors[10:])):
        (folder / f"part-{number}.safetensors").write_bytes(as_safetensors(dict(part)))
        table |= {name: f"part-{number}.safetensors" for name, _ in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}), "utf-8")
    return folder


def test_shards_and_whole_compute_the_same(tmp_path: Path) -> None:
    whole, parts = write_model(tmp_path / "whole"), sharded(tmp_path / "parts")
    expected, found = (TokenClassifier.load(folder, engine="numpy").logits(TEXT)[1] for folder in (whole, parts))
    assert np.array_equal(expected, found)
    assert set(open_artifact(parts).hashes()) == {"config.json", "tokenizer.json", "part-0.safetensors", "part-1.safetensors"}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (removed("part-1.safetensors"), r"1 of 2 weight shards are missing \(first: part-1\.safetensors\)"),
        (lambda folder: shutil.copy(folder / "part-0.safetensors", folder / "part-1.safetensors"), "stands in two weight files"),
        (rewritten("model.safetensors.index.json", weight_map={}), "has no weight_map"),
        (
            rewritten("model.safetensors.index.json", weight_map={"a": "../part-0.safetensors"}),
            "leads out of the model directory",
        ),
        (rewritten("model.safetensors.index.json", weight_map={"a": 5}), "no file name"),
        (rewritten("model.safetensors.index.json", weight_map={"a": ["b"]}), "no file name"),
        (halved("model.safetensors.index.json"), "not valid JSON"),
    ],
)
def test_shards_that_do_not_fit(tmp_path: Path, fault: Break, says: str) -> None:
    folder = sharded(tmp_path / "model")
    fault(folder)
    with pytest.raises(ModelError, match=says):
        open_artifact(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_links_out_of_the_directory_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path / "model")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(ModelError, match="leads out of the model directory – refused"):
        open_artifact(folder)
