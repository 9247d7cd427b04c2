"""Manifests on disk: the package's own and a user's, read, checked, looked up, and the user's written.

A user's entry hides the package's of the same name.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import EvaluationError, UsageError
from .entries import Entry, ManifestError, entry_of, is_inside

FILE_NAME = "models_manifest.json"
VARIABLE = "OPENMED_MLX_EVAL_MANIFEST"
SCHEMA, SCHEMA_VERSION = "openmed-mlx-eval/models", 1
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One file. root: the folder that its entries' paths are relative to. totals: of the collection, by architecture;
    only the package's own has them."""

    root: Path
    models: tuple[Entry, ...] = ()
    totals: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def with_entry(self, entry: Entry) -> Manifest:
        """With the entry in the place of the one of its name, or at the end."""
        models = [entry if known.name == entry.name else known for known in self.models]
        models += [] if entry in models else [entry]
        return Manifest(self.root, tuple(models), self.totals, self.extra)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        head = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **self.extra}
        totals = {"totals": [dict(total) for total in self.totals]} if self.totals else {}
        return {**head, **totals, "models": [entry.to_json() for entry in self.models]}


@dataclass(frozen=True, slots=True)
class Catalog:
    """The package's manifest and the user's, as one."""

    shipped: Manifest
    own: Manifest | None = None

    @property
    def models(self) -> tuple[Entry, ...]:
        own = self.own.models if self.own else ()
        hidden = {entry.name for entry in own}
        return (*own, *(entry for entry in self.shipped.models if entry.name not in hidden))

    def get(self, name: str) -> Entry | None:
        """By its name, or the name of one of its repositories; a name goes before a repository."""
        named = [entry for entry in self.models if entry.name == name]
        named += [entry for entry in self.models if name in (entry.repository, entry.artifact_repository)]
        return named[0] if named else None

    def find(self, name: str) -> Entry:
        """As `get`. Raises EvaluationError with near names where there is none."""
        entry = self.get(name)
        if entry is None:
            near = get_close_matches(name, [entry.name for entry in self.models], n=3, cutoff=0.75)
            remedy = f"did you mean {', '.join(near)}?" if near else "`models list` shows them"
            raise EvaluationError(f"no model of that name is in the manifest – {remedy}")
        return entry

    def root_of(self, entry: Entry) -> Path:
        """The folder that the entry's path is relative to."""
        return self.own.root if self.own and entry in self.own.models else self.shipped.root


def shipped_path() -> Path:
    """models_manifest.json: in the package as installed, at the top of the repository in a source tree."""
    return next(path for path in (PACKAGE / FILE_NAME, PACKAGE.parent / FILE_NAME) if path.is_file())


@cache
def shipped() -> Manifest:
    """The package's models, read once. Their paths are relative to the package."""
    return load_manifest(shipped_path(), root=PACKAGE)


def user_path(given: str | None = None) -> Path:
    """The user's manifest: as given, else as the environment says, else in the user's configuration folder."""
    named = given if given is not None else os.environ.get(VARIABLE)
    if named is not None:
        if not named:
            raise UsageError("--manifest: the name is empty – give a file")
        return Path(named)
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "openmed-mlx-eval" / FILE_NAME


def load_catalog(given: str | None = None) -> Catalog:
    """The package's models and the user's. Raises UsageError for a given file that is not there, ManifestError for one that
    is none; a file that was not given need not be there."""
    path = user_path(given)
    own = None
    if path.is_file() or given is not None or VARIABLE in os.environ:
        own = load_manifest(path)
    return Catalog(shipped(), own)


def catalog_with(path: Path) -> Catalog:
    """For a command that makes the user's manifest where there is none: no file is no error. Raises as load_manifest."""
    return Catalog(shipped(), load_manifest(path) if path.exists() else None)


def load_manifest(path: Path, *, root: Path | None = None) -> Manifest:
    """Read and check a manifest. root: what its paths are relative to, if not the folder it lies in.

    Raises UsageError where there is no such file, ManifestError otherwise.
    """
    from ..runtime.families import FAMILIES

    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise UsageError("--manifest: there is no such file – `models add` makes one") from None
    except OSError as error:
        raise UsageError(f"--manifest: the file cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise ManifestError("the manifest is not JSON – mend it, or make it anew with `models add`") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("models"), list):
        raise ManifestError(f'the manifest must be one object with "schema": "{SCHEMA}" and a list "models"')
    if content.get("schema_version") != SCHEMA_VERSION:
        raise ManifestError(f"the manifest's schema_version is not {SCHEMA_VERSION} – this program reads no other")
    models = tuple(entry_of(row, number) for number, row in enumerate(content["models"], 1))
    _check_unique(models)
    known = sorted(family.name for family in FAMILIES)
    for number, entry in enumerate(models, 1):
        if entry.family is not None and entry.family not in known:
            said = f"{', '.join(known)}; null where this project runs none"
            raise ManifestError(f"the manifest: entry {number}: family is unknown – known are {said}")
    extra = {key: value for key, value in content.items() if key not in ("schema", "schema_version", "models", "totals")}
    totals = content.get("totals", [])
    if not isinstance(totals, list) or not all(isinstance(total, dict) for total in totals):
        raise ManifestError("the manifest: totals is not a list of objects")
    return Manifest(root or path.absolute().parent, models, tuple(totals), extra)


def _check_unique(models: Iterable[Entry]) -> None:
    """Names differ in more than case: on a disk that tells no case apart they are one folder."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(models, 1):
        first = seen.setdefault(entry.name.casefold(), number)
        if first != number:
            raise ManifestError(f"the manifest: entries {first} and {number} have one name – names must differ")


def write_entry(path: Path, entry: Entry) -> None:
    """Put one entry into a user's manifest, which is made if it is not there and replaced in one step.

    The file is read again just before, so that what another process wrote meanwhile is kept. Raises UsageError where it
    is the package's own or cannot be made, ManifestError for a file that is no manifest.
    """
    if path.exists() and path.samefile(shipped_path()):
        raise UsageError("--manifest: that is the program's own manifest – give a file of yours")
    folder = path.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--manifest: its folder cannot be made ({error.strerror}) – give another one") from None
    manifest = load_manifest(path) if path.exists() else Manifest(folder)
    _replace(path, json.dumps(manifest.with_entry(entry).to_json(), indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=".writing-")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path.resolve())  # a link stays one
    except OSError as error:
        raise EvaluationError(f"the manifest could not be written ({error.strerror}); it is as it was") from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()


def path_within(root: Path, directory: Path) -> str | None:
    """The directory relative to root with /, or None where it lies elsewhere."""
    try:
        relative = directory.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return None
    return relative if is_inside(relative) else None
