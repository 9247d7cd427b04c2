"""`metrics.generative` of a report: what became of the answers and their tags, scores over tokens, and what it all cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..scoring.counts import ratio
from ..scoring.tagging import tag_scores
from .answering import Answer
from .outcome import Outcome, tally


def generative_block(
    *,
    protocol: str,
    alignment: str,
    outcomes: Sequence[Outcome],
    changed: int | None,
    answers: Sequence[Answer | None],
    token_level: dict[str, Any],
    load_s: float | None,
) -> dict[str, Any]:
    """changed: documents whose entities are not those of the faithful alignment; None where that is the alignment."""
    return {
        "protocol": protocol,
        "alignment": alignment,
        **tally(outcomes),
        "documents_changed_by_alignment": changed,
        "token_level": token_level,
        "cost": cost([answer for answer in answers if answer is not None], load_s),
    }


def token_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Micro precision, recall and F1 of entities and accuracy of tags, over the BIO tags of each document.

    As seqeval's default mode has them, and so the benchmark: an entity is right where type, first and last token are
    equal; O counts for accuracy; a rate of nothing is 0.0, where the rest of a report says null.
    """
    score = tag_scores(gold, predicted)
    return {
        **{key: 0.0 if value is None else value for key, value in score.overall.to_dict().items()},
        "accuracy": score.token_accuracy,
        "tokens": score.tokens,
        "correct_tokens": score.correct_tokens,
    }


def cost(answers: Sequence[Answer], load_s: float | None) -> dict[str, Any]:
    """Tokens and seconds; null where nobody counted. cold_start_s: from loading the model to the first token of all."""
    written = _known(answer.tokens for answer in answers)
    read = _known(answer.prompt_tokens for answer in answers)
    seconds = _known(answer.seconds for answer in answers)
    waits = sorted(_known(answer.first_token_s for answer in answers))
    timed = sum(answer.tokens for answer in answers if answer.tokens is not None and answer.seconds is not None)
    return {
        "prompt_tokens": sum(read) if read else None,
        "answer_tokens": sum(written) if written else None,
        "answer_tokens_per_document": ratio(sum(written), len(written)),
        "answers_cut_by_limit": sum(answer.cut for answer in answers),
        "seconds_per_document": _rounded(ratio(sum(seconds), len(seconds))),
        "answer_tokens_per_second": _rounded(ratio(timed, sum(seconds))),
        "time_to_first_token_s": {name: _rounded(_quantile(waits, share)) for name, share in (("p50", 0.5), ("p95", 0.95))},
        "cold_start_s": None if load_s is None or not waits else round(load_s + waits[0], 6),
    }


def _known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Linear between the two nearest, as numpy's default."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
