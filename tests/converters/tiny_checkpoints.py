"""Tiny random checkpoints as Hugging Face writes them, made without torch: config, named tensors, tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from openmed_mlx_eval.converters.dtypes import narrowed
from openmed_mlx_eval.converters.safetensors_writer import Slot, write_safetensors
from openmed_mlx_eval.runtime.families import family_of
from openmed_mlx_eval.runtime.weights import numbered, translated

WORDS = ("left", "right", "kidney", "lung", "biopsy", "of", "the", "fever", "Quill", "ward", "7", "##s", ".", ",")
LABELS = ("O", "B-ANATOMY", "I-ANATOMY", "B-NAME", "I-NAME")
TEXT = "biopsy of the left kidney, fever. Quill ward 7, right lungs " * 3
MODEL_TYPES = (
    "bert", "distilbert", "electra", "roberta", "xlm-roberta", "camembert", "modernbert", "qwen3", "eurobert", "deberta-v2",
    "openai_privacy_filter", "longformer", "bilstm-crf",
)  # fmt: skip


def config_of(model_type: str, hidden: int = 64, **more: Any) -> dict[str, Any]:
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    config: dict[str, Any] = {
        "model_type": model_type,
        "vocab_size": len(special) + len(WORDS),
        "max_position_embeddings": 80,
        "pad_token_id": 0,
        "id2label": {str(number): label for number, label in enumerate(LABELS)},
        "torch_dtype": "float32",
    }
    if model_type == "distilbert":
        config |= {"dim": hidden, "n_layers": 2, "n_heads": 2, "hidden_dim": 128, "activation": "gelu"}
    else:
        sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
        config |= {"hidden_size": hidden, "type_vocab_size": 2, "hidden_act": "gelu", **sizes}
    if model_type == "modernbert":
        config |= {"layer_types": ["full_attention", "sliding_attention"], "local_attention": 8, "mlp_bias": True}
    if model_type == "qwen3":
        config |= {"num_key_value_heads": 1, "head_dim": 16}
    if model_type == "deberta-v2":
        relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "share_att_key": True}
        config |= {**relative, "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0}
    if model_type == "openai_privacy_filter":
        mixture = {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8, "pad_token_id": None}
        config |= {"num_key_value_heads": 1, "head_dim": 16, "eos_token_id": None, **mixture}
    if model_type == "longformer":
        config["attention_window"] = [8, 32]
    if model_type == "bilstm-crf":
        config |= {"embedding_dim": hidden, "num_layers": 2}
    if model_type == "electra":
        config["embedding_size"] = hidden // 2
    return {**config, **more}


def random_tensors(config: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """{Hugging Face's name: float32} with the pooler of those that have one, which is of no use here."""
    family = family_of(config)
    rng = np.random.default_rng(seed)
    original = {ours: theirs for theirs, ours in family.names.items()}
    units = {ours: unit for unit, (ours, _) in family.layout.scaled.items()}
    tensors: dict[str, Any] = {}
    for name, shape in family.shapes({**config, "num_labels": len(config["id2label"])}).items():
        stem, _, part = name.rpartition(".")
        pattern, number = numbered(name)
        theirs = original.get(name) or translated(units.get(pattern, pattern).replace("{i}", number), original)
        prefix = "" if stem == "classifier" else family.prefixes[0] + "."
        values = rng.normal(0, 0.3, shape).astype(np.float32)
        tensors[f"{prefix}{theirs}"] = values + 1 if len(shape) == 1 and part == "weight" else values
    if "pooler." in family.ignored:
        tensors[f"{family.prefixes[0]}.pooler.dense.weight"] = rng.normal(0, 1, (4, 4)).astype(np.float32)
    return tensors


def write_tokenizer(folder: Path) -> None:
    vocabulary = {token: number for number, token in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **named}), "utf-8")


def write_weights(path: Path, tensors: Mapping[str, Any], dtype: str = "F32") -> None:
    slots = {name: Slot(dtype, values.shape) for name, values in tensors.items()}
    write_safetensors(path, slots, ((name, narrowed(values, dtype)) for name, values in tensors.items()), {"format": "pt"})


def write_checkpoint(
    folder: Path, model_type: str = "bert", *, dtype: str = "F32", tensors: Mapping[str, Any] | None = None, **config: Any
) -> Path:
    """A whole model directory in the new folder; returns it."""
    folder.mkdir(parents=True)
    made = config_of(model_type, **config)
    (folder / "config.json").write_text(json.dumps(made), "utf-8")
    write_weights(folder / "model.safetensors", random_tensors(made) if tensors is None else tensors, dtype)
    write_tokenizer(folder)
    return folder
