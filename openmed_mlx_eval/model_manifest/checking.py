"""verify: a model's folder against the hashes of a manifest – a user's, the package's, or the artifact's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EvaluationError, ModelError
from ..runtime.artifact import MANIFEST, read_object
from .adding import source_repository
from .catalog import Catalog
from .entries import SHA256, Entry, FileFact, matches
from .hashing import Finding, differences


@dataclass(frozen=True, slots=True)
class Checked:
    """name: of the entry that was compared with, None where the hashes were the artifact's own. files, bytes: listed ones."""

    name: str | None
    files: int
    bytes: int | None
    findings: tuple[Finding, ...]

    @property
    def untouched(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        found = [{"problem": one.problem, "file": one.file, "detail": one.detail} for one in self.findings]
        return {"name": self.name, "files": self.files, "bytes": self.bytes, "untouched": self.untouched, "findings": found}


def verify(directory: Path, catalog: Catalog, *, name: str | None = None) -> Checked:
    """Compare every file of a model with its entry – the one of that name, else of the folder's repository or name.

    Where no entry has hashes, with those of its own openmed-mlx.json. Raises EvaluationError where nobody has any,
    ModelError for a folder that is none.
    """
    if not directory.is_dir():
        raise ModelError("the model is not a directory, nor the name of one in the manifest – give its folder")
    entry = catalog.find(name) if name else _entry_of(directory, catalog)
    if entry is not None and entry.files:
        found = differences(directory, entry.files)
        return Checked(entry.name, len(entry.files), sum(fact.bytes for fact in entry.files.values()), tuple(found))
    if name is None and (directory / MANIFEST).is_file():
        table = _own_table(directory)
        found = [one for one in differences(directory, table) if one.file != MANIFEST]
        return Checked(None, len(table), None, tuple(found))
    what = "the manifest has no hashes of this model" if entry else "the manifest does not know this folder's model"
    raise EvaluationError(f"{what} – `models add` takes them from a copy you trust, --name says which model it is")


def _entry_of(directory: Path, catalog: Catalog) -> Entry | None:
    """The entry with hashes that lies there, is of that repository or is called so; failing that one without hashes."""
    lies = [entry for entry in catalog.models if entry.path and _same(catalog.root_of(entry) / entry.path, directory)]
    source = source_repository(directory)
    told = [catalog.get(name) for name in (source, directory.resolve().name) if name]
    found = [entry for entry in (*lies, *told) if entry is not None]
    return next((entry for entry in found if entry.files), found[0] if found else None)


def _same(path: Path, directory: Path) -> bool:
    return path.resolve() == directory.resolve()


def _own_table(directory: Path) -> Mapping[str, FileFact | str]:
    table = read_object(directory / MANIFEST).get("sha256")
    if not isinstance(table, dict) or not table:
        raise EvaluationError(f"neither the manifest nor {MANIFEST} has hashes of this model – `models add` takes them")
    if not all(matches(SHA256, digest) for digest in table.values()):
        raise ModelError(f"{MANIFEST}: sha256 is not an object of SHA-256 by file – convert the model again")
    return table
