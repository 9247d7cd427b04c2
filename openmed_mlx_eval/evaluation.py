"""Gold and predictions of a corpus to the numbers of a report: labels meet, documents are scored, warnings are made.

Knows no model and writes no file; `cli` and `benchmark` bring the predictions, `reporting` writes the result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .corpora.document import Corpus, Document, language_code
from .corpora.notes import NOTES, OF_GOLD
from .labels import LabelMap
from .layers import kept, layered
from .scoring.bundle import Case, CaseScore, Options, metrics, score_cases
from .scoring.scorecard import DocumentScore, total
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
class Evaluation:
    """What was scored and what came out.

    documents, predictions: in corpus order, labels as they were scored. scores: the integers of each document.
    score: their sum. metrics: the block of the report. label_map: every mapping made, and which raw labels met under one name.
    """

    documents: tuple[Document, ...]
    predictions: tuple[tuple[Span, ...], ...]
    scores: tuple[CaseScore, ...]
    score: DocumentScore
    metrics: dict[str, Any]
    label_map: dict[str, Any]
    warnings: tuple[Warning, ...]


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
) -> Evaluation:
    """Score each document and add up. predictions: one sequence a document, in the same order.

    model_labels: the labels the model can give at all; gold labels outside them are warned of. options: what the
    metrics hold beyond the counts. layers: which of nested spans are scored, gold and predicted alike, so that a model
    that gives every layer is measured on those that are asked for; see layers.py. Raises UsageError for a key to slice
    by that groups no documents, and for an unknown rule of layers.
    """
    options = options or Options()
    named = (replace(document, gold_spans=relabelled(document.gold_spans, labels)) for document in documents)
    golds = tuple(in_layers(document, layers) for document in named)
    predicted = tuple(
        layered(relabelled(spans, labels), layers, len(document.text))
        for document, spans in zip(documents, predictions, strict=True)
    )
    slices = slice_values(golds, options.slice_by)
    scores = tuple(score_cases(_case(*row) for row in zip(golds, predicted, slices, strict=True)))
    score = total(one.spans for one in scores)
    known = {labels(label) for label in model_labels} if model_labels is not None else None
    return Evaluation(
        documents=golds,
        predictions=predicted,
        scores=scores,
        score=score,
        metrics=metrics(scores, options),
        label_map={"mapped": labels.mappings(), "met": labels.met()},
        warnings=(
            *_warnings(score, known),
            *_label_warnings(labels),
            *_left_out(documents, golds, predictions, predicted, layers),
        ),
    )


def in_layers(document: Document, rule: str) -> Document:
    """The document with the gold spans, and their categories, that a rule of layers.py keeps."""
    stay = kept(document.gold_spans, rule, len(document.text))
    if len(stay) == len(document.gold_spans):
        return document
    spans = tuple(document.gold_spans[position] for position in stay)
    categories = tuple(document.categories[position] for position in stay) if document.categories else ()
    return replace(document, gold_spans=spans, categories=categories)


def _left_out(
    documents: Sequence[Document],
    golds: Sequence[Document],
    predictions: Sequence[Sequence[Span]],
    predicted: Sequence[Sequence[Span]],
    rule: str,
) -> Iterable[Warning]:
    gold = sum(len(before.gold_spans) - len(after.gold_spans) for before, after in zip(documents, golds, strict=True))
    others = sum(len(before) - len(after) for before, after in zip(predictions, predicted, strict=True))
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


def _warnings(score: DocumentScore, known: set[str] | None) -> Iterable[Warning]:
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


def _label_warnings(labels: LabelMap) -> Iterable[Warning]:
    unmet = labels.unmet()
    if unmet:
        yield Warning("label_map_unmet", len(unmet), f"entries of --label-map that no label answers to: {', '.join(unmet)}")


def corpus_warnings(corpus: Corpus) -> list[Warning]:
    """What was left out, let pass or converted when the corpus was read; of errors with the place of the first."""
    kinds = (
        ("skipped_documents", corpus.skipped, "bad documents left out"),
        ("surface_mismatch", corpus.mismatched, "documents with a gold surface that is not the text at its offsets"),
    )
    return [
        *(Warning(code, len(errors), f"{what}; the first: {errors[0]}") for code, errors, what in kinds if errors),
        *(Warning(code, corpus.notes[code], NOTES[code]) for code in OF_GOLD if code in corpus.notes),
    ]
