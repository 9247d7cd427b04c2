"""An answer taken apart: reasoning away, the response found, its text and its tags told apart. One pass each, linear time.

Where the document itself holds something that looks like a tag (`p <x> 0.05`), that is text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .protocol import RESPONSE

_REASONING = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad", "seed:think")
_OPENING_MARKS = (r"\[THINK\]", r"<\|begin_of_thought\|>", r"◁think▷", r"<\|channel\|?>(?:analysis|thought|commentary)\b")
_CLOSING_MARKS = (r"\[/THINK\]", r"<\|end_of_thought\|>", r"◁/think▷", r"<\|channel\|>final<\|message\|>", r"<channel\|>")

_HINTS = ("think", "thought", "reasoning", "reflection", "analysis", "scratchpad", "channel")
"""One of them is in every mark of reasoning."""

_RESPONSE = re.compile(rf"<\s*(/\s*)?{RESPONSE}\s*>", re.IGNORECASE)
_TAG = re.compile(r"<\s*(/\s*)?([A-Za-z][\w.:-]*)((?:[\s/][^<>]*)?)>")
_STRICT = re.compile(r"</?[A-Za-z][\w.:-]*/?>")


@dataclass(frozen=True, slots=True)
class Mention:
    """A pair of tags around `text[start:end]` of a body; label None for a type that the protocol does not have.

    order: the place of the opening tag among all tags.
    """

    start: int
    end: int
    label: str | None
    order: int


@dataclass(frozen=True, slots=True)
class Body:
    """What the response holds. text: without tags. mentions: pairs of tags. unclosed, unopened: tags left alone.

    wrapped: it stood in a <response>; closed: to the end. misnamed: pairs whose closing tag had another name.
    """

    text: str
    mentions: tuple[Mention, ...]
    unclosed: int
    unopened: int
    unknown: int
    misnamed: int
    wrapped: bool
    closed: bool

    @property
    def tags(self) -> int:
        return len(self.mentions) + self.unclosed + self.unopened + self.unknown


def without_reasoning(answer: str, source: str = "", names: Collection[str] = ()) -> tuple[str, bool]:
    """The answer without blocks of reasoning, and whether they all end.

    A closing mark without an opening one ends reasoning that began in the prompt. names: the protocol's tags, which mark
    no reasoning; neither does what stands in the source itself.
    """
    lower = answer.lower()
    if not any(hint in lower for hint in _HINTS):
        return answer, True
    kept: list[str] = []
    last, inside = 0, False
    for match in _reasoning_marks(tuple(sorted(names))).finditer(answer):
        if match[0] in source:
            continue
        closing = match["close"] is not None
        if closing and not inside:
            kept.clear()
        elif not closing and not inside:
            kept.append(answer[last : match.start()])
        if closing:
            last = match.end()
        inside = not closing
    if not inside:
        kept.append(answer[last:])
    return "".join(kept), not inside


_MARKS: dict[tuple[str, ...], re.Pattern[str]] = {}


def _reasoning_marks(names: tuple[str, ...]) -> re.Pattern[str]:
    if names not in _MARKS:
        words = "|".join(word for word in _REASONING if word not in names)
        opening = "|".join((rf"<(?:{words})>", *_OPENING_MARKS))
        closing = "|".join((rf"</(?:{words})>", *_CLOSING_MARKS))
        _MARKS[names] = re.compile(rf"(?P<close>{closing})|{opening}", re.IGNORECASE)
    return _MARKS[names]


def response_of(answer: str, source: str) -> tuple[str, bool, bool]:
    """(what stands in <response>, whether there is one, whether it is closed).

    Of several the longest, counted up to the source's length and the first of equals: a model may name the element before it
    writes it. Without an opening tag: all that stands before a closing one.
    """
    marks = [(match.start(), match.end(), bool(match[1])) for match in _RESPONSE.finditer(answer)]
    opening = [mark for mark in marks if not mark[2]]
    if not opening:
        return (answer[: marks[0][0]] if marks else answer), False, bool(marks)
    if _RESPONSE.search(source):  # the document speaks of the element too: the outermost one is the answer's
        closed = marks[-1][2]
        return answer[opening[0][1] : marks[-1][0] if closed else len(answer)], True, closed
    best = (-1, "", False)
    for number, (_, start, closes) in enumerate(marks):
        if closes:
            continue
        following = marks[number + 1] if number + 1 < len(marks) else (len(answer), 0, False)
        size = min(following[0] - start, len(source))
        if size > best[0] or (size == best[0] and following[2] and not best[2]):
            best = (size, answer[start : following[0]], following[2])
    return best[1], True, best[2]


def dissect(body: str, source: str, labels: Mapping[str, str], *, wrapped: bool = True, closed: bool = True) -> Body:
    """Text and tags of a response. labels: {tag: label}, tags in lower case."""
    parts: list[str] = []
    events: list[tuple[int, str, bool, bool]] = []  # place in the text, name, closes, closes itself
    length = last = 0
    exact = "<" in source
    for match in _TAG.finditer(body):
        name = match[2].lower()
        before = body[last : match.start()]
        if exact:
            exact = source.startswith(before, length)
        if not _is_tag(match, name in labels, source, length + len(before) if exact else None):
            continue
        parts.append(before)
        length += len(before)
        last = match.end()
        events.append((length, name, bool(match[1]), match[3].rstrip().endswith("/")))
    text = "".join([*parts, body[last:]])
    return _paired(text, events, labels, wrapped, closed)


def _is_tag(match: re.Match[str], known: bool, source: str, place: int | None) -> bool:
    """Whether it is one and no text of the document. place: where the document stands, if all before was the same."""
    if not known and not _STRICT.fullmatch(match[0]):
        return False
    if match[0] not in source:
        return True
    return not source.startswith(match[0], place) if place is not None else known


def _paired(text: str, events: list[tuple[int, str, bool, bool]], labels: Mapping[str, str], wrapped: bool, closed: bool) -> Body:
    """Closing tags to the last opening one of their name; what is left over pairs with the tag next to it, whatever its name."""
    opened: dict[str, list[int]] = {}
    partner: dict[int, int] = {}
    for number, (_, name, closes, itself) in enumerate(events):
        if itself:
            partner[number] = number
        elif not closes:
            opened.setdefault(name, []).append(number)
        elif opened.get(name):
            partner[opened[name].pop()] = number
    taken = {*partner, *partner.values()}
    misnamed = 0
    for number in range(len(events) - 1):
        alone = number not in taken and number + 1 not in taken
        if alone and not events[number][2] and events[number + 1][2]:
            partner[number] = number + 1
            taken |= {number, number + 1}
            misnamed += 1
    mentions = tuple(
        Mention(events[first][0], events[second][0], labels.get(events[first][1]), first)
        for first, second in sorted(partner.items())
    )
    left = Counter(_kind(name in labels, closes) for n, (_, name, closes, _) in enumerate(events) if n not in taken)
    return Body(text, mentions, left["unclosed"], left["unopened"], left["unknown_type"], misnamed, wrapped, closed)


def _kind(known: bool, closes: bool) -> str:
    if not known:
        return "unknown_type"
    return "unopened" if closes else "unclosed"
