"""Scores of a tagger: sequences of gold and predicted tags to counts that add up, and seqeval's report made of them.

An entity is right where type, first and last token are equal. How tags become entities is `tag_readings`' matter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import eq
from typing import Any

from ..errors import InputError
from .counts import Counts, Rate, ratio
from .tag_readings import FORMAT, SCHEMES, TagReading, detect_scheme, entities, scheme_of

__all__ = ["SCHEMES", "TagReading", "TagScore", "classification_report", "detect_scheme", "entities", "tag_scores"]

Sequences = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class TagScore:
    """What was counted in some sequences. Adds with `+`.

    correct_tokens: tokens whose predicted tag is the gold one. by_type: entities of every type of gold or
    prediction; support, predicted and true positives are conlleval's phrases, found and correct ones.
    """

    sequences: int = 0
    tokens: int = 0
    correct_tokens: int = 0
    by_type: Mapping[str, Counts] = field(default_factory=dict)

    def __add__(self, other: TagScore) -> TagScore:
        nothing = Counts()
        return TagScore(
            self.sequences + other.sequences,
            self.tokens + other.tokens,
            self.correct_tokens + other.correct_tokens,
            {
                type: self.by_type.get(type, nothing) + other.by_type.get(type, nothing)
                for type in self.by_type.keys() | other.by_type.keys()
            },
        )

    def __radd__(self, other: int) -> TagScore:
        return self if other == 0 else NotImplemented

    @property
    def overall(self) -> Counts:
        """All types together (micro)."""
        return sum(self.by_type.values(), Counts())

    @property
    def token_accuracy(self) -> Rate:
        """Share of tokens with the right tag, O among them, as conlleval and seqeval say it; None without tokens."""
        return ratio(self.correct_tokens, self.tokens)


def tag_scores(gold: Sequences, predicted: Sequences, mode: str = "lenient", scheme: str | None = None) -> TagScore:
    """Count the entities of parallel tag sequences.

    mode, scheme: as in TagReading; strict without a scheme takes the one that all tags together show (seqeval asks
    gold alone, and refuses predictions of another). Takes time in proportion to the number of tags. Raises
    InputError, by ordinals from 1, where the sequences are not parallel or a strict scheme does not have a tag;
    UsageError for a mode or scheme that is none.
    """
    if len(gold) != len(predicted):
        raise InputError(FORMAT, f"{len(gold)} gold sequences and {len(predicted)} predicted ones")
    for ordinal, (one, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(one) != len(other):
            raise InputError(FORMAT, f"{len(one)} gold tags and {len(other)} predicted ones", document=ordinal)
    if mode == "strict" and scheme is None:
        scheme = scheme_of(set().union(*gold, *predicted))
    reading = TagReading(mode, scheme)
    if mode == "strict":
        for ordinal, pair in enumerate(zip(gold, predicted, strict=True), start=1):
            for tags in pair:
                reading.check(tags, ordinal)
    # One run over all with an O after each sequence, as seqeval reads them: an odd tag (`U`, `.`) may reach across.
    sides = [[*chain.from_iterable((*tags, "O") for tags in side)] for side in (gold, predicted)]
    support, found, right = map(Counter, reading.compare(*sides))
    return TagScore(
        sequences=len(gold),
        tokens=len(sides[0]) - len(gold),
        correct_tokens=sum(map(eq, *sides)) - len(gold),
        by_type={type: Counts.of(right[type], support[type], found[type]) for type in sorted(support.keys() | found.keys())},
    )


def classification_report(score: TagScore, zero_division: float | None = None) -> dict[str, dict[str, Any]]:
    """`seqeval.metrics.classification_report(…, output_dict=True, zero_division=…)`, to the last digit.

    Keys are the types in order and `micro avg`, `macro avg`, `weighted avg`; each has precision, recall, f1-score and
    support. zero_division: 0 or 1 stands where a rate has no denominator; with it the macro average over no type at
    all is NaN, as seqeval's. None: the rate itself is None, and counts as 0 in F1 and in the averages.
    """
    filled = 0.0 if zero_division is None else float(zero_division)
    types = sorted(score.by_type)
    counts = [score.by_type[type] for type in types]
    rows = [_rates(one, filled) for one in counts]
    overall = score.overall
    report = {type: _block(row, one, zero_division) for type, row, one in zip(types, rows, counts, strict=True)}
    report["micro avg"] = _block(_rates(overall, filled), overall, zero_division)
    report["macro avg"] = _averages(rows, None, (None if zero_division is None else math.nan,) * 3, overall.support)
    unmeasured = filled if not overall.predicted else 0.0
    without_support = (None,) * 3 if zero_division is None else (unmeasured, filled, unmeasured)
    report["weighted avg"] = _averages(rows, [one.support for one in counts], without_support, overall.support)
    return report


def _rates(counts: Counts, filled: float) -> tuple[float, float, float]:
    """Precision, recall and F1 in the order of operations of seqeval's `_precision_recall_fscore_support`."""
    precision = counts.true_positives / counts.predicted if counts.predicted else filled
    recall = counts.true_positives / counts.support if counts.support else filled
    return precision, recall, 2.0 * precision * recall / ((precision + recall) or 1.0)


def _block(rates: Iterable[Rate], counts: Counts, zero_division: float | None) -> dict[str, Any]:
    precision, recall, f1 = rates
    if zero_division is None:
        precision = precision if counts.predicted else None
        recall = recall if counts.support else None
        f1 = f1 if counts.support + counts.predicted else None
    return _row((precision, recall, f1), counts.support)


def _averages(
    rows: Sequence[Sequence[float]], weights: Sequence[int] | None, otherwise: Iterable[Rate], support: int
) -> dict[str, Any]:
    """Means over types by numpy, whose order of summation is in the last digit of what seqeval says."""
    if not rows or (weights is not None and not any(weights)):
        return _row(otherwise, support)
    import numpy as np

    return _row((float(np.average(np.array(column), weights=weights)) for column in zip(*rows, strict=True)), support)


def _row(rates: Iterable[Rate], support: int) -> dict[str, Any]:
    return {**dict(zip(("precision", "recall", "f1-score"), rates, strict=True)), "support": support}
