"""Which format a file's first bytes show: a table of signatures. Pure, and linear in the head."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from ..tags import TagScheme, is_outside
from . import conll, huggingface, parquet, webanno
from .source import is_utf16

HEAD = 1 << 16
"""How many bytes are looked at."""

_Keys = Sequence[frozenset[str]]
"""The keys of a JSON head's objects by their depth: documents at 0, or deeper where an object holds the list."""

# A string that the head cuts short runs to its end: else each quote in it would be tried anew.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)(?:"(\s*:)?)?|[{}]', re.DOTALL)

_TRIPLES = re.compile(r'"(?:entities|annotations)"\s*:\s*\[\s*\[')
"""Spans as [start, end, label] where fixtures have objects: spaCy's habit."""


def format_of_head(head: bytes, among: Collection[str]) -> str | None:
    """The format that a file's first bytes show, of those among which it is; None if they show none."""
    text = head.decode("utf-16", "replace") if is_utf16(head) else head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [line for line in text.split("\n")[: -1 if len(head) >= HEAD else None] if line.strip()]
    start = text.lstrip()[:1]
    keys = keys_by_depth(text) if start in ("[", "{") else None
    shown = (
        *(name for magic, name in _MAGIC if head.startswith(magic)),
        *(name for name, shows in _LINES if lines and shows(lines)),
        *(name for name, shows in _JSON if keys is not None and shows(keys)),
        *(("doccano",) if keys is not None and _TRIPLES.search(text) else ()),
        *(("openmed",) if keys is not None else ()),
        *(name for name, shows in _XML if start == "<" and shows(text)),
    )
    return next((name for name in shown if name in among), None)


def keys_by_depth(text: str) -> list[frozenset[str]]:
    """The keys of the objects of a JSON text, which may be cut short, by how many objects each lies within."""
    found: list[set[str]] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        if match[0] == "{":
            depth += 1
            found += [set()] if depth > len(found) else []
        elif match[0] == "}":
            depth = max(0, depth - 1)
        elif match[2] and depth:
            found[depth - 1].add(match[1])
    return [frozenset(keys) for keys in found]


def _shows_conll(lines: list[str]) -> bool:
    """Rows of several columns whose last ones are tags, prefixed ones or at least one outside.

    One row of ten may be damaged: the reader names its line, where an unknown format would say nothing of it.
    """
    rows = [line.split() for line in lines if not line.startswith((conll.DOCSTART, "# "))]
    whole = [row for row in rows if len(row) in range(2, conll.MOST_COLUMNS + 1)]
    if not whole or len(whole) * 10 < len(rows) * 9:
        return False
    tags = {row[-2] if row[-1] == "_" or conll.NO_SPACE in row[-1] else row[-1] for row in whole}
    return TagScheme.of(tags).name != "unprefixed" or any(map(is_outside, tags))


def _at(keys: _Keys, depth: int) -> frozenset[str]:
    return keys[depth] if depth < len(keys) else frozenset()


def _shows_doccano(keys: _Keys) -> bool:
    labelled = bool(_at(keys, 0) & {"label", "labels"}) and not _at(keys, 0) & {"gold_spans", "spans"}
    return bool(_at(keys, 0) & {"text", "data"}) and (labelled or "start_offset" in _at(keys, 1))


def _shows_prodigy(keys: _Keys) -> bool:
    return bool(_at(keys, 0) & {"_input_hash", "_task_hash"}) or {"text", "answer"} <= _at(keys, 0)


def _shows_label_studio(keys: _Keys) -> bool:
    whole = "data" in _at(keys, 0) and bool(_at(keys, 0) & {"annotations", "completions"})
    return whole or {"start", "labels"} <= _at(keys, 1)


def _shows_huggingface(keys: _Keys) -> bool:
    return any(level & set(huggingface.TOKENS) and level & set(huggingface.TAGS) for level in keys[:4])


_MAGIC: tuple[tuple[bytes, str], ...] = ((parquet.MAGIC, "huggingface"), (b"\x78\x9c", "docbin"))
_LINES: tuple[tuple[str, Callable[[list[str]], bool]], ...] = (
    ("webanno", lambda lines: lines[0].startswith(webanno.HEADER)),
    ("pubtator", lambda lines: re.match(r"[^|\s]+\|t\|", lines[0]) is not None),
    ("conll", _shows_conll),
)
_JSON: tuple[tuple[str, Callable[[_Keys], bool]], ...] = (
    ("bioc", lambda keys: any("passages" in level for level in keys[:3])),
    ("prodigy", _shows_prodigy),
    ("label-studio", _shows_label_studio),
    ("huggingface", _shows_huggingface),
    ("doccano", _shows_doccano),
)
_XML: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("bioc", lambda text: re.search(r"<collection[\s>]", text) is not None),
    ("i2b2-2006", lambda text: re.search(r"<RECORD[\s>]", text) is not None),
    ("i2b2", bool),
)
