"""The embedded demo: a tiny PHI tagger and synthetic clinical notes with gold, both made by `scripts/make_demo.py`.

No text in it is or was a patient's. Notes and training material share no template, name or identifier.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def model_path() -> Path:
    """A Hugging Face directory: BertForTokenClassification in half precision."""
    return _HERE / "tiny-phi-bert"


def corpus_path() -> Path:
    """OpenMed fixtures, one note a line."""
    return _HERE / "notes.jsonl"
