"""pull: a manifest's model into the Hugging Face cache. The one place of this program that uses the network.

huggingface_hub does the transfer and is imported here alone. A connection that breaks is taken up where it broke; of a
process that was stopped the whole files stay, and the others are fetched anew. A model is always pulled
at a commit: the manifest's, or the one that main stands at now, which the caller then writes down. Every file is hashed
afterwards and compared with the manifest and with what the Hub says of it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EvaluationError, UsageError
from .entries import REVISION, SHA256, Entry, FileFact, is_inside, matches
from .hashing import differences, fact_of
from .locating import repository_folder

PULLED = (".json", ".safetensors")
"""What a model needs here. Pickles and code are left where they are."""

NOT_BELOW = ("onnx", "runs", "checkpoint-", ".")


@dataclass(frozen=True, slots=True)
class Pulled:
    """directory: the snapshot. files: what is in it now, by path. downloaded: False where all was there, untouched."""

    repository: str
    revision: str
    directory: Path
    files: Mapping[str, FileFact]
    downloaded: bool


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the Hub describes it. sha256: of a large one; blob: git's SHA-1 of any other."""

    name: str
    bytes: int | None
    sha256: str | None
    blob: str | None

    def is_as_described(self, path: Path, fact: FileFact) -> bool:
        if self.bytes is not None and fact.bytes != self.bytes:
            return False
        if self.sha256 is not None:
            return fact.sha256 == self.sha256
        return self.blob is None or git_blob(path) == self.blob


def pull(
    entry: Entry,
    cache: Path,
    *,
    revision: str | None = None,
    announce: Callable[[str, int | None], Any] = lambda name, size: None,
) -> Pulled:
    """The model of an entry, whole and compared.

    revision: a commit, instead of the manifest's. announce: called with each file's name and bytes before it is fetched.
    What is there and untouched is not asked for again, so that needs no network. Raises UsageError for an entry that
    names no repository, a revision that is no commit, or where huggingface_hub is missing; EvaluationError where the Hub
    cannot be reached or gives other files than it should.
    """
    repository = entry.pull_from
    if repository is None:
        raise UsageError("this model's entry names no repository – it was added from a folder, and is where it was added from")
    if revision is not None and not matches(REVISION, revision):
        raise UsageError("--revision: give a commit of 40 digits, not a branch, which moves")
    expected = entry.files if revision in (None, entry.revision) and entry.revision else None
    pinned = revision or entry.revision
    if pinned and expected:
        there = repository_folder(cache, repository) / "snapshots" / pinned
        if there.is_dir() and not [one for one in differences(there, expected) if one.problem != "extra"]:
            return Pulled(repository, pinned, there, expected, False)
    if _is_offline():
        raise EvaluationError(
            "HF_HUB_OFFLINE is set, and the model is not whole in the cache – unset it where there is a network"
        )
    hub = _huggingface_hub()
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    with _said():
        commit, remote = _listed(hub.HfApi(endpoint=endpoint), repository, pinned)
    wanted = _wanted(remote, expected)
    files, directory = {}, repository_folder(cache, repository) / "snapshots" / commit
    for file in wanted:
        announce(file.name, file.bytes)
        with _said():
            hub.hf_hub_download(repository, file.name, revision=commit, cache_dir=cache, endpoint=endpoint)
        path = directory / file.name
        fact = fact_of(path)
        if not file.is_as_described(path, fact) or (expected and fact != expected[file.name]):
            _discard(path)
            by = "the manifest" if expected and fact != expected[file.name] else "the Hub"
            raise EvaluationError(f"{file.name} is not the file that {by} describes; it was taken away – pull again")
        files[file.name] = fact
    return Pulled(repository, commit, directory, files, True)


def _huggingface_hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise UsageError("`models pull` needs huggingface_hub – pip install huggingface_hub; no other command does") from None
    huggingface_hub.logging.set_verbosity_error()  # its warnings tell addresses
    return huggingface_hub


def _is_offline() -> bool:
    """As huggingface_hub reads it, but now and not when it was imported."""
    return any(
        os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


class _said:
    """Turns what the transfer raises into one of this program's errors, without an address or a path."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, EvaluationError) or not isinstance(error, Exception):
            return
        said = {
            "RepositoryNotFoundError": "the Hub has no such repository, or does not show it",
            "GatedRepoError": "the repository asks for its terms to be accepted on the Hub first",
            "RevisionNotFoundError": "the repository has no such revision",
            "EntryNotFoundError": "the repository lacks a file that it lists",
            "RemoteEntryNotFoundError": "the repository lacks a file that it lists",
        }.get(type(error).__name__)
        if said is None and isinstance(error, OSError) and error.errno is not None and error.strerror and error.filename:
            said = f"the cache could not be written ({error.strerror})"
        said = said or f"the transfer failed ({type(error).__name__})"
        raise EvaluationError(f"{said}; whole files are kept – `models pull` again fetches the rest") from None


def _listed(api: Any, repository: str, revision: str | None) -> tuple[str, list[RemoteFile]]:
    info = api.model_info(repository, revision=revision or "main", files_metadata=True)
    if not matches(REVISION, info.sha) or (revision is not None and info.sha != revision):
        raise EvaluationError("the Hub did not answer with the commit that was asked for – pull again later")
    return info.sha, [_remote_file(file) for file in info.siblings or ()]


def _remote_file(file: Any) -> RemoteFile:
    lfs = file.lfs or {}
    sha256 = lfs.get("sha256") if isinstance(lfs, dict) else getattr(lfs, "sha256", None)
    return RemoteFile(file.rfilename, file.size, sha256 if matches(SHA256, sha256) else None, file.blob_id)


def _wanted(remote: list[RemoteFile], expected: Mapping[str, FileFact] | None) -> list[RemoteFile]:
    """The files to fetch, small ones first. Raises EvaluationError where they make no model."""
    if not all(is_inside(file.name) for file in remote):
        raise EvaluationError("the repository lists a path that leads out of its folder – refused")
    if expected:
        chosen = [file for file in remote if file.name in expected]
        if len(chosen) != len(expected):
            lacking = len(expected) - len(chosen)
            raise EvaluationError(f"the repository lacks {lacking} of the {len(expected)} files that the manifest lists")
    else:
        chosen = [file for file in remote if file.name.endswith(PULLED) and not file.name.startswith(NOT_BELOW)]
        if not any(file.name.endswith(".safetensors") for file in chosen):
            raise EvaluationError(
                "the repository holds no safetensors – fetch it otherwise, and convert its pickle where torch is installed: "
                "openmed-mlx-eval convert DIR OUT"
            )
    return sorted(chosen, key=lambda file: (file.bytes or 0, file.name))


def git_blob(path: Path) -> str:
    """git's name of a file's content: SHA-1 of `blob SIZE\\0` and the bytes (git-hash-object)."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _discard(path: Path) -> None:
    """Take a bad file out of the cache, content and link, so that it is fetched anew."""
    with suppress(OSError):
        path.resolve().unlink()
    with suppress(OSError):
        path.unlink()
