"""DeBERTa-v2 and its kin: DeBERTa-v3, mDeBERTa – attention to content and to relative positions, disentangled.

He et al. 2021 (arXiv:2006.03654, arXiv:2111.09543) as in transformers' `modeling_deberta_v2.py`: post-norm layers as
BERT has them, and one table of relative positions for all layers, which each projects as keys and as queries. Those
projections depend on weights alone and are made at load; what a length needs to know of distances is made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...errors import ModelError
from ..engines.base import Inputs, Ops
from ..safetensors import Array
from ..weights import Checkpoint
from .base import MAX_LAYERS, Config, Family, Network, flag, natural, number
from .bert import positions_from_zero


@dataclass(frozen=True, slots=True)
class DebertaConfig:
    """The keys of config.json that matter here. Widths in units.

    buckets: rows of the table on either side of distance 0, distances beyond half of them in logarithmic steps up to
    `farthest`; 0 for a row for each distance. terms: of `c2p`, `p2c`. kernel: taps of the convolution, 0 for none.
    """

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
    absolute: bool
    relative: bool
    buckets: int
    farthest: int
    terms: tuple[str, ...]
    share: bool
    norm_relative: bool
    kernel: int
    kernel_activation: str

    @classmethod
    def of(cls, config: Config) -> DebertaConfig:
        hidden = natural(config, "hidden_size")
        positions = natural(config, "max_position_embeddings", default=512)
        farthest = natural(config, "max_relative_positions", default=-1, least=-1)
        made = cls(
            hidden=hidden,
            embedding=natural(config, "embedding_size", default=hidden),
            layers=natural(config, "num_hidden_layers", most=MAX_LAYERS),
            heads=natural(config, "num_attention_heads"),
            intermediate=natural(config, "intermediate_size"),
            vocabulary=natural(config, "vocab_size"),
            positions=positions,
            token_types=natural(config, "type_vocab_size", default=0, least=0),
            labels=natural(config, "num_labels"),
            activation=str(config.get("hidden_act") or "gelu"),
            epsilon=number(config, "layer_norm_eps", 1e-7),
            absolute=flag(config, "position_biased_input", True),
            relative=flag(config, "relative_attention", False),
            buckets=max(0, natural(config, "position_buckets", default=0, least=-1)),
            farthest=farthest if farthest > 0 else positions,
            terms=tuple(term for term in ("c2p", "p2c") if term in _words(config, "pos_att_type")),
            share=flag(config, "share_att_key", False),
            norm_relative="layer_norm" in _words(config, "norm_rel_ebd"),
            kernel=max(0, natural(config, "conv_kernel_size", default=0, least=-1)),
            kernel_activation=str(config.get("conv_act") or "tanh"),
        )
        made.check(config)
        return made

    def check(self, config: Config) -> None:
        """Raise ModelError for what no network can be made of, or none here."""
        if self.hidden % self.heads:
            raise ModelError("config.json: hidden_size is no multiple of num_attention_heads")
        if natural(config, "attention_head_size", default=self.hidden // self.heads) * self.heads != self.hidden:
            raise ModelError("config.json: attention_head_size must be hidden_size / num_attention_heads")
        middle = self.buckets // 2
        if self.buckets and (middle < 1 or (middle >= self.farthest - 1 and middle < self.positions - 1)):
            raise ModelError("config.json: position_buckets does not fit max_relative_positions")
        if self.kernel and (self.kernel % 2 == 0 or natural(config, "conv_groups", default=1) != 1):
            raise ModelError("config.json: conv_kernel_size must be odd and conv_groups 1; other convolutions are not supported")

    @property
    def span(self) -> int:
        """Rows of the table on either side of distance 0."""
        return self.buckets or self.farthest


def _words(config: Config, name: str) -> list[str]:
    """A list of strings, or one string of them with bars between. Raises ModelError for anything else."""
    value = config.get(name) or []
    if isinstance(value, str):
        value = [word.strip() for word in value.lower().split("|")]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ModelError(f"config.json: {name} must be a list of strings")
    return value


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = DebertaConfig.of(config)
    tables = {
        "embeddings.word_embeddings": (c.vocabulary, c.embedding),
        "embeddings.position_embeddings": (c.positions if c.absolute else 0, c.embedding),
        "embeddings.token_type_embeddings": (c.token_types, c.embedding),
        "encoder.rel_embeddings": (2 * c.span if c.relative else 0, c.hidden),
        "embeddings.embed_proj": (c.hidden if c.embedding != c.hidden else 0, c.embedding),
    }
    linears: dict[str, tuple[int, ...]] = {}
    norms = ["embeddings.LayerNorm"] + ["encoder.LayerNorm"] * c.norm_relative
    if c.kernel:
        linears["encoder.conv.conv"] = (c.hidden, c.hidden, c.kernel)
        norms.append("encoder.conv.LayerNorm")
    for i in range(c.layers):
        layer = f"encoder.layer.{i}"
        for part in ("query_proj", "key_proj", "value_proj", *_own_projections(c)):
            linears[f"{layer}.attention.self.{part}"] = (c.hidden, c.hidden)
        linears[f"{layer}.attention.out_proj"] = (c.hidden, c.hidden)
        linears[f"{layer}.linear1"] = (c.intermediate, c.hidden)
        linears[f"{layer}.linear2"] = (c.hidden, c.intermediate)
        norms += [f"{layer}.ln1", f"{layer}.ln2"]
    expected: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in tables.items() if shape[0]}
    for name, shape in linears.items():
        expected |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        expected |= {f"{name}.weight": (c.hidden,), f"{name}.bias": (c.hidden,)}
    return expected | {"classifier.weight": (c.labels, c.hidden), "classifier.bias": (c.labels,)}


_PROJECTIONS = {"c2p": "key_proj", "p2c": "query_proj"}
"""What each term projects the relative positions with: that of the content, or one of its own named pos_…"""


def _own_projections(c: DebertaConfig) -> list[str]:
    return [] if c.share or not c.relative else [f"pos_{_PROJECTIONS[term]}" for term in c.terms]


def rows_of_distances(length: int, c: DebertaConfig) -> Array:
    """The table's row for each distance query - key from 1 - length to length - 1; int32 (2·length - 1,).

    `make_log_bucket_position` and the clamp behind it, in float64: on float32 a distance at a bucket's edge falls on
    either side, as the device rounds.
    """
    distance = np.arange(1 - length, length)
    middle = c.buckets // 2
    if c.buckets and middle < c.farthest - 1:
        far = np.maximum(np.abs(distance), middle) / middle
        steps = np.ceil(np.log(far) / np.log((c.farthest - 1) / middle) * (middle - 1))
        distance = np.where(np.abs(distance) <= middle, distance, np.sign(distance) * (steps + middle))
    return np.clip(distance + c.span, 0, 2 * c.span - 1).astype(np.int32)


class Layer:
    """One encoder layer; x is (…, hidden) in the engine's layout, and stays so."""

    def __init__(self, ops: Ops, weights: Checkpoint, name: str, c: DebertaConfig, relative: Any) -> None:
        attention = f"{name}.attention.self"
        self.qkv = ops.linear(weights.linear(*(f"{attention}.{part}_proj" for part in ("query", "key", "value"))))
        tables: dict[str, Any] = {"c2p": None, "p2c": None}
        for term in c.terms if c.relative else ():
            projection = _PROJECTIONS[term] if c.share else f"pos_{_PROJECTIONS[term]}"
            tables[term] = ops.linear(weights.linear(f"{attention}.{projection}"))(relative)
        # The number of terms counts even where there is no table: transformers' scale_factor.
        scale = (c.hidden // c.heads * (1 + len(c.terms))) ** -0.5
        self.attention = ops.disentangled_attention(tables["c2p"], tables["p2c"], c.heads, scale)
        self.out = ops.linear(weights.linear(f"{name}.attention.out_proj"))
        self.norm1 = ops.norm(weights.norm(f"{name}.ln1"), c.epsilon)
        self.linear1 = ops.linear(weights.linear(f"{name}.linear1"))
        self.activation = ops.activation(c.activation)
        self.linear2 = ops.linear(weights.linear(f"{name}.linear2"))
        self.norm2 = ops.norm(weights.norm(f"{name}.ln2"), c.epsilon)

    def __call__(self, x: Any, inputs: Inputs, distances: Any) -> Any:
        x = self.norm1(self.out(self.attention(self.qkv(x), inputs, distances)), x)
        return self.norm2(self.linear2(self.activation(self.linear1(x))), x)


class Embeddings:
    """ids → (…, hidden), normalised."""

    def __init__(self, ops: Ops, weights: Checkpoint, c: DebertaConfig) -> None:
        name = "embeddings"
        self.words = ops.embedding(weights.matrix(f"{name}.word_embeddings"))
        self.positions = ops.embedding(weights.matrix(f"{name}.position_embeddings")) if c.absolute else None
        self.type = ops.row(weights.matrix(f"{name}.token_type_embeddings"), 0) if c.token_types else None
        self.project = ops.linear(weights.linear(f"{name}.embed_proj")) if c.embedding != c.hidden else None
        self.norm = ops.layer_norm(weights.norm(f"{name}.LayerNorm"), c.epsilon)

    def __call__(self, inputs: Inputs) -> Any:
        x = self.words(inputs.ids)
        if self.positions is not None:
            x += self.positions(inputs.positions)
        if self.type is not None:
            x += self.type
        return self.norm(x if self.project is None else self.project(x))


class Convolution:
    """What v2-xlarge puts beside its first layer: x, the embeddings, convolved and added to what the layer made of them."""

    def __init__(self, ops: Ops, weights: Checkpoint, c: DebertaConfig) -> None:
        name = "encoder.conv"
        stored = weights.tensors
        self.convolution = ops.convolution(stored[f"{name}.conv.weight"], stored[f"{name}.conv.bias"])
        self.activation = ops.activation(c.kernel_activation)
        self.norm = ops.norm(weights.norm(f"{name}.LayerNorm"), c.epsilon)

    def __call__(self, x: Any, layer_output: Any, inputs: Inputs) -> Any:
        return self.norm(self.activation(self.convolution(x, inputs)), layer_output)


def encoder(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """inputs → the last layer's (…, hidden)."""
    c = DebertaConfig.of(config)
    relative = ops.table(weights.matrix("encoder.rel_embeddings")) if c.relative else None
    if c.relative and c.norm_relative:
        relative = ops.layer_norm(weights.norm("encoder.LayerNorm"), c.epsilon)(relative)
    embeddings = Embeddings(ops, weights, c)
    layers = [Layer(ops, weights, f"encoder.layer.{i}", c, relative) for i in range(c.layers)]
    convolution = Convolution(ops, weights, c) if c.kernel else None
    rows = lru_cache(maxsize=c.positions)(partial(rows_of_distances, c=c))

    def forward(inputs: Inputs) -> Any:
        first = x = embeddings(inputs)
        distances = ops.distances(inputs, rows)
        for place, layer in enumerate(layers):
            x = layer(x, inputs, distances)
            if convolution is not None and place == 0:
                x = convolution(first, x, inputs)
        return x

    return forward


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → logits (…, labels)."""
    encode, classifier = encoder(ops, weights, config), ops.linear(weights.linear("classifier"))
    return lambda inputs: classifier(encode(inputs))


def _window(config: Config) -> int:
    return DebertaConfig.of(config).positions


_KEPT = (
    "embeddings.word_embeddings", "embeddings.position_embeddings", "embeddings.token_type_embeddings",
    "embeddings.embed_proj", "embeddings.LayerNorm", "encoder.rel_embeddings", "encoder.LayerNorm",
    "encoder.conv.conv", "encoder.conv.LayerNorm",
    "encoder.layer.{i}.attention.self.query_proj", "encoder.layer.{i}.attention.self.key_proj",
    "encoder.layer.{i}.attention.self.value_proj", "encoder.layer.{i}.attention.self.pos_key_proj",
    "encoder.layer.{i}.attention.self.pos_query_proj",
)  # fmt: skip
_NAMES = {
    **{name: name for name in _KEPT},
    "encoder.layer.{i}.attention.output.dense": "encoder.layer.{i}.attention.out_proj",
    "encoder.layer.{i}.attention.output.LayerNorm": "encoder.layer.{i}.ln1",
    "encoder.layer.{i}.intermediate.dense": "encoder.layer.{i}.linear1",
    "encoder.layer.{i}.output.dense": "encoder.layer.{i}.linear2",
    "encoder.layer.{i}.output.LayerNorm": "encoder.layer.{i}.ln2",
    "classifier": "classifier",
}

DEBERTA_V2 = Family(
    name="deberta-v2",
    model_types=("deberta-v2",),
    prefixes=("deberta",),
    names=_NAMES,
    ignored=("pooler.", "embeddings.position_ids"),
    shapes=shapes,
    window=_window,
    positions=positions_from_zero,
    network=network,
    stored_prefix="deberta.",
    whole=("encoder.rel_embeddings",),  # OpenMed reads its rows as they are stored
    seldom=tuple(f"encoder.layer.{{i}}.attention.self.pos_{projection}" for projection in _PROJECTIONS.values()),
    half="bfloat16",  # mDeBERTa's activations leave the range of float16
)
