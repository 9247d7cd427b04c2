"""Where a manifest's model lies on this machine: beside the manifest, in the package, or in the Hugging Face cache.

Nothing is downloaded, and huggingface_hub is not needed: the cache's layout is
`models--OWNER--NAME/snapshots/COMMIT/`, and `refs/main` holds the commit that was asked for last.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import ModelError
from ..runtime.artifact import MANIFEST
from .catalog import Catalog, load_catalog
from .entries import REVISION, Entry, matches
from .hashing import differences

CONFIGS = ("config.json", "gliner_config.json")
_SNAPSHOT = re.compile(r"models--(?P<owner>[^/]+?)--(?P<name>[^/]+)")


def cache_folder(given: str | Path | None = None) -> Path:
    """The Hugging Face cache, by the environment variables that huggingface_hub reads."""
    if given:
        return Path(given)
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / below
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "huggingface" / "hub"


def repository_folder(cache: Path, repository: str) -> Path:
    return cache / f"models--{repository.replace('/', '--')}"


def repository_of(directory: Path) -> tuple[str, str] | None:
    """(repository, commit) of a snapshot in a Hugging Face cache; None for any other folder."""
    resolved = directory.resolve()
    snapshots = resolved.parent
    named = _SNAPSHOT.fullmatch(snapshots.parent.name)
    if snapshots.name != "snapshots" or named is None or not matches(REVISION, resolved.name):
        return None
    return f"{named['owner']}/{named['name']}", resolved.name


def snapshot_of(entry: Entry, cache: Path) -> Path | None:
    """The folder of an entry's model in the cache: the revision it is pinned to; without one the last of its main branch, or
    the only one there is."""
    for repository in filter(None, dict.fromkeys((entry.pull_from, entry.repository))):
        folder = repository_folder(cache, repository)
        pinned = entry.revision if repository == entry.pull_from else None
        for revision in [pinned] if pinned else _commits(folder):
            snapshot = folder / "snapshots" / revision
            if any((snapshot / name).is_file() for name in CONFIGS):
                return snapshot
    return None


def _commits(folder: Path) -> list[str]:
    """The commit that main stood at last, and a lone snapshot's."""
    try:
        main = (folder / "refs" / "main").read_text("ascii").strip()
    except (OSError, ValueError):
        main = ""
    snapshots = [path.name for path in (folder / "snapshots").glob("*")]
    return [commit for commit in (main, *snapshots[: len(snapshots) == 1]) if matches(REVISION, commit)]


def located(entry: Entry, catalog: Catalog, cache: Path | None = None) -> Path | None:
    """The folder of an entry's model on this machine, or None."""
    if entry.path is not None:
        folder = catalog.root_of(entry) / entry.path
        if folder.is_dir():
            return folder
    return snapshot_of(entry, cache or cache_folder())


def model_name(model: str, manifest: str | None = None) -> str | None:
    """The name of the entry that `--model` means where it is no folder; None where no manifest knows it. Raises as load_catalog."""
    entry = None if not model or os.path.lexists(model) else load_catalog(manifest).get(model)
    return entry.name if entry else None


def model_directory(model: str, manifest: str | None = None, *, verify: bool = False) -> str:
    """A folder for what `--model` was given: itself where it exists or no manifest knows it, else where that model lies.

    verify: compare the files of a model that was named with the hashes its entry has, where it has any. Raises ModelError for
    a model that is in the manifest and not on this machine, or not what the manifest says.
    """
    if not model or os.path.lexists(model):
        return model
    catalog = load_catalog(manifest)
    entry = catalog.get(model)
    if entry is None:
        return model
    folder = located(entry, catalog)
    if folder is None:
        remedy = f"`openmed-mlx-eval models pull {entry.name}` where there is a network" if entry.pull_from else "give its folder"
        raise ModelError(f"the model {entry.name} is in the manifest, but not on this machine – {remedy}")
    if verify and entry.files:
        check(folder, entry)
    return str(folder)


def check(folder: Path, entry: Entry) -> None:
    """Raise ModelError where a file that the entry lists is missing or changed, or one that would be read is not listed."""
    found = [one for one in differences(folder, entry.files or {}) if one.problem != "extra" or _is_read(one.file)]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        what = (
            f"the model {entry.name} is not what the manifest says: {found[0].problem} {found[0].file} ({found[0].detail}){more}"
        )
        raise ModelError(f"{what} – `models verify {entry.name}` lists them; copy or pull it anew, or give its folder")


def _is_read(name: str | None) -> bool:
    """Whether a model is another with this file beside its own."""
    return name == MANIFEST or (name or "").endswith((".safetensors", ".index.json"))
