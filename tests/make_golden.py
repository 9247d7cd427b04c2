"""Make tests/data/golden: tiny random models with the logits transformers gives for them. Run where torch is installed.

python tests/make_golden.py [FOLDER…]

All folders, or those named. BiLSTM-CRF, which transformers has not, is computed by torch's own LSTM. Each folder is a whole Hugging Face model directory, written by `save_pretrained`, and `expected.npz`: `ids`
(sequences end to end), `lengths`, `logits` (tokens, labels). Logits are float32, of the weights as they are
stored; each sequence was computed alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from runtime.tiny_models import LABELS, SPECIAL, WORDS, word_piece

GOLDEN = Path(__file__).parent / "data" / "golden"
VOCABULARY = len(SPECIAL) + len(WORDS)

ENCODER = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 36,
    "max_position_embeddings": 48,
    "type_vocab_size": 2,
}
ROTARY = {
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 36,
    "max_position_embeddings": 136,
    "pad_token_id": None,
}
DECODER = {**ROTARY, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10}
BIASES = {f"{part}_bias": True for part in ("norm", "attention", "mlp", "classifier")}
EXPERTS = {
    **ROTARY,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 20,
    "num_local_experts": 8,
    "num_experts_per_tok": 3,
    "sliding_window": 10,
    "eos_token_id": None,
}
RELATIVE = {
    **{key: value for key, value in ENCODER.items() if key != "type_vocab_size"},
    "relative_attention": True,
    "pos_att_type": "p2c|c2p",
    "position_biased_input": False,
    "position_buckets": 8,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
NO_BUCKETS = {
    "position_buckets": -1,
    "max_relative_positions": 20,
    "position_biased_input": True,
    "type_vocab_size": 2,
    "share_att_key": False,
    "norm_rel_ebd": "none",
}
LONG = {**ENCODER, "max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1}
RECURRENT = {"embedding_dim": 20, "hidden_size": 12, "num_layers": 2, "max_sequence_length": 48}
DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 36, "max_position_embeddings": 48}

# folder, transformers' class stem, stored dtype, configuration; the dtypes and activations are spread over the families.
CASES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("bert", "Bert", "float32", {**ENCODER, "hidden_act": "gelu"}),
    ("distilbert", "DistilBert", "float16", {**DISTIL, "activation": "gelu"}),
    ("electra", "Electra", "bfloat16", {**ENCODER, "embedding_size": 32, "hidden_act": "gelu_new", "layer_norm_eps": 0.05}),
    ("electra-narrow", "Electra", "float16", {**ENCODER, "embedding_size": 16, "hidden_act": "relu"}),
    ("roberta", "Roberta", "float16", {**ENCODER, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}),
    ("xlm-roberta", "XLMRoberta", "bfloat16", {**ENCODER, "type_vocab_size": 1, "pad_token_id": 1, "hidden_act": "silu"}),
    ("camembert", "Camembert", "float16", {**ENCODER, "type_vocab_size": 1, "pad_token_id": 1, "hidden_act": "tanh"}),
    ("modernbert", "ModernBert", "float16", {**ROTARY, "local_attention": 10}),
    ("modernbert-biased", "ModernBert", "bfloat16",
     {**ROTARY, **BIASES, "local_attention": 16, "hidden_activation": "silu", "classifier_activation": "gelu_new"}),
    ("qwen3", "Qwen3", "bfloat16", DECODER),
    ("qwen3-bidirectional", "Qwen3", "float16", {**DECODER, "is_causal": False, "attention_bias": True,
     "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1, "token_classification_bias": False}),
    ("eurobert", "EuroBert", "float16", {**ROTARY, "rope_parameters": {"rope_type": "default", "rope_theta": 250000.0}}),
    ("eurobert-biased", "EuroBert", "bfloat16",
     {**DECODER, "head_dim": None, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu"}),
    ("deberta-v2", "DebertaV2", "float16", {**RELATIVE, **NO_BUCKETS, "embedding_size": 24}),
    ("deberta-v2-convolved", "DebertaV2", "bfloat16", {**RELATIVE, "conv_kernel_size": 3, "conv_act": "gelu"}),
    ("deberta-v3", "DebertaV2", "float16", RELATIVE),
    ("privacy-filter", "OpenAIPrivacyFilter", "bfloat16", EXPERTS),
    ("privacy-filter-plain", "OpenAIPrivacyFilter", "float16",
     {**EXPERTS, "num_key_value_heads": 6, "attention_bias": False, "sliding_window": 3, "swiglu_limit": 1.0,
      "token_classification_bias": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}),
    ("longformer", "Longformer", "float16", {**LONG, "attention_window": [4, 16]}),
    ("longformer-global", "Longformer", "bfloat16",
     {**LONG, "attention_window": 8, "hidden_act": "gelu_new", "global_attention_token_ids": [2, 9]}),
    ("bilstm-crf", "BilstmCrf", "float16", RECURRENT),
)  # fmt: skip


def spread(model: Any, seed: int) -> None:
    """Fresh models have norms of 1, biases of 0 and near-uniform attention, which would hide what is mixed up."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            norm = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(1 + 0.2 * noise if norm else (0.3 if parameter.dim() > 1 else 0.1) * noise)


