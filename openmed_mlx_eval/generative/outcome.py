"""What became of one answer: its named state, the spans read from it, and each lost tag under its reason.

The names are the report's. An answer is in exactly one state; a tag is either a span or counted under one reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..spans import Span

CLEAN = "clean"
REPAIRED: Mapping[str, str] = {
    "spacing": "the text differs from the document's in white space alone",
    "case": "in white space and case alone",
    "characters": "in characters, and was aligned with it",
    "unwrapped": "the text is the document's, without the <response> element around it",
    "unclosed": "a tag, or the <response> element, is not closed where it should be",
}
UNUSABLE: Mapping[str, str] = {
    "no_response": "no <response> element, and what stands there is not the document's text",
    "truncated": "the answer ends before the document's text does, and is not closed",
    "rewritten": "less than half of the document's text, or of the answer's, is in the other",
    "empty": "nothing, or nothing but white space or reasoning",
}
STATES = (CLEAN, *REPAIRED, *UNUSABLE)

LOST: Mapping[str, str] = {
    "unknown_type": "tags of a type the protocol does not have",
    "unclosed": "opening tags without a closing one",
    "unopened": "closing tags without an opening one",
    "empty": "tags around nothing, or around white space",
    "overlapping": "tags around, or across, a more specific (shorter) one",
    "changed": "tags around text that the document does not have at that place",
    "unusable_answer": "tags of answers that could not be used",
    "not_in_document": "tags around text that the document does not have anywhere (evalscope's rules)",
    "merged": "tags that became one entity with another, or none (evalscope's rules)",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """state: one of STATES. tags: how many the answer had. spans: in document order, labels the protocol's.

    lost: {reason of LOST: tags}. `tags == len(spans) + sum(lost)` for the faithful alignment.
    """

    state: str
    spans: tuple[Span, ...] = ()
    tags: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)


def tally(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The block of a report: answers by state, tags read and lost by reason, the rate of usable answers (null without any)."""
    states: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    tags = spans = 0
    for outcome in outcomes:
        states[outcome.state] += 1
        lost.update(outcome.lost)
        tags += outcome.tags
        spans += len(outcome.spans)
    answers = sum(states.values())
    usable = answers - sum(states[state] for state in UNUSABLE)
    return {
        "answers": answers,
        "states": {state: states[state] for state in STATES},
        "usable_answer_rate": usable / answers if answers else None,
        "tags": tags,
        "entities": spans,
        "lost_tags": sum(lost.values()),
        "lost_tags_by_reason": {reason: lost[reason] for reason in LOST if lost[reason]},
    }
