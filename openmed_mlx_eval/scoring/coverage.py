"""How much of the gold the predictions cover, and how much else: leakage, character recall, over-redaction.

For de-identification a span that is half found is half leaked, and a name redacted under the wrong label is
not leaked at all. So coverage is counted in grapheme clusters and in code points, once by predictions of the
span's own label ("label-aware", OpenMed's definition) and once by predictions of any label. A cluster is
covered where predictions, merged, cover all of it. Every gold span counts with its full length, overlapping
ones each for itself; over-redaction counts code points of the document, each once. The integers add up over
documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, itemgetter
from typing import NamedTuple

from .cover import Cover, merged
from .graphemes import UNKNOWN_SCRIPT, Clusters, dominant_script, is_plain, scripts_of_clusters
from .pool import Interval
from .sides import Sides
from .validity import Triple, by_label


class Covered(NamedTuple):
    """Of the gold of one label or script: clusters and code points, covered by its own label and by any label."""

    clusters: int = 0
    clusters_own: int = 0
    clusters_any: int = 0
    characters: int = 0
    characters_own: int = 0
    characters_any: int = 0


NOTHING = Covered()


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is covered in one document, or in the sum of several. Adds with `+`; `total_coverage` adds many.

    documents_with_gold: documents that hold gold; _with_leak: with a gold code point under no prediction;
    _with_label_leak: with one under no prediction of its label. over_redacted: code points predicted that are
    not gold, of `redactable` that are not gold. by_script is empty, and clusters are code points, where no
    text was given (`unit` "character").
    """

    by_label: Mapping[str, Covered] = field(default_factory=dict)
    by_script: Mapping[str, Covered] = field(default_factory=dict)
    documents_with_gold: int = 0
    documents_with_leak: int = 0
    documents_with_label_leak: int = 0
    over_redacted: int = 0
    redactable: int = 0
    without_text: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return total_coverage((self, other))

    def __radd__(self, other: int) -> Coverage:
        return self if other == 0 else NotImplemented

    def numbers(self) -> tuple[int, ...]:
        """What is counted of a document as a whole, in the order of the fields."""
        return (
            self.documents_with_gold,
            self.documents_with_leak,
            self.documents_with_label_leak,
            self.over_redacted,
            self.redactable,
            self.without_text,
        )

    @property
    def overall(self) -> Covered:
        return plus(self.by_label.values())

    @property
    def unit(self) -> str:
        return "character" if self.without_text else "grapheme_cluster"


def plus(parts: Iterable[Covered]) -> Covered:
    """Component-wise sum."""
    columns = list(zip(*parts, strict=True))
    return Covered(*map(sum, columns)) if columns else NOTHING


def total_coverage(coverages: Iterable[Coverage]) -> Coverage:
    """The sum of many."""
    by_label: dict[str, Covered] = {}
    by_script: dict[str, Covered] = {}
    numbers = [0] * 6
    for one in coverages:
        _add_into(by_label, one.by_label)
        _add_into(by_script, one.by_script)
        numbers = list(map(add, numbers, one.numbers()))
    return Coverage(by_label, by_script, *numbers)


def _add_into(sums: dict[str, Covered], parts: Mapping[str, Covered]) -> None:
    for key, part in parts.items():
        known = sums.get(key)
        sums[key] = part if known is None else Covered(*map(add, known, part))


def score_coverage(sides: Sides, length: int, text: str | None = None) -> Coverage:
    """Score one document of `length` code points.

    text: the document, for clusters and scripts; without it every code point is a cluster.
    """
    same = [end - start for start, end, _ in sides.same]
    by_own, by_any, shared = _covered_characters(sides)
    gold, by_own, by_any = [*sides.same, *sides.gold_left], [*same, *by_own], [*same, *by_any]
    if text is None or is_plain(text):
        of_labels = _plain_sums(map(_LABEL, gold), gold, by_own, by_any)
        of_scripts = {} if text is None else _plain_scripts(text, gold, by_own, by_any, of_labels)
    else:
        spans = _ClusteredSpans(text, sides.predicted)
        rows = [spans.row(*each) for each in zip(gold, by_own, by_any, strict=True)]
        of_labels = _sums(zip(map(_LABEL, gold), rows, strict=True))
        of_scripts = _sums(part for span, row in zip(gold, rows, strict=True) for part in spans.by_script(span, row))
    once = sum(same)
    return Coverage(
        of_labels,
        of_scripts,
        documents_with_gold=int(bool(gold)),
        documents_with_leak=int(any(part.characters_any < part.characters for part in of_labels.values())),
        documents_with_label_leak=int(any(part.characters_own < part.characters for part in of_labels.values())),
        over_redacted=_extent(sides.predicted_left) - shared,
        redactable=length - once - _extent(sides.gold_left),
        without_text=int(text is None),
    )


def _extent(intervals: Iterable[Interval | Triple]) -> int:
    """Code points in the union of sorted intervals."""
    return sum(end - start for start, end in merged(intervals))


