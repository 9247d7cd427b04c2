"""RunFolder: all files of a run or none, and no folder where there was none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.reporting.files import RunFolder

FULL = OSError(28, "No space left on device")


def test_files_are_written_whole_with_plain_rights(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a" / "b")
    folder.write({"one.txt": ["é\n", "x"], "two.json": iter([])})
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == {
        "one.txt": "é\nx".encode(),
        "two.json": b"",
    }
    umask = os.umask(0)
    os.umask(umask)
    assert (folder.path / "one.txt").stat().st_mode & 0o777 == 0o666 & ~umask


def test_half_a_surrogate_pair_is_escaped(tmp_path: Path) -> None:
    RunFolder(tmp_path).write({"one.json": ['"\ud800é"']})
    assert (tmp_path / "one.json").read_bytes() == b'"\\ud800\xc3\xa9"'


def test_a_run_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a" / "b")
    folder.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    RunFolder(tmp_path / "a").abandon()
    RunFolder(tmp_path / "a" / "b").abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "pieces"])
def test_a_failure_leaves_the_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: str
) -> None:
    (tmp_path / "one.txt").write_text("before")
    folder = RunFolder(tmp_path)

    def fail(*_: object) -> None:
        raise error

    def pieces():
        yield "half"
        if call == "pieces":
            fail()

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else EvaluationError) as raised:
        folder.write({"one.txt": ["after"], "two.txt": pieces()})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one.txt": "before"}
    if error is FULL:
        assert "No space left" in str(raised.value)


def test_a_folder_in_the_way_of_a_file_is_found_before_anything_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("before")
    (tmp_path / "two.txt").mkdir()
    with pytest.raises(EvaluationError, match=r"two\.txt"):
        RunFolder(tmp_path).write({"one.txt": ["after"], "two.txt": ["after"]})
    assert (tmp_path / "one.txt").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.txt", "two.txt"]


def test_a_place_that_cannot_be_a_folder_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "new" / ("x" * 300), tmp_path / "a" / ("y" * 5000)):
        with pytest.raises(UsageError, match="--output") as raised:
            RunFolder(path)
        assert str(tmp_path) not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_takes_no_file_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    with pytest.raises(UsageError, match="Permission denied") as raised:
        RunFolder(tmp_path / "new")
    assert str(tmp_path) not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_is_needed_leaves_nothing(tmp_path: Path) -> None:
    """Once what came before it was already in its place."""
    (tmp_path / "sub").write_text("x")
    with pytest.raises(EvaluationError, match="none of them was, and what was there before is as it was"):
        RunFolder(tmp_path).write({"a.txt": ["a"], "sub/b.txt": ["b"]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sub"]
