"""The alignment of the tool that published the benchmark (evalscope), faults included, so that numbers can be compared.

Written from the description of its rules, not from its code. What it gets wrong, `alignment` does not: adjacent entities of a
type become one, a mention may land on an earlier occurrence of its text, changed case, spacing or a line end inside a tag
lose the entity, a stray `<x>` swallows the next one, and a type whose name ends another's continues it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from ..tags import TagScheme, spans_of_tags
from .outcome import Outcome
from .tokens import Tokens

_ANSWER = re.compile(r"<response>(.*?)</response>", re.DOTALL)
_OPEN, _CLOSE = re.compile(r"<(\w+)>"), re.compile(r"</(\w+)>")
_LONE = re.compile(r"<(\w+)>(.*?)(?=<|$)")
_ANY_TAG = re.compile(r"<[^>]+>")
_CONTEXT = 20
UNKNOWN = "UNKNOWN_TYPE"
_IOB = TagScheme.of(["B-X", "I-X"])


def evalscope_tags(answer: str, tokens: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """One BIO tag a token. types: {tag in lower case: type}. Tokens are those whose joining by one space is the source."""
    tags = ["O"] * len(tokens)
    starts, ends, position = [], [], 0
    for token in tokens:
        starts.append(position)
        ends.append(position + len(token))
        position += len(token) + 1
    for start, end, kind in _places(_repaired(answer), " ".join(tokens), types):
        for number in range(bisect_left(ends, start), bisect_right(starts, end)):
            if tags[number] == "O":
                begins = number == 0 or tags[number - 1] == "O" or not tags[number - 1].endswith(kind)
                tags[number] = f"{'B' if begins else 'I'}-{kind}"
    return tags


def evalscope_entities(answer: str, tokens: Sequence[str], types: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """The entities of those tags, read as seqeval's default mode does: (first token, last exclusive, type)."""
    return spans_of_tags(evalscope_tags(answer, tokens, types), _IOB)


def evalscope_outcome(answer: str, tokens: Tokens, faithful: Outcome, types: Mapping[str, str]) -> Outcome:
    """The same as an outcome. The state is that of the faithful alignment: this tool has none.

    A tag it reads that makes no entity of its own is `not_in_document` or, where others took its tokens, `merged`. What the
    model called a type of its own is UNKNOWN in the report: the name may be a word of the document.
    """
    words, known = tokens.words(), set(types.values())
    entities = evalscope_entities(answer, words, types)
    spans = tuple(tokens.span(first, last, kind if kind in known else UNKNOWN) for first, last, kind in entities)
    read = entities_of(answer, types)
    source = " ".join(words)
    absent = sum(text not in source for text, _ in read)
    lost = {"not_in_document": absent, "merged": max(0, len(read) - absent - len(spans))}
    return Outcome(faithful.state, spans, len(read), {reason: count for reason, count in lost.items() if count})


def entities_of(answer: str, types: Mapping[str, str]) -> list[tuple[str, str]]:
    """What that tool reads from an answer before it looks for places: (text, type)."""
    repaired = _repaired(answer)
    return [(repaired[start:end], kind) for start, end, kind, *_ in _entities(repaired, types)]


def _repaired(answer: str) -> str:
    """Rules 1 and 2: the first response, or all; each pair closes with its opening name."""
    found = _ANSWER.search(answer)
    text = found[1] if found else answer
    pieces, last = [], 0
    for name, _, inner_end, end, _ in _pairs(text, same_name=False):
        pieces += [text[last:inner_end], f"</{name}>"]
        last = end
    return "".join([*pieces, text[last:]])


def _pairs(text: str, *, same_name: bool) -> Iterator[tuple[str, int, int, int, int]]:
    r"""Opening tags each with the next closing one on its line, as (name, inner start, inner end, end, start).

    What `<(\w+)>(.*?)</(\w+)>` finds, or with `</\1>`, but in linear time however many tags have no partner.
    """
    lines = [match.start() for match in re.finditer("\n", text)]
    closing: dict[str, list[tuple[int, int]]] = {}
    for match in _CLOSE.finditer(text):
        closing.setdefault(match[1] if same_name else "", []).append(match.span())
    done = 0
    for match in _OPEN.finditer(text):
        if match.start() < done:
            continue
        partners = closing.get(match[1] if same_name else "", [])
        at = bisect_left(partners, (match.end(), 0))
        if at < len(partners) and bisect_left(lines, match.end()) == bisect_left(lines, partners[at][0]):
            inner_end, done = partners[at]
            yield match[1], match.end(), inner_end, done, match.start()


def _entities(answer: str, types: Mapping[str, str]) -> Iterator[tuple[int, int, str, int, int]]:
    """Rule 3: where each entity's text stands in the answer, its type, and where its element begins and ends."""
    begins, ends = [], []
    for tag, inner_start, inner_end, end, start in _pairs(answer, same_name=True):
        begins.append(start)
        ends.append(end)
        name = tag.lower()
        yield inner_start, inner_end, types.get(name, name.upper()), start, end
    for match in _LONE.finditer(answer):
        kind = types.get(match[1].lower())
        before = bisect_right(begins, match.start()) - 1
        if kind is not None and (before < 0 or ends[before] <= match.start()):
            yield *match.span(2), kind, *match.span()


def _places(answer: str, source: str, types: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Rule 4: the first occurrence whose surroundings look right, else the first."""
    known: dict[tuple[str, str, str], int] = {}  # an answer that repeats itself a hundred thousand times is looked up once
    for text_start, text_end, kind, start, end in _entities(answer, types):
        text = answer[text_start:text_end]
        before = _ANY_TAG.sub("", answer[max(0, start - _CONTEXT) : start])
        after = _ANY_TAG.sub("", answer[end : end + _CONTEXT])
        if (text, before, after) not in known:
            known[text, before, after] = _occurrence(text, before, after, source)
        place = known[text, before, after]
        if place >= 0:
            yield place, place + len(text), kind


def _occurrence(text: str, before: str, after: str, source: str) -> int:
    searched = 0
    while (place := source.find(text, searched)) >= 0:
        end = place + len(text)
        fits = before in source[max(0, place - len(before)) : place] or after in source[end : end + len(after)]
        if fits or searched > len(source) / 2:
            return place
        searched = place + 1
    return source.find(text)
