"""Document: a raw text with its gold spans, and the one place where gold is checked.

A reader hands over what the file says; `check_gold` refuses what cannot be scored. The text is exactly the
file's text: no newline translation, no stripping, no byte-order mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..spans import Span

OnBad = Callable[[InputError], None]
"""What a reader calls for a document it cannot give: raise (the default), or count it and go on."""


def refuse(error: InputError) -> None:
    """The strict OnBad: the first bad document ends the reading."""
    raise error


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its gold. OpenMed's users know it as BenchmarkFixture.

    fixture_id: the corpus's own name for it; never written to a result.
    gold_spans: labels as the corpus has them, offsets in code points, in the file's order.
    language: ISO 639 code, or "en" where the corpus does not say. metadata: anything else the corpus says.
    categories: beside gold_spans, which critical finding each is (labels/critical.py); empty where none is.
    """

    fixture_id: str
    text: str
    gold_spans: tuple[Span, ...] = ()
    language: str = "en"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    categories: tuple[str | None, ...] = ()

    @property
    def id(self) -> str:
        return self.fixture_id


_CODE = re.compile(r"([A-Za-z]{2})(?:[-_].*)?", re.DOTALL)


def language_code(language: str) -> str:
    """`de` of `de`, `DE` and `de-AT`. "und" for what is no ISO 639-1 code: a report names slices, and this may be any text."""
    match = _CODE.fullmatch(language)
    return match[1].lower() if match else "und"


BenchmarkFixture = Document
"""OpenMed's name for it."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of one corpus in file order.

    name: what the user calls it (the format, if nothing else was said; never a file name).
    sha256: of the files' bytes in reading order, names left out.
    skipped: the error of each document left out.
    mismatched: those of documents kept although an annotation's own text is not the text at its offsets.
    notes: {code: how often} of what notes.py has words for.
    """

    name: str
    format: str
    documents: tuple[Document, ...]
    sha256: str
    skipped: tuple[InputError, ...] = ()
    mismatched: tuple[InputError, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out(self) -> list[int]:
        """The ordinals, from 1 in the whole corpus, of the documents that were skipped."""
        return [error.document for error in self.skipped if error.document is not None]

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)


@dataclass(frozen=True, slots=True)
class CorpusStream:
    """A corpus that has been read through once and is read again whenever its documents are asked for: none is held.

    documents: how many there are. Other fields as in Corpus. Iterating raises InputError where a file is no longer what it
    was the first time.
    """

    name: str
    format: str
    documents: int
    sha256: str
    skipped: tuple[InputError, ...]
    mismatched: tuple[InputError, ...]
    notes: Mapping[str, int]
    again: Callable[[], Iterator[Document]]

    def __len__(self) -> int:
        return self.documents

    def __iter__(self) -> Iterator[Document]:
        return self.again()


def problem_of(start: int, end: int, length: int) -> str | None:
    """Why [start, end) cannot stand in a text of `length` code points; None where it can."""
    if 0 <= start < end <= length:
        return None
    if start < 0:
        return "negative offset"
    if end < start:
        return "end before start"
    if end == start:
        return "empty span"
    if end > length:
        return "span past the end of its document"
    return None


def check_gold(text: str, spans: Sequence[Span], format: str, *, file: int | None = None, document: int | None = None) -> None:
    """Raise InputError for the first gold span that cannot stand in the text."""
    for number, span in enumerate(spans, start=1):
        problem = problem_of(span.start, span.end, len(text))
        if problem:
            raise InputError(
                format,
                f"{problem} (text of {len(text)} code points)",
                file=file,
                document=document,
                span=number,
                offsets=(span.start, span.end),
                remedy="offsets are half-open and count code points; correct the gold, or use --skip-bad",
            )
