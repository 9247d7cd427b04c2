"""Gold and predictions of a corpus to the numbers of a report: labels meet, documents are scored, warnings are made.

Knows no model and writes no file; `cli` and `benchmark` bring the predictions, `reporting` writes the result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from .corpora.document import Corpus, CorpusStream, Document, language_code
from .corpora.notes import NOTES, OF_GOLD
from .labels import LabelMap
from .layers import ALL, kept, layered
from .scoring.bundle import Case, CaseScore, Options, collector_at_rest, metrics_of, score_case
from .scoring.scorecard import DocumentScore
from .scoring.slices import ALWAYS, keys_to_slice_by, refuse_many, refuse_unmet
from .scoring.tally import Tally
from .spans import Span


@dataclass(frozen=True, slots=True)
class Warning:
    """Something a reader of the numbers must know. code: stable and searchable; count: how often."""

    code: str
    count: int
    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "count": self.count, "message": self.message}


@dataclass(frozen=True, slots=True)
class Observed:
    """What the counts do not say and a report does; `+` joins that of two parts of a corpus.

    names: {raw label: the name it was scored under}. unmet: entries of the label map that no label answers to.
    left_out: nested spans, of gold and predicted, that the rule of layers did not keep.
    """

    names: Mapping[str, str]
    unmet: frozenset[str]
    left_out: tuple[int, int]

    def __add__(self, other: Observed) -> Observed:
        gold, predicted = (sum(pair) for pair in zip(self.left_out, other.left_out, strict=True))
        return Observed({**self.names, **other.names}, self.unmet & other.unmet, (gold, predicted))

    def label_map(self) -> dict[str, Any]:
        """The report's `config.labels`."""
        labels = LabelMap.of_seen(self.names)
        return {"mapped": labels.mappings(), "met": labels.met()}


@dataclass(frozen=True, slots=True)
class Scored:
    """A document as it was scored: gold and predictions under the names they were scored by. ordinal: from 0 in the whole
    corpus. row: of the tally; equal for documents that count alike."""

    ordinal: int
    document: Document
    predicted: tuple[Span, ...]
    score: CaseScore
    row: bytes


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out.

    rows: the documents in corpus order; () where they were handed on one by one and not kept. score: the sum of their
    integers. metrics: the block of the report. observed: what warnings are made of, and the report's label map.
    """

    rows: tuple[Scored, ...]
    score: DocumentScore
    metrics: dict[str, Any]
    observed: Observed
    warnings: tuple[Warning, ...]

    @property
    def documents(self) -> tuple[Document, ...]:
        return tuple(row.document for row in self.rows)

    @property
    def predictions(self) -> tuple[tuple[Span, ...], ...]:
        return tuple(row.predicted for row in self.rows)

    @property
    def scores(self) -> tuple[CaseScore, ...]:
        return tuple(row.score for row in self.rows)

    @property
    def label_map(self) -> dict[str, Any]:
        """Every mapping made, and which raw labels met under one name."""
        return self.observed.label_map()


def relabelled(spans: Iterable[Span], labels: LabelMap) -> tuple[Span, ...]:
    """The spans under the names they are scored by, their scores at the six digits that a predictions file keeps. A span of
    which nothing changes is the same object."""
    return tuple([_named(span, labels(span.label)) for span in spans])


def _named(span: Span, name: str) -> Span:
    score = span.score
    if score is None and name == span.label:
        return span
    return Span(span.start, span.end, name, _rounded(score))


def _rounded(score: float | None) -> float | None:
    return round(score, 6) if score is not None and math.isfinite(score) else score


class Scoring:
    """Documents scored one by one, as they come; of each only its counts are kept.

    options: what the metrics hold beyond the counts. layers: which of nested spans are scored, gold and predicted alike, so
    that a model that gives every layer is measured on those that are asked for; see layers.py. slices: the values of
    options.slice_by, of a corpus seen before. Raises UsageError for an unknown rule of layers, and for a key to slice by
    that groups no documents.
    """

    def __init__(self, labels: LabelMap, options: Options, layers: str, slices: SliceValues) -> None:
        slices.check()
        self._labels, self._options, self._layers, self._slices = labels, options, layers, slices
        self._tally = Tally(keys_to_slice_by(slices.keys))
        self._left_out = [0, 0]

    def score(self, ordinal: int, document: Document, predicted: Sequence[Span]) -> Scored:
        """ordinal: from 0 in the whole corpus. Raises InputError for gold that cannot stand in the document."""
        named = relabelled(document.gold_spans, self._labels)
        gold = document if named == document.gold_spans else replace(document, gold_spans=named)
        gold = in_layers(gold, self._layers)
        spans = layered(relabelled(predicted, self._labels), self._layers, len(document.text))
        self._left_out[0] += len(document.gold_spans) - len(gold.gold_spans)
        self._left_out[1] += len(predicted) - len(spans)
        case = Case(
            gold.gold_spans,
            spans,
            gold.text,
            language=language_code(gold.language),
            slices=self._slices.of(document),
            categories=gold.categories or None,
        )
        score = score_case(case, ordinal + 1)
        return Scored(ordinal, gold, spans, score, self._tally.add(score))

    def evaluation(self, model_labels: Sequence[str] | None = None, rows: Iterable[Scored] = ()) -> Evaluation:
        """Of the documents until now. model_labels: the labels the model can give at all; gold labels outside them are
        warned of."""
        labels = self._labels
        metrics, score = metrics_of(self._tally, self._options)
        known = {labels(label) for label in model_labels} if model_labels is not None else None
        gold, predicted = self._left_out
        observed = Observed(labels.seen(), frozenset(labels.unmet()), (gold, predicted))
        return Evaluation(tuple(rows), score, metrics, observed, evaluation_warnings(score, observed, known, self._layers))


def evaluate(
    documents: Sequence[Document],
    predictions: Sequence[Sequence[Span]],
    labels: LabelMap,
    *,
    model_labels: Sequence[str] | None = None,
    options: Options | None = None,
    layers: str = "all",
) -> Evaluation:
    """Score each document and add up. predictions: one sequence a document, in the same order. Other parameters and errors
    as Scoring's.
    """
    options = options or Options()
    slices = SliceValues(options.slice_by)
    for document in documents:
        slices.see(document)
    scoring = Scoring(labels, options, layers, slices)
    with collector_at_rest():
        rows = [scoring.score(at, *pair) for at, pair in enumerate(zip(documents, predictions, strict=True))]
    return scoring.evaluation(model_labels, rows)


def evaluation_warnings(score: DocumentScore, observed: Observed, known: Set[str] | None, layers: str) -> tuple[Warning, ...]:
    """What the numbers need said with them. score: the sum over documents. known: the names the model can give at all."""
    return (*_warnings(score, known), *_label_warnings(observed.unmet), *_left_out(*observed.left_out, layers))


def in_layers(document: Document, rule: str) -> Document:
    """The document with the gold spans, and their categories, that a rule of layers.py keeps."""
    if rule == ALL:
        return document
    stay = kept(document.gold_spans, rule, len(document.text))
    if len(stay) == len(document.gold_spans):
        return document
    spans = tuple(document.gold_spans[position] for position in stay)
    categories = tuple(document.categories[position] for position in stay) if document.categories else ()
    return replace(document, gold_spans=spans, categories=categories)


def _left_out(gold: int, others: int, rule: str) -> Iterable[Warning]:
    if gold + others:
        what = f"nested spans that --layers {rule} left out: {gold:,} of gold, {others:,} predicted"
        yield Warning("nested_spans_left_out", gold + others, what)


_NO_VALUES: Mapping[str, str] = {}
SINGLE = "(single documents)"
"""Under this name come all documents whose value no other one has: such a value may name a patient."""


class SliceValues:
    """{key: value} of each document of a corpus for the keys it is sliced by: its metadata's strings, numbers and truth
    values, SINGLE where it stands alone. Which do is known when the whole corpus was seen.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._asked = list(dict.fromkeys(keys))
        self._often: dict[str, Counter[str]] = {key: Counter() for key in self._asked}
        self._scored: set[str] = set()
        self._documents = 0

    @property
    def keys(self) -> list[str]:
        """Those that a document to be scored has."""
        return [key for key in self._asked if key in self._scored or key in ALWAYS]

    def see(self, document: Document, *, scored: bool = True) -> None:
        """scored: whether it is among those that are scored; names are those of the whole corpus."""
        self._documents += 1
        for key, value in self._values(document):
            self._often[key][value] += 1
            if scored:
                self._scored.add(key)

    def of(self, document: Document) -> Mapping[str, str]:
        if not self._asked:
            return _NO_VALUES
        return {key: value if self._often[key][value] > 1 else SINGLE for key, value in self._values(document)}

    def check(self) -> None:
        """Raise UsageError for a key that no document has, and for one that groups none."""
        refuse_unmet(key for key, often in self._often.items() if not often)
        for often in self._often.values():
            groups = {value if count > 1 else SINGLE for value, count in often.items()}
            refuse_many(len(groups) + (often.total() < self._documents))

    def _values(self, document: Document) -> Iterator[tuple[str, str]]:
        for key in self._asked:
            value = document.metadata.get(key)
            if isinstance(value, str | int | float):
                yield key, str(value)


