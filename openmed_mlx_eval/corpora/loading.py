"""load_corpus: from a path to checked documents. Here documents are numbered and bad ones dealt with.

A fault of a whole file always ends the reading; a bad document does so unless it is to be skipped, and is
then kept as the error it is. No message holds text, ids or names.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ..errors import InputError, UsageError
from . import notes
from .document import Corpus, Document, OnBad, refuse
from .draft import Draft, Fault, Made, Note
from .formats import FORMATS, detect_format, format_named
from .gold import GoldError, Pieces, discontinuous_policy, gold_of
from .heads import HEAD, format_of_head
from .source import STDIN, Source, sources_of
from .units import as_counted


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
    chosen, sources = _sources(path, format)
    skipped: list[InputError] = []
    reading = _Reading(chosen, policy, keep_mismatched, skipped.append if skip_bad else refuse)
    documents = tuple(islice(reading.documents(sources), limit))
    said = {code: reading.notes[code] for code in notes.NOTES if reading.notes[code]}
    return Corpus(name or chosen, chosen, documents, _sha256(sources), tuple(skipped), tuple(reading.mismatched), said)


def load_fixtures(path: str | os.PathLike[str]) -> list[Document]:
    """OpenMed's fixtures file as documents; load_corpus(path, "openmed") with its errors."""
    return list(load_corpus(path, "openmed").documents)


def _sources(path: str | os.PathLike[str], format: str | None) -> tuple[str, list[Source]]:
    if format is None and os.fspath(path) == STDIN:
        sources = sources_of(path, (), False)
        format = format_of_head((sources[0].data or b"")[:HEAD], FORMATS)
        if format is None:
            raise UsageError(f"cannot tell the format of stdin – give --format {'|'.join(FORMATS)}")
        return format, sources
    known = format_named(format) if format is not None else None
    chosen = format or detect_format(path)
    known = known or FORMATS[chosen]
    try:
        return chosen, sources_of(path, known.suffixes, known.pairs, known.beside)
    except Fault as fault:
        error = fault.at(chosen, None)
    raise error


def _sha256(sources: list[Source]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.data or b"")
        digest.update(source.standoff or b"")
    digest.update((sources[0].beside if sources else None) or b"")
    return digest.hexdigest()


@dataclass(slots=True)
class _Reading:
    """One pass over a corpus: the options in force, and what must be remembered from document to document."""

    format: str
    policy: Callable[[Pieces], Pieces]
    keep_mismatched: bool
    on_bad: OnBad
    seen: dict[str, int] = field(default_factory=dict)
    mismatched: list[InputError] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def documents(self, sources: list[Source]) -> Iterator[Document]:
        ordinal = 0
        for source in sources:
            self.notes.update(notes.of_source(source))
            for made in self._drafts(source):
                if isinstance(made, Note):
                    self.notes[made.code] += 1
                    continue
                ordinal += 1
                checked = self._checked(made, source.ordinal, ordinal)
                if isinstance(checked, InputError):
                    self.on_bad(checked)
                else:
                    self.notes.update(notes.of_document(checked))
                    yield checked

    def _drafts(self, source: Source) -> Iterator[Made]:
        """The reader's documents; its fault about the whole file becomes an error that ends the reading."""
        try:
            yield from FORMATS[self.format].read(source)
            return
        except Fault as fault:
            error = fault.at(self.format, source.ordinal)
        raise error

    def _checked(self, made: Draft | Fault, file: int, ordinal: int) -> Document | InputError:
        if isinstance(made, Fault):
            return made.at(self.format, file, ordinal)
        name = made.id or str(ordinal)
        fault = _unwritable(made, name)
        if fault is None and name in self.seen:
            what = f"the same id as document {self.seen[name]}"
            fault = Fault(what, "give each document an id of its own, or none at all", line=made.line)
        if fault:
            return fault.at(self.format, file, ordinal)
        gold, faults = gold_of(made, self.policy)
        mentions, unit = as_counted(made.text, made.mentions) if faults else (made.mentions, "")
        if unit:
            self.notes[unit] += 1
            gold, faults = gold_of(replace(made, mentions=mentions), self.policy)
        if faults:
            error = _gold_error(faults, self.format, file, ordinal)
            if not (self.keep_mismatched and all(fault.is_mismatch for fault in faults)):
                return error
            self.mismatched.append(error)
        self.seen[name] = ordinal
        spans, categories = tuple(span for span, _ in gold), tuple(category for _, category in gold)
        return Document(name, made.text, spans, made.language, made.metadata, categories if any(categories) else ())


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
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        place = error.start
        return Fault(f"the {thing} holds half a surrogate pair at {place}", "correct the \\ud800 escape", line=line)
    return None
