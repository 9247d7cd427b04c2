"""Make tests/data/gliner: tiny random GLiNER models with the scores and spans gliner gives for them. Run where gliner is installed.

python tests/make_gliner_golden.py

Each folder is what gliner's save_pretrained writes, as far as it is read here, and `expected.npz`: `logits` (spans, labels) of all
TEXTS end to end, each text computed alone, float32, of the weights as they are stored; `spans` (start, end, label) and `counts`, the spans
of each text above 0.5.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from make_golden import ENCODER, RELATIVE, spread
from runtime.tiny_gliner import ASKED, FOLDERS, GOLDEN, TEXTS, gliner_tokenizer

DEBERTA = {"model_type": "deberta-v2", **RELATIVE}
BERT = {"model_type": "bert", **ENCODER, "max_position_embeddings": 72}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "deberta": ("float16", {"encoder_config": DEBERTA, "hidden_size": 24, "num_rnn_layers": 1, "max_width": 5, "max_len": 30}),
    "deberta-plain": ("bfloat16", {"encoder_config": DEBERTA, "hidden_size": 32, "num_rnn_layers": 0, "max_width": 3, "max_len": 30}),
    "bert": ("float32", {"encoder_config": BERT, "hidden_size": 12, "num_rnn_layers": 2, "max_width": 4, "max_len": 40}),
    "bert-next-token": ("float16", {"encoder_config": BERT, "hidden_size": 16, "num_rnn_layers": 0, "max_width": 12, "max_len": 40,
                                    "embed_ent_token": False}),
}  # fmt: skip
"""{folder: (stored dtype, the keys of its configuration that differ from case to case)}."""


def build(config: dict[str, Any], seed: int, tokenizer: Any = None) -> Any:
    """A random GLiNER in float32, its scores of a size that some spans are found and some are not."""
    import torch
    from gliner.config import UniEncoderSpanConfig
    from gliner.model import UniEncoderSpanGLiNER
    from transformers import PreTrainedTokenizerFast

    tokenizer = tokenizer or gliner_tokenizer()
    rows = tokenizer.get_vocab_size()
    encoder = {"vocab_size": rows, **config["encoder_config"]}
    given = {"vocab_size": rows, "class_token_index": tokenizer.token_to_id("<<ENT>>"), "model_name": "tiny"}
    names = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "PAD", "CLS", "SEP")}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    made = UniEncoderSpanConfig(**{**given, **config, "encoder_config": encoder})
    model = UniEncoderSpanGLiNER(made, tokenizer=fast, backbone_from_pretrained=False)
    spread(model.model, seed)
    model.eval()
    scale = 2 / float(np.std(reference(model, TEXTS[2], list(ASKED))))
    with torch.no_grad():
        for parameter in model.model.prompt_rep_layer[3].parameters():  # a score is linear in it
            parameter.mul_(scale)
    return model


def in_dtype(model: Any, dtype: str) -> Any:
    import torch

    for parameter in model.model.parameters():
        parameter.data = parameter.data.to(getattr(torch, dtype))
    return model


def reference(model: Any, text: str, labels: list[str]) -> Any:
    """float32 logits (spans, labels) of the spans inside the text, by start and width."""
    import torch

    batch = model.collate_batch(model.prepare_batch([text], labels)["input_x"], labels, model.create_collator())
    with torch.no_grad():
        tensors = {key: value for key, value in batch.items() if torch.is_tensor(value)}
        scores = model.model(**tensors).logits[0].numpy()
    words, width, _ = scores.shape
    return np.concatenate([scores[start, : min(width, words - start)] for start in range(words)])


def found(model: Any, text: str, labels: list[str], threshold: float = 0.5) -> list[tuple[int, int, str, float]]:
    spans = model.predict_entities(text, labels, threshold=threshold)
    return [(span["start"], span["end"], span["label"], span["score"]) for span in spans]


def main() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for seed, folder in enumerate(FOLDERS):
        dtype, config = CASES[folder]
        model = in_dtype(build(config, seed), dtype)
        model.save_pretrained(GOLDEN / folder, safe_serialization=True)
        (GOLDEN / folder / "tokenizer_config.json").unlink()
        gliner_tokenizer().save(str(GOLDEN / folder / "tokenizer.json"))
        in_dtype(model, "float32")
        spans = [found(model, text, list(ASKED)) for text in TEXTS]
        rows = [(start, end, ASKED.index(label)) for of in spans for start, end, label, _ in of]
        logits = np.concatenate([reference(model, text, list(ASKED)) for text in TEXTS])
        np.savez_compressed(
            Path(GOLDEN / folder / "expected.npz"),
            logits=logits,
            spans=np.array(rows, dtype=np.int32).reshape(-1, 3),
            counts=np.array([len(of) for of in spans], dtype=np.int32),
        )
        print(folder, logits.shape, float(np.abs(logits).max()), [len(of) for of in spans])


if __name__ == "__main__":
    main()
