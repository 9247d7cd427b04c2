"""Viterbi decoding under a tag scheme: the most probable tag sequence among those the scheme allows.

Viterbi 1967; transitions are only allowed or forbidden, no weight is learned. With two tags an entity (IOB) an
I- must continue its own entity; with four (IOBES, BILOU) an entity must also be ended. Where a label has no B-,
its I- may begin an entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .safetensors import Array


@dataclass(frozen=True, slots=True)
class Constraints:
    """first, last: (labels,) and step: (labels before, labels after); 0.0 where allowed, -inf where not. float32."""

    first: Array
    step: Array
    last: Array

    @classmethod
    def of(cls, tags: Sequence[tuple[str, str]]) -> Constraints:
        """From (prefix, label) of each tag id, prefixes in O, B, I, E, S as `TagScheme.split` gives them."""
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

        return cls(
            first=cost([opens(tag) for tag in tags]),
            step=cost([[follows(before, after) for after in tags] for before in tags]),
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
