"""A cache gives a run that was there before, and costs nobody one."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from openmed_mlx_eval.benchmark import RunOptions
from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.kept_run import kept_run
from openmed_mlx_eval.reporting.files import RunFolder

from .running import broken_after, contents, finished


def test_a_cached_run_is_given_without_a_forward_pass(corpus, tiny_model, tmp_path, whole):
    options = RunOptions(model=str(tiny_model), corpus=str(corpus))
    first = finished(options, tmp_path / "first", cache=tmp_path / "cache")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        assert broken_after(patch, 0) == []
        again = finished(options, tmp_path / "again", said, cache=tmp_path / "cache")
    assert again == first
    assert contents(tmp_path / "again") == contents(tmp_path / "first") == whole
    assert said == ["the same run is in the cache; nothing was predicted, and its timing is that of then"]
    with kept_run(options, None, cache=tmp_path / "cache") as made:
        assert made.report == first


def test_another_run_is_not_taken_from_the_cache(corpus, tiny_model, tmp_path):
    finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), tmp_path / "a", cache=tmp_path / "cache")
    said: list[str] = []
    finished(RunOptions(model=str(tiny_model), corpus=str(corpus), stride=2), tmp_path / "b", said, cache=tmp_path / "cache")
    assert said == []
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize("name", ["report.json", "predictions.jsonl", "entry.json"])
@pytest.mark.parametrize("damage", ["cut", "gone", "a file"])
def test_a_damaged_entry_is_made_anew(corpus, tiny_model, tmp_path, name, damage):
    options = RunOptions(model=str(tiny_model), corpus=str(corpus))
    finished(options, tmp_path / "a", cache=tmp_path / "cache")
    (entry,) = (tmp_path / "cache").iterdir()
    path = entry / name
    if damage == "a file":
        shutil.rmtree(entry)
        entry.write_text("")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        path.unlink()
    said: list[str] = []
    finished(options, tmp_path / "b", said, cache=tmp_path / "cache")
    assert said == ["what the cache has of this run is damaged; it is made anew"]
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    said.clear()
    finished(options, tmp_path / "c", said, cache=tmp_path / "cache")
    assert said[0].startswith("the same run is in the cache")


def test_a_cache_that_is_full_costs_nobody_the_run(corpus, tiny_model, tmp_path, monkeypatch, whole):
    """It took the report with it."""
    real = RunFolder.write

    def write(self: RunFolder, files: Any) -> None:
        if "entry.json" in files:
            raise EvaluationError("the results could not be written (No space left on device)")
        real(self, files)

    monkeypatch.setattr(RunFolder, "write", write)
    said: list[str] = []
    finished(RunOptions(model=str(tiny_model), corpus=str(corpus)), tmp_path / "out", said, cache=tmp_path / "cache")
    assert contents(tmp_path / "out") == whole
    assert said == ["the run was not kept in the cache: the folder cannot be written to – make room, or leave --cache out"]
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_and_a_cold_start_do_not_go_together(corpus, tiny_model, tmp_path):
    with (
        pytest.raises(UsageError, match="leave one out"),
        kept_run(RunOptions(model=str(tiny_model), corpus=str(corpus), cold_start=1), None, cache=tmp_path),
    ):
        pass
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError, match="--cache: cannot write in that folder"),
        kept_run(RunOptions(model=str(tiny_model), corpus=str(corpus)), None, cache=tmp_path / "file"),
    ):
        pass
