"""Each family's network beside transformers' on torch: one batch, same random weights, alternating calls, medians.

    python benchmarks/families.py [FAMILY…] [--layers N] [--rounds N] [--batches 8x128,2x512]

Needs the `parity` extra; ONNX Runtime is measured where it is installed, for BERT and its kin. Layers are as wide as a base
model's and few; all sides compute the same token ids on all cores, and their logits must agree. The share is of what numpy
multiplies at most on this machine. Longformer is also measured at growing lengths, of which the last line says how time grows.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import contenders
from arguments import at_least, shapes

if TYPE_CHECKING:
    from openmed_mlx_eval.runtime.classifier import TokenClassifier

EXPORTED = ("bert", "distilbert", "electra", "roberta")
"""What torch exports to ONNX."""
GROWING = (1024, 2048, 4096)
VOCABULARY = 4_000
LABELS = dict(enumerate(("O", *(f"{mark}-{name}" for name in ("NAME", "DATE", "PLACE", "ID") for mark in "BI"))))

_WIDE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514}
_PADS = {"pad_token_id": 1, "type_vocab_size": 1}
_MODERN = {**_WIDE, "intermediate_size": 1152, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
           "sep_token_id": 2}  # fmt: skip
_DEBERTA = {
    **_WIDE, "relative_attention": True, "position_buckets": 256, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
    "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False, "type_vocab_size": 0,
}  # fmt: skip
_DECODER = {
    "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072,
    "max_position_embeddings": 514, "pad_token_id": 0,
}  # fmt: skip
_EXPERTS = {
    "hidden_size": 640, "num_attention_heads": 14, "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 640,
    "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128, "max_position_embeddings": 4096, "pad_token_id": 0,
}  # fmt: skip
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", _WIDE),
    "distilbert": ("DistilBert", {"dim": 768, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 514}),
    "electra": ("Electra", {**_WIDE, "embedding_size": 768}),
    "roberta": ("Roberta", {**_WIDE, **_PADS, "max_position_embeddings": 516}),
    "deberta-v2": ("DebertaV2", _DEBERTA),
    "modernbert": ("ModernBert", {**_MODERN, "local_attention": 128}),
    "qwen3": ("Qwen3", _DECODER),
    "eurobert": ("EuroBert", {**_WIDE, "num_key_value_heads": 12, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "longformer": ("Longformer", {**_WIDE, **_PADS, "attention_window": 512, "max_position_embeddings": 4098}),
    "openai_privacy_filter": ("OpenAIPrivacyFilter", _EXPERTS),
}
"""model_type: (transformers' class names' beginning, config)."""


def model_of(name: str, layers: int) -> Any:
    """transformers' model with random weights."""
    import torch
    import transformers

    stem, config = FAMILIES[name]
    depth = "n_layers" if stem == "DistilBert" else "num_hidden_layers"
    torch.manual_seed(0)
    made = getattr(transformers, f"{stem}Config")(**{"vocab_size": VOCABULARY, "id2label": LABELS, **config, depth: layers})
    return getattr(transformers, f"{stem}ForTokenClassification")(made).eval()


def ours_of(folder: str) -> tuple[Callable[[Any], Any], TokenClassifier]:
    """ids (texts, tokens), special ones included → logits, by the classifier's own batching and threads."""
    import numpy as np
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    from openmed_mlx_eval.runtime.classifier import TokenClassifier
    from openmed_mlx_eval.runtime.tokenization import Encoded

    words = {f"w{number}": number for number in range(VOCABULARY)}
    Tokenizer(WordLevel(words, unk_token="w0")).save(f"{folder}/tokenizer.json")
    classifier = TokenClassifier.load(folder, engine="numpy")

    def forward(ids: Any) -> Any:
        return np.stack(classifier.forward([Encoded("", row, [], []) for row in ids]))

    return forward, classifier


def theirs_of(model: Any) -> Callable[[Any], Any]:
    import torch

    def forward(ids: Any) -> Any:
        tensor = torch.tensor(ids.astype("int64"))
        with torch.inference_mode():
            return model(input_ids=tensor, attention_mask=torch.ones_like(tensor)).logits.numpy()

    return forward


def onnx_of(folder: str, exported: str) -> Callable[[Any], Any]:
    import numpy as np
    import onnxruntime

    contenders.as_onnx(folder, exported)
    session = onnxruntime.InferenceSession(f"{exported}/{contenders.ONNX_FILE}", providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"input_ids": ids.astype("int64"), "attention_mask": np.ones(ids.shape, "int64")})[0]


def compared(sides: Sequence[Callable[[Any], Any]], ids: Any, rounds: int) -> tuple[list[float], float]:
    """(median seconds of each side, largest difference of a logit from the first side's)."""
    logits = [side(ids) for side in sides]
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        for place in range(len(sides))[:: -1 if number % 2 else 1]:
            started = time.perf_counter()
            sides[place](ids)
            times[place].append(time.perf_counter() - started)
    return [statistics.median(one) for one in times], max(float(abs(logits[0] - other).max()) for other in logits[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--layers", type=at_least(1), default=4)
    parser.add_argument("--rounds", type=at_least(1), default=5)
    parser.add_argument("--batches", type=shapes, default="8x128,2x512", help="texts x tokens of each, comma-separated")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.families if name not in FAMILIES]
    if unknown:
        parser.error(f"no family is called {', '.join(unknown)} – there are {', '.join(FAMILIES)}")
    for variable in contenders.UNSET:
        os.environ.pop(variable, None)
    import numpy as np

    from openmed_mlx_eval.latency.roofline import flops_per_token, peaks

    rng = np.random.default_rng(0)
    rows, lengths = [], []
    for name in arguments.families:
        model = model_of(name, arguments.layers)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as exported:
            model.save_pretrained(folder)
            forward, classifier = ours_of(folder)
            sides = [forward, theirs_of(model)]
            if name in EXPORTED and find_spec("onnxruntime"):
                sides.append(onnx_of(folder, exported))
            peak = peaks(classifier.ops)[0]
            for texts, tokens in (*arguments.batches, *((1, length) for length in GROWING if name == "longformer")):
                ids = rng.integers(5, VOCABULARY, (texts, tokens)).astype("int32")
                (ours, *theirs), apart = compared(sides, ids, arguments.rounds)
                share = flops_per_token(classifier.artifact, tokens) * texts * tokens / ours / peak
                beside = [text for seconds in theirs for text in (f"{seconds:.3f}", f"{seconds / ours:.2f}×")]
                rows.append(
                    [name, f"{texts} × {tokens}", f"{ours:.3f}", *(beside + ["–"] * 2)[:4], f"{share:.0%}", f"{apart:.0e}"]
                )
                if name == "longformer" and texts == 1:
                    lengths.append((tokens, ours))
    columns = ("", "batch", "ours, s", "torch, s", "ours is", "ONNX Runtime, s", "ours is", "of the peak", "logits apart")
    print(f"{arguments.layers} layers, medians of {arguments.rounds} calls on {contenders.machine()}\n")
    print(contenders.table(columns, rows))
    if lengths:
        (short, first), (long, last) = lengths[0], lengths[-1]
        print(
            f"\nLongformer from {short:,} to {long:,} tokens: time grows with exponent {math.log(last / first, long / short):.2f}"
        )


if __name__ == "__main__":
    main()
