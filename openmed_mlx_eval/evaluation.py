"""Gold and predictions of a corpus to the numbers of a report: labels meet, documents are scored, warnings are made.

Knows no model and writes no file; `cli` and `benchmark` bring the predictions, `reporting` writes the result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from .corpora.document import Corpus, Document, language_code
from .corpora.notes import NOTES, OF_GOLD
from .labels import LabelMap
from .layers import kept, layered
from .scoring.bundle import ALWAYS_SLICED, Case, CaseScore, Options, metrics, score_cases
from .scoring.scorecard import DocumentScore, total
from .scoring.slices import checked_keys
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
class Evaluation:
    """What was scored and what came out.

    documents, predictions: in corpus order, labels as they were scored. scores: the integers of each document.
    score: their sum. metrics: the block of the report. observed: what warnings are made of, and the report's label map.
    ordinals: of the documents, from 0 in the whole corpus.
    """

    documents: tuple[Document, ...]
    predictions: tuple[tuple[Span, ...], ...]
    scores: tuple[CaseScore, ...]
    score: DocumentScore
    metrics: dict[str, Any]
    observed: Observed
    warnings: tuple[Warning, ...]
    ordinals: Sequence[int]

    @property
    def label_map(self) -> dict[str, Any]:
        """Every mapping made, and which raw labels met under one name."""
        return self.observed.label_map()


def relabelled(spans: Iterable[Span], labels: LabelMap) -> tuple[Span, ...]:
    """The spans under the names they are scored by, their scores at the six digits that a predictions file keeps."""
    return tuple(Span(span.start, span.end, labels(span.label), _rounded(span.score)) for span in spans)


def _rounded(score: float | None) -> float | None:
    return round(score, 6) if score is not None and math.isfinite(score) else score


def evaluate(
    documents: Sequence[Document],
    predictions: Sequence[Sequence[Span]],
    labels: LabelMap,
    *,
    model_labels: Sequence[str] | None = None,
    options: Options | None = None,
    layers: str = "all",
    part: Sequence[int] | None = None,
) -> Evaluation:
    """Score each document and add up. predictions: one sequence a document, in the same order.

    part: indices, ascending, of the documents that are scored, and for which alone there are predictions: slices are
    named as they are in the whole corpus, and ordinals are those in it. None: all.

    model_labels: the labels the model can give at all; gold labels outside them are warned of. options: what the
    metrics hold beyond the counts. layers: which of nested spans are scored, gold and predicted alike, so that a model
    that gives every layer is measured on those that are asked for; see layers.py. Raises UsageError for a key to slice
    by that groups no documents, and for an unknown rule of layers.
    """
    options = options or Options()
    slices = slice_values(documents, options.slice_by)
    ordinals: Sequence[int] = range(len(documents))
    if part is not None:
        checked_keys(slices, options.slice_by, ALWAYS_SLICED)
        ordinals, documents, slices = part, [documents[at] for at in part], [slices[at] for at in part]
        options = replace(options, slice_by=[key for key in options.slice_by if any(key in values for values in slices)])
    named = (replace(document, gold_spans=relabelled(document.gold_spans, labels)) for document in documents)
    golds = tuple(in_layers(document, layers) for document in named)
    predicted = tuple(
        layered(relabelled(spans, labels), layers, len(document.text))
        for document, spans in zip(documents, predictions, strict=True)
    )
    cases = (_case(*row) for row in zip(golds, predicted, slices, strict=True))
    scores = tuple(score_cases(cases, (ordinal + 1 for ordinal in ordinals)))
    score = total(one.spans for one in scores)
    known = {labels(label) for label in model_labels} if model_labels is not None else None
    left_out = _fewer((document.gold_spans for document in documents), (document.gold_spans for document in golds))
    observed = Observed(labels.seen(), frozenset(labels.unmet()), (left_out, _fewer(predictions, predicted)))
    return Evaluation(
        documents=golds,
        predictions=predicted,
        scores=scores,
        score=score,
        metrics=metrics(scores, options),
        observed=observed,
        warnings=evaluation_warnings(score, observed, known, layers),
        ordinals=ordinals,
    )


def evaluation_warnings(score: DocumentScore, observed: Observed, known: Set[str] | None, layers: str) -> tuple[Warning, ...]:
    """What the numbers need said with them. score: the sum over documents. known: the names the model can give at all."""
    return (*_warnings(score, known), *_label_warnings(observed.unmet), *_left_out(*observed.left_out, layers))


def in_layers(document: Document, rule: str) -> Document:
    """The document with the gold spans, and their categories, that a rule of layers.py keeps."""
    stay = kept(document.gold_spans, rule, len(document.text))
    if len(stay) == len(document.gold_spans):
        return document
    spans = tuple(document.gold_spans[position] for position in stay)
    categories = tuple(document.categories[position] for position in stay) if document.categories else ()
    return replace(document, gold_spans=spans, categories=categories)


def _fewer(before: Iterable[Sequence[Span]], after: Iterable[Sequence[Span]]) -> int:
    return sum(len(one) - len(other) for one, other in zip(before, after, strict=True))


def _left_out(gold: int, others: int, rule: str) -> Iterable[Warning]:
    if gold + others:
        what = f"nested spans that --layers {rule} left out: {gold:,} of gold, {others:,} predicted"
        yield Warning("nested_spans_left_out", gold + others, what)


def _case(document: Document, predicted: Sequence[Span], slices: Mapping[str, str]) -> Case:
    return Case(
        document.gold_spans,
        predicted,
        document.text,
        language=language_code(document.language),
        slices=slices,
        categories=document.categories or None,
    )


SINGLE = "(single documents)"
"""Under this name come all documents whose value no other one has: such a value may name a patient."""


def slice_values(documents: Sequence[Document], keys: Iterable[str]) -> list[dict[str, str]]:
    """{key: value} of each document: its metadata's strings, numbers and truth values, SINGLE where it stands alone."""
    known: list[dict[str, str]] = [{} for _ in documents]
    for key in keys:
        values = [document.metadata.get(key) for document in documents]
        said = {at: str(value) for at, value in enumerate(values) if isinstance(value, str | int | float)}
        often = Counter(said.values())
        for at, value in said.items():
            known[at][key] = value if often[value] > 1 else SINGLE
    return known


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


def corpus_warnings(corpus: Corpus) -> list[Warning]:
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
