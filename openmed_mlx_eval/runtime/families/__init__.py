"""The architectures this runtime knows, by the model_type of their config.json."""

from __future__ import annotations

from ...errors import ModelError
from .base import Config, Family
from .bert import BERT, DISTILBERT, ELECTRA, ROBERTA
from .bilstm_crf import BILSTM_CRF
from .deberta_v2 import DEBERTA_V2
from .eurobert import EUROBERT
from .gliner import GLINER
from .longformer import LONGFORMER
from .modernbert import MODERNBERT
from .privacy_filter import PRIVACY_FILTER
from .qwen3 import QWEN3

FAMILIES: tuple[Family, ...] = (
    BERT, DISTILBERT, ELECTRA, ROBERTA, MODERNBERT, QWEN3, EUROBERT, DEBERTA_V2, PRIVACY_FILTER, LONGFORMER, BILSTM_CRF,
    GLINER,
)  # fmt: skip


def family_of(config: Config) -> Family:
    """The family of a config.json. Raises ModelError that names the supported model types."""
    # OpenMed writes `_mlx_model_type: bert` for a RoBERTa too, so it counts only where model_type is of no use.
    for model_type in (config.get("model_type"), config.get("_mlx_model_type")):
        for family in FAMILIES:
            if model_type in family.model_types:
                return family
    supported = ", ".join(sorted(name for family in FAMILIES for name in family.model_types))
    model_type = config.get("model_type") or config.get("_mlx_model_type")
    fault = f"{model_type!r} is not supported" if isinstance(model_type, str) else "is missing, or no name"
    raise ModelError(f"config.json: model_type {fault} – supported are {supported}")
