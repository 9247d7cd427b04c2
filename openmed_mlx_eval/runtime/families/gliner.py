"""GLiNER: spans scored against labels that are given as text – the uni-encoder of urchade/GLiNER with span_mode markerV0.

Zaratiana et al. 2023 (arXiv:2311.08526) as in gliner 0.2's `UniEncoderSpanModel`. One encoder reads the labels, an <<ENT>>
before each, and the text behind them. A word is its first token, read once more by LSTMs; a span the projections of its
first and last word; a label its <<ENT>>. A score is a span's product with a label.

config here is flat, as OpenMed's artifacts have it: the encoder's keys, GLiNER's own, hidden_size GLiNER's and
encoder_hidden_size the encoder's. `flat` makes it of a gliner_config.json.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ModelError
from ..engines.base import Inputs, Op, Ops
from ..safetensors import Array
from ..weights import Checkpoint, Linear
from . import bert, deberta_v2
from .base import HEADS, Config, Family, Network, flag, natural
from .gliner_config import BACKBONE_TYPE, GlinerConfig, backbone_config

ZERO_SHOT = "zero-shot-ner"
"""OpenMed's name for what such a model is for."""
NAME = "gliner-uni-encoder-span"
PROMPT_KEY = "_mlx_prompt_spec"
"""Where OpenMed's runtime looks for the two tokens of the prompt."""
MOST_RNN_LAYERS = 16
DIRECTIONS = {"forward": "", "backward": "_reverse"}
PARTS = {"input": "ih", "state": "hh"}


@dataclass(frozen=True, slots=True)
class SpanInputs:
    """One batch: its tokens, and of those each sequence's words (their first tokens) and labels (of `Ops.chosen`)."""

    tokens: Inputs
    words: Inputs
    labels: Inputs


@dataclass(frozen=True, slots=True)
class Backbone:
    """A family whose encoder reads. stored_prefix: what an artifact has before its tensors' names."""

    family: Family
    encoder: Callable[[Ops, Checkpoint, Config], Network]
    stored_prefix: str

    def shapes(self, config: Config) -> dict[str, tuple[int, ...]]:
        found = self.family.shapes(backbone_config(config))
        return {name: shape for name, shape in found.items() if not name.startswith(HEADS)}


BACKBONES = {
    **{
        model_type: Backbone(family, bert.encoder, "bert.")
        for family in (bert.BERT, bert.DISTILBERT, bert.ELECTRA, bert.ROBERTA)
        for model_type in family.model_types
    },
    "deberta-v2": Backbone(deberta_v2.DEBERTA_V2, deberta_v2.encoder, "deberta."),
}


