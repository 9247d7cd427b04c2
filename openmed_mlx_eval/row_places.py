"""Which document of a corpus a row of a file made elsewhere is about: by ordinal, by id, or – where no row has a name – in order.

Predictions and a language model's answers come in such rows. What cannot be told is an error, never a guess: a row put
beside the wrong document is scored as if it were right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .corpora.document import Document
from .errors import InputError


class RowName(NamedTuple):
    """What a row says of its document: an ordinal from 0, the corpus's id, or neither. number: the row's own, from 1."""

    number: int
    ordinal: int | None
    id: str | None


class Places(NamedTuple):
    """indices: for each row the index of its document, None where it is not among those kept. strangers: rows for documents
    the corpus does not have; those of documents that were left out are none."""

    indices: list[int | None]
    strangers: int


def places_of(
    names: Sequence[RowName],
    documents: Sequence[Document],
    format: str,
    *,
    scored: int,
    skipped: Sequence[int] = (),
    row: str = "document",
) -> Places:
    """Find each row's document.

    scored: how many of the documents, from the first, are wanted. skipped: the ordinals, from 1, of the documents that
    were left out; ordinals of rows may count them or not, as the number of rows tells. row: what a message counts,
    `document` or `line`. Raises InputError where a row's document cannot be told, or two rows have one.
    """
    nameless = all(name.ordinal is None and name.id is None for name in names)
    if nameless and names and len(names) not in (len(documents), scored):
        remedy = 'give every row an "id" or a "document" ordinal'
        raise InputError(format, f"{len(names)} rows without ids for {len(documents)} documents", remedy=remedy)
    by_id = {document.fixture_id: index for index, document in enumerate(documents)}
    _refuse_ids_from_nought(names, by_id, format)
    kept = _kept(names, len(documents), scored, skipped, format)
    left_out = {ordinal - 1 for ordinal in skipped} if kept is not None else set()
    indices: list[int | None] = []
    taken: set[int] = set()
    strangers = 0
    for place, name in enumerate(names):
        where = {row: name.number}
        index = place if nameless else by_id.get(name.id or "") if name.ordinal is None else name.ordinal
        if kept is not None and name.ordinal is not None:
            index = kept.get(name.ordinal)
        known = index is not None and 0 <= index < len(documents)
        if name.ordinal is not None and name.id in by_id and by_id[name.id] != index:
            what = 'a row whose "id" is another document than its "document"'
            raise InputError(format, what, **where, remedy="keep one of the two")  # type: ignore[arg-type]
        if known and index in taken:
            raise InputError(format, "a second row for one document", **where, remedy="keep one row a document")  # type: ignore[arg-type]
        if known and index is not None:
            taken.add(index)
        strangers += not known and name.ordinal not in left_out
        indices.append(index if known else None)
    return Places(indices, strangers)


def _refuse_ids_from_nought(names: Sequence[RowName], by_id: dict[str, int], format: str) -> None:
    """Documents without ids are numbered from 1; rows with ids 0, 1, … would each meet the document before their own."""
    counted = any(name.ordinal is None and name.id == "0" for name in names)
    if counted and "0" not in by_id and all(map(str.isdecimal, by_id)):
        remedy = 'write the ordinals under "document" instead: they count from 0'
        raise InputError(format, "the ids count from 0, but the corpus has documents numbered from 1", remedy=remedy)


def _kept(names: Sequence[RowName], documents: int, scored: int, skipped: Sequence[int], format: str) -> dict[int, int] | None:
    """{ordinal in the whole corpus: index among the documents kept}; None where ordinals count those kept alone."""
    if not skipped or len(names) in (documents, scored) or all(name.ordinal is None for name in names):
        return None
    whole = documents + len(skipped)
    if len(names) != whole:
        what = f"{len(names)} rows by ordinal for a corpus of which {len(skipped)} documents were left out"
        raise InputError(format, what, remedy='give every row an "id", or write a row for every document of the corpus')
    gone = {ordinal - 1 for ordinal in skipped}
    return {ordinal: index for index, ordinal in enumerate(n for n in range(whole) if n not in gone)}
