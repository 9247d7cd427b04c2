"""Qwen3 as a token classifier: a decoder's layers under a classifier, each token seeing what stands before it.

Yang et al. 2025 (arXiv:2505.09388) as in transformers' `modeling_qwen3.py`: pre-norm layers with RMS norms, rotary
positions on queries and keys that are normalised first, key heads shared by several query heads, a gated
feed-forward. Where the configuration says so a token sees the whole text, as transformers 5 lets any decoder.
`Stack` also serves encoders built in the same way.
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
from .rotary import FULL, SLIDING, check_heads, frequencies, layer_types, rotary_base

Reach = tuple[int | None, int | None]
"""Tokens that a token sees before and after it; None: all."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers of a configuration. Widths in units.

    reach: of each layer. head_norms: whether queries and keys are normalised. attention_bias, mlp_bias, head_bias:
    which linear layers have a bias.
    """

    hidden: int
    heads: int
    key_heads: int
    head_width: int
    intermediate: int
    vocabulary: int
    labels: int
    reach: tuple[Reach, ...]
    base: float
    activation: str
    epsilon: float
    head_norms: bool
    attention_bias: bool
    mlp_bias: bool
    head_bias: bool

    def __post_init__(self) -> None:
        check_heads(self.heads, self.key_heads, self.head_width)

    def sight(self) -> list[Sight]:
        return [Sight(self.heads * self.head_width, *reach) for reach in self.reach]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        linears = {"classifier": (self.labels, self.hidden, self.head_bias)}
        norms = {"final_norm": self.hidden}
        for i in range(len(self.reach)):
            layer = f"encoder.layers.{i}"
            for part, heads in (("query", self.heads), ("key", self.key_heads), ("value", self.key_heads)):
                linears[f"{layer}.attention.{part}_proj"] = (heads * self.head_width, self.hidden, self.attention_bias)
            linears[f"{layer}.attention.out_proj"] = (self.hidden, self.heads * self.head_width, self.attention_bias)
            for part in ("gate", "up"):
                linears[f"{layer}.mlp.{part}_proj"] = (self.intermediate, self.hidden, self.mlp_bias)
            linears[f"{layer}.mlp.down_proj"] = (self.hidden, self.intermediate, self.mlp_bias)
            norms |= {f"{layer}.attn_norm": self.hidden, f"{layer}.mlp_norm": self.hidden}
            if self.head_norms:
                norms |= {f"{layer}.attention.{part}_norm": self.head_width for part in ("query", "key")}
        expected: dict[str, tuple[int, ...]] = {"embeddings.word_embeddings.weight": (self.vocabulary, self.hidden)}
        for name, (outputs, inputs, bias) in linears.items():
            expected[f"{name}.weight"] = (outputs, inputs)
            if bias:
                expected[f"{name}.bias"] = (outputs,)
        return expected | {f"{name}.weight": (width,) for name, width in norms.items()}

    def network(self, ops: Ops, weights: Checkpoint) -> Network:
        """The forward function: inputs → logits (…, labels)."""
        words = ops.embedding(weights.matrix("embeddings.word_embeddings"))
        rotary = ops.rotary(frequencies(self.base, self.head_width))
        layers = [Layer(ops, weights, f"encoder.layers.{i}", self, rotary) for i in range(len(self.reach))]
        final_norm = ops.rms_norm(weights.norm("final_norm"), self.epsilon)
        classifier = ops.linear(weights.linear("classifier"))

        def forward(inputs: Inputs) -> Any:
            bands = {reach: ops.band(inputs, *reach) for reach in set(self.reach)}
            x = words(inputs.ids)
            for layer, reach in zip(layers, self.reach, strict=True):
                x = layer(x, inputs, bands[reach])
            return classifier(final_norm(x))

        return forward


class Layer:
    """One layer; x is (…, hidden) in the engine's layout, and is overwritten."""

    def __init__(self, ops: Ops, weights: Checkpoint, name: str, c: Stack, rotary: Callable[[Any, Inputs], Any]) -> None:
        attention, mlp = f"{name}.attention", f"{name}.mlp"
        self.attention_norm = ops.rms_norm(weights.norm(f"{name}.attn_norm"), c.epsilon)
        self.qkv = ops.linear(weights.linear(*(f"{attention}.{part}_proj" for part in ("query", "key", "value"))))
        self.head_norms = [
            ops.rms_norm(weights.norm(f"{attention}.{part}_norm"), c.epsilon) if c.head_norms else _as_it_is
            for part in ("query", "key")
        ]
        self.out = ops.linear(weights.linear(f"{attention}.out_proj"))
        self.mlp_norm = ops.rms_norm(weights.norm(f"{name}.mlp_norm"), c.epsilon)
        self.gate_up = ops.linear(weights.linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"))
        self.gated = ops.gated(c.activation)
        self.down = ops.linear(weights.linear(f"{mlp}.down_proj"))
        self.ops, self.heads, self.rotary = ops, (c.heads, c.key_heads, c.key_heads), rotary

    def __call__(self, x: Any, inputs: Inputs, band: Any) -> Any:
        q, k, v = self.ops.heads(self.qkv(self.attention_norm(x)), self.heads, inputs)
        q, k = (self.rotary(norm(part), inputs) for norm, part in zip(self.head_norms, (q, k), strict=True))
        x += self.out(self.ops.banded_attention(q, k, v, band))
        x += self.down(self.gated(self.gate_up(self.mlp_norm(x))))
        return x


def _as_it_is(x: Any) -> Any:
    return x


def qwen3(config: Config) -> Stack:
    """The stack of a Qwen3 config.json. Raises ModelError naming the key that is wrong or not supported."""
    layers = natural(config, "num_hidden_layers", most=MAX_LAYERS)
    heads = natural(config, "num_attention_heads")
    return Stack(
        hidden=natural(config, "hidden_size"),
        heads=heads,
        key_heads=natural(config, "num_key_value_heads", default=heads),
        head_width=natural(config, "head_dim", default=128),
        intermediate=natural(config, "intermediate_size"),
        vocabulary=natural(config, "vocab_size"),
        labels=natural(config, "num_labels"),
        reach=_reach(config, layers),
        base=rotary_base(config),
        activation=str(config.get("hidden_act") or "silu"),
        epsilon=number(config, "rms_norm_eps", 1e-6),
        head_norms=True,
        attention_bias=flag(config, "attention_bias", False),
        mlp_bias=False,
        head_bias=flag(config, "token_classification_bias", True),
    )


def _reach(config: Config, layers: int) -> tuple[Reach, ...]:
    """Of each layer. transformers' window counts the token itself where attention is causal, and not where it is not."""
    windowed = flag(config, "use_sliding_window", False)
    window = natural(config, "sliding_window", default=4096) if windowed else None
    first = natural(config, "max_window_layers", default=28, least=0)
    kinds = layer_types(config, tuple(SLIDING if windowed and i >= first else FULL for i in range(layers)))
    if window is None and SLIDING in kinds:
        raise ModelError("config.json: layer_types has 'sliding_attention', but use_sliding_window is not true")
    if is_causal(config):
        reaches: dict[str, Reach] = {FULL: (None, 0), SLIDING: (window and window - 1, 0)}
    else:
        reaches = {FULL: (None, None), SLIDING: (window, window)}
    return tuple(reaches[kind] for kind in kinds)


def is_causal(config: Config) -> bool:
    """Whether a token sees only what stands before it: unless `is_causal` or `use_bidirectional_attention` says otherwise."""
    causal = flag(config, "is_causal", not flag(config, "use_bidirectional_attention", False))
    if config.get("is_causal") is not None and config.get("use_bidirectional_attention") == causal:
        raise ModelError("config.json: is_causal and use_bidirectional_attention contradict each other")
    return causal


def window(config: Config) -> int:
    return natural(config, "max_position_embeddings")


STACK_NAMES = {
    "embed_tokens": "embeddings.word_embeddings",
    "layers.{i}.input_layernorm": "encoder.layers.{i}.attn_norm",
    "layers.{i}.self_attn.q_proj": "encoder.layers.{i}.attention.query_proj",
    "layers.{i}.self_attn.k_proj": "encoder.layers.{i}.attention.key_proj",
    "layers.{i}.self_attn.v_proj": "encoder.layers.{i}.attention.value_proj",
    "layers.{i}.self_attn.o_proj": "encoder.layers.{i}.attention.out_proj",
    "layers.{i}.post_attention_layernorm": "encoder.layers.{i}.mlp_norm",
    "layers.{i}.mlp.gate_proj": "encoder.layers.{i}.mlp.gate_proj",
    "layers.{i}.mlp.up_proj": "encoder.layers.{i}.mlp.up_proj",
    "layers.{i}.mlp.down_proj": "encoder.layers.{i}.mlp.down_proj",
    "norm": "final_norm",
}

QWEN3 = Family(
    name="qwen3",
    model_types=("qwen3",),
    prefixes=("model",),
    names={
        **STACK_NAMES,
        "layers.{i}.self_attn.q_norm": "encoder.layers.{i}.attention.query_norm",
        "layers.{i}.self_attn.k_norm": "encoder.layers.{i}.attention.key_norm",
        "score": "classifier",
    },
    ignored=(),
    shapes=lambda config: qwen3(config).shapes(),
    window=window,
    positions=positions_from_zero,
    network=lambda ops, weights, config: qwen3(config).network(ops, weights),
    sight=lambda config: qwen3(config).sight(),
    half="bfloat16",  # trained in it; Qwen's maintainers warn of overflow in float16
)
