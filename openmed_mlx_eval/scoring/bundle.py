"""Everything that is measured of one document, and the `metrics` block of a report made from all of them.

`score_case` checks and sorts a document's spans once and hands them to each measure; its result adds up.
`metrics` derives every rate. The latency and resource blocks are measured elsewhere and put beside these.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import UsageError
from ..spans import Span
from .abstention import Thresholds, abstention
from .bootstrap import Bootstrap
from .calibration import calibration
from .confidence import Confidences, judge, total_confidences
from .coverage import Coverage, score_coverage, total_coverage
from .coverage_blocks import character_recall, leakage, over_redaction_loss, recall_slices
from .critical import NO_FINDINGS, CriticalScore, score_critical, total_critical
from .graphemes import dominant_script
from .scorecard import DocumentScore, score_spans, scorecard, total
from .semeval import SemevalScore, semeval_score
from .sides import Sides
from .slices import by_value, cells_of, keys_to_slice_by, per_document, refuse_unmet, slice_block
from .tally import Tally
from .uncertainty import with_intervals
from .validity import by_label, checked_gold, checked_predictions


@dataclass(frozen=True, slots=True)
class Case:
    """One document as it is scored. Labels are the names to score under: apply a LabelMap before.

    gold, predicted: spans at code points of the document, in any order. text: the document; leave it None to
    score without it, then `length` (code points) is needed and leakage is counted in code points. slices:
    what `slice_by` may name, e.g. the corpus's metadata; language and script are always there. categories:
    parallel to gold, the critical category of each span or None; see critical.py.
    """

    gold: Sequence[Span]
    predicted: Sequence[Span]
    text: str | None = None
    length: int | None = None
    language: str = "en"
    slices: Mapping[str, Any] = field(default_factory=dict)
    categories: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True)
class CaseScore:
    """All that was counted in one document, or in the sum of several. Adds with `+`; `total_scores` adds
    many.

    keys: the document's value for each key it may be sliced by; empty in a sum.
    """

    spans: DocumentScore = field(default_factory=DocumentScore)
    semeval: SemevalScore = field(default_factory=SemevalScore)
    coverage: Coverage = field(default_factory=Coverage)
    critical: CriticalScore = NO_FINDINGS
    confidences: Confidences = field(default_factory=Confidences)
    keys: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: CaseScore) -> CaseScore:
        return total_scores((self, other))

    def __radd__(self, other: int) -> CaseScore:
        return self if other == 0 else NotImplemented


def score_case(case: Case, document: int = 1) -> CaseScore:
    """Score one document; `document` is its ordinal from 1, for messages and for the list of missed findings.

    Raises InputError for a gold span that cannot stand in the document, UsageError for a case with neither
    text nor length.
    """
    length = len(case.text) if case.text is not None else case.length
    if length is None:
        raise UsageError("a case needs the document's text, or its length in code points")
    golds = checked_gold(case.gold, length, document)
    predictions, invalid = checked_predictions(case.predicted, length)
    sides = Sides.of(golds, predictions)
    return CaseScore(
        score_spans(sides, invalid, length),
        semeval_score(sides, len(invalid)),
        score_coverage(sides, length, case.text),
        score_critical(case.gold, case.categories, by_label(predictions), document) if case.categories else NO_FINDINGS,
        judge(golds, case.predicted, case.language),
        _keys(case),
    )


def score_cases(cases: Iterable[Case]) -> list[CaseScore]:
    """Score the documents of a corpus, in its order. Raises as score_case does."""
    with collector_at_rest():
        return [score_case(case, ordinal) for ordinal, case in enumerate(cases, start=1)]


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Scoring with the cyclic garbage collector off: nothing made here refers in circles, and its passes over a growing list
    of scores are a sixth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _keys(case: Case) -> dict[str, str]:
    keys = {name: str(value) for name, value in case.slices.items()}
    keys["language"] = case.language
    if case.text is not None:
        keys["script"] = dominant_script(case.text)
    return keys


def total_scores(scores: Iterable[CaseScore]) -> CaseScore:
    """The sum of many."""
    scores = list(scores)
    return CaseScore(
        total(score.spans for score in scores),
        _total_semeval(score.semeval for score in scores),
        total_coverage(score.coverage for score in scores),
        total_critical(score.critical for score in scores),
        total_confidences(score.confidences for score in scores),
    )


@dataclass(frozen=True, slots=True)
class Options:
    """What a report should hold beyond the counts.

    slice_by: keys of Case.slices, beside language and script. bins: of the calibration. thresholds: of the
    abstention, None for no such block. bootstrap: None for no confidence intervals.
    """

    slice_by: Sequence[str] = ()
    bins: int = 10
    thresholds: Thresholds | None = None
    bootstrap: Bootstrap | None = None


def metrics(scores: Iterable[CaseScore], options: Options | None = None) -> dict[str, Any]:
    """The `metrics` block from the documents' scores, in corpus order. Nothing to measure is None throughout.

    Raises UsageError for a key to slice by that no document has, or that has too many values.
    """
    options = options or Options()
    tally = Tally(keys_to_slice_by(options.slice_by))
    for score in scores:
        tally.add(score)
    return metrics_of(tally, options)[0]


def metrics_of(tally: Tally, options: Options) -> tuple[dict[str, Any], DocumentScore]:
    """As `metrics`, from a tally of keys_to_slice_by(options.slice_by), and the sum of the documents' integers."""
    refuse_unmet(tally.unmet)
    rows = list(tally.rows())
    cells = cells_of((row.values, row.all_spans(), row.all_coverage()) for row in rows)
    slices = {key: by_value(cells, at) for at, key in enumerate(tally.keys)}
    languages = {language: coverage for language, (_, coverage) in slices["language"].items()}
    spans = total(spans for spans, _ in cells.values())
    coverage = total_coverage(languages.values())
    critical = total_critical(row.all_critical() for row in rows)
    confidences = tally.confidences()
    block = {
        **scorecard(spans),
        "semeval": _total_semeval(row.all_semeval() for row in rows).to_dict(),
        "leakage": leakage(coverage, languages),
        "character_recall": character_recall(coverage),
        "recall_slices": recall_slices(coverage, languages),
        "critical_finding_recall": replace(critical, missed=tuple(tally.missed)).to_dict(),
        "over_redaction_loss": over_redaction_loss(coverage),
        "per_document": per_document((row.times, row.spans) for row in rows),
        "slices": {key: slice_block(values) for key, values in slices.items()},
        "calibration": calibration(confidences, bins=options.bins),
        "abstention": None if options.thresholds is None else abstention(confidences, options.thresholds),
    }
    if options.bootstrap is not None:
        counted = [(row.spans, row.semeval, row.coverage, row.critical) for row in rows]
        with_intervals(block, counted, options.bootstrap, [row.times for row in rows])
    return block, spans


def _total_semeval(scores: Iterable[SemevalScore]) -> SemevalScore:
    columns = list(zip(*scores, strict=True))
    return SemevalScore(*map(sum, columns)) if columns else SemevalScore()
