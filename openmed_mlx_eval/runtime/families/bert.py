"""BERT and its kin: BERT, DistilBERT, ELECTRA, RoBERTa, XLM-R, CamemBERT – one encoder, four sets of names.

Devlin et al. 2019 (arXiv:1810.04805) as in transformers' `modeling_bert.py`: post-norm layers, learned absolute
positions. What differs between the kin: names of tensors and config keys, DistilBERT's lack of token types,
ELECTRA's projection of narrow embeddings, RoBERTa's positions, which start behind the padding id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ..engines.base import Inputs, Ops
from ..safetensors import Array
from ..weights import Checkpoint
from .base import MAX_LAYERS, Config, Family, Network, natural, number

NO_DECODERS = ("distilbert", "longformer")
"""Those of the kin that transformers never runs as decoders, whatever is_decoder says."""


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The keys of config.json that matter here, under one name each. Widths in units."""

    hidden: int
    embedding: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    token_types: int
    labels: int
    activation: str
    epsilon: float

    @classmethod
    def of(cls, config: Config) -> BertConfig:
        hidden = natural(config, "hidden_size", "dim")
        made = cls(
            hidden=hidden,
            embedding=natural(config, "embedding_size", default=hidden),
            layers=natural(config, "num_hidden_layers", "n_layers", most=MAX_LAYERS),
            heads=natural(config, "num_attention_heads", "n_heads"),
            intermediate=natural(config, "intermediate_size", "hidden_dim"),
            vocabulary=natural(config, "vocab_size"),
            positions=natural(config, "max_position_embeddings"),
            token_types=0 if "dim" in config else natural(config, "type_vocab_size", default=2, least=0),
            labels=natural(config, "num_labels"),
            activation=str(config.get("hidden_act") or config.get("activation") or "gelu"),
            epsilon=number(config, "layer_norm_eps", 1e-12),
        )
        if made.hidden % made.heads:
            raise ModelError("config.json: hidden_size is no multiple of num_attention_heads")
        if config.get("position_embedding_type") not in (None, "absolute"):
            raise ModelError("config.json: position_embedding_type must be 'absolute'; relative positions are not supported")
        if config.get("is_decoder") and config.get("model_type") not in NO_DECODERS:
            raise ModelError("config.json: is_decoder must be false; a BERT whose tokens see none behind them is not supported")
        return made


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = BertConfig.of(config)
    tables = {"word": c.vocabulary, "position": c.positions, "token_type": c.token_types}
    expected: dict[str, tuple[int, ...]] = {
        f"embeddings.{name}_embeddings.weight": (rows, c.embedding) for name, rows in tables.items() if rows
    }
    linears = {"classifier": (c.labels, c.hidden)}
    norms = {"embeddings.norm": c.embedding}
    if c.embedding != c.hidden:
        linears["embeddings_project"] = (c.hidden, c.embedding)
    for i in range(c.layers):
        layer = f"encoder.layers.{i}"
        for part in ("query", "key", "value", "out"):
            linears[f"{layer}.attention.{part}_proj"] = (c.hidden, c.hidden)
        linears[f"{layer}.linear1"] = (c.intermediate, c.hidden)
        linears[f"{layer}.linear2"] = (c.hidden, c.intermediate)
        norms[f"{layer}.ln1"] = norms[f"{layer}.ln2"] = c.hidden
    for name, (outputs, inputs) in linears.items():
        expected |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    for name, width in norms.items():
        expected |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    return expected


class Layer:
    """One encoder layer; x is (…, hidden) in the engine's layout, and stays so."""

    def __init__(self, ops: Ops, weights: Checkpoint, name: str, c: BertConfig) -> None:
        attention = f"{name}.attention"
        self.qkv = ops.linear(weights.linear(*(f"{attention}.{part}_proj" for part in ("query", "key", "value"))))
        self.out = ops.linear(weights.linear(f"{attention}.out_proj"))
        self.norm1 = ops.norm(weights.norm(f"{name}.ln1"), c.epsilon)
        self.linear1 = ops.linear(weights.linear(f"{name}.linear1"))
        self.activation = ops.activation(c.activation)
        self.linear2 = ops.linear(weights.linear(f"{name}.linear2"))
        self.norm2 = ops.norm(weights.norm(f"{name}.ln2"), c.epsilon)
        self.ops, self.heads = ops, c.heads

    def attend(self, x: Any, inputs: Inputs, seen: Any) -> Any:
        """What the tokens take from each other, (…, hidden). seen: what of a batch a kind of attention must know more."""
        return self.ops.attention(self.qkv(x), self.heads, inputs)

    def __call__(self, x: Any, inputs: Inputs, seen: Any = None) -> Any:
        x = self.norm1(self.out(self.attend(x, inputs, seen)), x)
        return self.norm2(self.linear2(self.activation(self.linear1(x))), x)