def _covered_characters(sides: Sides) -> tuple[list[int], list[int], int]:
    """Per gold span that is left, the code points under predictions of its label and of any; those of both unions."""
    gold, predicted = sides.gold_left, sides.predicted_left
    if sides.flat:
        by_own, by_any = _overlaps(gold, predicted)
        return by_own, by_any, sum(by_any)
    by_own, by_any, shared = [0] * len(gold), [0] * len(gold), 0
    for i0, i1, j0, j1 in sides.groups:
        if i1 - i0 == 1 == j1 - j0:
            (start, end, label), (other_start, other_end, other_label) = gold[i0], predicted[j0]
            overlap = (end if end < other_end else other_end) - (start if start > other_start else other_start)
            by_any[i0] = overlap
            shared += overlap
            if label == other_label:
                by_own[i0] = overlap
            continue
        golds, theirs = gold[i0:i1], predicted[j0:j1]
        anything = Cover(theirs)
        by_any[i0:i1] = anything.lengths(golds)
        shared += sum(anything.lengths(merged(golds)))
        places: dict[str, list[int]] = {}
        for place, span in enumerate(golds, start=i0):
            places.setdefault(span[2], []).append(place)
        for label, spans in by_label(theirs).items():
            own = places.get(label, ())
            for place, count in zip(own, Cover(spans).lengths(gold[place] for place in own), strict=True):
                by_own[place] = count
    return by_own, by_any, shared


def _overlaps(gold: Sequence[Triple], predicted: Sequence[Triple]) -> tuple[list[int], list[int]]:
    """Per gold span, the code points under predictions of its label and of any; neither list overlaps itself."""
    by_own, by_any = [], []
    first, last = 0, len(predicted)
    for start, end, label in gold:
        own = anything = 0
        while first < last and predicted[first][1] <= start:
            first += 1
        for place in range(first, last):
            other_start, other_end, other_label = predicted[place]
            if other_start >= end:
                break
            overlap = (end if end < other_end else other_end) - (start if start > other_start else other_start)
            anything += overlap
            if other_label == label:
                own += overlap
        by_own.append(own)
        by_any.append(anything)
    return by_own, by_any


def _plain_sums(keys: Iterable[str], gold: Sequence[Triple], by_own: Sequence[int], by_any: Sequence[int]) -> dict[str, Covered]:
    """Sums by key where every code point is a cluster."""
    sums: dict[str, list[int]] = {}
    for key, (start, end, _), own, anything in zip(keys, gold, by_own, by_any, strict=True):
        row = sums.get(key)
        if row is None:
            sums[key] = [end - start, own, anything]
        else:
            row[0] += end - start
            row[1] += own
            row[2] += anything
    return {key: Covered(*row, *row) for key, row in sums.items()}


def _plain_scripts(
    text: str, gold: Sequence[Triple], by_own: Sequence[int], by_any: Sequence[int], of_labels: Mapping[str, Covered]
) -> dict[str, Covered]:
    if not gold:
        return {}
    if all(text[start].isalpha() or _LATIN_LETTER.search(text, start, end) for start, end, _ in gold):
        row = sum(part.characters for part in of_labels.values()), sum(by_own), sum(by_any)
        return {"Latin": Covered(*row, *row)}
    return _plain_sums((_ascii_script(text, start, end) for start, end, _ in gold), gold, by_own, by_any)


def _sums(parts: Iterable[tuple[str, Covered]]) -> dict[str, Covered]:
    rows: dict[str, list[Covered]] = {}
    for key, row in parts:
        rows.setdefault(key, []).append(row)
    return {key: plus(members) for key, members in rows.items()}


_LABEL = itemgetter(2)
_LATIN_LETTER = re.compile("[A-Za-z]")


def _ascii_script(text: str, start: int, end: int) -> str:
    return "Latin" if _LATIN_LETTER.search(text, start, end) else UNKNOWN_SCRIPT


_LONGEST_NAME = 256
"""A longer span is no name: it goes whole to the script of its beginning, or nested ones would cost a square."""


class _ClusteredSpans:
    """A text in which a cluster may be several code points: which clusters of a span are covered whole."""

    def __init__(self, text: str, predicted: Sequence[Triple]) -> None:
        self._text = text
        self._clusters = Clusters(text)
        self._anything = Cover(predicted, self._clusters)
        self._predicted = predicted
        self._own: dict[str, Cover] = {}

    def row(self, span: Triple, by_own: int, by_any: int) -> Covered:
        """The span's counts, given its covered code points."""
        start, end, label = span
        characters = end - start
        count = self._clusters.count(start, end)
        own = count if by_own == characters else by_own and self._of(label).clusters(start, end)
        anything = count if by_any == characters else by_any and self._anything.clusters(start, end)
        return Covered(count, own, anything, characters, by_own, by_any)

    def by_script(self, span: Triple, row: Covered) -> Iterator[tuple[str, Covered]]:
        """The span under its script; where it holds more than ASCII, each of its clusters under the cluster's."""
        start, end, label = span
        if end - start > _LONGEST_NAME:
            yield dominant_script(self._text[start : start + _LONGEST_NAME]), row
            return
        if self._text[start:end].isascii():
            yield _ascii_script(self._text, start, end), row
            return
        own, anything = self._of(label), self._anything
        cut = self._clusters.cut(start, end)
        for (first, last), script in zip(cut, scripts_of_clusters(self._text, cut), strict=True):
            held = int(own.holds(first, last)), int(anything.holds(first, last))
            characters = own.characters(first, last), anything.characters(first, last)
            yield script, Covered(1, *held, last - first, *characters)

    def _of(self, label: str) -> Cover:
        if label not in self._own:
            same = [span for span in self._predicted if span[2] == label]
            self._own[label] = Cover(same, self._clusters)
        return self._own[label]
