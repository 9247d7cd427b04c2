"""ModernBERT: pre-norm layers without learned positions, most of which see a window of the text only.

Warner et al. 2024 (arXiv:2412.13663) as in transformers' `modeling_modernbert.py`: rotary positions with one base for
global and one for local layers, a gated feed-forward, no norm before the first layer's attention, and a head of
dense layer, activation and norm before the classifier. Tensors are named as in OpenMed's artifacts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import ModelError
from ..engines.base import Inputs, Ops
from ..weights import Checkpoint
from .base import MAX_LAYERS, Config, Family, Network, Sight, flag, natural, number
from .bert import positions_from_zero
from .rotary import FULL, SLIDING, frequencies, layer_types, rotary_base

BIASES = ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias")


@dataclass(frozen=True, slots=True)
class ModernBertConfig:
    """The keys of config.json that matter here. Widths in units.

    layer_types: FULL or SLIDING a layer. bases: of rotary positions, by layer type. reach: tokens a local layer
    sees to either side. biases: which kinds of layers have a bias, by the config's keys; the classifier always has.
    """

    hidden: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    labels: int
    layer_types: tuple[str, ...]
    bases: dict[str, float]
    reach: int
    biases: dict[str, bool]
    activation: str
    head_activation: str
    epsilon: float

    @classmethod
    def of(cls, config: Config) -> ModernBertConfig:
        layers = natural(config, "num_hidden_layers", most=MAX_LAYERS)
        every = natural(config, "global_attn_every_n_layers", default=3)
        made = cls(
            hidden=natural(config, "hidden_size"),
            heads=natural(config, "num_attention_heads"),
            intermediate=natural(config, "intermediate_size"),
            vocabulary=natural(config, "vocab_size"),
            positions=natural(config, "max_position_embeddings", default=8192),
            labels=natural(config, "num_labels"),
            layer_types=layer_types(config, tuple(SLIDING if i % every else FULL for i in range(layers))),
            bases={
                FULL: rotary_base(config, FULL, legacy="global_rope_theta", default=160000.0),
                SLIDING: rotary_base(config, SLIDING, legacy="local_rope_theta", default=10000.0),
            },
            reach=natural(config, "local_attention", default=128, least=2) // 2,
            biases={name: flag(config, name, False) for name in BIASES},
            activation=str(config.get("hidden_activation") or "gelu"),
            head_activation=str(config.get("classifier_activation") or "gelu"),
            epsilon=number(config, "norm_eps", 1e-5),
        )
        if made.hidden % made.heads or made.hidden // made.heads % 2:
            raise ModelError("config.json: hidden_size must be an even multiple of num_attention_heads")
        return made


def sight(config: Config) -> list[Sight]:
    c = ModernBertConfig.of(config)
    of = {FULL: Sight(c.hidden), SLIDING: Sight(c.hidden, c.reach, c.reach)}
    return [of[kind] for kind in c.layer_types]


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = ModernBertConfig.of(config)
    linears = {"head.dense": (c.hidden, c.hidden, "classifier_bias")}
    norms = ["embeddings.norm", "final_norm", "head.norm"]
    for i in range(len(c.layer_types)):
        layer = f"encoder.layers.{i}"
        linears |= {
            f"{layer}.attention.qkv_proj": (3 * c.hidden, c.hidden, "attention_bias"),
            f"{layer}.attention.out_proj": (c.hidden, c.hidden, "attention_bias"),
            f"{layer}.mlp.wi_proj": (2 * c.intermediate, c.hidden, "mlp_bias"),
            f"{layer}.mlp.wo_proj": (c.hidden, c.intermediate, "mlp_bias"),
        }
        norms += [f"{layer}.mlp_norm"] + [f"{layer}.attn_norm"] * (i > 0)
    expected: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (c.vocabulary, c.hidden),
        "classifier.weight": (c.labels, c.hidden),
        "classifier.bias": (c.labels,),
    }
    for name, (outputs, inputs, bias) in linears.items():
        expected[f"{name}.weight"] = (outputs, inputs)
        if c.biases[bias]:
            expected[f"{name}.bias"] = (outputs,)
    for name in norms:
        expected[f"{name}.weight"] = (c.hidden,)
        if c.biases["norm_bias"]:
            expected[f"{name}.bias"] = (c.hidden,)
    return expected


class Layer:
    """One encoder layer; x is (…, hidden) in the engine's layout, and is overwritten."""

    def __init__(
        self, ops: Ops, weights: Checkpoint, name: str, c: ModernBertConfig, rotary: Callable[[Any, Inputs], Any]
    ) -> None:
        first = f"{name}.attn_norm.weight" not in weights
        self.attention_norm = None if first else ops.layer_norm(weights.norm(f"{name}.attn_norm"), c.epsilon)
        self.qkv = ops.linear(weights.linear(f"{name}.attention.qkv_proj"))
        self.out = ops.linear(weights.linear(f"{name}.attention.out_proj"))
        self.mlp_norm = ops.layer_norm(weights.norm(f"{name}.mlp_norm"), c.epsilon)
        self.wi = ops.linear(weights.linear(f"{name}.mlp.wi_proj"))
        self.gated = ops.gated(c.activation)
        self.wo = ops.linear(weights.linear(f"{name}.mlp.wo_proj"))
        self.ops, self.heads, self.rotary = ops, c.heads, rotary

    def __call__(self, x: Any, inputs: Inputs, band: Any) -> Any:
        qkv = self.qkv(x if self.attention_norm is None else self.attention_norm(x))
        q, k, v = self.ops.heads(qkv, (self.heads,) * 3, inputs)
        x += self.out(self.ops.banded_attention(self.rotary(q, inputs), self.rotary(k, inputs), v, band))
        x += self.wo(self.gated(self.wi(self.mlp_norm(x))))
        return x


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → logits (…, labels)."""
    c = ModernBertConfig.of(config)
    words = ops.embedding(weights.matrix("embeddings.word_embeddings"))
    norm = ops.layer_norm(weights.norm("embeddings.norm"), c.epsilon)
    rotary = {kind: ops.rotary(frequencies(base, c.hidden // c.heads)) for kind, base in c.bases.items()}
    layers = [Layer(ops, weights, f"encoder.layers.{i}", c, rotary[kind]) for i, kind in enumerate(c.layer_types)]
    final_norm = ops.layer_norm(weights.norm("final_norm"), c.epsilon)
    dense = ops.linear(weights.linear("head.dense"))
    activation = ops.activation(c.head_activation)
    head_norm = ops.layer_norm(weights.norm("head.norm"), c.epsilon)
    classifier = ops.linear(weights.linear("classifier"))

    def forward(inputs: Inputs) -> Any:
        bands = {FULL: ops.band(inputs), SLIDING: ops.band(inputs, c.reach, c.reach)}
        x = norm(words(inputs.ids))
        for layer, kind in zip(layers, c.layer_types, strict=True):
            x = layer(x, inputs, bands[kind])
        return classifier(head_norm(activation(dense(final_norm(x)))))

    return forward


MODERNBERT = Family(
    name="modernbert",
    model_types=("modernbert",),
    prefixes=("model",),
    names={
        "embeddings.tok_embeddings": "embeddings.word_embeddings",
        "embeddings.norm": "embeddings.norm",
        "layers.{i}.attn_norm": "encoder.layers.{i}.attn_norm",
        "layers.{i}.attn.Wqkv": "encoder.layers.{i}.attention.qkv_proj",
        "layers.{i}.attn.Wo": "encoder.layers.{i}.attention.out_proj",
        "layers.{i}.mlp_norm": "encoder.layers.{i}.mlp_norm",
        "layers.{i}.mlp.Wi": "encoder.layers.{i}.mlp.wi_proj",
        "layers.{i}.mlp.Wo": "encoder.layers.{i}.mlp.wo_proj",
        "final_norm": "final_norm",
        "head.dense": "head.dense",
        "head.norm": "head.norm",
        "classifier": "classifier",
    },
    ignored=(),
    shapes=shapes,
    window=lambda config: ModernBertConfig.of(config).positions,
    positions=positions_from_zero,
    network=network,
    stored_prefix="model.",
    sight=sight,
)
