"""Documents in whatever form a user of the library holds them, as the documents that are scored. Nothing is read or scored here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .corpora.document import Document
from .errors import UsageError
from .labels import LabelMap
from .labels.critical import category_in
from .scoring.eval_spans import as_spans, normalize_eval_spans
from .spans import Span

_REMEDY = "give documents: a Corpus, load_fixtures(path), or a list of Document (BenchmarkFixture)"


def given_documents(given: Any) -> tuple[Any, ...]:
    """The documents as they are, held once: a generator gives them no second time. Raises UsageError for what is none."""
    if isinstance(given, str | bytes | os.PathLike | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"{type(given).__name__} is no list of documents – {_REMEDY}")
    held = tuple(given)
    for ordinal, one in enumerate(held, start=1):
        if not isinstance(getattr(one, "text", None), str) or not hasattr(one, "gold_spans"):
            raise UsageError(f"document {ordinal} has no text and gold_spans – {_REMEDY}")
    return held


def as_document(given: Any) -> Document:
    """One of `given_documents`, ours or a fixture of OpenMed's, as ours; labels stay as they are.

    Its gold may be anything that normalize_eval_spans takes. Raises InputError as that does.
    """
    if isinstance(given, Document) and all(isinstance(span, Span) for span in given.gold_spans):
        return given
    gold = normalize_eval_spans(given.gold_spans or (), label_map=LabelMap.verbatim())
    categories = tuple(category_in(span.metadata) for span in gold)
    return Document(
        str(getattr(given, "fixture_id", "")),
        given.text,
        tuple(as_spans(gold)),
        str(getattr(given, "language", None) or "en"),
        getattr(given, "metadata", None) or {},
        categories if any(categories) else (),
    )
