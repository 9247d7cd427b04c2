"""documents.jsonl: what each document adds to each number of a report, written by a run and read back to compare runs.

Integers alone, by document ordinal and label: no text, no id, no offset. Fields that are 0 are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, TypeVar

from .errors import InputError
from .scoring.bundle import CaseScore
from .scoring.coverage import NOTHING, Coverage, Covered
from .scoring.critical import CriticalScore
from .scoring.scorecard import DocumentScore, LabelScore
from .scoring.semeval import SemevalScore
from .scoring.uncertainty import Row

FORMAT = "documents.jsonl"
_DOCUMENT = (
    "documents_with_gold",
    "documents_with_leak",
    "documents_with_label_leak",
    "over_redacted",
    "redactable",
    "without_text",
)
_TOO_MANY = 1 << 53
"""From here on a float, in which counts are resampled, skips integers."""
_REMEDY = "give a run folder as this version of the program wrote it"

Integers = TypeVar("Integers", LabelScore, Covered, SemevalScore)


def document_lines(scores: Iterable[CaseScore]) -> Iterator[str]:
    """The lines of documents.jsonl of a whole corpus, in its order."""
    return starmap(document_line, enumerate(scores))


def document_line(ordinal: int, score: CaseScore) -> str:
    """A document's line in documents.jsonl. ordinal: from 0 in the whole corpus, as in predictions.jsonl."""
    return line_of(ordinal, counts_of(score))


def line_of(ordinal: int, counts: str) -> str:
    """As document_line, from what counts_of gave."""
    return f'{{"document":{ordinal},{counts}'


def counts_of(score: CaseScore) -> str:
    """The end of a document's line, after its ordinal: the same for all documents that count alike."""
    labels = {
        label: _filled(counts) | _filled(score.coverage.by_label.get(label, NOTHING))
        for label, counts in sorted(score.spans.by_label.items())
    }
    row = {
        "length": score.spans.length,
        "labels": labels,
        "invalid": dict(sorted(score.spans.invalid.items())),
        "semeval": _filled(score.semeval),
        "coverage": {name: value for name, value in zip(_DOCUMENT, score.coverage.numbers(), strict=True) if value},
        "critical": {category: list(counts) for category, counts in sorted(score.critical.by_category.items())},
    }
    kept = {key: value for key, value in row.items() if value != {}}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))[1:] + "\n"


def _filled(counts: Any) -> dict[str, int]:
    return {name: value for name, value in zip(counts._fields, counts, strict=True) if value}


def load_document_scores(path: str | Path, where: str = FORMAT, ordinals: Sequence[int] | None = None) -> list[Row]:
    """The rows of a documents.jsonl, in corpus order. Raises InputError for a file that is none, naming the line.

    where: what messages call the file. ordinals: those that the lines must have, where they are not 0, 1, 2, …
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        what = f"the run folder's {FORMAT} cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        what = "the file is not UTF-8"
    else:
        expected = range(len(lines)) if ordinals is None else [*ordinals, *[-1] * len(lines)]
        return [_loaded(line, number, expected[number - 1], where) for number, line in enumerate(lines, start=1) if line]
    raise InputError(where, what, remedy=_REMEDY)


def _loaded(line: str, number: int, ordinal: int, where: str) -> Row:
    try:
        value = json.loads(line)
        if value["document"] == ordinal:
            return _row(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise InputError(where, "a line that is no document's scores", line=number, remedy=_REMEDY) from None


def _row(value: Mapping[str, Any]) -> Row:
    labels = value.get("labels", {})
    spans = {label: _read(LabelScore, counts) for label, counts in labels.items()}
    covered = {label: _read(Covered, counts) for label, counts in labels.items()}
    numbers = [_count(value.get("coverage", {}).get(name, 0)) for name in _DOCUMENT]
    critical = {category: (_count(found), _count(all)) for category, (found, all) in value.get("critical", {}).items()}
    invalid = {reason: _count(count) for reason, count in value.get("invalid", {}).items()}
    return (
        DocumentScore(1, _count(value["length"]), spans, invalid),
        _read(SemevalScore, value.get("semeval", {})),
        Coverage(covered, {}, *numbers),
        CriticalScore(critical),
    )


def _read(kind: type[Integers], counts: Mapping[str, Any]) -> Integers:
    """kind: a NamedTuple of integers."""
    return kind(*(_count(counts.get(name, 0)) for name in kind._fields))  # type: ignore[attr-defined]


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _TOO_MANY:
        raise ValueError("no count")
    return value
