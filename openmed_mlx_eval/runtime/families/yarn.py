"""YaRN: rotary positions stretched beyond the length they were learned at, as transformers computes them.

Peng et al. 2023 (arXiv:2309.00071) as in transformers' `modeling_rope_utils.py` (`_compute_yarn_parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, inf, log, pi

import numpy as np

from ...errors import ModelError
from ..safetensors import Array
from .base import Config, flag, natural, number


@dataclass(frozen=True, slots=True)
class Yarn:
    """Rotary frequencies: base^(-2i/width), those below a band divided by `factor`; factor 1: as they are.

    fast, slow: turns within `original` positions at which the band begins and ends. truncate: whether its ends are rounded to
    whole units. given: what the cosines and sines are multiplied with, None for what follows from the factor.
    """

    base: float
    factor: float
    fast: float = 32.0
    slow: float = 1.0
    original: int = 4096
    truncate: bool = True
    given: float | None = None

    def __post_init__(self) -> None:
        if self.base <= 1:
            raise ModelError("config.json: rope_theta must be greater than 1")
        if self.factor < 1:
            raise ModelError("config.json: the factor of rotary scaling must be at least 1")

    @property
    def attention(self) -> float:
        """What queries and keys are multiplied with."""
        if self.given is not None:
            return self.given
        return 0.1 * log(self.factor) + 1.0 if self.factor > 1 else 1.0

    def frequencies(self, width: int) -> Array:
        """float32 (width/2,), radians a position; rounded step by step as there, since a long text multiplies the difference."""
        low, high = (width * log(self.original / (turns * 2 * pi)) / (2 * log(self.base)) for turns in (self.fast, self.slow))
        if self.truncate:
            low, high = floor(low), ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        high += 0.001 if low == high else 0
        slowed = np.clip((np.arange(width // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low), 0, 1)
        with np.errstate(all="ignore"):  # of a base or factor beyond any model's
            periods = np.float32(self.base) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
            mixed = 1 / (np.float32(self.factor) * periods) * slowed + 1 / periods * (1 - slowed)
        frequencies: Array = mixed.astype(np.float32)
        return frequencies

    def plain_if_unscaled(self) -> Yarn:
        """Itself, or where nothing is scaled the one form of it, so that equal ones compare equal."""
        unscaled = self.factor == 1 and self.given in (None, 1.0)
        return Yarn(self.base, 1.0, truncate=False) if unscaled else self


def yarn(config: Config, positions: int, *, base: float, default: Mapping[str, object]) -> Yarn:
    """From `rope_parameters` as transformers 5 writes it, `rope_scaling` of older versions, or the model's default.

    Raises ModelError naming the key that is wrong, or asks for another kind of scaling.
    """
    key = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    said = config.get(key)
    if said is not None and not isinstance(said, Mapping):
        raise ModelError(f"config.json: {key} must be an object")
    said = default if said is None else said
    shown = {f"{key}.{name}": value for name, value in said.items() if value is not None}
    kind = said.get("rope_type") or said.get("type") or "default"
    theta = positive(shown, f"{key}.rope_theta", positive(config, "rope_theta", base))
    if said.get("partial_rotary_factor") not in (None, 1) or config.get("partial_rotary_factor") not in (None, 1):
        raise ModelError(f"config.json: {key}: partial_rotary_factor is not supported – only whole heads are rotated")
    if kind == "default":
        return Yarn(theta, 1.0).plain_if_unscaled()
    if kind != "yarn":
        name = f" {kind!r}" if isinstance(kind, str) else ""
        raise ModelError(f"config.json: {key}: rotary scaling{name} is not supported – 'default' and 'yarn' are")
    if any(said.get(name) for name in ("mscale", "mscale_all_dim")):
        raise ModelError(f"config.json: {key}: mscale is not supported")
    original = natural(shown, f"{key}.original_max_position_embeddings", default=positions)
    original = natural(config, "original_max_position_embeddings", default=original)
    given = shown.get(f"{key}.attention_factor")
    made = Yarn(
        base=theta,
        factor=positive(shown, f"{key}.factor", positions / original),
        fast=positive(shown, f"{key}.beta_fast", 32.0),
        slow=positive(shown, f"{key}.beta_slow", 1.0),
        original=original,
        truncate=flag(shown, f"{key}.truncate", True),
        given=None if given is None else positive(shown, f"{key}.attention_factor", 1.0),
    )
    return replace(made, given=None) if made.given == replace(made, given=None).attention else made.plain_if_unscaled()


def positive(config: Config, name: str, default: float) -> float:
    """config[name] as a float greater than 0 and finite. Raises ModelError naming the key."""
    value = number(config, name, default) if config.get(name) is not None else default
    if not 0 < value < inf:
        raise ModelError(f"config.json: {name} must be greater than 0 and finite")
    return value
