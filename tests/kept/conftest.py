"""What the tests of kept runs have in common: a corpus of a few chunks, and what an undisturbed run leaves of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmed_mlx_eval.benchmark import RunOptions

from .running import contents, finished, sentence, small


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "notes.jsonl"
    rows = [{"id": f"d{n}", "text": sentence(n), "gold_spans": [{"start": 0, "end": 7, "label": "NAME"}]} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)


@pytest.fixture(scope="module")
def whole(corpus: Path, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run leaves that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), folder)
    return contents(folder)
