"""The same few documents in each corpus format, written by hand here and not by the program's own writers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

Gold = tuple[int, int, str]
Entry = tuple[str, str, Sequence[Gold]]
"""(id, text, gold). Words are parted by single spaces, so that the words of a CoNLL file give the same text."""


def entry(name: str, text: str, **surfaces: str) -> Entry:
    """An entry whose gold is each surface's first occurrence: `entry("a", "dr quill", NAME="quill")`."""
    spans = [(text.index(surface), text.index(surface) + len(surface), label) for label, surface in surfaces.items()]
    return name, text, tuple(sorted(spans))


ENTRIES: tuple[Entry, ...] = (
    entry("n1", "left kidney biopsy of dr quill .", ANATOMY="left kidney", NAME="quill"),
    entry("n2", "fever , ward 7 ok"),
    entry("n3", "the right lung " + "ok " * 60 + "dr quill", ANATOMY="right lung", NAME="quill"),
    entry("n4", "nephritis of the kidneys", ANATOMY="kidneys"),
)
"""The third is longer than the window of the tiny model."""

FORMATS = ("openmed", "conll", "brat", "pubtator", "i2b2")


def rows(entries: Sequence[Entry] = ENTRIES, spans: str = "gold_spans") -> list[dict[str, Any]]:
    """The entries as OpenMed fixtures."""
    return [
        {"id": name, "text": text, spans: [{"start": s, "end": e, "label": label, "text": text[s:e]} for s, e, label in gold]}
        for name, text, gold in entries
    ]


def write_rows(path: Path, values: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def write(folder: Path, format: str, entries: Sequence[Entry] = ENTRIES, name: str = "notes") -> Path:
    """The path of a corpus of that format in the folder; `name` begins every file name."""
    folder.mkdir(parents=True, exist_ok=True)
    return _WRITE[format](folder, entries, name)


def _openmed(folder: Path, entries: Sequence[Entry], name: str) -> Path:
    return write_rows(folder / f"{name}.jsonl", rows(entries))


def _conll(folder: Path, entries: Sequence[Entry], name: str) -> Path:
    lines = []
    for _, text, gold in entries:
        at = 0
        for word in text.split(" "):
            inside = next(((s, label) for s, e, label in gold if s <= at < e), None)
            tag = "O" if inside is None else f"{'B' if inside[0] == at else 'I'}-{inside[1]}"
            lines.append(f"{word}\t{tag}\n")
            at += len(word) + 1
        lines.append("\n")
    path = folder / f"{name}.conll"
    path.write_text("".join(lines), "utf-8")
    return path


def _brat(folder: Path, entries: Sequence[Entry], name: str) -> Path:
    target = folder / name
    target.mkdir()
    for identifier, text, gold in entries:
        (target / f"{identifier}.txt").write_text(text, "utf-8")
        lines = [f"T{n}\t{label} {s} {e}\t{text[s:e]}\n" for n, (s, e, label) in enumerate(gold, start=1)]
        (target / f"{identifier}.ann").write_text("".join(lines), "utf-8")
    return target


def _pubtator(folder: Path, entries: Sequence[Entry], name: str) -> Path:
    records = []
    for identifier, text, gold in entries:
        mentions = "".join(f"{identifier}\t{s}\t{e}\t{text[s:e]}\t{label}\t-\n" for s, e, label in gold)
        records.append(f"{identifier}|t|{text}\n{mentions}\n")
    path = folder / f"{name}.pubtator"
    path.write_text("".join(records), "utf-8")
    return path


def _i2b2(folder: Path, entries: Sequence[Entry], name: str) -> Path:
    target = folder / name
    target.mkdir()
    for identifier, text, gold in entries:
        tags = "".join(
            f'<{label} id="P{n}" start="{s}" end="{e}" text={quoteattr(text[s:e])} TYPE="{label}"/>'
            for n, (s, e, label) in enumerate(gold)
        )
        (target / f"{identifier}.xml").write_text(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<deIdi2b2><TEXT><![CDATA[{text}]]></TEXT><TAGS>{tags}</TAGS></deIdi2b2>',
            "utf-8",
        )
    return target


_WRITE: Mapping[str, Callable[[Path, Sequence[Entry], str], Path]] = {
    "openmed": _openmed,
    "conll": _conll,
    "brat": _brat,
    "pubtator": _pubtator,
    "i2b2": _i2b2,
}
