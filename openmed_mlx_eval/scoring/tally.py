"""The scores of a corpus as they come in: documents that count alike are one row, kept once with how often it came.

So a corpus of a million short documents is a few thousand rows; what grows with it is the confidences of its predictions.
A row is packed to bytes, a sixth of the objects it is made from.
"""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .confidence import Confidences, Judged
from .coverage import Coverage, Covered
from .critical import CriticalScore, Miss
from .scorecard import DocumentScore, LabelScore
from .semeval import SemevalScore
from .slices import NOT_SAID

if TYPE_CHECKING:
    from .bundle import CaseScore


class Alike(NamedTuple):
    """Documents that count alike. times: how many; the scores are those of one. values: of the keys that are sliced by."""

    times: int
    values: tuple[str, ...]
    spans: DocumentScore
    semeval: SemevalScore
    coverage: Coverage
    critical: CriticalScore

    def all_spans(self) -> DocumentScore:
        """The sum over all of them."""
        spans, times = self.spans, self.times
        if times == 1:
            return spans
        by_label = {label: LabelScore(*(times * value for value in counts)) for label, counts in spans.by_label.items()}
        invalid = {reason: times * count for reason, count in spans.invalid.items()}
        return DocumentScore(times, times * spans.length, by_label, invalid)

    def all_semeval(self) -> SemevalScore:
        return SemevalScore(*(self.times * value for value in self.semeval))

    def all_coverage(self) -> Coverage:
        coverage, times = self.coverage, self.times
        if times == 1:
            return coverage
        by_label, by_script = (
            {key: Covered(*(times * value for value in counts)) for key, counts in parts.items()}
            for parts in (coverage.by_label, coverage.by_script)
        )
        return Coverage(by_label, by_script, *(times * value for value in coverage.numbers()))

    def all_critical(self) -> CriticalScore:
        """Without the misses, which are told apart by their documents."""
        return CriticalScore(
            {name: (self.times * found, self.times * total) for name, (found, total) in self.critical.by_category.items()}
        )


@dataclass(slots=True)
class _Columns:
    """Judged predictions of one language, of all documents end to end."""

    labels: list[str]
    confidences: list[float | None]
    right: list[bool]


class Tally:
    """keys: those to slice by; a document without one has NOT_SAID there."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self.documents = 0
        self.missed: list[Miss] = []
        self.unmet = set(keys)
        """Keys that no document has had."""
        self._rows: Counter[bytes] = Counter()
        self._judged: dict[str, _Columns] = {}
        self._support = 0
        self._unusable: Counter[str] = Counter()

    def add(self, score: CaseScore) -> bytes:
        """One document's. Returns its row, which is that of all documents that count alike."""
        self.documents += 1
        if self.unmet:
            self.unmet.difference_update(score.keys)
        row = self._packed(score)
        self._rows[row] += 1
        self.missed += score.critical.missed
        confidences = score.confidences
        self._support += confidences.support
        if confidences.unusable:
            self._unusable.update(dict(confidences.unusable))
        for language, labels, values, right in confidences.documents:
            if labels:
                columns = self._judged.setdefault(language, _Columns([], [], []))
                columns.labels += labels
                columns.confidences += values
                columns.right += right
        return row

    def _packed(self, score: CaseScore) -> bytes:
        spans, coverage = score.spans, score.coverage
        flat: list[Any] = [score.keys.get(key, NOT_SAID) for key in self.keys]
        flat += (spans.length, *coverage.numbers())
        flat += score.semeval
        parts = spans.by_label, coverage.by_label, coverage.by_script, score.critical.by_category
        for counted in parts:
            flat.append(len(counted))
            for name, counts in counted.items():
                flat.append(name)
                flat += counts
        for reason, count in spans.invalid.items():
            flat += (reason, count)
        return marshal.dumps(flat, 0)  # version 0: equal lists give equal bytes

    def rows(self) -> Iterator[Alike]:
        """Each kind of document, in the order in which the first of each came."""
        for packed, times in self._rows.items():
            flat = iter(marshal.loads(packed))
            values = tuple(next(flat) for _ in self.keys)
            length, *numbers = (next(flat) for _ in range(7))
            semeval = SemevalScore(*(next(flat) for _ in SemevalScore._fields))
            by_label, covered, scripts, critical = (_table(flat, kind) for kind in (LabelScore, Covered, Covered, None))
            invalid = dict(zip(flat, flat, strict=True))
            spans = DocumentScore(1, length, by_label, invalid)
            yield Alike(times, values, spans, semeval, Coverage(covered, scripts, *numbers), CriticalScore(critical))

    def confidences(self) -> Confidences:
        judged = (Judged(name, tuple(c.labels), tuple(c.confidences), tuple(c.right)) for name, c in self._judged.items())
        return Confidences(tuple(judged), self._support, tuple(sorted(self._unusable.items())))


def _table(flat: Iterator[Any], kind: Any) -> dict[str, Any]:
    """{name: counts}. kind: a NamedTuple of integers, or None for a pair of them."""
    size = len(kind._fields) if kind else 2
    named = ((next(flat), tuple(next(flat) for _ in range(size))) for _ in range(next(flat)))
    return {name: kind(*counts) if kind else counts for name, counts in named}
