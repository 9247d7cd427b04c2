"""Gold and predictions of a corpus to the numbers of a report: labels meet, documents are scored, warnings are made.

Knows no model and writes no file; `cli` and `benchmark` bring the predictions, `reporting` writes the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .corpora.document import Corpus, Document
from .labels import LabelMap
from .scoring.scorecard import DocumentScore, score_document, scorecard, total
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

    documents, predictions: in corpus order, labels as they were scored. score: the integers. metrics: the block
    of the report. label_map: every mapping made, and which raw labels met under one name.
    """

    documents: tuple[Document, ...]
    predictions: tuple[tuple[Span, ...], ...]
    score: DocumentScore
    metrics: dict[str, Any]
    label_map: dict[str, Any]
    warnings: tuple[Warning, ...]


def relabelled(spans: Iterable[Span], labels: LabelMap) -> tuple[Span, ...]:
    return tuple(replace(span, label=labels(span.label)) for span in spans)


def evaluate(
    documents: Sequence[Document],
    predictions: Sequence[Sequence[Span]],
    labels: LabelMap,
    *,
    model_labels: Sequence[str] | None = None,
) -> Evaluation:
    """Score each document and add up. predictions: one sequence a document, in the same order.

    model_labels: the labels the model can give at all; gold labels outside them are warned of.
    """
    golds = tuple(replace(document, gold_spans=relabelled(document.gold_spans, labels)) for document in documents)
    predicted = tuple(relabelled(spans, labels) for spans in predictions)
    score = total(
        score_document(document.gold_spans, spans, len(document.text)) for document, spans in zip(golds, predicted, strict=True)
    )
    known = {labels(label) for label in model_labels} if model_labels is not None else None
    return Evaluation(
        documents=golds,
        predictions=predicted,
        score=score,
        metrics=scorecard(score),
        label_map={"mapped": labels.mappings(), "met": labels.met()},
        warnings=tuple(_warnings(score, known)),
    )


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


def corpus_warnings(corpus: Corpus) -> list[Warning]:
    """What was left out or let pass when the corpus was read, with the place of the first of each."""
    kinds = (
        ("skipped_documents", corpus.skipped, "bad documents left out"),
        ("surface_mismatch", corpus.mismatched, "documents with a gold surface that is not the text at its offsets"),
    )
    return [Warning(code, len(errors), f"{what}; the first: {errors[0]}") for code, errors, what in kinds if errors]
