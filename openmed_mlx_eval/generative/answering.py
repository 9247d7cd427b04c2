"""An answer and what it cost, whoever gave it; and when a model may stop, because its response is closed."""

from __future__ import annotations

from dataclasses import dataclass

from .answers import response_of, without_reasoning


@dataclass(frozen=True, slots=True)
class Answer:
    """text: as it came. prompt_tokens, tokens: read and written, None where nobody counted.

    seconds: this answer's share of the time in which it and those beside it were made. first_token_s: from the start of
    that time to its first token. cut: the limit on tokens ended it.
    """

    text: str
    prompt_tokens: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    first_token_s: float | None = None
    cut: bool = False


def is_complete(text: str) -> bool:
    """Whether a response has been closed outside of reasoning; what comes after it says nothing."""
    if "</response>" not in text.lower():
        return False
    shown, finished = without_reasoning(text)
    _, wrapped, closed = response_of(shown, "")
    return finished and wrapped and closed


def token_limit(text_tokens: int) -> int:
    """As many tokens as a text may take with tags: three for each of its own, and some for the response around it."""
    return 3 * text_tokens + 64
