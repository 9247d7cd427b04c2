"""A linear chain CRF over a model's emissions: its transitions, and how probable each label of each token is.

Lafferty, McCallum and Pereira 2001. A sequence scores the sum of its emissions and transitions, and is as probable as
exp of that. Tensors as pytorch-crf has them. The best sequence is `viterbi.best_sequence`; the recursions here are the
forward and the backward one (Rabiner 1989), in logarithms and float64, so that no length of document underflows.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from .safetensors import Array
from .viterbi import Transitions
from .weights import Checkpoint

LEAST = 600.0
"""No transition is less than e⁻⁶⁰⁰ as likely as the likeliest: the forbidden too, so that no sum is of nothing."""


def transitions_of(checkpoint: Checkpoint, prefix: str) -> Transitions:
    """A model's, float64. Raises ModelError where a score is not finite."""
    parts = []
    for name in ("start_transitions", "transitions", "end_transitions"):
        values = checkpoint.tensors[f"{prefix}.{name}"].float32().astype(np.float64)
        if not np.isfinite(values).all():
            raise ModelError(f"{prefix}.{name}: a score is not finite – a transition that must not be is written as -10000")
        parts.append(values)
    return Transitions(*parts)


def marginals(scores: Array, transitions: Transitions) -> Array:
    """The probability of each label at each token, given the whole sequence; float32 (tokens, labels).

    scores: the emissions, (tokens, labels), at least one token.
    """
    first, step, last = (_bounded(part) for part in (transitions.first, transitions.step, transitions.last))
    highest = step.max()
    likely = np.exp(step - highest)
    known = np.empty(scores.shape, dtype=np.float64)
    known[0] = first + scores[0]
    for token in range(1, len(scores)):
        known[token] = _log_product(known[token - 1], likely, highest) + scores[token]
    behind = last
    known[-1] += behind
    for token in range(len(scores) - 2, -1, -1):
        behind = _log_product(behind + scores[token + 1], likely.T, highest)
        known[token] += behind
    known -= known.max(axis=-1, keepdims=True)
    np.exp(known, out=known)
    known /= known.sum(axis=-1, keepdims=True)
    return known.astype(np.float32)


def _log_product(logarithms: Array, likely: Array, highest: float) -> Array:
    """log(exp(logarithms) · likely) + highest, without leaving the range of exp."""
    top = logarithms.max()
    return np.asarray(np.log(np.exp(logarithms - top) @ likely) + (top + highest))


def _bounded(part: Array) -> Array:
    highest = part.max()
    return np.maximum(part, highest - LEAST) if np.isfinite(highest) else np.zeros(part.shape)
