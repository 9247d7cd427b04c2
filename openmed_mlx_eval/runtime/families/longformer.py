"""Longformer: RoBERTa whose tokens see half a window to either side, and a few tokens that see and are seen everywhere.

Beltagy, Peters and Cohan 2020 (arXiv:2004.05150) as in transformers' `modeling_longformer.py`. A global token reads its
sequence through projections of its own. For token classification transformers has no global token unless the caller
marks some, so here there are none unless config.json names their ids under `global_attention_token_ids`.
"""

from __future__ import annotations

from typing import Any

from ...errors import ModelError
from ..engines.base import Inputs, Ops
from ..weights import Checkpoint
from . import bert
from .base import Config, Family, Network, Sight, natural
from .bert import BertConfig

GLOBAL_PARTS = ("query", "key", "value")


def reaches(config: Config) -> list[int]:
    """Tokens that each layer sees to either side: half its attention_window. Raises ModelError for an odd or missing one."""
    layers = BertConfig.of(config).layers
    said = config.get("attention_window")
    windows = [512 if said is None else said] * layers if not isinstance(said, list) else said
    if len(windows) != layers:
        raise ModelError(f"config.json: attention_window must be one number, or one for each of {layers} layers")
    if any(type(window) is not int or window < 2 or window % 2 for window in windows):
        raise ModelError("config.json: attention_window must be an even number of at least 2")
    return [window // 2 for window in windows]


def global_ids(config: Config) -> list[int]:
    """The ids whose tokens are global. Raises ModelError for what is no list of ids."""
    said = config.get("global_attention_token_ids")
    if said is None:
        return []
    rows = natural(config, "vocab_size")
    if not isinstance(said, list) or not all(type(number) is int and 0 <= number < rows for number in said):
        raise ModelError("config.json: global_attention_token_ids must be a list of token ids")
    return said


def sight(config: Config) -> list[Sight]:
    return [Sight(BertConfig.of(config).hidden, reach, reach) for reach in reaches(config)]


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    c = BertConfig.of(config)
    reaches(config), global_ids(config)
    expected = bert.shapes(config)
    for i in range(c.layers):
        for part in GLOBAL_PARTS:
            name = f"encoder.layers.{i}.attention.{part}_global_proj"
            expected |= {f"{name}.weight": (c.hidden, c.hidden), f"{name}.bias": (c.hidden,)}
    return expected


class Layer(bert.Layer):
    """One encoder layer. with_globals: whether the model has global tokens; without, their projections are not laid out."""

    def __init__(self, ops: Ops, weights: Checkpoint, name: str, c: BertConfig, with_globals: bool) -> None:
        super().__init__(ops, weights, name, c)
        if with_globals:
            query, *others = (f"{name}.attention.{part}_global_proj" for part in GLOBAL_PARTS)
            self.global_query = ops.linear(weights.linear(query))
            self.global_key_value = ops.linear(weights.linear(*others))

    def attend(self, x: Any, inputs: Inputs, seen: Any) -> Any:
        """seen: (the layer's band, the batch's global tokens or None)."""
        band, tokens = seen
        q, k, v = self.ops.heads(self.qkv(x), (self.heads,) * 3, inputs)
        context = self.ops.banded_attention(q, k, v, band)
        if tokens is None:
            return context
        q = self.global_query(self.ops.global_rows(x, tokens))
        k, v = self.ops.heads(self.global_key_value(x), (self.heads,) * 2, inputs)
        return self.ops.global_attention(q, k, v, context, inputs, tokens)


def network(ops: Ops, weights: Checkpoint, config: Config) -> Network:
    """The forward function: inputs → logits (…, labels)."""
    c = BertConfig.of(config)
    reach, ids = reaches(config), global_ids(config)
    embeddings = bert.Embeddings(ops, weights, c)
    layers = [Layer(ops, weights, f"encoder.layers.{i}", c, bool(ids)) for i in range(c.layers)]
    classifier = ops.linear(weights.linear("classifier"))

    def forward(inputs: Inputs) -> Any:
        tokens = ops.global_tokens(inputs, ids) if ids else None
        bands = {width: ops.band(inputs, width, width, tokens) for width in set(reach)}
        x = embeddings(inputs)
        for layer, width in zip(layers, reach, strict=True):
            x = layer(x, inputs, (bands[width], tokens))
        return classifier(x)

    return forward


LONGFORMER = Family(
    name="longformer",
    model_types=("longformer",),
    prefixes=("longformer",),
    names={
        **bert.BERT_NAMES,
        **{
            f"encoder.layer.{{i}}.attention.self.{part}_global": f"encoder.layers.{{i}}.attention.{part}_global_proj"
            for part in GLOBAL_PARTS
        },
    },
    ignored=bert.IGNORED,
    shapes=shapes,
    window=bert.window_behind_padding,
    positions=bert.positions_behind_padding,
    network=network,
    stored_prefix="longformer.",
    sight=sight,
    seldom=tuple(f"encoder.layers.{{i}}.attention.{part}_global_proj" for part in GLOBAL_PARTS),
    compiles=lambda config: not global_ids(config),  # which tokens are global is read from each text
)
