"""Staging: a folder that appears under its name complete, or not at all.

Everything is written into a hidden sibling, on the same disk, and renamed at the end. A process killed before
leaves that sibling, which is no artifact: its manifest is written last. What stands at the name is replaced
only with `force`, and only if it is an artifact or empty.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.runtime.artifact import MANIFEST


@contextmanager
def staged(target: Path, source: Path, force: bool) -> Iterator[Path]:
    """A new folder to write in, renamed to `target` when the block ends well and taken away when it does not.

    source: the folder that is read, which is never replaced. Raises UsageError for a target that may not be
    written, EvaluationError where the disk does not let.
    """
    target, source = target.resolve(), source.resolve()
    _check(target, source, force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=target.parent, prefix=".converting-"))
    except OSError as error:
        raise UsageError(f"OUT: cannot make a folder there ({error.strerror}) – give another one") from None
    try:
        umask = os.umask(0)
        os.umask(umask)
        work.chmod(0o777 & ~umask)  # mkdtemp's 0700 is for secrets; a model is for colleagues
        yield work
        _move(work, target)
    except OSError as error:
        raise EvaluationError(f"the artifact could not be written ({error.strerror}); nothing of it was left") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _check(target: Path, source: Path, force: bool) -> None:
    if source == target or source.is_relative_to(target):
        raise UsageError("OUT is SRC, or holds it – an artifact never replaces its source; give another folder")
    if not target.exists():
        return
    if not force:
        raise UsageError("OUT exists – give another folder, or --force to replace the artifact in it")
    if not target.is_dir() or (not (target / MANIFEST).is_file() and any(target.iterdir())):
        raise UsageError("OUT exists and is no artifact – --force replaces artifacts and empty folders only")


def _move(work: Path, target: Path) -> None:
    """Rename, the old folder out of the way first: a rename replaces an empty folder only."""
    if not target.exists():
        work.rename(target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=".replaced-"))
    target.rename(old)
    try:
        work.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
