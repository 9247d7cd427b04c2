"""A model's folder as a manifest's entry: read from the checkpoint as the runtime reads it, and hashed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, UsageError
from ..runtime.artifact import MANIFEST, Artifact, open_artifact, read_object
from ..tags import TagScheme
from .catalog import Catalog, path_within
from .entries import NAME, REPOSITORY, Entry, matches
from .hashing import hashed
from .locating import repository_of
from .pulling import Pulled


def described(directory: Path, catalog: Catalog, *, name: str | None = None, root: Path | None = None) -> Entry:
    """The entry of a model in a folder. name: what to call it, else what its entry, repository or folder is called.

    root: the folder of the manifest it is for; a model below it is found by name later. What a checkpoint does not say of
    itself (languages, licence, task) comes from the catalog's entry of that repository, if it has one. Raises ModelError
    for a folder that this runtime cannot open, UsageError for a name that cannot be one.
    """
    artifact = open_artifact(directory)
    source = source_repository(directory)
    known = catalog.get(source) if source else None
    called = name or (known.name if known else (source or artifact.directory.resolve().name).rpartition("/")[2])
    if not matches(NAME, called):
        raise UsageError("a model's name is letters, digits, dots, - and _, and begins with a letter or digit – give --name")
    snapshot = repository_of(directory)
    entry = replace(known or Entry(called, repository=source), name=called, **_facts(artifact, known))
    if snapshot is None:
        place: dict[str, Any] = {"revision": None}
    else:
        place = {"revision": snapshot[1]}
        if snapshot[0] != entry.pull_from:
            place |= {"repository": snapshot[0], "artifact_repository": None}
    return replace(entry, **place, path=path_within(root, directory) if root else None, files=hashed(directory))


def pinned(entry: Entry, pulled: Pulled) -> Entry:
    """The entry after a pull: its commit, its hashes, and what the checkpoint says of itself where this runtime opens it."""
    try:
        facts = _facts(open_artifact(pulled.directory), entry)
    except ModelError:
        facts = {}
    return replace(entry, **facts, revision=pulled.revision, files=dict(pulled.files), path=None)


def _facts(artifact: Artifact, known: Entry | None) -> dict[str, Any]:
    facts = facts_of(artifact)
    return {**facts, "architecture": (known and known.architecture) or facts["architecture"]}


def facts_of(artifact: Artifact) -> dict[str, Any]:
    """What an opened model says of itself, by the names of Entry's fields."""
    scheme = TagScheme.of(artifact.labels)
    labels = tuple(sorted({scheme.split(tag)[1] for tag in artifact.labels} - {""}))
    manifest = read_object(artifact.directory / MANIFEST) if (artifact.directory / MANIFEST).is_file() else {}
    bits = artifact.quantization.bits if artifact.quantization else None
    parity = manifest.get("parity")
    plain = "mlx-fp" if manifest else "safetensors"
    return {
        "family": artifact.family.name,
        "architecture": str(artifact.config.get("model_type") or artifact.family.name),
        "task": artifact.family.task,
        "labels": labels or None,  # GLiNER's are given with the text
        "label_set": None,
        "tag_scheme": scheme.name if labels else None,
        "parameters": artifact.checkpoint.parameters(),
        "window": artifact.window,
        "dtype": artifact.dtype,
        "formats": (f"mlx-{bits}bit" if bits else plain,),
        "parity": parity if isinstance(parity, dict) else None,
    }


def source_repository(directory: Path) -> str | None:
    """The repository a folder came from: its place in the cache, else what its openmed-mlx.json says; None if neither does."""
    snapshot = repository_of(directory)
    if snapshot is not None:
        return snapshot[0]
    try:
        said = read_object(directory / MANIFEST).get("source_model_id")
    except ModelError:
        return None
    return said if matches(REPOSITORY, said) else None
