"""OpenAI Privacy Filter: a small mixture of experts whose tokens see their neighbours on both sides, under a classifier.

As in transformers' `modeling_openai_privacy_filter.py`: pre-norm layers with RMS norms; rotary positions scaled by YaRN that
turn neighbouring units; key heads shared by several query heads; a window to either side with a learned sink, a logit
for seeing nothing; a router that gives each token to a few clamped, gated experts. OpenMed's Nemotron and multilingual
forms are other weights of it. Tensors are named as in OpenMed's artifacts, which are those of OpenAI's own checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from ...errors import ModelError
from ..engines.base import Inputs, Ops
from ..layouts import Layout
from ..weights import Checkpoint
from .base import MAX_LAYERS, Config, Family, Network, Sight, flag, natural, number
from .bert import positions_from_zero
from .rotary import check_heads
from .yarn import Yarn, positive, yarn

BASE = 150000.0
ORIGINALS = ("bidirectional_left_context", "experts_per_token", "rope_scaling_factor")
"""Keys of OpenAI's own config.json, and of OpenMed's artifacts; any of them says that the others are to be read too."""


@dataclass(frozen=True, slots=True)
class PrivacyFilterConfig:
    """The keys of config.json that matter here. Widths in units.

    chosen: experts a token is given to. before, after: tokens that a token sees to either side. alpha, limit: of the experts'
    activation. attention_bias, head_bias: which linear layers have a bias.
    """

    hidden: int
    heads: int
    key_heads: int
    head_width: int
    intermediate: int
    vocabulary: int
    positions: int
    labels: int
    layers: int
    experts: int
    chosen: int
    before: int
    after: int
    rope: Yarn
    alpha: float
    limit: float
    epsilon: float
    attention_bias: bool
    head_bias: bool

    def __post_init__(self) -> None:
        check_heads(self.heads, self.key_heads, self.head_width)
        if self.chosen > self.experts:
            raise ModelError("config.json: more experts a token than experts")

    @classmethod
    def of(cls, config: Config) -> PrivacyFilterConfig:
        """Raises ModelError naming the key that is wrong or not supported."""
        if config.get("quantization_config") is not None:
            raise ModelError(
                "config.json: quantization_config: only weights that are plain, or quantised by MLX's affine scheme, are"
                " supported – take the checkpoint in bfloat16 and convert it with --quantize"
            )
        original = any(config.get(key) is not None for key in ORIGINALS)
        hidden, heads = natural(config, "hidden_size"), natural(config, "num_attention_heads")
        positions = natural(config, "max_position_embeddings", default=131072)
        before, after = _reach(config, original)
        return cls(
            hidden=hidden,
            heads=heads,
            key_heads=natural(config, "num_key_value_heads", default=heads),
            head_width=natural(config, "head_dim", default=max(1, hidden // heads)),
            intermediate=natural(config, "intermediate_size"),
            vocabulary=natural(config, "vocab_size"),
            positions=positions,
            labels=natural(config, "num_labels"),
            layers=natural(config, "num_hidden_layers", most=MAX_LAYERS),
            experts=natural(config, "num_experts", "num_local_experts", default=128),
            chosen=natural(config, "experts_per_token", "num_experts_per_tok", default=4),
            before=before,
            after=after,
            rope=_original_rope(config) if original else yarn(config, positions, base=BASE, default=DEFAULT_ROPE),
            alpha=number(config, "swiglu_alpha", 1.702),
            limit=positive(config, "swiglu_limit", 7.0),
            epsilon=number(config, "rms_norm_eps", 1e-5),
            attention_bias=flag(config, "attention_bias", True),
            head_bias=(
                flag(config, "classifier_bias", flag(config, "unembedding_bias", False))
                if original
                else flag(config, "token_classification_bias", True)
            ),
        )


DEFAULT_ROPE = {"rope_type": "yarn", "factor": 32.0, "truncate": False, "original_max_position_embeddings": 4096}
"""Of a configuration of transformers' that says nothing."""


def _reach(config: Config, original: bool) -> tuple[int, int]:
    """transformers' window is what a token sees to either side; the original's counts both sides and the token itself."""
    if not original:
        window = natural(config, "sliding_window", default=128, least=0)
        return window, window
    side = (natural(config, "sliding_window", default=257) - 1) // 2
    before, after = (natural(config, f"bidirectional_{which}_context", default=side, least=0) for which in ("left", "right"))
    return before, after


