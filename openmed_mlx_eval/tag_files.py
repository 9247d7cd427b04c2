"""Tags in text files: conlleval's columns in one file, or two CoNLL files, to a TagRun.

Either way gold and predictions become two lists of the same sentences, which must agree in everything but tags. No
message holds a token or a tag.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from .corpora.conll import Row, TaggedSentence, rows_of_sentences, tagged_sentences
from .corpora.draft import Fault, attempt
from .corpora.formats import FORMATS
from .corpora.source import Source, sources_of, text_of
from .errors import InputError
from .tag_runs import TagRun, TagSentence, run_of

CONLL, CONLLEVAL = "conll", "conlleval"
PREDICTIONS = "predictions"
BOUNDARY = "-X-"
"""The first column of a line that conlleval reads as the end of a sentence, beside an empty line."""

_Side: TypeAlias = list[tuple[int, "TaggedSentence | Fault"]]
"""(file, sentence) of gold or of predictions, in reading order."""


def load_conlleval(path: str | Path, scheme: str | None = None, *, skip_bad: bool = False) -> TagRun:
    """A file, a folder or `-`: lines of token, …, gold tag, predicted tag, as conlleval.pl reads them.

    Columns are parted by spaces or tabs and may differ in number from line to line. Empty lines and lines of
    -DOCSTART- or -X- end a sentence. scheme: as in `run_of`. Raises UsageError for a path that is not there,
    InputError for a file of another kind and, without skip_bad, for a line of fewer than three columns.
    """
    sources = _sources(path, CONLLEVAL)
    golds: _Side = []
    predictions: _Side = []
    for source in sources:
        try:
            made = [attempt(_columns, rows) for rows in _parted(rows_of_sentences(text_of(source.data or b"")))]
        except Fault as fault:
            raise fault.at(CONLLEVAL, source.ordinal) from None
        for one in made:
            gold, predicted = (one, one) if isinstance(one, Fault) else one
            golds.append((source.ordinal, gold))
            predictions.append((source.ordinal, predicted))
    return _run(CONLLEVAL, golds, predictions, scheme, _sha256(sources), skip_bad)


def load_conll_pair(gold: str | Path, predictions: str | Path, scheme: str | None = None, *, skip_bad: bool = False) -> TagRun:
    """Two CoNLL files (or folders; one of them may be `-`) of the same tokens, the tag in the last column.

    scheme: as in `run_of`. Raises UsageError for a path that is not there, InputError where the two differ in
    anything but tags or a sentence is bad; with skip_bad those of the gold are left out, with their predictions.
    """
    sources = _sources(gold, CONLL)
    return _run(
        CONLL, _side(sources, CONLL), _side(_sources(predictions, PREDICTIONS), PREDICTIONS), scheme, _sha256(sources), skip_bad
    )


def _sources(path: str | Path, format: str) -> list[Source]:
    try:
        return sources_of(path, FORMATS[CONLL].suffixes, False)
    except Fault as fault:
        raise fault.at(format, None) from None


def _sha256(sources: Sequence[Source]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.data or b"")
    return digest.hexdigest()


def _side(sources: Sequence[Source], format: str) -> _Side:
    side: _Side = []
    for source in sources:
        try:
            made = tagged_sentences(text_of(source.data or b""))
        except Fault as fault:
            raise fault.at(format, source.ordinal) from None
        side += [(source.ordinal, one) for one in made]
    return side


def _parted(sentences: Sequence[Sequence[Row]]) -> Iterator[list[Row]]:
    """The sentences, divided at conlleval's own boundary lines."""
    for sentence in sentences:
        rows: list[Row] = []
        for row in sentence:
            if row[1][0] != BOUNDARY:
                rows.append(row)
            elif rows:
                yield rows
                rows = []
        if rows:
            yield rows


def _columns(rows: Sequence[Row]) -> tuple[TaggedSentence, TaggedSentence]:
    """The sentence with its gold and with its predicted tags. Raises Fault for a line without three columns."""
    for number, columns in rows:
        if len(columns) < 3:
            what = f"{len(columns)} columns, where token, gold tag and predicted tag are needed"
            raise Fault(what, "write the three, parted by spaces or tabs", line=number)
        if not columns[0]:
            raise Fault("an empty token", "the first column holds the token", line=number)
    tokens = tuple((columns[0], True) for _, columns in rows)
    lines = tuple(number for number, _ in rows)
    gold, predicted = (TaggedSentence(tokens, tuple(columns[at] for _, columns in rows), lines) for at in (-2, -1))
    return gold, predicted


def _run(format: str, golds: _Side, predictions: _Side, scheme: str | None, sha256: str, skip_bad: bool) -> TagRun:
    sentences: list[TagSentence] = []
    skipped: list[InputError] = []
    for ordinal, ((file, gold), (other_file, predicted)) in enumerate(zip(golds, predictions, strict=False), start=1):
        if isinstance(gold, Fault):
            skipped.append(gold.at(format, file, ordinal))
            if not skip_bad:
                raise skipped[0]
        elif isinstance(predicted, Fault):
            raise predicted.at(PREDICTIONS, other_file, ordinal)
        else:
            _check_tokens(gold, predicted, other_file, ordinal)
            sentences.append(TagSentence(ordinal, gold.tags, predicted.tags, gold.tokens))
    if len(golds) != len(predictions):
        what = f"{len(predictions):,} sentences, where the gold has {len(golds):,}"
        raise InputError(PREDICTIONS, what, document=min(len(golds), len(predictions)) + 1, remedy=_ALIGN)
    return run_of(format, sentences, sha256, scheme, skipped=skipped)


_ALIGN = "write the predictions token by token and sentence by sentence as the gold has them"


def _check_tokens(gold: TaggedSentence, predicted: TaggedSentence, file: int, ordinal: int) -> None:
    """Raise InputError at the first line of the predictions that has not the gold's token."""
    pairs = zip(gold.tokens, predicted.tokens, predicted.lines, strict=False)
    line = next((number for (one, _), (other, _), number in pairs if one != other), None)
    what = "another token than the gold's"
    if line is None:
        if len(gold.tokens) == len(predicted.tokens):
            return
        what = f"{len(predicted.tokens)} tokens, where the gold has {len(gold.tokens)}"
        line = predicted.lines[min(len(gold.tokens), len(predicted.lines) - 1)]
    raise InputError(PREDICTIONS, what, file=file, document=ordinal, line=line, remedy=_ALIGN)
