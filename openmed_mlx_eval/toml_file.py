"""A TOML file that a user wrote, read with words for what is wrong in it; nothing of the file is repeated but its near keys."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from .errors import UsageError


def load_toml(path: str | Path, what: str, shape: str) -> dict[str, Any]:
    """The file's table. what: the option or file in messages; shape: what to write. Raises UsageError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: dict[str, Any] = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
        return table
    except OSError as error:
        raise UsageError(f"{what}: the file cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{what}: the file is not TOML – write {shape}") from None


def check_keys(keys: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise UsageError for the first key that is not known, with the known ones that are near it."""
    for number, key in enumerate(keys, start=1):
        if key not in known:
            hint = near(key, known, f"the keys are {', '.join(known)}")
            raise UsageError(f"{where}: key {number} is unknown – {hint}")


def near(word: str, words: Collection[str], otherwise: str) -> str:
    """`did you mean …?` with the words that resemble it; `otherwise` where none does."""
    found = difflib.get_close_matches(word, words, n=4, cutoff=0.5)
    return f"did you mean {', '.join(found)}?" if found else otherwise