def _original_rope(config: Config) -> Yarn:
    return Yarn(
        base=positive(config, "rope_theta", BASE),
        factor=positive(config, "rope_scaling_factor", 1.0),
        fast=positive(config, "rope_ntk_beta", 32.0),
        slow=positive(config, "rope_ntk_alpha", 1.0),
        original=natural(config, "initial_context_length", default=4096),
        truncate=False,
    ).plain_if_unscaled()


def artifact_keys(config: Config) -> dict[str, Any]:
    """What an artifact's config.json needs for OpenMed's runtimes, and this one, to compute what the source computes.

    Raises ModelError where it cannot be said in OpenMed's words.
    """
    c = PrivacyFilterConfig.of(config)
    keys = {
        "num_experts": c.experts,
        "experts_per_token": c.chosen,
        "sliding_window": c.before + c.after + 1,
        "bidirectional_context": True,
        "bidirectional_left_context": c.before,
        "bidirectional_right_context": c.after,
        "initial_context_length": c.rope.original,
        "rope_theta": c.rope.base,
        "rope_scaling_factor": c.rope.factor,
        "rope_ntk_alpha": c.rope.slow,
        "rope_ntk_beta": c.rope.fast,
        "swiglu_limit": c.limit,
        "rms_norm_eps": c.epsilon,
        "classifier_bias": c.head_bias,
    }
    if PrivacyFilterConfig.of({**config, **keys}) != c:
        raise ModelError("config.json: its rotary scaling cannot be said in an artifact – run the checkpoint as it is")
    return keys


def sight(config: Config) -> list[Sight]:
    c = PrivacyFilterConfig.of(config)
    return [Sight(c.heads * c.head_width, c.before, c.after)] * c.layers


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = PrivacyFilterConfig.of(config)
    linears = {"classifier": (c.labels, c.hidden, c.head_bias)}
    expected: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (c.vocabulary, c.hidden),
        "final_norm.weight": (c.hidden,),
    }
    for i in range(c.layers):
        layer = f"encoder.layers.{i}"
        for part, heads in (("query", c.heads), ("key", c.key_heads), ("value", c.key_heads)):
            linears[f"{layer}.attention.{part}_proj"] = (heads * c.head_width, c.hidden, c.attention_bias)
        linears[f"{layer}.attention.out_proj"] = (c.hidden, c.heads * c.head_width, c.attention_bias)
        linears[f"{layer}.mlp.router"] = (c.experts, c.hidden, True)
        expected |= {
            f"{layer}.attn_norm.weight": (c.hidden,),
            f"{layer}.attention.sinks": (c.heads,),
            f"{layer}.mlp_norm.weight": (c.hidden,),
            f"{layer}.mlp.gate_up.weight": (c.experts, c.hidden, 2 * c.intermediate),
            f"{layer}.mlp.gate_up.bias": (c.experts, 2 * c.intermediate),
            f"{layer}.mlp.down.weight": (c.experts, c.intermediate, c.hidden),
            f"{layer}.mlp.down.bias": (c.experts, c.hidden),
        }
    for name, (outputs, inputs, bias) in linears.items():
        expected[f"{name}.weight"] = (outputs, inputs)
        if bias:
            expected[f"{name}.bias"] = (outputs,)
    return expected


