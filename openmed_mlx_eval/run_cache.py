"""A cache of whole runs: a folder for each key, with the files of the run and the SHA-256 of each.

An entry that is not as it was written is none, and is made anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from .errors import EvaluationError, UsageError
from .reporting.files import RunFolder
from .run_key import RunKey, digest_of

ENTRY = "entry.json"
KIND = "openmed-mlx-eval/cache"


class RunCache:
    """Raises UsageError for a path that is not and cannot become a folder to write in."""

    def __init__(self, path: str | Path) -> None:
        try:
            self.path = RunFolder(path).path
        except UsageError:
            raise UsageError("--cache: cannot write in that folder – give another one") from None

    def get(self, key: RunKey) -> dict[str, str] | None:
        """{file name: text} of the run of this key; None where there is none, or not whole."""
        folder = self.path / digest_of(key)
        try:
            entry = json.loads((folder / ENTRY).read_text("utf-8"))
            if entry["kind"] != KIND or entry["key"] != json.loads(json.dumps(key)):
                return None
            files = {str(name): (folder / str(name)).read_bytes() for name in entry["files"]}
            whole = all(sha256(data).hexdigest() == entry["files"][name] for name, data in files.items())
            return {name: data.decode("utf-8") for name, data in files.items()} if whole else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def holds(self, key: RunKey) -> bool:
        """Whether something stands where the run of this key would be."""
        return os.path.lexists(self.path / digest_of(key))

    def put(self, key: RunKey, texts: Mapping[str, str]) -> None:
        """Keep a run: {file name: text}. Raises EvaluationError where the disk does not let; then nothing is kept of it."""
        folder = self.path / digest_of(key)
        entry: dict[str, Any] = {"kind": KIND, "version": 1, "key": key}
        entry["files"] = {name: sha256(text.encode("utf-8", "backslashreplace")).hexdigest() for name, text in texts.items()}
        _remove(folder)
        try:
            RunFolder(folder).write({**{name: [text] for name, text in texts.items()}, ENTRY: [json.dumps(entry)]})
        except (EvaluationError, UsageError):
            _remove(folder)
            raise EvaluationError("the folder cannot be written to – make room, or leave --cache out") from None


def _remove(path: Path) -> None:
    """Whatever stands in an entry's place."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
