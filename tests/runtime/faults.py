"""Faults of a model directory: each a function that makes it in the folder it is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Break = Callable[[Path], Any]


def rewritten(name: str, **changes: Any) -> Break:
    """A fault: these keys of a JSON file changed, or taken out where None."""

    def apply(folder: Path) -> None:
        table = json.loads((folder / name).read_text("utf-8")) | changes
        kept = {key: value for key, value in table.items() if value is not None}
        (folder / name).write_text(json.dumps(kept), "utf-8")

    return apply


def written(name: str, content: bytes) -> Break:
    return lambda folder: (folder / name).write_bytes(content)


def removed(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def halved(name: str) -> Break:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[: (folder / name).stat().st_size // 2])
