"""The corpus formats: their readers, the names their files have, and which of them a path is.

Detection looks at names first and at the first bytes where names leave it open; it never reads gold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..tags import TagScheme, is_outside
from . import brat, conll, fixtures, i2b2_xml, pubtator
from .draft import Draft, Fault
from .source import STDIN, Source, entries_of, existing

_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Format:
    """What the loader must know of a format.

    read: from a file, or a pair, to its documents.
    suffixes: the files read from a folder. telling: those that no other format has.
    pairs: text and annotations lie in two files of one name.
    """

    read: Callable[[Source], Iterator[Draft | Fault]]
    suffixes: tuple[str, ...]
    telling: tuple[str, ...]
    pairs: bool = False


FORMATS: Mapping[str, Format] = {
    "openmed": Format(fixtures.read, (".json", ".jsonl", ".ndjson"), (".json", ".jsonl", ".ndjson")),
    "conll": Format(
        conll.read,
        (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes", ".tsv", ".txt"),
        (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes"),
    ),
    "brat": Format(brat.read, (".txt", ".ann"), (".ann",), pairs=True),
    "pubtator": Format(pubtator.read, (".pubtator", ".txt"), (".pubtator",)),
    "i2b2": Format(i2b2_xml.read, (".xml",), (".xml",)),
}


def format_named(name: str) -> Format:
    """Raises UsageError for a name that is no format's."""
    if name not in FORMATS:
        raise UsageError(f"--format: unknown format – choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(path: str | os.PathLike[str]) -> str:
    """The format of a file or folder. Raises UsageError where nothing tells it, and for stdin."""
    if os.fspath(path) == STDIN:
        raise UsageError("stdin has no name to tell its format by – give --format")
    place = existing(path)
    names = entries_of(place) if place.is_dir() else [place]
    by_name = format_of_names({name.suffix.lower() for name in names})
    # Only a plain file can be read twice: what a pipe shows now it does not show the reader.
    return by_name or (format_of_head(_head(place)) if place.is_file() else None) or _untold()


def format_of_names(suffixes: set[str]) -> str | None:
    """The one format that these suffixes tell; None if none or several do."""
    told = [name for name, format in FORMATS.items() if suffixes.intersection(format.telling)]
    return told[0] if len(told) == 1 else None


def format_of_head(head: bytes) -> str | None:
    """The format that a file's first bytes show; None if they show none."""
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [line for line in text.split("\n")[: -1 if len(head) >= _HEAD else None] if line.strip()]
    return next((name for name, shows in _SHOWS if lines and shows(lines)), None)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        raise UsageError("the corpus file cannot be read – check its permissions") from None


def _untold() -> str:
    raise UsageError(f"cannot tell the corpus format – give --format {'|'.join(FORMATS)}")


def _shows_conll(lines: list[str]) -> bool:
    """Rows of several columns whose last ones are tags, prefixed ones or at least one outside."""
    rows = [line.split() for line in lines if not line.startswith((conll.DOCSTART, "# "))]
    if not rows or any(len(row) not in range(2, conll.MOST_COLUMNS + 1) for row in rows):
        return False
    tags = {row[-2] if row[-1] == "_" or conll.NO_SPACE in row[-1] else row[-1] for row in rows}
    return TagScheme.of(tags).name != "unprefixed" or any(map(is_outside, tags))


_SHOWS: tuple[tuple[str, Callable[[list[str]], bool]], ...] = (
    ("pubtator", lambda lines: re.match(r"[^|\s]+\|t\|", lines[0]) is not None),
    ("conll", _shows_conll),
    ("openmed", lambda lines: lines[0].lstrip()[:1] in ("[", "{")),
    ("i2b2", lambda lines: lines[0].lstrip().startswith("<")),
)
