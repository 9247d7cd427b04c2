"""gliner_config.json: read, made flat, and refused where it describes another kind of GLiNER than the one that is run here.

Defaults are those of gliner 0.2's `BaseGLiNERConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ModelError
from .base import Config, flag, natural

BACKBONE_TYPE = "encoder_model_type"
FILE = "gliner_config.json"

UNSUPPORTED = {
    "labels_encoder": "a bi-encoder (labels_encoder)",
    "labels_decoder": "a decoder of labels (labels_decoder)",
    "relations_layer": "relation extraction (relations_layer)",
    "post_fusion_schema": "post-fusion (post_fusion_schema)",
    "fuse_layers": "a fusion of layers (fuse_layers)",
    "span_encoder_config": "an encoder before the spans (span_encoder_config)",
    "precomputed_prompts_mode": "precomputed prompts (precomputed_prompts_mode)",
}
"""Keys that must be missing, null, false or empty, and what they would ask for."""
SUPPORTED = {
    "span_mode": ("markerV0", "markerV0"),
    "subtoken_pooling": ("first", "first"),
    "words_splitter_type": ("whitespace", "whitespace"),
}
"""{key: (the one value that is supported, gliner's default)}."""
MODEL_TYPES = (None, "gliner", "gliner_uni_encoder_span")

_OWN = (
    *UNSUPPORTED, *SUPPORTED, "max_width", "max_len", "max_types", "num_rnn_layers", "class_token_index", "embed_ent_token",
    "ent_token", "sep_token", "dropout", "name", "model_name",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GlinerConfig:
    """The keys that matter here. hidden, encoder_hidden: units. width: words of the longest span. length: words of a window.

    class_token: id of the token before each label; -1 where the config leaves it to the tokenizer. own_token: whether a
    label is that token's state, and not the next one's.
    """

    hidden: int
    encoder_hidden: int
    width: int
    length: int
    rnn_layers: int
    class_token: int
    own_token: bool
    entity: str
    separator: str

    @classmethod
    def of(cls, config: Config) -> GlinerConfig:
        """Of a flat config. Raises ModelError for what is no such model, naming what it is."""
        _refuse_other_kinds(config)
        hidden = natural(config, "hidden_size", default=512)
        made = cls(
            hidden=hidden,
            encoder_hidden=natural(config, "encoder_hidden_size", default=hidden),
            width=natural(config, "max_width", default=12, most=1024),
            length=natural(config, "max_len", default=384, most=1 << 20),
            rnn_layers=natural(config, "num_rnn_layers", default=1, least=0, most=16),
            class_token=natural(config, "class_token_index", default=-1, least=-1),
            own_token=flag(config, "embed_ent_token", True),
            entity=_token(config, "ent_token", "<<ENT>>"),
            separator=_token(config, "sep_token", "<<SEP>>"),
        )
        if made.rnn_layers and made.hidden % 2:
            raise ModelError("config.json: hidden_size must be even, half of it for each direction of the LSTM")
        return made


def flat(config: Config) -> dict[str, Any]:
    """A gliner_config.json, or an artifact's config.json, as one level of keys. Raises ModelError as GlinerConfig.of does."""
    encoder = config.get("encoder_config")
    if encoder is None and ("num_hidden_layers" in config or BACKBONE_TYPE in config):  # an artifact's, flat already
        return dict(config)
    try:
        _refuse_other_kinds(config)
        if not isinstance(encoder, Mapping):
            raise ModelError(
                "config.json: encoder_config is missing or no object – save the model once with gliner, which writes it"
            )
        encoder = {key: value for key, value in encoder.items() if key not in ("id2label", "label2id")}
        made = {**encoder, **{key: config[key] for key in _OWN if config.get(key) is not None}}
        width = encoder.get("hidden_size") or encoder.get("dim")
        made |= {
            "model_type": "gliner",
            BACKBONE_TYPE: encoder.get("model_type", "deberta-v2"),
            "hidden_size": natural(config, "hidden_size", default=512),
            "encoder_hidden_size": natural({"hidden_size": width}, "hidden_size"),
            "vocab_size": natural(encoder if config.get("vocab_size") in (None, -1) else config, "vocab_size"),
        }
        GlinerConfig.of(made)
    except ModelError as error:
        raise ModelError(f"gliner_{error}") from None  # it says config.json
    return made


def backbone_config(config: Config) -> dict[str, Any]:
    """What a family of encoders reads, of a flat config: its own width, and some label, since it wants one."""
    hidden = config.get("encoder_hidden_size") or config.get("hidden_size")
    return {**config, "hidden_size": hidden, "num_labels": 1}


def _refuse_other_kinds(config: Config) -> None:
    kind = config.get("model_type")
    wrong = next((name for key, name in UNSUPPORTED.items() if config.get(key)), None)
    for key, (supported, default) in SUPPORTED.items():
        value = default if config.get(key) is None else config[key]
        if wrong is None and value != supported:
            wrong = f"{key} {value!r}" if isinstance(value, str) and len(value) < 40 else key
    if wrong is None and "encoder_config" in config and kind not in MODEL_TYPES:
        wrong = f"model_type {kind!r}" if isinstance(kind, str) and len(kind) < 80 else "its model_type"
    if wrong is not None:
        raise ModelError(
            f"config.json: {wrong} is not supported – of GLiNER, uni-encoders with span_mode markerV0, subtoken_pooling first "
            "and words_splitter_type whitespace are"
        )


def _token(config: Config, name: str, default: str) -> str:
    value = config.get(name, default)
    if not isinstance(value, str) or not value:
        raise ModelError(f"config.json: {name} must be a string")
    return value
