"""EuroBERT: the layers of Qwen3 without norms of queries and keys, each token seeing the whole text.

Boizard et al. 2025 (arXiv:2503.05500) as in transformers' `modeling_eurobert.py`.
"""

from __future__ import annotations

from ...errors import ModelError
from .base import MAX_LAYERS, Config, Family, flag, natural, number
from .bert import positions_from_zero
from .qwen3 import STACK_NAMES, Stack, window
from .rotary import rotary_base


def eurobert(config: Config) -> Stack:
    """The stack of a EuroBERT config.json. Raises ModelError naming the key that is wrong or not supported."""
    hidden, heads = natural(config, "hidden_size"), natural(config, "num_attention_heads")
    if hidden % heads:
        raise ModelError("config.json: hidden_size is no multiple of num_attention_heads")
    return Stack(
        hidden=hidden,
        heads=heads,
        key_heads=natural(config, "num_key_value_heads", default=heads),
        head_width=natural(config, "head_dim", default=hidden // heads),
        intermediate=natural(config, "intermediate_size"),
        vocabulary=natural(config, "vocab_size"),
        labels=natural(config, "num_labels"),
        reach=((None, None),) * natural(config, "num_hidden_layers", most=MAX_LAYERS),
        base=rotary_base(config),
        activation=str(config.get("hidden_act") or "silu"),
        epsilon=number(config, "rms_norm_eps", 1e-5),
        head_norms=False,
        attention_bias=flag(config, "attention_bias", False),
        mlp_bias=flag(config, "mlp_bias", False),
        head_bias=True,
    )


EUROBERT = Family(
    name="eurobert",
    model_types=("eurobert",),
    prefixes=("model",),
    names={**STACK_NAMES, "classifier": "classifier"},
    ignored=(),
    shapes=lambda config: eurobert(config).shapes(),
    window=window,
    positions=positions_from_zero,
    network=lambda ops, weights, config: eurobert(config).network(ops, weights),
    sight=lambda config: eurobert(config).sight(),
    half="bfloat16",  # trained in it, on Llama's layers
)
