"""load_corpus, open_corpus: from a path to checked documents, held or read anew each time. Here documents are numbered
and bad ones dealt with.

A fault of a whole file always ends the reading; a bad document does so unless it is to be skipped, and is
then kept as the error it is. No message holds text, ids or names.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from ..errors import InputError, UsageError
from . import notes
from .document import Corpus, CorpusStream, Document, OnBad, refuse
from .draft import Draft, Fault, Made, Note
from .formats import FORMATS, Format, detect_format, format_named
from .gold import GoldError, Pieces, discontinuous_policy, gold_of
from .heads import HEAD, format_of_head
from .json_rows import is_lines
from .seen import SeenIds
from .source import BLOCK, STDIN, Place, Source, places_of
from .units import as_counted

T = TypeVar("T")


def load_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    name: str | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
    discontinuous: str = "hull",
    keep_mismatched: bool = False,
) -> Corpus:
    """Read a corpus whole.

    path: a file, a folder, or `-` for stdin.
    format: a name of FORMATS; by default the one that the path shows.
    name: what reports call the corpus, by default its format.
    skip_bad: leave bad documents out and keep their errors in `Corpus.skipped`.
    limit: stop after so many documents.
    discontinuous: hull (one span over all pieces), split, first or error.
    keep_mismatched: keep a document whose only fault is that an annotation's own text is not the text at its
    offsets, with the error in `Corpus.mismatched`; for counting, not for scores.

    Raises UsageError for a path that is not there, an unknown format or option; InputError for a file that
    is not of its format and, without skip_bad, for the first bad document (GoldError if its gold is bad).
    """
    policy = discontinuous_policy(discontinuous)
    if limit is not None and limit < 1:
        raise UsageError("--limit: give 1 or more documents")
    chosen, places = _places(path, format)
    skipped: list[InputError] = []
    reading = _Reading(chosen, policy, keep_mismatched, skipped.append if skip_bad else refuse)
    sha256 = _sha256(chosen, places)
    documents = tuple(islice(reading.documents(places), limit))
    return Corpus(name or chosen, chosen, documents, sha256, tuple(skipped), tuple(reading.mismatched), reading.said())


def open_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    name: str | None = None,
    skip_bad: bool = False,
    discontinuous: str = "hull",
    see: Callable[[int, Document], Any] = lambda ordinal, document: None,
) -> CorpusStream:
    """Read a corpus through and hold none of its documents.

    see: called with each document and its ordinal among those kept, from 0. Other parameters and errors as load_corpus's;
    what raises there raises here, before a document is used. JSONL files, and folders of files, are never held whole; any
    other file is, while it is read.
    """
    policy = discontinuous_policy(discontinuous)
    chosen, places = _places(path, format)
    skipped: list[InputError] = []
    reading = _Reading(chosen, policy, False, skipped.append if skip_bad else refuse)
    sha256 = _sha256(chosen, places)
    before = _states(chosen, places)
    count = 0
    for document in reading.documents(places):
        see(count, document)
        count += 1

    def again() -> Iterator[Document]:
        once_more = _Reading(chosen, policy, False, (lambda error: None) if skip_bad else refuse, reading.seen)
        _refuse_changed(chosen, before, places)
        yield from once_more.documents(places)
        _refuse_changed(chosen, before, places)

    _refuse_changed(chosen, before, places)
    return CorpusStream(name or chosen, chosen, count, sha256, tuple(skipped), (), reading.said(), again)


def _refuse_changed(format: str, before: list[tuple[Any, ...]], places: list[Place]) -> None:
    for place, one, other in zip(places, before, _states(format, places), strict=True):
        if one != other:
            what = "the file changed while it was read"
            raise InputError(format, what, file=place.ordinal, remedy="wait until nothing writes to it, and start again")


def load_fixtures(path: str | os.PathLike[str]) -> list[Document]:
    """OpenMed's fixtures file as documents; load_corpus(path, "openmed") with its errors."""
    return list(load_corpus(path, "openmed").documents)


def _places(path: str | os.PathLike[str], format: str | None) -> tuple[str, list[Place]]:
    if format is None and os.fspath(path) == STDIN:
        places = places_of(path, (), False)
        format = format_of_head(places[0].head(HEAD), FORMATS)
        if format is None:
            raise UsageError(f"cannot tell the format of stdin – give --format {'|'.join(FORMATS)}")
        return format, places
    known = format_named(format) if format is not None else None
    chosen = format or detect_format(path)
    known = known or FORMATS[chosen]
    return chosen, _faulted(chosen, lambda: places_of(path, known.suffixes, known.pairs, known.beside))


