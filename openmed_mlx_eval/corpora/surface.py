"""Surfaces: what an annotation says its own text is, held against the text at its offsets.

They decide what nothing else can: whether offsets count a byte-order mark or both characters of a line
end, and, where they do not fit, what they count instead. No verdict here quotes a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from .draft import Mention

MARK = "\ufeff"
SliceOf = Callable[[int, int], str]


def agrees(text: str, mention: Mention) -> bool:
    """Whether the surface is the text there, but for the kind and number of white space, which files change.

    A loose surface (a pipeline's `word`) may also differ in case and accents. No surface agrees with
    anything.
    """
    if not mention.surface:
        return True
    found = " ".join(text[start:end] for start, end in mention.pieces)
    if found == mention.surface:
        return True
    same = _bare if mention.loose else _evenly_spaced
    return same(found) == same(mention.surface)


def _evenly_spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("##", "")).casefold()
    return "".join(c for c in decomposed if not c.isspace() and not unicodedata.combining(c))


def agreeing(text: str, mentions: Sequence[Mention]) -> int:
    """How many annotations agree with a text, of those that say what theirs is."""
    return sum(agrees(text, mention) for mention in mentions if mention.surface)


def without_mark(text: str, mentions: Sequence[Mention]) -> tuple[str, tuple[Mention, ...]]:
    """A text that begins with a byte-order mark, without it, and its annotations moved to fit.

    Some tools count the mark (MEDDOCAN's did), some do not: surfaces decide, and where they are silent it
    counts for nothing. A text without mark comes back as it is.
    """
    if not text.startswith(MARK):
        return text, tuple(mentions)
    bare = text.removeprefix(MARK)
    if agreeing(text, mentions) <= agreeing(bare, mentions):
        return bare, tuple(mentions)
    return bare, tuple(
        mention._replace(pieces=tuple((start - 1, end - 1) for start, end in mention.pieces)) for mention in mentions
    )


def _encoded(codec: str, width: int) -> Callable[[str], SliceOf]:
    def of_text(text: str) -> SliceOf:
        units = text.encode(codec)
        return lambda start, end: units[max(0, start) * width : max(0, end) * width].decode(codec, "replace")

    return of_text


def _shifted(by_start: int, by_end: int) -> Callable[[str], SliceOf]:
    def of_text(text: str) -> SliceOf:
        def slice_of(start: int, end: int) -> str:
            start, end = start + by_start, end + by_end
            return text[start:end] if 0 <= start <= end <= len(text) else ""

        return slice_of

    return of_text


def _rewritten(old: str, new: str) -> Callable[[str], SliceOf]:
    return lambda text: _shifted(0, 0)(re.sub(old, new, text))


def _has_astral(text: str) -> bool:
    return max(text, default="") > "\uffff"


# Those that need evidence in the text stand first: a shift by one is also what one emoji before a span gives.
_READINGS: tuple[tuple[str, Callable[[str], bool], Callable[[str], SliceOf]], ...] = (
    ("are UTF-16 code units: convert them to code points", _has_astral, _encoded("utf-16-le", 2)),
    ("are UTF-8 bytes: convert them to code points", lambda text: not text.isascii(), _encoded("utf-8", 1)),
    ("count \\r\\n as one character: count both", lambda text: "\r\n" in text, _rewritten("\r\n", "\n")),
    ("count a line break as two: count one", lambda text: "\n" in text, _rewritten("\r?\n", "\r\n")),
    ("have an inclusive end: add 1 to each end", bool, _shifted(0, 1)),
    ("count from 1: subtract 1", bool, _shifted(-1, -1)),
    ("count from 1 and have an inclusive end: subtract 1 from each start", bool, _shifted(-1, 0)),
)
"""What offsets may count: the words for it, whether this text could show it, and how they then cut it."""


def what_offsets_count(text: str, mentions: Sequence[Mention], bad: Mention) -> str:
    """A remedy: the reading under which every surface fits, or else that of `bad`; empty where none does."""
    told = [m for m in mentions if m.surface and len(m.pieces) == 1 and not m.loose]
    alone = [m for m in told if m is bad]
    for group, begins in (
        (told, "the annotations' own texts show that offsets here"),
        (alone, "its own text would fit offsets that"),
    ):
        for words, is_possible, reading in _READINGS:
            if alone and is_possible(text) and _fits(reading(text), group):
                return f"{begins} {words}"
    return ""


def _fits(slice_of: SliceOf, mentions: Sequence[Mention]) -> bool:
    return all(slice_of(*mention.pieces[0]) == mention.surface for mention in mentions)
