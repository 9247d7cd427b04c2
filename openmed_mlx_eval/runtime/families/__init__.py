"""The architectures this runtime knows, by the model_type of their config.json."""

from __future__ import annotations

from ...errors import ModelError
from .base import Config, Family
from .bert import BERT, DISTILBERT, ELECTRA, ROBERTA

FAMILIES: tuple[Family, ...] = (BERT, DISTILBERT, ELECTRA, ROBERTA)


def family_of(config: Config) -> Family:
    """The family of a config.json. Raises ModelError that names the supported model types."""
    model_type = config.get("_mlx_model_type") or config.get("model_type")
    for family in FAMILIES:
        if config.get("model_type") in family.model_types or model_type in family.model_types:
            return family
    supported = ", ".join(sorted(name for family in FAMILIES for name in family.model_types))
    shown = model_type if isinstance(model_type, str) else "missing"
    raise ModelError(f"config.json: model_type {shown!r} is not supported – supported are {supported}")
