"""Gold that a model was trained on: which documents of a corpus a training manifest holds, and how surely.

A score on such documents says what was learnt by heart. Each is counted once, under the strongest kind:

* `id_and_text` – the same id, and the same text but for case, spacing and Unicode form (or the same SHA-256). An id
  alone is none: every corpus has a document 1.
* `exact_text` – the same text, or its SHA-256.
* `normalised_text` – the same text but for case, spacing and Unicode form (NFKC, case folded, invisible characters and
  white space left out, so that tokens joined by spaces equal the text they were cut from).
* `near_duplicate` – at least half of its five-word shingles are in rows much like it; see shingles.py.

Documents without a word of text are nobody's. Results hold counts and ordinals, never a text or an id.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .corpora.document import Document
from .corpora.manifest import IDS, TrainingRow, load_training_manifest
from .errors import EvaluationError, UsageError
from .evaluation import Warning
from .given_documents import given_documents
from .shingles import near_duplicates

KINDS = ("id_and_text", "exact_text", "normalised_text", "near_duplicate")
OVERLAP_WARNINGS = ("training_overlap", "training_manifest_not_comparable")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class TrainingOverlap:
    """What a manifest holds of some documents.

    kinds: for each document, in order, one of KINDS, or None. manifest_documents: rows of the manifest.
    not_comparable: those of them that have neither a text nor a SHA-256.
    """

    kinds: tuple[str | None, ...]
    manifest_documents: int
    not_comparable: int = 0

    @property
    def documents(self) -> tuple[int, ...]:
        """The ordinals, from 1, of the documents that were trained on."""
        return tuple(number for number, kind in enumerate(self.kinds, start=1) if kind is not None)

    @property
    def by_kind(self) -> dict[str, int]:
        """Documents by kind, the strongest first; 0 where there is none."""
        return {kind: self.kinds.count(kind) for kind in KINDS}

    def to_dict(self) -> dict[str, Any]:
        """The report's `corpus.training_overlap`. share: of the documents compared; null if there were none."""
        return {
            "manifest_documents": self.manifest_documents,
            "manifest_not_comparable": self.not_comparable,
            "by_kind": self.by_kind,
            "documents": list(self.documents),
            "share": len(self.documents) / len(self.kinds) if self.kinds else None,
        }

    def in_words(self) -> str:
        """Counts by kind and the first ordinals."""
        counts = ", ".join(f"{kind} {count:,}" for kind, count in self.by_kind.items() if count)
        ordinals = self.documents
        more = ", …" if len(ordinals) > _NAMED else ""
        return f"{counts}; {'documents' if len(ordinals) > 1 else 'document'} {', '.join(map(str, ordinals[:_NAMED]))}{more}"

    def warnings(self) -> list[Warning]:
        found = []
        if self.documents:
            what = f"documents that are in the training manifest ({self.in_words()}); what they score says little"
            found.append(Warning(OVERLAP_WARNINGS[0], len(self.documents), what))
        if self.not_comparable:
            what = "rows of the training manifest with neither text nor SHA-256; nothing could be compared with them"
            found.append(Warning(OVERLAP_WARNINGS[1], self.not_comparable, what))
        return found

    def forbid(self) -> None:
        """Raise EvaluationError if a document was trained on."""
        if self.documents:
            raise EvaluationError(
                f"--forbid-overlap: {len(self.documents):,} of {len(self.kinds):,} documents are in the training manifest "
                f"({self.in_words()}) – take them out of the corpus, or drop --forbid-overlap to score with a warning"
            )


def training_overlap(documents: Iterable[Document], manifest: str | os.PathLike[str] | Iterable[TrainingRow]) -> TrainingOverlap:
    """Compare documents with what a model was trained on.

    manifest: a path, read by `load_training_manifest`, or its rows. Raises what that raises.
    """
    documents = given_documents(documents)
    rows = list(load_training_manifest(manifest) if isinstance(manifest, str | os.PathLike) else manifest)
    trained = _Trained.of(rows)
    kinds = [trained.kind_of(document) for document in documents]
    rest = [number for number, kind in enumerate(kinds) if kind is None]
    near = near_duplicates([normalised(documents[number].text) for number in rest], trained.texts.values())
    for number, found in zip(rest, near, strict=True):
        kinds[number] = "near_duplicate" if found else None
    return TrainingOverlap(tuple(kinds), len(rows), sum(not row.is_comparable for row in rows))


def checked_overlap(documents: Sequence[Document], manifest: str | None, *, forbid: bool) -> TrainingOverlap | None:
    """What a command does with `--training-manifest` and `--forbid-overlap`; None where no manifest was given.

    Raises UsageError for --forbid-overlap without one, EvaluationError where it is not kept.
    """
    if manifest is None:
        if forbid:
            raise UsageError("--forbid-overlap needs --training-manifest FILE")
        return None
    overlap = training_overlap(documents, manifest)
    if forbid:
        overlap.forbid()
    return overlap


def normalised(text: str) -> str:
    """NFKC, case folded, without invisible characters, white space as single spaces."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_invisible()))
    folded = plain.casefold()
    if not folded.isascii():  # folding may undo the form: `ΐ` becomes three characters, which compose again
        folded = unicodedata.normalize("NFKC", folded)
    return " ".join(folded.split())


@lru_cache(maxsize=1)
def _invisible() -> dict[int, None]:
    """Soft hyphens, zero-width characters, marks of direction and of byte order: Unicode's format characters."""
    ranges = (range(0x80, 0x3000), range(0xFE00, 0x10000), range(0xE0000, 0xE1000))
    return {code: None for codes in ranges for code in codes if unicodedata.category(chr(code)) == "Cf"}


@dataclass(frozen=True, slots=True)
class _Trained:
    """The rows of a manifest as what is looked up. texts: the normalised texts, each once, by their keys."""

    hashes: frozenset[str]
    texts: Mapping[bytes, str]
    by_id: Mapping[str, Sequence[tuple[tuple[str, ...], bytes | None]]]

    @classmethod
    def of(cls, rows: Iterable[TrainingRow]) -> _Trained:
        hashes: set[str] = set()
        texts: dict[bytes, str] = {}
        by_id: dict[str, list[tuple[tuple[str, ...], bytes | None]]] = {}
        for row in rows:
            exact, key = row.hashes, None
            if row.text is not None and (text := normalised(row.text)):
                exact, key = (*exact, _sha256(row.text)), _key(text)
                texts.setdefault(key, text)
            hashes.update(exact)
            for name in row.ids:
                by_id.setdefault(name, []).append((exact, key))
        return cls(frozenset(hashes), texts, by_id)

    def kind_of(self, document: Document) -> str | None:
        """The strongest kind but the last, which is found for all documents at once."""
        text = normalised(document.text)
        if not text:
            return None
        exact, key = _sha256(document.text), _key(text)
        named = (document.fixture_id, *(str(document.metadata[name]) for name in IDS if name in document.metadata))
        if any(exact in hashes or key == other for name in named for hashes, other in self.by_id.get(name, ())):
            return "id_and_text"
        if exact in self.hashes:
            return "exact_text"
        return "normalised_text" if key in self.texts else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _key(text: str) -> bytes:
    """Of a normalised text without its spaces; 16 bytes in place of the text."""
    return hashlib.blake2b(text.replace(" ", "").encode("utf-8", "surrogatepass"), digest_size=16).digest()
