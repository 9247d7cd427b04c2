"""Tiny models for the runtime's tests: raw safetensors bytes, a random BERT, small real tokenizers, made without torch.

Not the program's own writer: a file written here may be wrong on purpose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.engines import open_engine

LABELS = ("O", "B-ANATOMY", "I-ANATOMY", "B-NAME", "I-NAME")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = (
    "left", "right", "kidney", "lung", "biopsy", "of", "the", "fever", "quill", "ward", "ok", "mg", "dr", "5", "7",
    ".", ",", "-", "##s", "##ectomy", "neph", "##r", "##itis", "##y",
)  # fmt: skip
NUMPY_CODES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "U32": "<u4", "I64": "<i8"}


def safetensors_bytes(header: Mapping[str, Any], data: bytes) -> bytes:
    """A file of the format, whatever the header says."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def as_safetensors(tensors: Mapping[str, Any], dtype: str = "F32") -> bytes:
    """A right file of these arrays; floating ones are stored as `dtype`, uint32 ones as they are."""
    header: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        array = np.asarray(values)
        kind = "U32" if array.dtype == np.uint32 else dtype
        if kind == "BF16":
            array = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        stored = np.ascontiguousarray(array.astype(NUMPY_CODES[kind])).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(stored)]}
        data += stored
    return safetensors_bytes(header, data)


def bert_config(model_type: str = "bert", **changes: Any) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "vocab_size": len(SPECIAL) + len(WORDS),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 40,
        "type_vocab_size": 2,
        "pad_token_id": 0,
        "hidden_act": "gelu",
        "id2label": {str(number): label for number, label in enumerate(LABELS)},
        **changes,
    }


def bert_tensors(config: Mapping[str, Any], prefix: str = "bert.", seed: int = 0) -> dict[str, Any]:
    """Random float32 tensors under Hugging Face's names for BERT; RoBERTa and its kin have the same names."""
    rng = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    linears = {"classifier": (len(config["id2label"]), hidden)}
    norms = ["embeddings.LayerNorm"]
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linears[f"{layer}.attention.{part}"] = (hidden, hidden)
        linears[f"{layer}.intermediate.dense"] = (inner, hidden)
        linears[f"{layer}.output.dense"] = (hidden, inner)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    tensors: dict[str, Any] = {}
    rows = {"word": "vocab_size", "position": "max_position_embeddings", "token_type": "type_vocab_size"}
    for table, key in rows.items():
        tensors[f"embeddings.{table}_embeddings.weight"] = rng.normal(0, 0.5, (config[key], hidden))
    for name, shape in linears.items():
        tensors |= {f"{name}.weight": rng.normal(0, 0.3, shape), f"{name}.bias": rng.normal(0, 0.1, shape[0])}
    for name in norms:
        tensors |= {f"{name}.weight": rng.normal(1, 0.1, hidden), f"{name}.bias": rng.normal(0, 0.1, hidden)}
    named = ((name if name.startswith("classifier.") else prefix + name, values) for name, values in tensors.items())
    return {name: np.asarray(values, dtype=np.float32) for name, values in named}


def word_piece(words: Sequence[str] = WORDS, *, lowercase: bool = True) -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return tokenizer


def byte_bpe(
    texts: Iterable[str],
    *,
    trim: bool,
    pre_space: bool = False,
    post_space: bool = False,
    size: int = 300,
    special: bool = True,
) -> Tokenizer:
    """Byte-level BPE as RoBERTa has it, trained on the spot; ids 0 to 3 are <s>, <pad>, </s>, <unk>.

    special: without, nothing is put around a text, as Qwen has it.
    """
    from tokenizers import trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=pre_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    around = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim, post_space)
    tokenizer.post_processor = around if special else processors.ByteLevel(trim_offsets=trim)
    return tokenizer