def _faulted(format: str, read: Callable[[], T]) -> T:
    """What `read` returns; its Fault as the error of a whole file."""
    try:
        return read()
    except Fault as fault:
        error = fault.at(format, None)
    raise error


def _states(format: str, places: list[Place]) -> list[tuple[Any, ...]]:
    return _faulted(format, lambda: [place.state() for place in places])


def _sha256(format: str, places: list[Place]) -> str:
    digest = hashlib.sha256()

    def read() -> None:
        for place in places:
            for block in place.blocks():
                digest.update(block)

    _faulted(format, read)
    digest.update((places[0].beside if places else None) or b"")
    return digest.hexdigest()


def _sources(format: Format, place: Place) -> Iterator[Source]:
    return place.pieces() if format.lines and is_lines(place.suffix, place.head(BLOCK)) else iter([place.source()])


@dataclass(slots=True)
class _Reading:
    """One pass over a corpus: the options in force, and what must be remembered from document to document."""

    format: str
    policy: Callable[[Pieces], Pieces]
    keep_mismatched: bool
    on_bad: OnBad
    seen: SeenIds = field(default_factory=SeenIds)
    mismatched: list[InputError] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def documents(self, places: list[Place]) -> Iterator[Document]:
        ordinal = 0
        for place in places:
            for made in self._drafts(place):
                if isinstance(made, Note):
                    self.notes[made.code] += 1
                    continue
                ordinal += 1
                checked = self._checked(made, place.ordinal, ordinal)
                if isinstance(checked, InputError):
                    self.on_bad(checked)
                else:
                    if notes.CRLF in checked.text:
                        self.notes["crlf_documents"] += 1
                    yield checked

    def said(self) -> dict[str, int]:
        """{code: how often} of the notes made until now."""
        return {code: self.notes[code] for code in notes.NOTES if self.notes[code]}

    def _drafts(self, place: Place) -> Iterator[Made]:
        """The reader's documents; its fault about the whole file becomes an error that ends the reading."""
        format = FORMATS[self.format]
        try:
            for source in _sources(format, place):
                self.notes.update(notes.of_source(source))
                yield from format.read(source)
            return
        except Fault as fault:
            error = fault.at(self.format, place.ordinal)
        raise error

    def _checked(self, made: Draft | Fault, file: int, ordinal: int) -> Document | InputError:
        if isinstance(made, Fault):
            return made.at(self.format, file, ordinal)
        name = made.id or str(ordinal)
        fault = _unwritable(made, name)
        first = self.seen.ordinal_of(name)
        if fault is None and first not in (None, ordinal):
            what = f"the same id as document {first}"
            fault = Fault(what, "give each document an id of its own, or none at all", line=made.line)
        if fault:
            return fault.at(self.format, file, ordinal)
        gold, faults = gold_of(made, self.policy)
        mentions, unit = as_counted(made.text, made.mentions) if faults else (made.mentions, "")
        if unit:
            self.notes[unit] += 1
            gold, faults = gold_of(made._replace(mentions=mentions), self.policy)
        if faults:
            error = _gold_error(faults, self.format, file, ordinal)
            if not (self.keep_mismatched and all(fault.is_mismatch for fault in faults)):
                return error
            self.mismatched.append(error)
        self.seen.add(name, ordinal)
        spans, categories = tuple(span for span, _ in gold), tuple(category for _, category in gold)
        return Document(name, made.text, spans, made.language, dict(made.metadata), categories if any(categories) else ())


def _gold_error(faults: list[Fault], format: str, file: int, ordinal: int) -> GoldError:
    more = len(faults) - 1
    first = faults[0]
    first_alone = first.at(format, file, ordinal)
    if more:
        first.what += f" (and {more} more gold span{'s' * (more > 1)} of this document)"
    where: dict[str, Any] = {"line": first.line, "span": first.span, "offsets": first.offsets}
    error = GoldError(format, first.what, remedy=first.remedy, file=file, document=ordinal, **where)
    error.problems = (first_alone, *(fault.at(format, file, ordinal) for fault in faults[1:]))
    return error


def _unwritable(made: Draft, name: str) -> Fault | None:
    """Half a surrogate pair, which JSON can escape and no tokenizer or file can take."""
    for thing, value in [("text", made.text), ("id", name), ("language", made.language)]:
        fault = _half_a_pair(thing, value, made.line)
        if fault:
            return fault
    for number, mention in enumerate(made.mentions, start=1):
        fault = _half_a_pair("label", mention.label, mention.line)
        if fault:
            fault.span = number
            return fault
    return None


def _half_a_pair(thing: str, value: str, line: int | None) -> Fault | None:
    if value.isascii():
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        place = error.start
        return Fault(f"the {thing} holds half a surrogate pair at {place}", "correct the \\ud800 escape", line=line)
    return None
