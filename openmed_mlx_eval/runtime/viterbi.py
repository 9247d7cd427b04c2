"""Viterbi decoding: the best tag sequence, under a tag scheme or by a model's own scores of transitions.

Viterbi 1967. Under a tag scheme transitions are allowed or forbidden, and a model may come with six biases that favour some
of them: with two tags an entity (IOB) an I- must continue its own entity; with four (IOBES, BILOU) an entity must also be
ended. Where a label has no B-, its I- may begin an entity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .safetensors import Array

BIASES = {
    "transition_bias_background_stay": ("O", "O"),
    "transition_bias_background_to_start": ("O", "BS"),
    "transition_bias_inside_to_continue": ("BI", "I"),
    "transition_bias_inside_to_end": ("BI", "E"),
    "transition_bias_end_to_background": ("ES", "O"),
    "transition_bias_end_to_start": ("ES", "BS"),
}
"""Of OpenAI's Privacy Filter, by the keys of its viterbi_calibration.json: added to log-probabilities at transitions between
tags of these prefixes."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """What is added to a sequence's score. first, last: (labels,); step: (labels before, labels after); -inf: forbidden."""

    first: Array
    step: Array
    last: Array

    def under(self, other: Transitions) -> Transitions:
        """Both together."""
        return Transitions(self.first + other.first, self.step + other.step, self.last + other.last)


class Constraints(Transitions):
    """Transitions of a tag scheme: forbidden, or 0.0, or a bias; float32."""

    @classmethod
    def of(cls, tags: Sequence[tuple[str, str]], biases: Mapping[str, float] | None = None) -> Constraints:
        """From (prefix, label) of each tag id, prefixes in O, B, I, E, S as `TagScheme.split` gives them.

        biases: by the keys of BIASES; a key that is not there is 0.
        """
        begins = {label for prefix, label in tags if prefix == "B"}
        ends = {label for prefix, label in tags if prefix == "E"}

        def opens(tag: tuple[str, str]) -> bool:
            return tag[0] in "OBS" or (tag[1] not in begins)

        def closes(tag: tuple[str, str]) -> bool:
            return tag[0] in "OES" or (tag[1] not in ends)

        def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
            if before[0] in "BI" and after[0] in "IE" and before[1] == after[1]:
                return True
            return closes(before) and opens(after)

        def cost(allowed: Sequence[object]) -> Array:
            return np.asarray(np.where(np.array(allowed, dtype=bool), np.float32(0), np.float32(-np.inf)))

        step = cost([[follows(before, after) for after in tags] for before in tags])
        for key, bias in (biases or {}).items():
            before, after = (np.array([tag[0] in prefixes for tag in tags]) for prefixes in BIASES[key])
            step[np.ix_(before, after)] += np.float32(bias)
        return cls(
            first=cost([opens(tag) for tag in tags]),
            step=step,
            last=cost([closes(tag) for tag in tags]),
        )


def best_path(probabilities: Array, constraints: Constraints) -> Array:
    """Tag ids (tokens,) of the best allowed sequence; probabilities: (tokens, labels).

    Where a scheme allows none at all (a label set without outside, one token), the unconstrained best.
    """
    if not len(probabilities):
        return np.zeros(0, dtype=np.intp)
    return best_sequence(np.log(np.maximum(probabilities, np.finfo(np.float32).tiny)), constraints)


def best_sequence(scores: Array, transitions: Transitions) -> Array:
    """Tag ids (tokens,) with the highest sum of scores and transitions. scores: (tokens, labels), at least one token.

    Where every sequence is forbidden, each token's best.
    """
    best = scores[0].astype(np.float64) + transitions.first
    came_from = np.zeros(scores.shape, dtype=np.intp)
    for position in range(1, len(scores)):
        through = best[:, None] + transitions.step
        came_from[position] = through.argmax(axis=0)
        best = through.max(axis=0) + scores[position]
    best = best + transitions.last
    if not np.isfinite(best.max()):
        return np.asarray(scores.argmax(axis=-1))
    path = np.empty(len(scores), dtype=np.intp)
    path[-1] = best.argmax()
    for position in range(len(scores) - 1, 0, -1):
        path[position - 1] = came_from[position, path[position]]
    return path
