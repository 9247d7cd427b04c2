"""Converted corpora to disk, whole or not at all. The bytes are `writers.py`'s; result files are reporting's."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import EvaluationError, UsageError
from .source import STDIN


def save(files: Mapping[str, bytes], output: str, *, force: bool = False) -> None:
    """Write `{"": bytes}` as the file `output` (`-` is stdout), any other mapping as a folder of files.

    Everything is written beside the target and then renamed, so that a full disk or Ctrl-C leaves the target as it
    was. Raises UsageError where something is there without `force`, or something that must not be replaced with it;
    EvaluationError where the disk refuses.
    """
    is_folder = set(files) != {""}
    if output == STDIN:
        if is_folder:
            raise UsageError("this format is a folder of files and cannot go to stdout – give a folder")
        sys.stdout.buffer.write(files[""])
        sys.stdout.buffer.flush()
        return
    try:
        _save_to_disk(files, Path(output), is_folder, force)
    except OSError as error:
        reason = error.strerror
        raise EvaluationError(f"the output cannot be written ({reason}) – nothing half-written was left") from None


def _save_to_disk(files: Mapping[str, bytes], target: Path, is_folder: bool, force: bool) -> None:
    if os.path.lexists(target):
        _check_replaceable(target, is_folder, force)
    if not target.absolute().parent.is_dir():
        raise UsageError("-o: the folder it is to lie in does not exist – make it first")
    scratch = Path(tempfile.mkdtemp(prefix=".corpus-", dir=target.absolute().parent))
    try:
        made = scratch / "new"
        if is_folder:
            made.mkdir()
        for name, data in files.items():
            (made / name if is_folder else made).write_bytes(data)
        _replace(made, target, scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _replace(made: Path, target: Path, old: Path) -> None:
    """A file replaces a file in one step; a folder must first make room, and comes back if the second step fails."""
    if not target.is_dir():
        made.replace(target)
        return
    target.rename(old)
    try:
        made.rename(target)
    except BaseException:
        old.rename(target)
        raise


def _check_replaceable(target: Path, is_folder: bool, force: bool) -> None:
    if not force:
        raise UsageError("-o: something of that name is there – give another name, or --force to replace it")
    if target.is_dir() != is_folder:
        raise UsageError("-o: a folder cannot replace a file, nor a file a folder – give another name")
    if is_folder and any(entry.suffix not in (".txt", ".ann") for entry in target.iterdir()):
        raise UsageError("-o: the folder holds other files than .txt and .ann – give another name")
