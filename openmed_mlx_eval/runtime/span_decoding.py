"""Decoding of span scores: those above a threshold, the most probable first, none over another – gliner's flat, greedy search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..spans import Span
from ..tags import TagScheme
from .decoding import Decoder
from .safetensors import Array
from .tokenization import Encoded, TextEncoder
from .word_encoding import word_starts
from .word_windows import span_places


def logistic(logits: Array) -> Array:
    """1 / (1 + e^-z), float32."""
    with np.errstate(over="ignore"):  # where it is 0
        return np.asarray(1 / (1 + np.exp(-logits)))


@dataclass(frozen=True, slots=True)
class SpanDecoder(Decoder):
    """labels: as they were given. threshold: what a span's probability must exceed. width: words of the longest span."""

    threshold: float = 0.5
    width: int = 1

    @classmethod
    def to_find(cls, labels: tuple[str, ...], threshold: float, width: int) -> SpanDecoder:
        return cls(labels, TagScheme("spans"), "simple", None, threshold=threshold, width=width)

    def chosen(self, logits: Array) -> Array:
        """The label of each span, by its place; -1 where none exceeds the threshold."""
        return np.where(logistic(logits.max(axis=-1)) > self.threshold, logits.argmax(axis=-1), -1)

    def spans(self, encoded: Encoded, logits: Array, encoder: TextEncoder) -> list[Span]:
        """Spans of one document in order. logits: float32 (spans, labels), in the order of `span_places`.

        Of two that overlap the more probable stays, of equals the one that begins earlier, is shorter, or has the label given
        earlier. A span's score is its probability, the logistic function of its logit.
        """
        words = [encoded.offsets[place] for place in word_starts(encoded).tolist()]
        first, more = span_places(len(words), self.width)
        probable = logistic(logits)
        spans, labels = np.nonzero(probable > self.threshold)
        scores = probable[spans, labels]
        taken = np.zeros(len(words), dtype=bool)
        found = []
        for at in np.argsort(-scores, kind="stable").tolist():
            start, last = int(first[spans[at]]), int(first[spans[at]] + more[spans[at]])
            if not taken[start : last + 1].any():
                taken[start : last + 1] = True
                found.append(Span(words[start][0], words[last][1], self.labels[labels[at]], float(scores[at])))
        return sorted(found, key=lambda span: span.start)
