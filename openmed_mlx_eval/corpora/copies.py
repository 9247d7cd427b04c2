"""Several annotators' copies of one corpus: which documents belong together. Knows no scores.

Copies may be of different formats; what must be equal is the text, or offsets would not mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError, UsageError
from .document import Corpus, Document


def same_documents(copies: Sequence[Corpus]) -> list[tuple[Document, ...]]:
    """One tuple a document of the first copy, in its order: that document in every copy.

    Documents are matched by id where all copies have the same ids, by order otherwise. Raises UsageError for fewer
    than two copies, InputError for another number of documents or, naming the document's ordinal, another text.
    """
    if len(copies) < 2:
        raise UsageError("give two annotators' copies of the corpus, or more")
    first, *others = copies
    for number, copy in enumerate(others, start=2):
        if len(copy) != len(first):
            what = f"copy {number} has {len(copy):,} documents, copy 1 has {len(first):,}"
            raise InputError(copy.format, what, remedy="give copies of the same documents")
    ids = [document.fixture_id for document in first]
    aligned = [list(first)]
    for copy in others:
        by_id = {document.fixture_id: document for document in copy}
        aligned.append([by_id[name] for name in ids] if by_id.keys() == set(ids) else list(copy))
    rows = list(zip(*aligned, strict=True))
    for ordinal, (document, *same) in enumerate(rows, start=1):
        for number, other in enumerate(same, start=2):
            if other.text != document.text:
                raise _other_text(document.text, other.text, ordinal, number, copies[number - 1].format)
    return rows


def _other_text(text: str, other: str, ordinal: int, copy: int, format: str) -> InputError:
    equal = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    return InputError(
        format,
        f"the text in copy {copy} is not that in copy 1, from offset {equal} on",
        document=ordinal,
        remedy="give copies of the same documents; formats that rebuild their text (CoNLL) may have changed its spaces",
    )
