"""What configurations of rotary families have in common: the base of the rotation, and which layers see a window only."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from ...errors import ModelError
from ..safetensors import Array
from .base import Config, number

FULL, SLIDING = "full_attention", "sliding_attention"


def check_heads(heads: int, key_heads: int, width: int) -> None:
    """Raises ModelError for heads that cannot share keys, or are too odd to be rotated."""
    if heads % key_heads:
        raise ModelError("config.json: num_attention_heads is no multiple of num_key_value_heads")
    if width % 2:
        raise ModelError("config.json: head_dim must be even, or the heads cannot be rotated")


def rotary_base(config: Config, layer_type: str | None = None, *, legacy: str = "rope_theta", default: float = 10000.0) -> float:
    """The base of rotary positions, from `rope_parameters` as transformers 5 writes it, or from a key of older versions.

    layer_type: which of a table of parameters, for a family that has one a kind of layer. legacy: the older key.
    Raises ModelError naming the key that asks for scaled or partial rotation, which the engines do not compute.
    """
    if config.get("rope_scaling") is not None:
        _refuse_scaling(config["rope_scaling"], "rope_scaling")
    key, parameters = "rope_parameters", config.get("rope_parameters")
    if layer_type is not None and parameters is not None:
        key = f"rope_parameters.{layer_type}"
        parameters = parameters.get(layer_type) if isinstance(parameters, Mapping) else parameters
    if parameters is not None:
        _refuse_scaling(parameters, key)
    for name, place in ((f"{key}.rope_theta", (parameters or {}).get("rope_theta")), (legacy, config.get(legacy))):
        if place is not None:
            base = number({name: place}, name, default)
            if not 0 < base < inf:
                raise ModelError(f"config.json: {name} must be greater than 0 and finite")
            return base
    return default


def frequencies(base: float, width: int) -> Array:
    """float32 (width/2,): base^(-2i/width), radians a position (Su et al. 2021, arXiv:2104.09864)."""
    powers: Array = (base ** -(np.arange(0, width, 2) / width)).astype(np.float32)
    return powers


def _refuse_scaling(parameters: Any, key: str) -> None:
    if not isinstance(parameters, Mapping):
        raise ModelError(f"config.json: {key} must be an object")
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    if kind != "default":
        shown = f" {kind!r}" if isinstance(kind, str) else ""
        raise ModelError(f"config.json: {key}: rotary scaling{shown} is not supported – only 'default' is")
    if parameters.get("partial_rotary_factor") not in (None, 1):
        raise ModelError(f"config.json: {key}: partial_rotary_factor is not supported – only whole heads are rotated")


def layer_types(config: Config, default: tuple[str, ...]) -> tuple[str, ...]:
    """FULL or SLIDING for each layer; `default` where the config does not say. Raises ModelError for anything else."""
    said = config.get("layer_types")
    if said is None:
        return default
    if not isinstance(said, list) or len(said) != len(default) or any(kind not in (FULL, SLIDING) for kind in said):
        raise ModelError(f"config.json: layer_types must be {FULL!r} or {SLIDING!r} for each of {len(default)} layers")
    return tuple(said)
