"""Agreement of annotators who worked on the same documents: span F1 and token-level Cohen's kappa, pair by pair.

F1 here has no gold: exact F1 counts spans with equal label, start and end, relaxed F1 a maximum matching of spans
of one label that share a character (the scorecard's `relaxed_maximum`; its greedy `relaxed` depends on which side
is gold). Both are 2·matched / (spans of the one + spans of the other) and the same either way round, as Hripcsak and
Rothschild (2005, "Agreement, the F-measure, and reliability in information retrieval") recommend for annotations
whose negatives cannot be counted.

Kappa is Cohen's (1960, "A coefficient of agreement for nominal scales"): (p_o - p_e) / (1 - p_e), where p_o is the
share of tokens with the same label and p_e what the two annotators' own label frequencies give by chance. A token is
a word or another character that is not white space (words.py). Its label is that of the longest span sharing a
character with it, ties to the earliest (start, end, label); "no span" is a label like any other. Per label it is one
against the rest. Where all tokens bear one label p_e is 1 and kappa None: nothing was measured.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..errors import UsageError
from ..spans import Span
from ..words import pieces
from .counts import Rate, mean, ratio
from .scorecard import DocumentScore, LabelScore, score_spans, total
from .sides import Sides
from .validity import checked_gold

Labels = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two annotators on some documents, as integers that add up.

    annotators: their numbers, from 1. spans: the scorecard with the first as gold. tokens: {(label of the first, of
    the second): tokens}, None for no span.
    """

    annotators: tuple[int, int]
    spans: DocumentScore = field(default_factory=DocumentScore)
    tokens: Mapping[Labels, int] = field(default_factory=dict)

    @property
    def kappa(self) -> Rate:
        """Cohen's kappa over all tokens and labels, from -1 to 1."""
        return cohen_kappa(self.tokens)

    def kappa_of(self, label: str) -> Rate:
        """Cohen's kappa of one label against the rest; None for a label neither gave to a token, or both to all."""
        folded: Counter[tuple[bool, bool]] = Counter()
        for (first, second), count in self.tokens.items():
            folded[first == label, second == label] += count
        return cohen_kappa(folded)

    def to_dict(self) -> dict[str, Any]:
        tokens = sum(self.tokens.values())
        agreed = sum(count for (first, second), count in self.tokens.items() if first == second)
        by_label = self.spans.by_label
        return {
            "annotators": list(self.annotators),
            **_span_block(self.spans.overall),
            "kappa": self.kappa,
            "observed_agreement": ratio(agreed, tokens),
            "by_label": {label: {**_span_block(by_label[label]), "kappa": self.kappa_of(label)} for label in sorted(by_label)},
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """Every pair of two or more annotators. documents, tokens: what each of them saw."""

    annotators: int
    documents: int
    tokens: int
    pairs: tuple[PairAgreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `mean` is the plain mean over the pairs that have the number."""
        pairs = [pair.to_dict() for pair in self.pairs]
        return {
            "annotators": self.annotators,
            "documents": self.documents,
            "tokens": self.tokens,
            "pairs": pairs,
            "mean": {
                "exact_f1": mean(pair["exact"]["f1"] for pair in pairs),
                "relaxed_f1": mean(pair["relaxed"]["f1"] for pair in pairs),
                "kappa": mean(pair["kappa"] for pair in pairs),
            },
        }


def annotator_agreement(texts: Sequence[str], annotations: Sequence[Sequence[Sequence[Span]]]) -> Agreement:
    """The agreement of annotators on the same texts.

    annotations: for each annotator one sequence of spans a text, at code points of it, in any order; labels are the
    names to compare. Raises UsageError for fewer than two annotators or another number of documents, InputError for
    a span that cannot stand in its text.
    """
    if len(annotations) < 2:
        raise UsageError("agreement needs two annotators or more")
    if any(len(spans) != len(texts) for spans in annotations):
        raise UsageError("agreement needs one list of spans a document from every annotator")
    pairs = list(combinations(range(len(annotations)), 2))
    spans: dict[tuple[int, int], list[DocumentScore]] = {pair: [] for pair in pairs}
    seen: dict[tuple[int, int], Counter[Labels]] = {pair: Counter() for pair in pairs}
    tokens = 0
    for number, text in enumerate(texts):
        places = pieces(text)
        tokens += len(places)
        checked = [checked_gold(made[number], len(text), number + 1) for made in annotations]
        labels = [token_labels(places, made[number]) for made in annotations]
        for one, other in pairs:
            first, second = checked[one], checked[other]
            spans[one, other].append(score_spans(Sides.of(first, second), (), len(text)))
            seen[one, other].update(zip(labels[one], labels[other], strict=True))
    return Agreement(
        annotators=len(annotations),
        documents=len(texts),
        tokens=tokens,
        pairs=tuple(
            PairAgreement((one + 1, other + 1), total(spans[one, other]), dict(seen[one, other])) for one, other in pairs
        ),
    )


def token_labels(tokens: Sequence[tuple[int, int]], spans: Iterable[Span]) -> list[str | None]:
    """The label of each token: of the longest span that shares a character with it, None where none does.

    tokens: half-open offsets, ascending, apart. Equal lengths go by (start, end, label). Each token is painted once, by
    the first span that reaches it, so that nested spans cost no more than flat ones.
    """
    labels: list[str | None] = [None] * len(tokens)
    free = list(range(len(tokens) + 1))  # free[i]: a token at or after i that may be unpainted; the last is a stop
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start, span.end, span.label)):
        at = _first_free(free, bisect_right(ends, span.start))
        while at < len(tokens) and starts[at] < span.end:
            labels[at] = span.label
            free[at] = at + 1
            at = _first_free(free, at + 1)
    return labels


def _first_free(free: list[int], at: int) -> int:
    """The first unpainted token from `at`; the path to it is shortened for the next one who asks."""
    found = at
    while free[found] != found:
        found = free[found]
    while free[at] != found:
        free[at], at = found, free[at]
    return found


def cohen_kappa(table: Mapping[tuple[Any, Any], int]) -> Rate:
    """Cohen's kappa of {(category by the first, by the second): items}; None where chance alone agrees on everything.

    In whole numbers, n times the agreed items less what chance gives over n² less the same: no rounding decides
    whether the denominator is 0.
    """
    first: Counter[Any] = Counter()
    second: Counter[Any] = Counter()
    agreed = 0
    for (one, other), count in table.items():
        first[one] += count
        second[other] += count
        agreed += count if one == other else 0
    items = sum(first.values())
    chance = sum(count * second[category] for category, count in first.items())
    return ratio(items * agreed - chance, items * items - chance)


def _span_block(score: LabelScore) -> dict[str, Any]:
    """What a report says of spans, overall or of one label."""
    return {
        "spans": [score.support, score.predicted],
        "exact": {"matched": score.exact, "f1": score.counts("exact").f1},
        "relaxed": {"matched": score.relaxed_maximum, "f1": score.counts("relaxed_maximum").f1},
    }
