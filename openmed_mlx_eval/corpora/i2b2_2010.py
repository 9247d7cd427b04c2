"""i2b2-2010 concepts: a `.txt` and a `.con` of one name are a document. Offsets are line and word.

`c="the left knee" 4:2 4:4||t="problem"`: from word 2 to word 4, inclusive, of line 4; lines count from 1, words from 0. Words
are parted by white space or, where the concepts' own texts show it, by every single space. They are lower-cased, so case
and spacing may differ. Assertions (`||a=`) are read past. Format: Uzuner et al. 2011, doi:10.1136/amiajnl-2011-000203
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, text_of
from .surface import agreeing

_CONCEPT = re.compile(r'c="(.*)" (\d{1,9}):(\d{1,9}) (\d{1,9}):(\d{1,9})\|\|t="([^"|]+)"(?:\|\|.*)?', re.ASCII)
_REMEDY = 'a .con line is c="text" 1:0 1:2||t="problem"'
_Bounds = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Concept:
    surface: str
    first: tuple[int, int]
    last: tuple[int, int]
    label: str
    line: int


def read(source: Source) -> Iterator[Made]:
    """The one document of a pair of files."""
    yield attempt(_draft, source)


def _draft(source: Source) -> Draft:
    if source.data is None:
        raise Fault("a .con file without its .txt", "add the .txt of the same name, or use --skip-bad")
    if source.standoff is None:
        raise Fault("a .txt file without its .con", "add the .con; it is empty if there is nothing to annotate")
    text = text_of(source.data, name="the .txt")
    lines = text_of(source.standoff, name="the .con").split("\n")
    concepts = [_concept(line.strip("\r "), number) for number, line in enumerate(lines, start=1) if line.strip()]
    readings = [attempt(_mentions, words_of(text, divider), concepts) for divider in _DIVIDERS]
    fitting = [reading for reading in readings if not isinstance(reading, Fault)]
    if not fitting:
        return _raise(readings[0])
    return Draft(source.stem or None, text, max(fitting, key=lambda mentions: agreeing(text, mentions)))


def _raise(fault: object) -> Draft:
    raise fault if isinstance(fault, Fault) else Fault("no concept can be read", _REMEDY)


def _concept(line: str, number: int) -> _Concept:
    match = _CONCEPT.fullmatch(line)
    if match is None:
        raise Fault("a line that is no concept", _REMEDY, line=number)
    first, last = (int(match[2]), int(match[3])), (int(match[4]), int(match[5]))
    return _Concept(match[1], first, last, match[6], number)


def _runs(line: str) -> _Bounds:
    return [match.span() for match in re.finditer(r"\S+", line)]


def _between_spaces(line: str) -> _Bounds:
    parts = line.removesuffix("\r").split(" ")
    ends = list(accumulate(len(part) + 1 for part in parts))
    return [(end - 1 - len(part), end - 1) for part, end in zip(parts, ends, strict=True)]


_DIVIDERS = (_runs, _between_spaces)
"""What a word of a line is: a run without white space, or what lies between two single spaces and may be nothing."""


def words_of(text: str, divider: Callable[[str], _Bounds]) -> list[_Bounds]:
    """The bounds of each line's words in the text."""
    words: list[_Bounds] = []
    begin = 0
    for line in text.split("\n"):
        words.append([(begin + start, begin + end) for start, end in divider(line)])
        begin += len(line) + 1
    return words


def _mentions(words: Sequence[_Bounds], concepts: Sequence[_Concept]) -> tuple[Mention, ...]:
    """Raises Fault for a line or a word that the text has not."""
    mentions = []
    for number, concept in enumerate(concepts, start=1):
        if any(not 1 <= line <= len(words) or word >= len(words[line - 1]) for line, word in (concept.first, concept.last)):
            raise Fault("a word that the text has not", "correct line and word", line=concept.line, span=number)
        (start, _), (_, end) = (words[line - 1][word] for line, word in (concept.first, concept.last))
        mentions.append(Mention(concept.label, ((start, end),), concept.surface, concept.line, loose=True))
    return tuple(mentions)
