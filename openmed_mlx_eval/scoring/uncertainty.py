"""Which numbers of a report get an interval: each document's counts as one row, each rate as a formula on
columns.

The formulas are those of counts.py, semeval.py and coverage_blocks.py, written for arrays; a test holds them
against the scalar ones at every path. Intervals are put beside the rates they belong to, under
`confidence_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .bootstrap import Bootstrap, in_fixed_order, intervals
from .coverage import NOTHING, Coverage, Covered
from .critical import CriticalScore
from .scorecard import AVERAGED, DocumentScore, LabelScore
from .semeval import SemevalScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Row = tuple[DocumentScore, SemevalScore, Coverage, CriticalScore]


class Place(NamedTuple):
    """Where a rate stands: keys to the block that gets the `confidence_interval`, then keys within the block."""

    block: tuple[str, ...]
    rate: tuple[str, ...]


_SPAN_FIELDS, _COVERED_FIELDS, _SEMEVAL_FIELDS = LabelScore._fields, Covered._fields, SemevalScore._fields
_PER_LABEL = len(_SPAN_FIELDS) + len(_COVERED_FIELDS)
_DOCUMENT_FIELDS = (
    *("semeval_" + name for name in _SEMEVAL_FIELDS),
    "over_redacted",
    "redactable",
    "with_leak",
    "with_gold",
    "critical_found",
    "critical_total",
)
_RULES = {"exact": "exact_span_f1", "relaxed": "relaxed_span_f1", "relaxed_maximum": "relaxed_maximum"}


def with_intervals(block: dict[str, Any], rows: Sequence[Row], how: Bootstrap, times: Sequence[int]) -> None:
    """Put intervals into the metrics block, and `uncertainty`, which says how they were made.

    times: how many documents each row is of.
    """
    labels = list(block["by_label"])
    counts, often = in_fixed_order(count_matrix(rows, labels), times)
    found = intervals(counts, lambda sums: rates(sums, labels), how, often)
    for place, interval in found.items():
        owner = block
        for key in place.block:
            owner = owner[key]
        target = owner.setdefault("confidence_interval", {})
        for key in place.rate[:-1]:
            target = target.setdefault(key, {})
        target[place.rate[-1]] = None if interval is None else interval._asdict()
    block["uncertainty"] = {
        "method": how.method,
        "level": how.level,
        "resamples": how.resamples,
        "seed": how.seed,
        "unit": "document",
        "documents": sum(times),
    }


def count_matrix(rows: Sequence[Row], labels: Sequence[str]) -> Floats:
    """Shape (documents, labels × 13 + 13): per label LabelScore and Covered, then _DOCUMENT_FIELDS."""
    import numpy as np

    place = {label: index for index, label in enumerate(labels)}
    document_of, label_of, values = [], [], []
    rest = []
    for ordinal, (spans, semeval, coverage, critical) in enumerate(rows):
        for label, score in spans.by_label.items():
            document_of.append(ordinal)
            label_of.append(place[label])
            values.append(score + coverage.by_label.get(label, NOTHING))  # two tuples, end to end
        found = sum(counts[0] for counts in critical.by_category.values())
        total = sum(counts[1] for counts in critical.by_category.values())
        rest.append(
            (
                *semeval,
                coverage.over_redacted,
                coverage.redactable,
                coverage.documents_with_leak,
                coverage.documents_with_gold,
                found,
                total,
            )
        )
    matrix = np.zeros((len(rows), len(labels) * _PER_LABEL + len(_DOCUMENT_FIELDS)))
    by_label = matrix[:, : len(labels) * _PER_LABEL].reshape(len(rows), len(labels), _PER_LABEL)
    if values:
        by_label[document_of, label_of] = values
        matrix[:, : len(labels) * _PER_LABEL] = by_label.reshape(len(rows), -1)
    if rest:
        matrix[:, len(labels) * _PER_LABEL :] = rest
    return matrix


def rates(sums: Floats, labels: Sequence[str]) -> dict[Place, Floats]:
    """Every rate from sums of shape (rows, columns of count_matrix): {place: shape (rows,)}, NaN for none."""
    import numpy as np

    per_label = sums[:, : len(labels) * _PER_LABEL].reshape(len(sums), len(labels), _PER_LABEL)
    column = {name: per_label[:, :, at] for at, name in enumerate((*_SPAN_FIELDS, *_COVERED_FIELDS))}
    overall = {name: values.sum(axis=1) for name, values in column.items()}
    document = {name: sums[:, len(labels) * _PER_LABEL + at] for at, name in enumerate(_DOCUMENT_FIELDS)}
    support, predicted = column["support"], column["predicted"]
    found: dict[Place, Floats] = {}
    for rule, key in _RULES.items():
        found.update(_at((key,), _prf(overall[rule], overall["support"], overall["predicted"])))
    for rule in AVERAGED:
        each = _prf(column[rule], support, predicted)
        evenly, by_support = np.ones_like(support), support
        found.update(_at(("macro", rule), {rate: _mean(values, evenly) for rate, values in each.items()}))
        found.update(_at(("weighted", rule), {rate: _mean(values, by_support) for rate, values in each.items()}))
        for at, label in enumerate(labels):
            one = {rate: values[:, at] for rate, values in each.items()}
            found.update(_at(("by_label", label, rule), one))
    found.update(_at(("relaxed_two_sided",), _two_sided(overall)))
    for scheme, matched in _semeval(document).items():
        prf = _prf(matched, document["semeval_gold"], document["semeval_predicted"])
        found.update(_at(("semeval", scheme), prf))
    found.update(_coverage(column, overall, document, labels))
    return found


def _at(block: tuple[str, ...], values: dict[str, Floats]) -> dict[Place, Floats]:
    return {Place(block, (rate,)): column for rate, column in values.items()}


def _two_sided(overall: dict[str, Floats]) -> dict[str, Floats]:
    import numpy as np

    precision = _ratio(overall["right"], overall["predicted"])
    recall = _ratio(overall["found"], overall["support"])
    both = np.nan_to_num(precision), np.nan_to_num(recall)
    f1 = np.nan_to_num(_ratio(2 * both[0] * both[1], both[0] + both[1]))
    f1[overall["support"] + overall["predicted"] == 0] = np.nan
    return dict(zip(_PRF, (precision, recall, f1), strict=True))


def _semeval(document: dict[str, Floats]) -> dict[str, Floats]:
    """{scheme: COR + PAR / 2}."""
    part = {name: document["semeval_" + name] for name in _SEMEVAL_FIELDS}
    return {
        "strict": part["same_bounds_and_label"],
        "exact": part["same_bounds"],
        "partial": (part["same_bounds"] + part["paired"]) / 2,
        "type": part["same_label"],
    }


def _coverage(
    column: dict[str, Floats], overall: dict[str, Floats], document: dict[str, Floats], labels: Sequence[str]
) -> dict[Place, Floats]:
    def leaked(part: dict[str, Floats], by: str) -> Floats:
        return _ratio(part["clusters"] - part[by], part["clusters"])

    own, anything = leaked(column, "clusters_own"), leaked(column, "clusters_any")
    leakage: dict[tuple[str, ...], Floats] = {
        ("overall",): leaked(overall, "clusters_own"),
        ("any_label",): leaked(overall, "clusters_any"),
        ("documents_with_leak_rate",): _ratio(document["with_leak"], document["with_gold"]),
        **{("by_label", label): own[:, at] for at, label in enumerate(labels)},
        **{("any_label_by_label", label): anything[:, at] for at, label in enumerate(labels)},
    }
    return {
        **{Place(("leakage",), rate): values for rate, values in leakage.items()},
        Place(("character_recall",), ("rate",)): _ratio(overall["clusters_own"], overall["clusters"]),
        Place(("over_redaction_loss",), ("rate",)): _ratio(document["over_redacted"], document["redactable"]),
        Place(("critical_finding_recall",), ("overall",)): _ratio(document["critical_found"], document["critical_total"]),
    }


_PRF = ("precision", "recall", "f1")


def _prf(matched: Floats, support: Floats, predicted: Floats) -> dict[str, Floats]:
    values = _ratio(matched, predicted), _ratio(matched, support), _ratio(2 * matched, support + predicted)
    return dict(zip(_PRF, values, strict=True))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Weighted mean over the last axis of what is not NaN."""
    import numpy as np

    weights = np.where(np.isnan(values), 0.0, weights)
    return _ratio((np.nan_to_num(values) * weights).sum(axis=1), weights.sum(axis=1))
