"""Strict span scores of a token classifier on notes: windows, stitched logits, simple BIO decoding, exact matching.

Small on purpose and independent of the package's own runtime and scorer, so that it can check them. It knows
nothing of training; the model comes in as a function from token ids to logits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer

Spans = Sequence[tuple[int, int, str]]
Forward = Callable[[list[int]], "np.ndarray"]
"""Token ids of one window, special tokens included → logits (tokens, labels)."""


def windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Half-open windows over `length` tokens, each `overlap` into the one before; one window where all fits."""
    found = [(0, min(size, length))]
    while found[-1][1] < length:
        start = found[-1][0] + size - overlap
        found.append((start, min(start + size, length)))
    return found


def stitched(ids: Sequence[int], forward: Forward, specials: tuple[int, int], size: int, overlap: int) -> np.ndarray:
    """Logits (tokens, labels) of a text of any length; each token's from the window where it is furthest from an edge."""
    logits: np.ndarray | None = None
    depth = np.full(len(ids), -1)
    for start, end in windows(len(ids), size, overlap):
        piece = forward([specials[0], *ids[start:end], specials[1]])[1:-1]
        logits = np.zeros((len(ids), piece.shape[1])) if logits is None else logits
        inside = np.minimum(np.arange(end - start), np.arange(end - start)[::-1])
        better = np.flatnonzero(inside > depth[start:end])
        logits[start + better], depth[start + better] = piece[better], inside[better]
    return np.zeros((0, 0)) if logits is None else logits


def decoded(tags: Iterable[str], offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Spans of BIO tags: a `B-`, or an `I-` of another label than the span before it, opens one."""
    spans: list[tuple[int, int, str]] = []
    previous = "O"
    for tag, (start, end) in zip(tags, offsets, strict=True):
        if tag[:2] == "I-" and previous[2:] == tag[2:]:
            spans[-1] = (spans[-1][0], end, tag[2:])
        elif tag != "O":
            spans.append((start, end, tag[2:]))
        previous = tag
    return spans


def predict(
    text: str, tokenizer: Tokenizer, forward: Forward, labels: Sequence[str], overlap: int = 32, size: int = 126
) -> Spans:
    """The spans a model finds in a text; `labels[i]` names logit i, `size` counts content tokens."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    if not encoding.ids:
        return []
    specials = (tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]"))
    best = stitched(encoding.ids, forward, specials, size, overlap).argmax(axis=1)
    return decoded((labels[index] for index in best), encoding.offsets)


def strict_counts(pairs: Iterable[tuple[Spans, Spans]]) -> dict[str, tuple[int, int, int]]:
    """{label: (right, predicted, gold)} over (gold, predicted) pairs, one a document; `"ALL"` is their sum."""
    counts: dict[str, list[int]] = {"ALL": [0, 0, 0]}
    for gold, predicted in pairs:
        for column, spans in enumerate((set(gold) & set(predicted), set(predicted), set(gold))):
            for _, _, label in spans:
                counts.setdefault(label, [0, 0, 0])[column] += 1
                counts["ALL"][column] += 1
    return {label: (right, predicted, gold) for label, (right, predicted, gold) in sorted(counts.items())}


def f1(counts: tuple[int, int, int]) -> float:
    """2·right / (predicted + gold); 0.0 where there is neither."""
    right, predicted, gold = counts
    return 2 * right / (predicted + gold) if predicted + gold else 0.0
