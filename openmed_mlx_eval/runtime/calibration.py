"""A model's transition biases for Viterbi decoding: where a directory has them, and that they are numbers.

A checkpoint of OpenAI's Privacy Filter has them in viterbi_calibration.json, at operating_points.default.biases; an
artifact in its config.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..errors import ModelError
from .viterbi import BIASES

CALIBRATION = "viterbi_calibration.json"
CONFIG_KEY = "_mlx_viterbi_biases"


def calibrated(description: Mapping[str, Any]) -> dict[str, float]:
    """The biases of a viterbi_calibration.json. Raises ModelError where it has not the default operating point."""
    found: Any = description
    for key in ("operating_points", "default", "biases"):
        found = found.get(key) if isinstance(found, Mapping) else None
    if found is None:
        raise ModelError(f"{CALIBRATION}: operating_points.default.biases is missing – copy the file again, or take it away")
    return biases(found, CALIBRATION)


def biases(said: Any, file: str) -> dict[str, float]:
    """Those of the six that are said, other than 0. Raises ModelError naming what is no number."""
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise ModelError(f"{file}: the Viterbi biases must be an object")
    found = {key: said[key] for key in BIASES if said.get(key) is not None}
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise ModelError(f"{file}: {key} must be a finite number")
    return {key: float(value) for key, value in found.items() if value}