def backbone_of(config: Config) -> Backbone:
    """Raises ModelError that names the supported encoders."""
    found = config.get(BACKBONE_TYPE, "deberta-v2")
    if found not in BACKBONES:
        shown = found if isinstance(found, str) else "missing"
        raise ModelError(f"config.json: an encoder of type {shown!r} is not supported – supported are {', '.join(BACKBONES)}")
    return BACKBONES[found]


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = GlinerConfig.of(config)
    width, inner = c.hidden, 4 * c.hidden
    linears = {"token_projection": (width, c.encoder_hidden)} if c.encoder_hidden != width else {}
    for mlp, inputs in (("prompt_rep_layer", width), *((f"span_rep_layer.{name}", of * width) for name, of in MARKERS.items())):
        linears |= {f"{mlp}.linear1": (inner, inputs), f"{mlp}.linear2": (width, inner)}
    expected = backbone_of(config).shapes(config)
    for name, shape in linears.items():
        expected |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for layer in range(c.rnn_layers):
        for direction in DIRECTIONS:
            name = f"rnn.{direction}_l{layer}"
            expected |= {f"{name}.input.weight": (2 * width, width), f"{name}.input.bias": (2 * width,)}
            expected |= {f"{name}.state.weight": (2 * width, width // 2)}
    return expected


MARKERS = {"project_start": 1, "project_end": 1, "out_project": 2}
"""The projections of `SpanMarkerV0`, and how many words each has for its input."""


def _mlp(ops: Ops, weights: Checkpoint, name: str) -> Op:
    first, last = (ops.linear(weights.linear(f"{name}.linear{i}")) for i in (1, 2))
    relu = ops.activation("relu")
    return lambda x: last(relu(first(x)))


def network(ops: Ops, weights: Checkpoint, config: Config) -> Callable[[SpanInputs], Any]:
    """The forward function: inputs → scores of the words (…, max_width · labels), as `Ops.span_scorer` has them."""
    c = GlinerConfig.of(config)
    encode = backbone_of(config).encoder(ops, weights, backbone_config(config))
    project = ops.linear(weights.linear("token_projection")) if c.encoder_hidden != c.hidden else lambda x: x
    rnn = [
        ops.lstm([(weights.linear(f"{name}.input"), weights.linear(f"{name}.state")) for name in names])
        for names in ([f"rnn.{direction}_l{layer}" for direction in DIRECTIONS] for layer in range(c.rnn_layers))
    ]
    start, end = (_mlp(ops, weights, f"span_rep_layer.{name}") for name in ("project_start", "project_end"))
    prompt, relu = _mlp(ops, weights, "prompt_rep_layer"), ops.activation("relu")
    # The first layer of out_project reads both words of a span: of a word, each half is the same in all its spans.
    whole = weights.linear("span_rep_layer.out_project.linear1")
    joint = whole.matrices[0]
    of_start = ops.linear(Linear((joint.columns(0, c.hidden),), ()))
    of_end = ops.linear(Linear((joint.columns(c.hidden, 2 * c.hidden),), whole.biases))
    score = ops.span_scorer(weights.linear("span_rep_layer.out_project.linear2"), c.width)

    def forward(inputs: SpanInputs) -> Any:
        x = encode(inputs.tokens)
        words, labels = project(x[inputs.words.ids]), prompt(project(x[inputs.labels.ids]))
        for layer in rnn:
            words = layer(words, inputs.words)
        starts, ends = of_start(relu(start(words))), of_end(relu(end(words)))
        return score(starts, ends, labels, inputs.words)

    return forward


def _rnn_names() -> dict[str, str]:
    """torch.nn.LSTM's whole names to ours: an artifact has one bias, of both."""
    return {
        f"rnn.lstm.{parameter}_{short}_l{layer}{suffix}": f"rnn.{direction}_l{layer}.{part}.{parameter}"
        for layer in range(MOST_RNN_LAYERS)
        for direction, suffix in DIRECTIONS.items()
        for part, short in PARTS.items()
        for parameter in ("weight", "bias")
    }


def _stored_rnn_names() -> dict[str, str]:
    """OpenMed's names, of mlx's LSTM, for one layer; more layers, which it has not, are numbered."""
    return {
        f"rnn.{direction}_lstm{f'_l{layer}' if layer else ''}.{theirs}": f"rnn.{direction}_l{layer}.{ours}"
        for layer in range(MOST_RNN_LAYERS)
        for direction in DIRECTIONS
        for theirs, ours in (("Wx", "input.weight"), ("Wh", "state.weight"), ("bias", "input.bias"))
    }


_RNN_PARTS = tuple(f"rnn.{direction}_l{layer}" for layer in range(MOST_RNN_LAYERS) for direction in DIRECTIONS)
_HEAD_NAMES = {
    "token_rep_layer.projection": "token_projection",
    **{
        f"{theirs}.{place}": f"{ours}.linear{number}"
        for theirs, ours in (
            ("prompt_rep_layer", "prompt_rep_layer"),
            *((f"span_rep_layer.span_rep_layer.{name}", f"span_rep_layer.{name}") for name in MARKERS),
        )
        for place, number in ((0, 1), (3, 2))  # between the two are a ReLU and a dropout
    },
}


def _positions(config: Config, ids: Array) -> Array:
    return backbone_of(config).family.positions(backbone_config(config), ids)


def _window(config: Config) -> int:
    """In tokens: the encoder's table of positions where it has one. Relative positions have no end: max_len bounds the words,
    and a window that holds two tokens for each is never the shorter of the two but where words are odd."""
    backbone, plain = backbone_of(config), backbone_config(config)
    positions = backbone.family.window(plain)
    bounded = backbone.family is not deberta_v2.DEBERTA_V2 or flag(plain, "position_biased_input", True)
    return positions if bounded else 2 * max(positions, natural(config, "max_len", default=384))


def _artifact_keys(config: Config) -> dict[str, Any]:
    """What OpenMed's runtime has other defaults for, or none."""
    c = GlinerConfig.of(config)
    spelled = {"num_rnn_layers": c.rnn_layers, "max_width": c.width, "max_len": c.length, "embed_ent_token": c.own_token}
    epsilon = (
        {"layer_norm_eps": 1e-7}
        if config.get("layer_norm_eps") is None and backbone_of(config).stored_prefix == "deberta."
        else {}
    )
    return {**spelled, **epsilon, PROMPT_KEY: {"entity_token": c.entity, "separator_token": c.separator}}


def _on(backbone: Backbone) -> Family:
    """The family of GLiNER models with this encoder."""
    family = backbone.family
    names = {theirs: ours for theirs, ours in family.names.items() if not f"{ours}.".startswith(HEADS)}
    return Family(
        name=NAME,
        model_types=("gliner",),
        task=ZERO_SHOT,
        prefixes=("token_rep_layer.bert_layer.model",),
        names={**names, **_HEAD_NAMES, **_rnn_names()},
        ignored=family.ignored,
        shapes=shapes,
        window=_window,
        positions=_positions,
        network=network,
        whole=(*family.whole, *(f"{name}.{part}" for name in _RNN_PARTS for part in PARTS)),
        half=family.half,
        artifact_keys=_artifact_keys,
        layout=replace(
            family.layout,
            names={**{f"{backbone.stored_prefix}{ours}": ours for ours in names.values()}, **_stored_rnn_names()},
            summed={f"{name}.input.bias": (f"{name}.input.bias", f"{name}.state.bias") for name in _RNN_PARTS},
        ),
        sight=lambda config: family.sight(backbone_config(config)),
        seldom=(*family.seldom, "prompt_rep_layer.linear1", "prompt_rep_layer.linear2"),
        compiles=lambda config: False,  # which tokens are words is another matter in each text
    )


GLINER = _on(BACKBONES["deberta-v2"])
_FAMILIES = {model_type: _on(backbone) for model_type, backbone in BACKBONES.items()}


def gliner_family(config: Config) -> Family:
    """The family of a flat config. Raises ModelError as `backbone_of` does."""
    backbone_of(config)
    return _FAMILIES[config.get(BACKBONE_TYPE, "deberta-v2")]
