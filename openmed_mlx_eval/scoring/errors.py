"""What went wrong: every gold span and every prediction paired or left alone, and the counts that this adds up to.

Spans of one label are paired first, as many as the relaxed rule pairs; what is left is paired by overlap whatever
its label. So in the confusion matrix the rows add up to the support, the columns to the predictions and the diagonal
to the relaxed true positives of scorecard.py. No text and no model is needed here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import NamedTuple

from .matching import Intervals, Pairs, assign, components, exact_pairs, longest_overlap
from .validity import Triple

Triples = Sequence[Triple]

BEYOND = 11
"""Where a shift of more than ten code points is counted; -BEYOND on the other side."""


class Finding(NamedTuple):
    """One gold span with the prediction it was paired with, None where there is none on that side.

    fragmented: the gold span lies under several predictions, or the spurious prediction is one of those. merged: the
    prediction lies over several gold spans, or the missed gold span is one of those. Exact pairs are left out of both, on
    either side: nested gold that is found layer by layer is in no pieces.
    """

    gold: Triple | None
    predicted: Triple | None
    fragmented: bool = False
    merged: bool = False

    @property
    def kind(self) -> str:
        if self.predicted is None:
            return "missed"
        if self.gold is None:
            return "spurious"
        if self.gold[2] != self.predicted[2]:
            return "label_confusion"
        return "exact" if self.gold == self.predicted else "boundary"

    @property
    def span(self) -> Triple:
        """The gold span; the prediction where it is spurious."""
        span = self.gold or self.predicted
        assert span is not None
        return span


KINDS = ("boundary", "label_confusion", "missed", "spurious")
"""The kinds of error, in the order in which they are shown."""


class LabelErrors(NamedTuple):
    """The integers of one label, or of all.

    support = exact + boundary + label_confusion + missed. predicted = exact + boundary + label_confusion_predicted +
    spurious. label_confusion: gold of this label under a prediction of another. label_confusion_predicted: the same
    seen from the prediction. invalid: of the spurious, predictions that cannot stand in their document. fragmented: gold
    spans. merged: predictions.
    """

    support: int = 0
    predicted: int = 0
    exact: int = 0
    boundary: int = 0
    label_confusion: int = 0
    label_confusion_predicted: int = 0
    missed: int = 0
    spurious: int = 0
    invalid: int = 0
    fragmented: int = 0
    merged: int = 0


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """What was found in one document or in several. Adds with `+`; `total_errors` adds many in linear time.

    matrix: {(gold label, predicted label): spans}, None for the gold of a spurious prediction and for the prediction
    of a missed span. shifts: {(label, start, end): pairs of that label with other bounds}, predicted minus gold, cut
    at BEYOND. invalid, fragmented, merged: {label: spans}.
    """

    documents: int = 0
    matrix: Mapping[tuple[str | None, str | None], int] = field(default_factory=dict)
    shifts: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    invalid: Mapping[str, int] = field(default_factory=dict)
    fragmented: Mapping[str, int] = field(default_factory=dict)
    merged: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        return total_errors((self, other))

    def __radd__(self, other: int) -> ErrorCounts:
        return self if other == 0 else NotImplemented

    def by_label(self) -> dict[str, LabelErrors]:
        """Every label of gold or prediction, sorted."""
        counts: dict[str, Counter[str]] = {label: Counter() for cell in self.matrix for label in cell if label is not None}
        for (gold, predicted), number in self.matrix.items():
            if gold is not None:
                counts[gold]["support"] += number
                counts[gold]["missed" if predicted is None else "exact" if gold == predicted else "label_confusion"] += number
            if predicted is not None:
                counts[predicted]["predicted"] += number
                if gold != predicted:
                    counts[predicted]["spurious" if gold is None else "label_confusion_predicted"] += number
        for (label, _, _), number in self.shifts.items():
            counts[label]["boundary"] += number
            counts[label]["exact"] -= number
        for name in ("invalid", "fragmented", "merged"):
            for label, number in getattr(self, name).items():
                counts[label][name] += number
        return {label: LabelErrors(**counts[label]) for label in sorted(counts)}

    def overall(self) -> LabelErrors:
        """All labels together."""
        columns = zip(*self.by_label().values(), strict=True)
        return LabelErrors(*map(sum, columns))

    def shift_of(self, side: str, label: str | None = None) -> dict[int, int]:
        """{code points that the predicted start (or end) lies after the gold one: pairs}, sorted; of all labels by default."""
        place = {"start": 1, "end": 2}[side]
        counted: Counter[int] = Counter()
        for cell, number in self.shifts.items():
            if label is None or cell[0] == label:
                counted[cell[place]] += number  # type: ignore[index]
        return dict(sorted(counted.items()))


def total_errors(counts: Iterable[ErrorCounts]) -> ErrorCounts:
    """The sum of many."""
    documents = 0
    sums: dict[str, Counter[object]] = {part.name: Counter() for part in fields(ErrorCounts) if part.name != "documents"}
    for one in counts:
        documents += one.documents
        for name, counter in sums.items():
            counter.update(getattr(one, name))
    return ErrorCounts(documents, **sums)  # type: ignore[arg-type]


def document_errors(
    gold: Triples, predicted: Triples, invalid: Sequence[tuple[str, str]] = ()
) -> tuple[ErrorCounts, list[Finding]]:
    """The counts of one document, and all findings that are errors.

    gold, predicted: valid spans in document order. invalid: (label, reason) of each prediction that cannot stand, which
    counts as spurious and is no finding, because there is no place to look at.
    """
    exact, errors = _compared(gold, predicted)
    matrix: Counter[tuple[str | None, str | None]] = Counter(zip(exact, exact, strict=True))
    shifts: Counter[tuple[str, int, int]] = Counter()
    for one, other, _, _ in errors:
        if one is None or other is None:
            matrix[one and one[2], other and other[2]] += 1
            continue
        matrix[one[2], other[2]] += 1
        if one[2] == other[2]:
            shifts[one[2], _shift(one[0], other[0]), _shift(one[1], other[1])] += 1
    matrix.update((None, label) for label, _ in invalid)
    fragmented = Counter(error.gold[2] for error in errors if error.fragmented and error.gold)
    merged = Counter(error.predicted[2] for error in errors if error.merged and error.predicted)
    return ErrorCounts(1, matrix, shifts, Counter(label for label, _ in invalid), fragmented, merged), errors


def _shift(gold: int, predicted: int) -> int:
    return max(-BEYOND, min(BEYOND, predicted - gold))


def _compared(gold: Triples, predicted: Triples) -> tuple[list[str], list[Finding]]:
    """(the label of each exact pair, every other pair and every span left alone)."""
    exact: list[str] = []
    errors: list[Finding] = []
    i = j = 0
    for i0, i1, j0, j1 in components(gold, predicted):
        if i < i0:
            errors += [Finding(one, None) for one in gold[i:i0]]
        if j < j0:
            errors += [Finding(None, one) for one in predicted[j:j0]]
        i, j = i1, j1
        if i1 - i0 == 1 == j1 - j0:
            one, other = gold[i0], predicted[j0]
            if one == other:
                exact.append(one[2])
            else:
                errors.append(Finding(one, other))
            continue
        same, findings = _compared_in_group(gold[i0:i1], predicted[j0:j1])
        exact += same
        errors += findings
    errors += [Finding(one, None) for one in gold[i:]]
    errors += [Finding(None, one) for one in predicted[j:]]
    return exact, errors


def _compared_in_group(gold: Triples, predicted: Triples) -> tuple[list[str], list[Finding]]:
    """The same for spans that hang together by overlapping."""
    partner = dict(_pairs_of_labels(gold, predicted))
    taken = set(partner.values())
    rest, free = [i for i in range(len(gold)) if i not in partner], [j for j in range(len(predicted)) if j not in taken]
    if rest and free:  # none of these overlaps one of its own label: the first step would have paired them
        crossed = assign([gold[i][:2] for i in rest], [predicted[j][:2] for j in free], longest_overlap)
        partner.update((rest[i], free[j]) for i, j in crossed)
        taken = set(partner.values())
    exact = {i for i, j in partner.items() if gold[i] == predicted[j]}
    wrong = [i for i in range(len(gold)) if i not in exact]
    correct = {partner[i] for i in exact}
    wrong_predicted = [j for j in range(len(predicted)) if j not in correct]
    pieces = dict(zip(wrong, _overlapped([gold[i] for i in wrong], [predicted[j] for j in wrong_predicted]), strict=True))
    under = dict(
        zip(wrong_predicted, _overlapped([predicted[j] for j in wrong_predicted], [gold[i] for i in wrong]), strict=True)
    )
    # What is alone and yet overlaps something lost it to another: it is one of several.
    findings = [
        Finding(gold[i], predicted[partner[i]], pieces[i] > 1, under[partner[i]] > 1)
        if i in partner
        else Finding(gold[i], None, pieces[i] > 1, pieces[i] > 0)
        for i in wrong
    ]
    findings += [Finding(None, predicted[j], under[j] > 0, under[j] > 1) for j in wrong_predicted if j not in taken]
    return [gold[i][2] for i in sorted(exact)], findings


def _pairs_of_labels(gold: Triples, predicted: Triples) -> Pairs:
    """Positions of the pairs of one label; as many as the relaxed rule makes."""
    sides = [_positions(gold), _positions(predicted)]
    pairs: Pairs = []
    for label in sides[0].keys() & sides[1].keys():
        ours, theirs = sides[0][label], sides[1][label]
        golds, predictions = [gold[i][:2] for i in ours], [predicted[j][:2] for j in theirs]
        for i0, i1, j0, j1 in components(golds, predictions):
            pairs += [(ours[i0 + i], theirs[j0 + j]) for i, j in _pairs_of_label(golds[i0:i1], predictions[j0:j1])]
    return sorted(pairs)


def _pairs_of_label(gold: Intervals, predicted: Intervals) -> Pairs:
    """The relaxed rule's pairs of one component, but equal spans paired with each other where that leaves their number.

    The rule takes the longest overlap, and of (0, 8) and (2, 6) both overlap a gold (2, 6) equally long; to call that
    span's bounds wrong would explain nothing.
    """
    if len(gold) == 1 == len(predicted):
        return [(0, 0)]
    relaxed = assign(gold, predicted, longest_overlap)
    equal = exact_pairs(gold, predicted)
    if sum(gold[i] == predicted[j] for i, j in relaxed) == len(equal):
        return relaxed
    paired, used = {i for i, _ in equal}, {j for _, j in equal}
    rest, free = [i for i in range(len(gold)) if i not in paired], [j for j in range(len(predicted)) if j not in used]
    more = assign([gold[i] for i in rest], [predicted[j] for j in free], longest_overlap)
    preferred = equal + [(rest[i], free[j]) for i, j in more]
    return preferred if len(preferred) == len(relaxed) else relaxed


def _positions(spans: Triples) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for position, span in enumerate(spans):
        groups.setdefault(span[2], []).append(position)
    return groups


def _overlapped(spans: Triples, others: Triples) -> list[int]:
    """How many of the others each span overlaps: those that start before its end, less those that end before its start."""
    starts, ends = sorted(map(itemgetter(0), others)), sorted(map(itemgetter(1), others))
    return [bisect_left(starts, end) - bisect_right(ends, start) for start, end, _ in spans]
