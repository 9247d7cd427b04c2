"""What a reader sees as one character, and in which script: grapheme clusters and scripts.

A leaked name is leaked letter by letter as a reader sees letters, so leakage is counted in extended grapheme
clusters (UAX #29, as the `regex` library's \\X cuts them). In ASCII text every code point is one, save
"\\r\\n"; elsewhere only the offsets that lie inside a cluster are kept, and counts come from bisecting them.
Nothing here knows spans' labels or scores.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

UNKNOWN_SCRIPT = "Unknown"
"""Digits, punctuation, symbols, and letters of a script not in SCRIPTS."""

# fmt: off
SCRIPTS = (
    "Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Syriac", "Thaana", "Devanagari",
    "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala",
    "Thai", "Lao", "Tibetan", "Myanmar", "Georgian", "Hangul", "Ethiopic", "Cherokee", "Khmer",
    "Mongolian", "Hiragana", "Katakana", "Bopomofo", "Han",
)
# fmt: on


class Clusters:
    """Where the grapheme clusters of a text lie; counts clusters in O(log n).

    A span that cuts a cluster holds the part inside it as one cluster.
    """

    def __init__(self, text: str) -> None:
        self.inside = [] if is_plain(text) else list(_inside(text))

    def before(self, offset: int) -> int:
        """Number of clusters that start before the offset."""
        return offset - bisect_left(self.inside, offset)

    def count(self, start: int, end: int) -> int:
        """Number of clusters in the non-empty [start, end)."""
        return 1 + self.before(end) - self.before(start + 1)

    def cut(self, start: int, end: int) -> list[tuple[int, int]]:
        """(start, end) of each cluster in [start, end)."""
        hidden = set(self.inside[bisect_left(self.inside, start) : bisect_left(self.inside, end)])
        bounds = [start, *(offset for offset in range(start + 1, end) if offset not in hidden), end]
        return list(pairwise(bounds))


def is_plain(text: str) -> bool:
    """Every code point is a cluster of its own."""
    return text.isascii() and "\r\n" not in text


def _inside(text: str) -> Iterator[int]:
    """Offsets at which no cluster starts, ascending. Between two ASCII code points that is only in "\\r\\n"."""
    stretches, cluster = _patterns()
    for stretch in stretches.finditer(text):
        for match in cluster.finditer(text, stretch.start(), stretch.end()):
            yield from range(match.start() + 1, match.end())


@lru_cache(maxsize=1)
def _patterns() -> tuple[Any, Any]:
    import regex  # type: ignore[import-untyped]

    stretches = regex.compile(r"(?s)\r\n|(?:[\x00-\x7f]?[^\x00-\x7f]+)+[^\r\n\x80-\U0010ffff]?")
    return stretches, regex.compile(r"\X")


@lru_cache(maxsize=1)
def _script_pattern() -> Any:
    import regex  # type: ignore[import-untyped]

    letters = "|".join(rf"(?P<{script}>[\p{{{script}}}&&[\p{{L}}\p{{M}}]])" for script in SCRIPTS)
    return regex.compile(letters, regex.V1)


@lru_cache(maxsize=4096)
def script_of(character: str) -> str | None:
    """The script of a letter or mark; None where it has none of SCRIPTS."""
    if character.isascii():
        return "Latin" if character.isalpha() else None
    match = _script_pattern().match(character)
    return None if match is None else str(match.lastgroup)


def dominant_script(text: str) -> str:
    """The script of most letters, ties to the one that comes first; UNKNOWN_SCRIPT without letters."""
    if text.isascii():
        return "Latin" if text.upper() != text.lower() else UNKNOWN_SCRIPT
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():  # in order of first appearance, so ties fall as said
        script = script_of(character)
        if script is not None:
            counts[script] += count
    return max(counts, key=lambda script: counts[script]) if counts else UNKNOWN_SCRIPT


def scripts_of_clusters(text: str, clusters: Sequence[tuple[int, int]]) -> list[str]:
    """The script of each cluster: of its first letter, else of the cluster before, else of the first that has one."""
    found: list[str | None] = []
    for start, end in clusters:
        own = next((script for character in text[start:end] if (script := script_of(character))), None)
        found.append(own if own is not None or not found else found[-1])
    first = next((script for script in found if script is not None), UNKNOWN_SCRIPT)
    return [script or first for script in found]