class Embeddings:
    """inputs → (…, hidden), normalised."""

    def __init__(self, ops: Ops, weights: Checkpoint, c: BertConfig) -> None:
        self.words = ops.embedding(weights.matrix("embeddings.word_embeddings"))
        self.positions = ops.embedding(weights.matrix("embeddings.position_embeddings"))
        self.type = ops.row(weights.matrix("embeddings.token_type_embeddings"), 0) if c.token_types else None
        self.norm = ops.norm(weights.norm("embeddings.norm"), c.epsilon)
        self.project = ops.linear(weights.linear("embeddings_project")) if c.embedding != c.hidden else None

    def __call__(self, inputs: Inputs) -> Any:
        x = self.words(inputs.ids)
        if self.type is not None:
            x += self.type
        x = self.norm(x, self.positions(inputs.positions))
        return x if self.project is None else self.project(x)


def encoder(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """inputs → the last layer's (…, hidden)."""
    c = BertConfig.of(config)
    embeddings = Embeddings(ops, weights, c)
    layers = [Layer(ops, weights, f"encoder.layers.{i}", c) for i in range(c.layers)]

    def forward(inputs: Inputs) -> Any:
        x = embeddings(inputs)
        for layer in layers:
            x = layer(x, inputs)
        return x

    return forward


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → logits (…, labels)."""
    encode, classifier = encoder(ops, weights, config), ops.linear(weights.linear("classifier"))
    return lambda inputs: classifier(encode(inputs))


def positions_from_zero(config: Config, ids: Array) -> Array:
    return np.arange(len(ids), dtype=np.int32)


def positions_behind_padding(config: Config, ids: Array) -> Array:
    """RoBERTa's: pad+1, pad+2, … with literal padding tokens at pad (`create_position_ids_from_input_ids`)."""
    pad = padding_id(config)
    real = ids != pad
    return np.asarray(np.cumsum(real) * real + pad, dtype=np.int32)


def padding_id(config: Config) -> int:
    return natural(config, "pad_token_id", default=1, least=0)


_HEAD = {"classifier": "classifier"}
_EMBEDDINGS = {
    "embeddings.LayerNorm": "embeddings.norm",
    "embeddings.word_embeddings": "embeddings.word_embeddings",
    "embeddings.position_embeddings": "embeddings.position_embeddings",
    "embeddings.token_type_embeddings": "embeddings.token_type_embeddings",
}
BERT_NAMES = {
    **_EMBEDDINGS,
    "encoder.layer.{i}.attention.self.query": "encoder.layers.{i}.attention.query_proj",
    "encoder.layer.{i}.attention.self.key": "encoder.layers.{i}.attention.key_proj",
    "encoder.layer.{i}.attention.self.value": "encoder.layers.{i}.attention.value_proj",
    "encoder.layer.{i}.attention.output.dense": "encoder.layers.{i}.attention.out_proj",
    "encoder.layer.{i}.attention.output.LayerNorm": "encoder.layers.{i}.ln1",
    "encoder.layer.{i}.intermediate.dense": "encoder.layers.{i}.linear1",
    "encoder.layer.{i}.output.dense": "encoder.layers.{i}.linear2",
    "encoder.layer.{i}.output.LayerNorm": "encoder.layers.{i}.ln2",
    **_HEAD,
}
_DISTILBERT_NAMES = {
    **_EMBEDDINGS,
    "transformer.layer.{i}.attention.q_lin": "encoder.layers.{i}.attention.query_proj",
    "transformer.layer.{i}.attention.k_lin": "encoder.layers.{i}.attention.key_proj",
    "transformer.layer.{i}.attention.v_lin": "encoder.layers.{i}.attention.value_proj",
    "transformer.layer.{i}.attention.out_lin": "encoder.layers.{i}.attention.out_proj",
    "transformer.layer.{i}.sa_layer_norm": "encoder.layers.{i}.ln1",
    "transformer.layer.{i}.ffn.lin1": "encoder.layers.{i}.linear1",
    "transformer.layer.{i}.ffn.lin2": "encoder.layers.{i}.linear2",
    "transformer.layer.{i}.output_layer_norm": "encoder.layers.{i}.ln2",
    **_HEAD,
}
_ELECTRA_NAMES = {**BERT_NAMES, "embeddings_project": "embeddings_project"}
IGNORED = ("pooler.", "embeddings.position_ids", "embeddings.token_type_ids")


def _whole_table(config: Config) -> int:
    return BertConfig.of(config).positions


def window_behind_padding(config: Config) -> int:
    window = BertConfig.of(config).positions - padding_id(config) - 1
    if window < 1:
        raise ModelError("config.json: max_position_embeddings leaves no position behind pad_token_id")
    return window


def _family(name: str, model_types: tuple[str, ...], names: dict[str, str], *, behind_padding: bool = False) -> Family:
    return Family(
        name=name,
        model_types=model_types,
        prefixes=tuple(model_type.replace("-", "_") for model_type in model_types),
        names=names,
        ignored=IGNORED,
        shapes=shapes,
        window=window_behind_padding if behind_padding else _whole_table,
        positions=positions_behind_padding if behind_padding else positions_from_zero,
        network=network,
    )


BERT = _family("bert", ("bert",), BERT_NAMES)
DISTILBERT = _family("distilbert", ("distilbert",), _DISTILBERT_NAMES)
ELECTRA = _family("electra", ("electra",), _ELECTRA_NAMES)
ROBERTA = _family("roberta", ("roberta", "xlm-roberta", "camembert"), BERT_NAMES, behind_padding=True)
