"""Documents to the bytes of other formats, and a count of everything a format could not hold. Writes no file.

A format that holds less than a document says so: `Written.lost` counts gold that is gone, `Written.changed`
what is there but not as it was. Nothing is dropped without a count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex  # type: ignore[import-untyped]

from ..spans import Span
from ..tags import is_outside
from .conll import NO_SPACE
from .document import Document
from .source import encoded

WORD = regex.compile(r"[\w\p{M}]+|\S")
"""The tokens of CoNLL output: runs of letters, digits and their marks; every other character by itself."""

_FILE_NAME = regex.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Written:
    """files: {name: bytes}; one file under the name "" where the format is one file.

    lost: {what: how many} of gold or documents left out.
    changed: {what: how many} of things kept in another way, or not kept, that no score depends on.
    """

    files: Mapping[str, bytes]
    lost: Mapping[str, int]
    changed: Mapping[str, int]


def to_openmed(documents: Sequence[Document], *, lines: bool = False) -> Written:
    """OpenMed fixtures, as a JSON list or (lines) one document a line. Holds all that a Document holds."""
    rows = [_json(_row(document)) for document in documents]
    text = "".join(row + "\n" for row in rows) if lines else "[\n" + ",\n".join(rows) + "\n]\n"
    return Written({"": encoded(text)}, {}, {})


def _row(document: Document) -> dict[str, Any]:
    spans: list[dict[str, Any]] = [
        {"start": s.start, "end": s.end, "label": s.label, "text": document.text[s.start : s.end]} for s in document.gold_spans
    ]
    for span, category in zip(spans, document.categories, strict=False):
        if category:
            span["critical_finding_category"] = category
    row = {"id": document.id, "text": document.text, "language": document.language, "gold_spans": spans}
    return {**row, "metadata": dict(document.metadata)} if document.metadata else row


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Metadata may hold half a surrogate pair, which UTF-8 has no bytes for and an escape can carry.
    return text if _is_utf8(text) else json.dumps(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def to_conll(documents: Sequence[Document]) -> Written:
    """CoNLL, IOB2, tab-separated: token, (`SpaceAfter=No` or `_`,) tag; a document is one sentence.

    The tag stands last, where every tool looks for it. Lost are spans that overlap another (the first, and of
    those the longest, stays), that begin or end within a word or with white space, and whose label no tag can
    carry; documents without a word. Changed are texts whose white space is not single spaces.
    """
    lost: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    sentences = [_sentence(document, lost, changed) for document in documents]
    names = [str(ordinal) for ordinal in range(1, len(documents) + 1)]
    return Written({"": encoded("".join(sentences))}, +lost, changed + _without_place(documents, names))


def _sentence(document: Document, lost: Counter[str], changed: Counter[str]) -> str:
    text = document.text
    words = [match.span() for match in WORD.finditer(text)]
    if not words:
        lost["documents without a word"] += 1
        lost["spans of documents without a word"] += len(document.gold_spans)
        return ""
    tags = _tags(words, document.gold_spans, lost)
    afters = [start - end for (_, end), (start, _) in zip(words, [*words[1:], (words[-1][1] + 1, 0)], strict=True)]
    rebuilt = "".join(text[s:e] + " " * min(1, after) for (s, e), after in zip(words, afters, strict=True))
    changed["texts with other white space than single spaces"] += rebuilt[:-1] != text
    lines = [
        f"{text[s:e]}\t{'_' if after else NO_SPACE}\t{tag}\n" for (s, e), after, tag in zip(words, afters, tags, strict=True)
    ]
    return "".join(lines) + "\n"


def _tags(words: Sequence[tuple[int, int]], spans: Iterable[Span], lost: Counter[str]) -> list[str]:
    starts = {start: number for number, (start, _) in enumerate(words)}
    ends = {end: number for number, (_, end) in enumerate(words)}
    tags = ["O"] * len(words)
    reach = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.label)):
        if not _is_tag_label(span.label):
            lost["spans whose label no tag can carry"] += 1
        elif span.start not in starts or span.end not in ends:
            lost["spans that cut a word or end in white space"] += 1
        elif span.start < reach:
            lost["spans that overlap another one"] += 1
        else:
            reach = span.end
            first, last = starts[span.start], ends[span.end]
            tags[first : last + 1] = [f"B-{span.label}", *[f"I-{span.label}"] * (last - first)]
    return tags


def _is_tag_label(label: str) -> bool:
    """Whether `B-label` in a tab-separated line reads back as this label."""
    return label == label.strip() and not set(label) & set("\t\n\r") and not is_outside(f"B-{label}")


def to_brat(documents: Sequence[Document]) -> Written:
    """A folder of .txt and .ann. Files have the documents' ids as names if all are fit for it, else numbers.

    Lost are spans whose label has white space, which ends a label there. The files' order is that of names.
    """
    lost: Counter[str] = Counter()
    names = _names(documents)
    files: dict[str, bytes] = {}
    for document, name in zip(documents, names, strict=True):
        files[name + ".txt"] = encoded(document.text)
        files[name + ".ann"] = encoded(_annotations(document, lost))
    return Written(files, +lost, +_without_place(documents, names))


def _without_place(documents: Sequence[Document], names: Sequence[str]) -> Counter[str]:
    """What formats without fields for it leave out of a document."""
    return Counter(
        {
            "documents under another id": sum(d.id != name for d, name in zip(documents, names, strict=True)),
            "documents without their language": sum(document.language != "en" for document in documents),
            "documents without their metadata": sum(bool(document.metadata) for document in documents),
        }
    )


def _names(documents: Sequence[Document]) -> list[str]:
    """File systems fold case, so ids that differ in nothing else are no names either."""
    ids = [document.id for document in documents]
    if all(map(_FILE_NAME.fullmatch, ids)) and len({name.casefold() for name in ids}) == len(ids):
        return ids
    width = len(str(len(ids)))
    return [str(number).zfill(width) for number in range(1, len(ids) + 1)]


def _annotations(document: Document, lost: Counter[str]) -> str:
    lines: list[str] = []
    for span in document.gold_spans:
        if len(span.label.split()) != 1 or span.label != span.label.strip():
            lost["spans whose label has white space"] += 1
            continue
        lines.append(f"T{len(lines) + 1}\t{span.label} {_pieces(document.text, span)}\n")
    return "".join(lines)


def _pieces(text: str, span: Span) -> str:
    """Offsets, tab, surface. brat parts a span at line breaks and joins the pieces' texts by a space."""
    runs = [m.span() for m in regex.finditer(r"[^\r\n]+", text, pos=span.start, endpos=span.end)]
    if not runs or (runs[0][0], runs[-1][1]) != (span.start, span.end):
        runs = [(span.start, span.end)]
    surface = " ".join(text[start:end] for start, end in runs)
    offsets = ";".join(f"{start} {end}" for start, end in runs)
    return offsets + "\t" + surface.translate({ord("\r"): " ", ord("\n"): " "})


def to_doccano(documents: Sequence[Document]) -> Written:
    """doccano's JSONL, which it imports as sequence labelling: `{"id", "text", "label": [[start, end, label], …]}`.

    Language and metadata stand beside them, where doccano keeps what it does not know. Critical findings have no place.
    """
    rows = []
    for document in documents:
        label = [[span.start, span.end, span.label] for span in document.gold_spans]
        more = {"language": document.language} if document.language != "en" else {}
        meta = {"metadata": dict(document.metadata)} if document.metadata else {}
        rows.append(_json({"id": document.id, "text": document.text, "label": label, **more, **meta}) + "\n")
    findings = sum(sum(map(bool, document.categories)) for document in documents)
    changed = {"spans without their critical finding": findings} if findings else {}
    return Written({"": encoded("".join(rows))}, {}, changed)


WRITERS: Mapping[str, Callable[..., Written]] = {
    "openmed": to_openmed,
    "conll": to_conll,
    "brat": to_brat,
    "doccano": to_doccano,
}
