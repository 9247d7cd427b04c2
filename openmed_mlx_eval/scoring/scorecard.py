"""The scorecard of one document, which adds up to that of a corpus, and the block of a report made from it.

Documents are scored one by one and their integers are added; every rate is derived at the end. So a
prediction that runs past its document's end can touch nothing of the next one, and a corpus may be split,
permuted or scored in parallel without changing a digit. No text and no model is needed here, only spans and
the document's length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, itemgetter
from typing import Any, NamedTuple

from ..spans import Span
from .counts import Counts, Rate, TwoSidedCounts, mean
from .matching import NO_MATCHES, Matches, count_matches
from .sides import Sides
from .validity import by_label, checked_gold, checked_predictions


class LabelScore(NamedTuple):
    """The integers of one label: gold spans, predictions (invalid ones too), pairs by each rule, spans
    touched.

    They are one vector on purpose: the bootstrap resamples them as a matrix.
    """

    support: int = 0
    predicted: int = 0
    exact: int = 0
    relaxed: int = 0
    relaxed_maximum: int = 0
    found: int = 0
    right: int = 0

    def counts(self, rule: str) -> Counts:
        """rule: exact, relaxed or relaxed_maximum."""
        return Counts.of(getattr(self, rule), self.support, self.predicted)

    def two_sided(self) -> TwoSidedCounts:
        return TwoSidedCounts(self.found, self.support, self.right, self.predicted)


def plus(*scores: LabelScore) -> LabelScore:
    """Component-wise sum."""
    return LabelScore(*map(sum, zip(*scores, strict=True))) if scores else LabelScore()


@dataclass(frozen=True, slots=True)
class DocumentScore:
    """What was counted in one document, or in the sum of several. Adds with `+`; `total` adds many in linear
    time.

    documents: how many. length: code points of their texts. by_label: every label of gold or prediction.
    invalid: predictions that cannot stand in their document, by reason (a key of validity.REASONS).
    """

    documents: int = 0
    length: int = 0
    by_label: Mapping[str, LabelScore] = field(default_factory=dict)
    invalid: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: DocumentScore) -> DocumentScore:
        return total((self, other))

    def __radd__(self, other: int) -> DocumentScore:
        return self if other == 0 else NotImplemented

    @property
    def overall(self) -> LabelScore:
        """All labels together (micro)."""
        return plus(*self.by_label.values())

    def counts(self, rule: str) -> Counts:
        """Micro counts of a rule: exact, relaxed or relaxed_maximum."""
        return self.overall.counts(rule)


def total(scores: Iterable[DocumentScore]) -> DocumentScore:
    """The sum of many scores."""
    documents = length = 0
    by_label: dict[str, LabelScore] = {}
    invalid: dict[str, int] = {}
    for score in scores:
        documents += score.documents
        length += score.length
        for label, more in score.by_label.items():
            known = by_label.get(label)
            by_label[label] = more if known is None else LabelScore(*map(add, known, more))
        for reason, count in score.invalid.items():
            invalid[reason] = invalid.get(reason, 0) + count
    return DocumentScore(documents, length, by_label, invalid)


def score_document(gold: Sequence[Span], predicted: Sequence[Span], length: int) -> DocumentScore:
    """Score one document of `length` code points. Offsets are half-open code points; order does not matter.

    A prediction that is outside, empty, inverted or not at whole numbers is counted by reason and as a false
    positive of its label. Raises InputError, with the span's ordinal and offsets, for such a span in gold.
    """
    golds = checked_gold(gold, length)
    predictions, invalid = checked_predictions(predicted, length)
    return score_spans(Sides.of(golds, predictions), invalid, length)


def score_spans(sides: Sides, invalid: Sequence[tuple[str, str]], length: int) -> DocumentScore:
    """Score one document: its checked spans, and (label, reason) of each prediction that cannot stand."""
    support = Counter(map(_LABEL, sides.gold)) if sides.gold else _NONE
    if not (sides.predicted or invalid):
        return DocumentScore(1, length, {label: LabelScore(count) for label, count in support.items()})
    predictions = Counter(map(_LABEL, sides.predicted))
    if invalid:
        predictions.update(label for label, _ in invalid)
    gold, predicted = sides.gold_left, sides.predicted_left
    matches: dict[str, Matches] = {}
    equal, alike = list(map(_LABEL, sides.same)), []  # labels of pairs of equal spans, and of pairs of one label
    for i0, i1, j0, j1 in sides.groups:
        if i1 - i0 == 1 == j1 - j0:
            one, other = gold[i0], predicted[j0]
            if one == other:
                equal.append(one[2])
            elif one[2] == other[2]:
                alike.append(one[2])
            continue
        if sides.flat and (i1 - i0 == 1 or j1 - j0 == 1):  # one span in pieces: nothing of equal bounds is left
            label = gold[i0][2] if i1 - i0 == 1 else predicted[j0][2]
            found = sum(span[2] == label for span in gold[i0:i1])
            right = sum(span[2] == label for span in predicted[j0:j1])
            if found and right:
                matches[label] = Matches(*map(add, matches.get(label, NO_MATCHES), (0, 1, 1, found, right)))
            continue
        golds, theirs = by_label(gold[i0:i1]), by_label(predicted[j0:j1])
        for label in golds.keys() & theirs.keys():
            more = count_matches(golds[label], theirs[label])
            matches[label] = Matches(*map(add, matches.get(label, NO_MATCHES), more))
    by_pair, by_equality = Counter(alike), Counter(equal)
    scores = {}
    for label in support.keys() | predictions.keys():
        exact, relaxed, maximum, found, right = matches.get(label, NO_MATCHES)
        same = by_equality[label]
        pairs = same + by_pair[label]
        scores[label] = LabelScore(
            support[label],
            predictions[label],
            exact + same,
            relaxed + pairs,
            maximum + pairs,
            found + pairs,
            right + pairs,
        )
    return DocumentScore(1, length, scores, Counter(reason for _, reason in invalid) if invalid else {})


_LABEL = itemgetter(2)
_NONE: Counter[str] = Counter()


def scorecard(score: DocumentScore) -> dict[str, Any]:
    """The span keys of a report's `metrics`, from the sum of the documents' scores.

    `macro` is the plain mean over labels, `weighted` the mean by support; a label for which a rate does not
    exist is left out of that mean (a label never predicted has no precision), and `labels` says over how many
    the F1 runs. A label that is only predicted counts in macro F1 with 0.
    """
    overall = score.overall
    labels = {label: score.by_label[label] for label in sorted(score.by_label)}
    return {
        "documents": score.documents,
        "support": overall.support,
        "predicted": overall.predicted,
        "invalid_predictions": dict(sorted(score.invalid.items())),
        "exact_span_f1": overall.counts("exact").to_dict(),
        "relaxed_span_f1": overall.counts("relaxed").to_dict(),
        "relaxed_maximum": overall.counts("relaxed_maximum").to_dict(),
        "relaxed_two_sided": overall.two_sided().to_dict(),
        "macro": {rule: _average(labels, rule, lambda label: 1) for rule in AVERAGED},
        "weighted": {rule: _average(labels, rule, lambda label: label.support) for rule in AVERAGED},
        "by_label": {label: _label_block(counts) for label, counts in labels.items()},
    }


AVERAGED = ("exact", "relaxed")


def _label_block(label: LabelScore) -> dict[str, Any]:
    return {
        "support": label.support,
        "predicted": label.predicted,
        "exact": label.counts("exact").to_dict(),
        "relaxed": label.counts("relaxed").to_dict(),
    }


def _average(labels: Mapping[str, LabelScore], rule: str, weight: Callable[[LabelScore], int]) -> dict[str, Rate]:
    counts = [label.counts(rule) for label in labels.values()]
    weights = [weight(label) for label in labels.values()]
    averages: dict[str, Rate] = {
        name: mean((getattr(one, name) for one in counts), weights) for name in ("precision", "recall", "f1")
    }
    measured = sum(one.f1 is not None and heft > 0 for one, heft in zip(counts, weights, strict=True))
    return {**averages, "labels": measured}