def build(stem: str, config: dict[str, Any], seed: int, dtype: str = "float32") -> Any:
    """A random token classifier, in the dtype its weights are to be stored in."""
    import torch
    import torch_bilstm_crf
    import transformers

    library = torch_bilstm_crf if hasattr(torch_bilstm_crf, f"{stem}Config") else transformers
    labels = dict(enumerate(LABELS))
    named = {"id2label": labels, "label2id": {label: i for i, label in labels.items()}}
    made = getattr(library, f"{stem}Config")(**{"vocab_size": VOCABULARY, **named, **config})
    model = getattr(library, f"{stem}ForTokenClassification")(made).eval()
    spread(model, seed)
    for parameter in model.parameters():  # and no buffer: rotary frequencies are float32 whatever is stored
        parameter.data = parameter.data.to(getattr(torch, dtype))
    return model


def window_of(config: dict[str, Any]) -> int:
    """Tokens a sequence may have: all positions, or those behind the padding's."""
    if "max_sequence_length" in config:
        return int(config["max_sequence_length"])
    padding = config.get("pad_token_id")
    return int(config["max_position_embeddings"]) - (0 if padding is None else padding + 1)


def reference(model: Any, sequences: list[Any]) -> list[Any]:
    """float32 logits of each sequence alone."""
    import torch

    marked = getattr(model.config, "global_attention_token_ids", None)

    def logits(ids: Any) -> Any:
        tokens = torch.tensor(ids[None].astype(np.int64))
        more = {"global_attention_mask": torch.isin(tokens, torch.tensor(marked)).long()} if marked else {}
        return model(tokens, **more).logits[0].numpy()

    with torch.no_grad():
        return [logits(ids) for ids in sequences]


def main() -> None:
    chosen = sys.argv[1:]
    for folder in chosen or [""]:
        shutil.rmtree(GOLDEN / folder, ignore_errors=True)
    for seed, (folder, stem, dtype, config) in enumerate(CASES):
        if chosen and folder not in chosen:
            continue
        model = build(stem, config, seed, dtype)
        model.save_pretrained(GOLDEN / folder)
        word_piece().save(str(GOLDEN / folder / "tokenizer.json"))
        rng = np.random.default_rng(seed)
        sequences = [rng.integers(0, VOCABULARY, size).astype(np.int32) for size in (7, 1, 19, window_of(config))]
        logits = np.concatenate(reference(model.float(), sequences))
        ids = np.concatenate(sequences)
        np.savez_compressed(GOLDEN / folder / "expected.npz", ids=ids, lengths=list(map(len, sequences)), logits=logits)


if __name__ == "__main__":
    main()
