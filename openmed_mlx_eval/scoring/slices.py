"""The same scores for a part of the corpus: by language, script or metadata, and document by document.

A mean over a corpus hides the hospital, the language or the note on which a model fails; so each slice names
its worst value and the spread, and the documents' own F1 is shown as a distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, quantiles
from typing import Any

from ..errors import UsageError
from .counts import Rate, ratio
from .coverage import Coverage, total_coverage
from .scorecard import DocumentScore, total

NOT_SAID = "(none)"
"""The value under which documents without the key are counted."""

MOST_VALUES = 200
"""A key with more values than this names documents rather than groups, and would write them into the report."""

Sums = tuple[DocumentScore, Coverage]
Cells = Mapping[tuple[str, ...], Sums]
"""{the values of all keys together: sum of the documents that have them}."""


def cells_of(rows: Iterable[tuple[tuple[str, ...], DocumentScore, Coverage]]) -> Cells:
    """Add documents (their keys' values, span scores, coverage) up once, so that each slice adds only cells."""
    groups: dict[tuple[str, ...], list[Sums]] = {}
    for values, spans, coverage in rows:
        groups.setdefault(values, []).append((spans, coverage))
    return {cell: _sum(members) for cell, members in groups.items()}


def by_value(cells: Cells, at: int) -> dict[str, Sums]:
    """{value of the key at that place: sum}, sorted."""
    groups: dict[str, list[Sums]] = {}
    for cell, sums in cells.items():
        groups.setdefault(cell[at], []).append(sums)
    return {value: _sum(members) for value, members in sorted(groups.items())}


def _sum(members: Sequence[Sums]) -> Sums:
    return total(spans for spans, _ in members), total_coverage(coverage for _, coverage in members)


ALWAYS = ("language", "script")
"""Every document has these keys."""


def keys_to_slice_by(asked: Sequence[str]) -> list[str]:
    """ALWAYS, then what was asked for, each once."""
    return list(dict.fromkeys([*ALWAYS, *asked]))


def refuse_unmet(unmet: Iterable[str]) -> None:
    """Raises UsageError for keys that were asked for and that no document has."""
    if any(key not in ALWAYS for key in unmet):
        raise UsageError("--slice-by: no document has such a key – name a metadata key of this corpus")


def refuse_many(values: int) -> None:
    """Raises UsageError for more than MOST_VALUES values of a key."""
    if values > MOST_VALUES:
        raise UsageError(f"--slice-by: a key has {values} values, more than {MOST_VALUES} – name one that groups")


def slice_block(values: Mapping[str, Sums]) -> dict[str, Any]:
    """{values: {value: scores}, worst, spread}. Raises UsageError for more than MOST_VALUES values."""
    refuse_many(len(values))
    blocks = {value: _scores(*sums) for value, sums in values.items()}
    measured = {value: block["exact"]["f1"] for value, block in blocks.items() if block["exact"]["f1"] is not None}
    worst = min(measured, key=lambda value: (measured[value], value)) if measured else None
    return {
        "values": blocks,
        "worst": None if worst is None else {"value": worst, "exact_f1": measured[worst], "support": blocks[worst]["support"]},
        "spread": {
            "exact_f1": _spread(block["exact"]["f1"] for block in blocks.values()),
            "relaxed_f1": _spread(block["relaxed"]["f1"] for block in blocks.values()),
            "character_recall": _spread(block["character_recall"] for block in blocks.values()),
            "any_label_leakage": _spread(block["any_label_leakage"] for block in blocks.values()),
        },
    }


def _scores(spans: DocumentScore, coverage: Coverage) -> dict[str, Any]:
    overall, covered = spans.overall, coverage.overall
    return {
        "documents": spans.documents,
        "support": overall.support,
        "predicted": overall.predicted,
        "exact": overall.counts("exact").to_dict(),
        "relaxed": overall.counts("relaxed").to_dict(),
        "character_recall": ratio(covered.clusters_own, covered.clusters),
        "any_label_leakage": ratio(covered.clusters - covered.clusters_any, covered.clusters),
    }


def _spread(rates: Iterable[Rate]) -> Rate:
    """Largest minus smallest; None where fewer than two exist."""
    known = [rate for rate in rates if rate is not None]
    return max(known) - min(known) if len(known) > 1 else None


def per_document(scores: Iterable[tuple[int, DocumentScore]]) -> dict[str, Any]:
    """How the documents' own F1 is distributed; documents with neither gold nor prediction have none.

    scores: (how many documents, the score of one of them).
    """
    overall = [(times, score.overall) for times, score in scores]
    return {
        "documents": sum(times for times, _ in overall),
        **{
            f"{rule}_f1": _distribution([f1 for times, one in overall for f1 in [one.counts(rule).f1] * times])
            for rule in ("exact", "relaxed")
        },
    }


def _distribution(rates: Iterable[Rate]) -> dict[str, Any]:
    known = sorted(rate for rate in rates if rate is not None)
    tenths = quantiles(known, n=20, method="inclusive") if len(known) > 1 else known * 19
    at = dict(zip(range(5, 100, 5), tenths, strict=False))
    return {
        "measured": len(known),
        "mean": fmean(known) if known else None,
        "minimum": known[0] if known else None,
        **{f"p{percent}": at.get(percent) for percent in (5, 25, 50, 75, 95)},
        "maximum": known[-1] if known else None,
    }
