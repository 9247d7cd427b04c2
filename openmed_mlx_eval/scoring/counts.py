"""Counts: what a matching found, as integers that add up, and the precision, recall and F1 derived from them.

Nothing here knows spans or documents. A rate without a denominator is None ("nothing to measure"), never 0.0
or 1.0; the functions that carry OpenMed's names fill it with their `zero_division` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Rate = float | None


def ratio(numerator: float, denominator: float, zero_division: Rate = None) -> Rate:
    """numerator / denominator; `zero_division` where the denominator is 0."""
    return numerator / denominator if denominator else zero_division


def mean(rates: Iterable[Rate], weights: Iterable[float] | None = None) -> Rate:
    """Weighted mean of the rates that exist; None where none does.

    A missing rate is left out with its weight, as in scikit-learn's `zero_division=nan`.
    """
    known = [(rate, weight) for rate, weight in _weighted(rates, weights) if rate is not None and weight > 0]
    return ratio(sum(rate * weight for rate, weight in known), sum(weight for _, weight in known))


def _weighted(rates: Iterable[Rate], weights: Iterable[float] | None) -> Iterable[tuple[Rate, float]]:
    return ((rate, 1.0) for rate in rates) if weights is None else zip(rates, weights, strict=True)


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, false positives, false negatives of any one-to-one matching. Adds with `+` and `sum`."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    @classmethod
    def of(cls, matched: int, support: int, predicted: int) -> Counts:
        """From the number of pairs and of spans on either side."""
        return cls(matched, predicted - matched, support - matched)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.true_positives + other.true_positives,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
        )

    def __radd__(self, other: int) -> Counts:
        return self if other == 0 else NotImplemented

    @property
    def support(self) -> int:
        return self.true_positives + self.false_negatives

    @property
    def predicted(self) -> int:
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> Rate:
        """Share of predictions that are right; None without predictions."""
        return ratio(self.true_positives, self.predicted)

    @property
    def recall(self) -> Rate:
        """Share of gold that was found; None without gold."""
        return ratio(self.true_positives, self.support)

    @property
    def f1(self) -> Rate:
        """2 TP / (2 TP + FP + FN), the harmonic mean where both rates exist; None without gold and predictions."""
        return ratio(2 * self.true_positives, self.support + self.predicted)

    def to_dict(self, zero_division: Rate = None) -> dict[str, float | int | None]:
        """The six keys of a report. `zero_division` stands where a rate has no denominator.

        With a number, F1 is the harmonic mean of the two rates so filled, as in OpenMed and scikit-learn.
        """
        precision = self.precision if self.predicted else zero_division
        recall = self.recall if self.support else zero_division
        f1 = self.f1
        if zero_division is not None and precision is not None and recall is not None:
            f1 = ratio(2 * precision * recall, precision + recall, 0.0)
        return {
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "true_positives": self.true_positives,
            "false_positives": self.false_positives,
            "false_negatives": self.false_negatives,
        }


@dataclass(frozen=True, slots=True)
class TwoSidedCounts:
    """Precision per prediction and recall per gold span, without pairing: one long prediction may find three
    golds.

    found: gold spans that some prediction touches. right: predictions that touch some gold span. F1 is the
    harmonic mean of the two rates. A report's `true_positives` are the gold spans found, `true_predictions`
    the predictions that are right; `false_positives` and `false_negatives` are the rest of each side.
    """

    found: int = 0
    support: int = 0
    right: int = 0
    predicted: int = 0

    def __add__(self, other: TwoSidedCounts) -> TwoSidedCounts:
        return TwoSidedCounts(
            self.found + other.found,
            self.support + other.support,
            self.right + other.right,
            self.predicted + other.predicted,
        )

    def __radd__(self, other: int) -> TwoSidedCounts:
        return self if other == 0 else NotImplemented

    @property
    def precision(self) -> Rate:
        return ratio(self.right, self.predicted)

    @property
    def recall(self) -> Rate:
        return ratio(self.found, self.support)

    @property
    def f1(self) -> Rate:
        if not self.support + self.predicted:
            return None
        precision, recall = self.precision or 0.0, self.recall or 0.0
        return ratio(2 * precision * recall, precision + recall, 0.0)

    def to_dict(self) -> dict[str, float | int | None]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "true_positives": self.found,
            "true_predictions": self.right,
            "false_positives": self.predicted - self.right,
            "false_negatives": self.support - self.found,
        }