def unigram(pieces: Sequence[str]) -> Tokenizer:
    """SentencePiece's Unigram with Metaspace, as XLM-R has it; ids 0 to 3 are <s>, <pad>, </s>, <unk>."""
    vocabulary = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    vocabulary += [(piece, -1.0 - number / 100) for number, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ("<s>", "<pad>", "</s>", "<unk>")])
    return tokenizer


def deberta_unigram(pieces: Sequence[str], *, multilingual: bool = False) -> Tokenizer:
    """Unigram as DeBERTa-v3 has it in transformers 5, or as mDeBERTa's published tokenizer.json, of transformers 4, has it
    (NFKC for its character map); ids 0 to 3 are [PAD], [CLS], [SEP], [UNK], the last is [MASK]."""
    special = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
    vocabulary = [(token, 0.0) for token in special]
    vocabulary += [(piece, -1.0 - number / 100) for number, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    if multilingual:
        parts = [normalizers.Strip(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    else:
        spaces = normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " ")
        parts = [spaces, normalizers.NFC(), normalizers.Strip(left=False, right=True)]
    tokenizer.normalizer = normalizers.Sequence(parts)
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([metaspace])
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in (*special, "[MASK]")])
    return tokenizer


def write_model(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: str = "F32",
) -> Path:
    """A whole model directory; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    config = bert_config() if config is None else config
    tensors = bert_tensors(config) if tensors is None else tensors
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "model.safetensors").write_bytes(as_safetensors(tensors, dtype))
    (tokenizer or word_piece()).save(str(folder / "tokenizer.json"))
    return folder


def openmed_names(tensors: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Tensors of `bert_tensors(prefix="")` under the names of an openmed-mlx.json artifact."""
    renamed = {}
    for name, values in tensors.items():
        stem, _, part = name.rpartition(".")
        number = re.search(r"\.(\d+)\.", stem)
        ours = names[re.sub(r"\.\d+\.", ".{i}.", stem)].replace("{i}", number[1] if number else "")
        renamed[f"{ours}.{part}"] = values
    return renamed


def network_logits(folder: Path, engine: str, sequences: Sequence[Any], *, compile: bool = False) -> list[Any]:
    """Logits of one batch of id sequences, special tokens included, straight through a family's network."""
    artifact = open_artifact(folder)
    ops = open_engine(engine, "cpu", compile=compile)
    ids = [np.asarray(sequence, dtype=np.int32) for sequence in sequences]
    inputs = ops.inputs(ids, [artifact.family.positions(artifact.config, sequence) for sequence in ids])
    with np.errstate(all="ignore"):  # as the classifier does
        rows = ops.host(ops.started(artifact.family.network(ops, artifact.checkpoint, artifact.config))(inputs), inputs)
    return np.split(rows, np.cumsum([len(sequence) for sequence in ids])[:-1])


def under_the_padding(inputs: Any, vocabulary: int) -> Any:
    """The same batch of the mlx engine with random ids where its padding is."""
    import mlx.core as mx

    shape = (inputs.layout.sequences, inputs.layout.length)
    ids = np.array(inputs.ids).reshape(shape)
    padding = np.arange(shape[1]) >= np.array(inputs.lengths)[:, None]
    assert padding.any()
    ids[padding] = np.random.default_rng(3).integers(0, vocabulary, padding.sum())
    return replace(inputs, ids=mx.array(ids.reshape(-1)))


def assert_company_changes_nothing(folder: Path, engine: str, ids: Sequence[Any], tolerance: float = 1e-4) -> None:
    """A sequence has the same logits alone, in a batch, and in the batch turned round."""
    together = network_logits(folder, engine, ids)
    turned = network_logits(folder, engine, ids[::-1])[::-1]
    for one, rows, other in zip(ids, together, turned, strict=True):
        (alone,) = network_logits(folder, engine, [one])
        assert np.abs(alone - rows).max() < tolerance
        assert np.abs(other - rows).max() < tolerance