class Layer:
    """One layer; x is (…, hidden) in the engine's layout, and is overwritten."""

    def __init__(self, ops: Ops, weights: Checkpoint, name: str, c: PrivacyFilterConfig, rotary: Any) -> None:
        attention, mlp = f"{name}.attention", f"{name}.mlp"
        self.attention_norm = ops.rms_norm(weights.norm(f"{name}.attn_norm"), c.epsilon)
        self.qkv = ops.linear(weights.linear(*(f"{attention}.{part}_proj" for part in ("query", "key", "value"))))
        self.out = ops.linear(weights.linear(f"{attention}.out_proj"))
        self.sinks = ops.sinks(weights.tensors[f"{attention}.sinks"])
        self.mlp_norm = ops.rms_norm(weights.norm(f"{name}.mlp_norm"), c.epsilon)
        router, experts = weights.linear(f"{mlp}.router"), (weights.experts(f"{mlp}.gate_up"), weights.experts(f"{mlp}.down"))
        self.mixture = ops.mixture(router, *experts, c.chosen, c.alpha, c.limit)
        self.ops, self.heads, self.rotary = ops, (c.heads, c.key_heads, c.key_heads), rotary
        self.scale = c.head_width**-0.5 * c.rope.attention**2  # queries and keys both bear the attention factor

    def __call__(self, x: Any, inputs: Inputs, band: Any) -> Any:
        q, k, v = self.ops.heads(self.qkv(self.attention_norm(x)), self.heads, inputs)
        q, k = (self.rotary(part, inputs) for part in (q, k))
        x += self.out(self.ops.banded_attention(q, k, v, band, scale=self.scale, sinks=self.sinks))
        x += self.mixture(self.mlp_norm(x))
        return x


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → logits (…, labels)."""
    c = PrivacyFilterConfig.of(config)
    words = ops.embedding(weights.matrix("embeddings.word_embeddings"))
    rotary = ops.rotary(c.rope.frequencies(c.head_width), neighbours=True)
    layers = [Layer(ops, weights, f"encoder.layers.{i}", c, rotary) for i in range(c.layers)]
    final_norm = ops.rms_norm(weights.norm("final_norm"), c.epsilon)
    classifier = ops.linear(weights.linear("classifier"))

    def forward(inputs: Inputs) -> Any:
        band = ops.band(inputs, c.before, c.after)
        x = words(inputs.ids)
        for layer in layers:
            x = layer(x, inputs, band)
        return classifier(final_norm(x))

    return forward


_LAYER = "encoder.layers.{i}"
NAMES = {
    "embed_tokens": "embeddings.word_embeddings",
    "layers.{i}.input_layernorm": f"{_LAYER}.attn_norm",
    "layers.{i}.self_attn.q_proj": f"{_LAYER}.attention.query_proj",
    "layers.{i}.self_attn.k_proj": f"{_LAYER}.attention.key_proj",
    "layers.{i}.self_attn.v_proj": f"{_LAYER}.attention.value_proj",
    "layers.{i}.self_attn.o_proj": f"{_LAYER}.attention.out_proj",
    "layers.{i}.self_attn.sinks": f"{_LAYER}.attention.natural_sinks",
    "layers.{i}.post_attention_layernorm": f"{_LAYER}.mlp_norm",
    "layers.{i}.mlp.router": f"{_LAYER}.mlp.router",
    "layers.{i}.mlp.experts.gate_up_proj": f"{_LAYER}.mlp.gate_up.weight",
    "layers.{i}.mlp.experts.gate_up_proj_bias": f"{_LAYER}.mlp.gate_up.bias",
    "layers.{i}.mlp.experts.down_proj": f"{_LAYER}.mlp.down.weight",
    "layers.{i}.mlp.experts.down_proj_bias": f"{_LAYER}.mlp.down.bias",
    "norm": "final_norm",
    "score": "classifier",
}
LAYOUT = Layout(
    names={
        "embedding": "embeddings.word_embeddings",
        "block.{i}.attn.norm.scale": f"{_LAYER}.attn_norm.weight",
        "block.{i}.attn.qkv": f"{_LAYER}.attention.qkv_proj",
        "block.{i}.attn.out": f"{_LAYER}.attention.out_proj",
        "block.{i}.attn.sinks": f"{_LAYER}.attention.sinks",
        "block.{i}.mlp.norm.scale": f"{_LAYER}.mlp_norm.weight",
        "block.{i}.mlp.gate": f"{_LAYER}.mlp.router",
        "block.{i}.mlp.swiglu": f"{_LAYER}.mlp.gate_up",
        "block.{i}.mlp.out": f"{_LAYER}.mlp.down",
        "norm.scale": "final_norm.weight",
        "unembedding": "classifier",
    },
    joined={f"{_LAYER}.attention.qkv_proj": tuple(f"{_LAYER}.attention.{part}_proj" for part in ("query", "key", "value"))},
    # transformers has them as logits of e, the original and OpenMed as logits of 2.
    scaled={f"{_LAYER}.attention.natural_sinks": (f"{_LAYER}.attention.sinks", 1 / log(2))},
)

PRIVACY_FILTER = Family(
    name="openai-privacy-filter",
    model_types=(
        "openai_privacy_filter", "openai-privacy-filter", "privacy_filter", "privacy-filter", "privacy-filter-nemotron",
        "privacy-filter-multilingual",
    ),
    prefixes=("model",),
    names=NAMES,
    ignored=(),
    shapes=shapes,
    window=lambda config: PrivacyFilterConfig.of(config).positions,
    positions=positions_from_zero,
    network=network,
    whole=(f"{_LAYER}.mlp.router",),  # a rounded router sends tokens to other experts, and is a thousandth of the weights
    half="bfloat16",  # as it is published
    layout=LAYOUT,
    stacks=(f"{_LAYER}.mlp.gate_up", f"{_LAYER}.mlp.down"),
    artifact_keys=artifact_keys,
    sight=sight,
    chosen=lambda config: PrivacyFilterConfig.of(config).chosen,
)  # fmt: skip
