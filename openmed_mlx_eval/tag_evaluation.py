"""A TagRun to what a report holds of it: documents and predicted spans to be scored as any other, and the `tags` block.

Spans are code points of the text rebuilt from the tokens, or tokens where there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .corpora.conll import rebuilt
from .corpora.document import Corpus, Document
from .evaluation import Warning
from .predictions import Predictions
from .scoring.tag_readings import TagReading, detect_scheme, scheme_of
from .scoring.tagging import TagScore, classification_report, tag_scores
from .spans import Span
from .tag_runs import TagRun, TagSentence

PLACEHOLDER = "."
"""Stands for a token in the text of a document that has none: each is one character and no letter of any script."""


@dataclass(frozen=True, slots=True)
class TagEvaluation:
    """corpus: all sentences, with gold spans. predictions: those of each sentence that is scored, and warnings.

    block: metrics.tags of a report.
    """

    corpus: Corpus
    predictions: Predictions
    block: dict[str, Any]


def evaluate_tags(
    run: TagRun, mode: str = "lenient", scheme: str | None = None, *, name: str | None = None, limit: int | None = None
) -> TagEvaluation:
    """Entities of both sides in one reading of their tags.

    mode, scheme: as in TagReading. Without a scheme L and U are BILOU's in a lenient reading, and a strict one takes the
    scheme that the tags show. name: what reports call the corpus, by default its format. limit: score the first
    sentences only. Raises InputError where a strict scheme does not have a tag, or none shows.
    """
    tags = {tag for one in run.sentences for side in (one.gold, one.predicted) for tag in side}
    shown = scheme or (scheme_of(tags) if mode == "strict" else detect_scheme(tags))
    is_bilou = scheme is None and mode == "lenient" and any(tag[0] in "LU" for tag in tags)
    reading = TagReading(mode, "BILOU" if is_bilou else shown)
    for one in run.sentences:
        reading.check(one.gold, one.ordinal)
        reading.check(one.predicted, one.ordinal)
    scored = run.sentences[:limit]
    documents, astray = [], 0
    for one in run.sentences:
        text, bounds = _text(one)
        gold = reading.entities(one.gold)
        documents.append(Document(str(one.ordinal), text, _spans(gold, bounds)))
        astray += sum(tag != "O" for tag in one.gold) - sum(end - start for start, end, _ in gold)
    score = tag_scores([one.gold for one in scored], [one.predicted for one in scored], reading.mode, reading.scheme)
    predicted = (_spans(reading.entities(one.predicted), _text(one)[1]) for one in scored)
    unit = "token" if any(one.tokens is None for one in run.sentences) else "character"
    return TagEvaluation(
        Corpus(name or run.format, run.format, tuple(documents), run.sha256, run.skipped),
        Predictions(tuple(predicted), tuple(_warnings(astray if mode == "strict" else 0, shown))),
        tags_block(score, mode, shown, unit),
    )


def tags_block(score: TagScore, mode: str, scheme: str | None, unit: str) -> dict[str, Any]:
    """`metrics.tags`: entities are conlleval's phrases; report is seqeval's, with null where it divides by nothing.

    unit: what the offsets of the same report's spans count, `character` or `token`.
    """
    overall = score.overall
    return {
        "mode": mode,
        "scheme": scheme,
        "unit": unit,
        "tokens": score.tokens,
        "correct_tokens": score.correct_tokens,
        "token_accuracy": score.token_accuracy,
        "entities": {"gold": overall.support, "predicted": overall.predicted, "correct": overall.true_positives},
        "report": classification_report(score),
    }


def with_tags(metrics: Mapping[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    """A report's metrics with the `tags` block; where a document's characters were tokens, so it says in each `unit`."""
    if block["unit"] != "token":
        return {**metrics, "tags": block}
    of_characters = [key for key, value in metrics.items() if isinstance(value, dict) and value.get("unit") in _CHARACTERS]
    return {**metrics, **{key: {**metrics[key], "unit": "token"} for key in of_characters}, "tags": block}


_CHARACTERS = ("character", "grapheme_cluster")


def _text(sentence: TagSentence) -> tuple[str, list[tuple[int, int]]]:
    if sentence.tokens is not None:
        return rebuilt(sentence.tokens)
    size = len(sentence.gold)
    return PLACEHOLDER * size, [(at, at + 1) for at in range(size)]


def _spans(entities: Iterable[tuple[int, int, str]], bounds: list[tuple[int, int]]) -> tuple[Span, ...]:
    return tuple(Span(bounds[first][0], bounds[last - 1][1], type) for first, last, type in entities)


def _warnings(astray: int, scheme: str | None) -> Iterable[Warning]:
    if astray:
        what = f"gold tags that are part of no entity in strict {scheme}; is it the scheme they were written in (--scheme)?"
        yield Warning("tags_outside_entities", astray, what)
