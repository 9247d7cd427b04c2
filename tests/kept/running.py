"""Runs of a small corpus, finished or broken off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmed_mlx_eval.benchmark import RunOptions
from openmed_mlx_eval.kept_run import kept_run
from openmed_mlx_eval.reporting.files import RunFolder
from openmed_mlx_eval.runtime import classifier

FILES = ("predictions.jsonl", "documents.jsonl")


def sentence(number: int) -> str:
    return f"Patient {number} had a fever of {number % 7} days and a heart murmur."


CHUNKS = classifier._chunks


def small(patch: pytest.MonkeyPatch) -> None:
    """Chunks of a few documents."""
    patch.setattr(classifier, "_chunks", lambda texts, size: CHUNKS(texts, 300))


class Broken(Exception):
    pass


def finished(options: RunOptions, folder: Path, said: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """Run to the end and write what `run` writes."""
    folder.mkdir(exist_ok=True)
    with kept_run(options, folder, say=None if said is None else said.append, **more) as made:
        RunFolder(folder).write({"report.json": [json.dumps({**made.report, "timing": None})], **made.lines})
    return made.report


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def broken_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> list[int]:
    """The model fails at the forward pass after so many. Returns what counts them."""
    begun: list[int] = []
    real = classifier.TokenClassifier._begin

    def begin(self: Any, batch: Any) -> Any:
        if len(begun) >= calls:
            raise Broken
        begun.append(len(batch.pieces))
        return real(self, batch)

    monkeypatch.setattr(classifier.TokenClassifier, "_begin", begin)
    return begun
