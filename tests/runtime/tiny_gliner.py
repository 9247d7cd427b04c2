"""Tiny GLiNER models for the runtime's tests: what they are asked, and copies of the golden ones with something changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

from .tiny_models import word_piece

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "gliner"
FOLDERS = ("deberta", "deberta-plain", "bert", "bert-next-token")
ASKED = ("left kidney", "dr quill", "fever")
TEXTS = (
    "Left kidney of Dr. Quill-Ward, fever 5 mg!",
    "ok",
    "biopsy of the lung , nephritis of the left kidney . dr quill , ward 7",
    "🩺 Quill: nephrectomy (right kidney)",
)


def gliner_tokenizer() -> Tokenizer:
    tokenizer = word_piece()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ("<<ENT>>", "<<SEP>>")])
    return tokenizer


def changed(folder: Path, golden: str = "deberta", **changes: Any) -> Path:
    """A copy of a golden model whose gliner_config.json says otherwise; None takes a key away."""
    shutil.copytree(GOLDEN / golden, folder)
    path = folder / "gliner_config.json"
    config = {**json.loads(path.read_text("utf-8")), **changes}
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}), "utf-8")
    return folder
