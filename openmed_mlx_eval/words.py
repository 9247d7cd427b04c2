"""The words of a text, for what counts words: annotators' agreement and near-duplicates. No model's tokens.

A word is a run of word characters with their combining marks. Scripts that put no space between words (Han, Kana,
Thai, Lao, Khmer, Myanmar) are cut at every character, as a whole sentence would be one word otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_UNSPACED = r"[\p{L}&&[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
_RUN = r"\w++"
_CUT = rf"{_UNSPACED}\p{{M}}*+|[\w--{_UNSPACED}]++"
_OTHER = r"|[^\w\s]"


@cache
def _compiled(pattern: str) -> Any:
    import regex  # type: ignore[import-untyped]

    return regex.compile(pattern, regex.VERSION1)


def _words_of(text: str) -> str:
    """The pattern for this text: few texts need the one that cuts, which takes three times as long."""
    return _CUT if not text.isascii() and _compiled(_UNSPACED).search(text) else _RUN


def pieces(text: str) -> list[tuple[int, int]]:
    """Half-open code point offsets of each word and of each other character that is not white space, in order."""
    return [match.span() for match in _compiled(_words_of(text) + _OTHER).finditer(text)]


def words(text: str) -> list[str]:
    """The words alone, in order."""
    found: list[str] = _compiled(_words_of(text)).findall(text)
    return found
