"""spaCy's DocBin (`.spacy`): the documents of a file, their `ents` and the span group `sc` as gold. Needs spaCy.

A document that was never annotated, which spaCy tells from one without entities and does not score, is read past and counted.
The text is what spaCy rebuilds from tokens and spaces, which is the text that it was given. Offsets count code points.
Format: https://spacy.io/api/docbin
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .draft import Draft, Fault, Made, Mention, Note, attempt
from .source import Source

GROUP = "sc"
"""The span group of spaCy's span categorizer."""


def read(source: Source) -> Iterator[Made]:
    """The documents of one file. Raises Fault where spaCy is not installed, or cannot read the file."""
    for document in _documents(source.data or b""):
        yield attempt(_draft, document)


def _documents(data: bytes) -> list[Any]:
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError:
        raise Fault("DocBin needs spaCy, which is not installed", "pip install spacy, or export JSONL") from None
    try:
        return list(DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab))
    except Exception:  # zlib's, msgpack's and spaCy's own, which may quote the file
        raise Fault("the DocBin is broken", "was its copy cut short? Is it of this version of spaCy?") from None


def _draft(document: Any) -> Draft | Note:
    try:
        grouped = document.spans.get(GROUP, ())
        spans = [(span.start_char, span.end_char, span.label_) for span in (*document.ents, *grouped)]
        text = document.text
        annotated = GROUP in document.spans or document.has_annotation("ENT_IOB") or not text
    except Exception:
        raise Fault("a document that spaCy cannot put together", "write it anew with this version of spaCy") from None
    if not annotated:
        return Note("not_accepted")
    if not all(label.strip() for _, _, label in spans):
        raise Fault("a span without a label", "give each span a label")
    return Draft(None, text, tuple(Mention(label, ((start, end),)) for start, end, label in dict.fromkeys(spans)))
