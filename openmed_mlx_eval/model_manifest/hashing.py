"""A model's files: their hashes, and what differs from those a manifest has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from ..runtime.artifact import inside, sha256
from .entries import FileFact

MOST_FILES = 2000
"""Beyond any model's folder: a folder given by mistake is not hashed for hours."""

_A_MODELS = re.compile(
    r"(gliner_)?config\.json|generation_config\.json|id2label\.json|tokenizer(_config)?\.json|(special|added)_tokens(_map)?\.json|"
    r"vocab\.(json|txt)|merges\.txt|openmed-mlx\.json|README\.md|LICENSE|"
    r"(pytorch_)?(model|weights)(-\d{5}-of-\d{5})?\.(safetensors|bin|npz)(\.index\.json)?"
)
"""Names that an extra file may be called by; any other may be a patient's."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one file. problem: missing, changed or extra. file: None for an extra file whose name may be
    anything, a patient's too."""

    problem: str
    file: str | None
    detail: str

    def __str__(self) -> str:
        return f"{self.problem:<8} {self.file or 'a file that is none of a model'} – {self.detail}"


def files_in(directory: Path) -> list[str]:
    """Paths of all files below a model's folder, with /, sorted; hidden ones and folders are passed over.

    Raises ModelError for a link that leads out of the folder, and for a folder of too many files.
    """
    return sorted(path.relative_to(directory).as_posix() for path in _files(directory))


def _files(directory: Path) -> Iterator[Path]:
    count = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in names:
            path = Path(folder) / name
            if name.startswith(".") or not path.is_file():
                continue
            count += 1
            if count > MOST_FILES:
                raise ModelError(f"the folder holds more than {MOST_FILES:,} files – give the folder of one model")
            inside(directory, path.relative_to(directory).as_posix())
            yield path


def hashed(directory: Path) -> dict[str, FileFact]:
    """{path: hash and length} of every file of a model's folder; read in pieces, never held whole."""
    return {name: fact_of(directory / name) for name in files_in(directory)}


def fact_of(path: Path) -> FileFact:
    """Raises ModelError where the file cannot be read."""
    try:
        return FileFact(sha256(path), path.stat().st_size)
    except OSError as error:
        raise ModelError(f"a file of the model cannot be read ({error.strerror})") from None


def differences(directory: Path, expected: Mapping[str, FileFact | str]) -> list[Finding]:
    """What is missing, changed or extra, in the order of the names. expected: by path, a SHA-256 alone or with a length.

    Every listed file is looked at. Raises ModelError for a listed path that leads out of the folder.
    """
    found = {path: _changed(directory, path, fact) for path, fact in expected.items()}
    listed = [finding for _, finding in sorted(found.items()) if finding is not None]
    extra = [name for name in files_in(directory) if name not in expected]
    return listed + [Finding("extra", name if _is_a_models(name) else None, "the manifest does not list it") for name in extra]


def _changed(directory: Path, name: str, fact: FileFact | str) -> Finding | None:
    path = inside(directory, name)
    if not path.is_file():
        return Finding("missing", name, "copy or pull the model again")
    wanted, size = (fact, None) if isinstance(fact, str) else (fact.sha256, fact.bytes)
    there = path.stat().st_size
    if size is not None and there != size:
        return Finding("changed", name, f"{there:,} bytes, not {size:,}")
    return None if fact_of(path).sha256 == wanted else Finding("changed", name, "its SHA-256 differs")


def _is_a_models(name: str) -> bool:
    return _A_MODELS.fullmatch(name) is not None