def _warnings(score: DocumentScore, known: Set[str] | None) -> Iterable[Warning]:
    overall = score.overall
    if not score.documents:
        yield Warning("no_documents", 1, "no document was scored; every number is null")
    elif not overall.support:
        yield Warning("no_gold", score.documents, "no document has a gold span; recall and F1 say nothing")
    for reason, count in sorted(score.invalid.items()):
        yield Warning("invalid_predictions", count, f"predictions that cannot stand ({reason}), counted as false positives")
    if known is not None:
        gold = {label for label, counts in score.by_label.items() if counts.support}
        foreign = sorted(gold - known)
        if foreign:
            yield Warning(
                "labels_unknown_to_model",
                sum(score.by_label[label].support for label in foreign),
                f"gold spans whose label the model never gives ({', '.join(foreign)}); they count as missed – "
                "fold labels together with --label-map FILE",
            )


def _label_warnings(unmet: Set[str]) -> Iterable[Warning]:
    if unmet:
        what = f"entries of --label-map that no label answers to: {', '.join(sorted(unmet))}"
        yield Warning("label_map_unmet", len(unmet), what)


_OF_DOCUMENTS = ("skipped_documents", "surface_mismatch")
CORPUS_WARNINGS = (*_OF_DOCUMENTS, *OF_GOLD)
"""The codes of corpus_warnings."""


def corpus_warnings(corpus: Corpus | CorpusStream) -> list[Warning]:
    """What was left out, let pass or converted when the corpus was read; of errors with the place of the first."""
    kinds = (
        (corpus.skipped, "bad documents left out"),
        (corpus.mismatched, "documents with a gold surface that is not the text at its offsets"),
    )
    named = zip(_OF_DOCUMENTS, kinds, strict=True)
    return [
        *(Warning(code, len(errors), f"{what}; the first: {errors[0]}") for code, (errors, what) in named if errors),
        *(Warning(code, corpus.notes[code], NOTES[code]) for code in OF_GOLD if code in corpus.notes),
    ]
