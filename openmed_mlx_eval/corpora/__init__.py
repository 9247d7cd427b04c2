"""Corpora: files of several formats to Documents with checked gold. No model code, no scores."""

from __future__ import annotations

from .document import Corpus, CorpusStream, Document, check_gold
from .formats import FORMATS, detect_format
from .gold import DISCONTINUOUS, GoldError
from .loading import load_corpus, load_fixtures, open_corpus

__all__ = [
    "DISCONTINUOUS",
    "FORMATS",
    "Corpus",
    "CorpusStream",
    "Document",
    "GoldError",
    "check_gold",
    "detect_format",
    "load_corpus",
    "load_fixtures",
    "open_corpus",
]
