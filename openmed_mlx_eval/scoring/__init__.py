"""Gold and predicted spans in, numbers out: no files, no models, no clock, no printing.

`score_case` counts everything in one document, the results add up, and `metrics` turns them into the
`metrics` block of a report; `tag_scores` counts a tagger's tags. numpy and regex are imported when a number
needs them.
"""

from __future__ import annotations

from .abstention import parsed_thresholds
from .bootstrap import Bootstrap
from .bundle import Case, CaseScore, Options, metrics, score_case, score_cases, total_scores
from .counts import Counts
from .matching import pairs
from .scorecard import DocumentScore, score_document, scorecard, total
from .tag_readings import TagReading
from .tagging import TagScore, classification_report, tag_scores

__all__ = [
    "Bootstrap",
    "Case",
    "CaseScore",
    "Counts",
    "DocumentScore",
    "Options",
    "TagReading",
    "TagScore",
    "classification_report",
    "metrics",
    "pairs",
    "parsed_thresholds",
    "score_case",
    "score_cases",
    "score_document",
    "scorecard",
    "tag_scores",
    "total",
    "total_scores",
]
