"""Decoding: one document's logits to labelled spans of its raw text.

Four aggregations as transformers' token-classification pipeline has them (`simple`, `first`, `average`, `max`),
each for every tag scheme, and `viterbi`, which takes the best tag sequence that the scheme allows. A model that ends in
a linear chain has its own best sequence, which `simple` takes; `viterbi` takes the best of those allowed, and the
others group its probabilities. A token whose piece of text is empty or white space is seen by the model but says
nothing: it opens, closes and splits no span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError, UsageError
from ..spans import Span
from ..tags import TagScheme, is_outside, spans_of_tags
from .crf import marginals
from .safetensors import Array
from .tokenization import Encoded, TextEncoder
from .viterbi import Constraints, Transitions, best_path, best_sequence


def softmax(logits: Array) -> Array:
    """Row by row, float32; shifted by the maximum as transformers' pipeline does it."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def nameless(labels: tuple[str, ...]) -> bool:
    """Whether labels are LABEL_0 … or numbers, of which none says that it is outside."""
    return all(label.upper().removeprefix("LABEL_").isdigit() for label in labels) and not any(map(is_outside, labels))


@dataclass(frozen=True, slots=True)
class Decoder:
    """labels: a model's tags by id. aggregation: one of options.AGGREGATIONS. chain: a model's own transitions."""

    labels: tuple[str, ...]
    scheme: TagScheme
    aggregation: str
    constraints: Constraints | None
    chain: Transitions | None = None

    @classmethod
    def of(
        cls,
        labels: tuple[str, ...],
        aggregation: str,
        biases: Mapping[str, float] | None = None,
        chain: Transitions | None = None,
    ) -> Decoder:
        """biases: the model's for `viterbi`, by the keys of viterbi.BIASES. chain: a model's own transitions.

        Raises ModelError for labels that name nothing (LABEL_0 …): there is nothing to compare with gold. UsageError for none:
        those of a model that is given them.
        """
        if not labels:
            raise UsageError(
                "this GLiNER model finds the labels it is given, and was given none – say which with --gliner-labels"
            )
        if nameless(labels):
            raise ModelError(
                f"the model's {len(labels)} labels have no names (LABEL_0 …) – give them with --label-map FILE, "
                'a JSON object such as {"LABEL_0": "O", "LABEL_1": "B-NAME"} that names every one'
            )
        scheme = TagScheme.of(labels)
        viterbi = aggregation == "viterbi"
        constraints = Constraints.of([scheme.split(label) for label in labels], biases) if viterbi else None
        return cls(labels, scheme, aggregation, constraints, chain.under(constraints) if chain and constraints else chain)

    def chosen(self, logits: Array) -> Array:
        """What each row says by itself, (rows,): the id of its most probable label."""
        return np.asarray(logits.argmax(axis=-1))

    def spans(self, encoded: Encoded, logits: Array, encoder: TextEncoder) -> list[Span]:
        """Spans of one document in order. logits: float32 (tokens, labels), one row for each token of `encoded`.

        A span's score is the mean of its tokens' (its words') probabilities: of each alone by softmax, or in a chain given
        the whole document.
        """
        visible = [i for i, (start, end) in enumerate(encoded.offsets) if start < end]
        if not visible:
            return []
        probabilities = marginals(logits, self.chain) if self.chain else softmax(logits)
        offsets = [encoded.offsets[i] for i in visible]
        if self.aggregation in ("first", "average", "max"):
            continues = encoder.continues_word(encoded)
            words = _words([continues[i] for i in visible])
            rows = _word_rows(probabilities[visible], words, self.aggregation)
            offsets = [(offsets[first][0], offsets[last - 1][1]) for first, last in words]
            chosen = rows.argmax(axis=-1)
        else:
            rows = probabilities[visible]
            if self.chain:
                chosen = best_sequence(logits, self.chain)[visible]
            else:
                chosen = best_path(rows, self.constraints) if self.constraints else rows.argmax(axis=-1)
        scores = rows[np.arange(len(rows)), chosen]
        ids = chosen.tolist()
        return [
            Span(offsets[first][0], offsets[last - 1][1], label, float(scores[first:last].mean()))
            for first, last, label in spans_of_tags([self.labels[i] for i in ids], self.scheme)
        ]


def _words(continues: list[bool]) -> list[tuple[int, int]]:
    """[first, last) token ranges of the words; the first token begins one whatever it looks like."""
    starts = [i for i, inner in enumerate(continues) if not inner or i == 0]
    return list(zip(starts, [*starts[1:], len(continues)], strict=True))


def _word_rows(probabilities: Array, words: list[tuple[int, int]], aggregation: str) -> Array:
    """One row of probabilities a word: its first token's, its surest token's, or the mean."""
    if aggregation == "first":
        return probabilities[[first for first, _ in words]]
    if aggregation == "max":
        best = probabilities.max(axis=-1)
        return probabilities[[first + int(best[first:last].argmax()) for first, last in words]]
    return np.stack([probabilities[first:last].mean(axis=0) for first, last in words])
