"""Viterbi decoding under a tag scheme: the most probable tag sequence among those the scheme allows.

Viterbi 1967; transitions are allowed or forbidden, and a model may come with six biases that favour some of them. With
two tags an entity (IOB) an I- must continue its own entity; with four (IOBES, BILOU) an entity must also be ended. Where
a label has no B-, its I- may begin an entity.
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
class Constraints:
    """first, last: (labels,) and step: (labels before, labels after); -inf where forbidden, else 0.0 or a bias. float32."""

    first: Array
    step: Array
    last: Array

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
    scores = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
    best = scores[0] + constraints.first
    came_from = np.zeros(scores.shape, dtype=np.intp)
    for position in range(1, len(scores)):
        through = best[:, None] + constraints.step
        came_from[position] = through.argmax(axis=0)
        best = through.max(axis=0) + scores[position]
    best = best + constraints.last
    if not np.isfinite(best.max()):
        return np.asarray(probabilities.argmax(axis=-1))
    path = np.empty(len(scores), dtype=np.intp)
    path[-1] = best.argmax()
    for position in range(len(scores) - 1, 0, -1):
        path[position - 1] = came_from[position, path[position]]
    return path
