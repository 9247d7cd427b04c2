"""Entry: what a manifest says of one model. Values alone; files are `catalog`'s, directories are `hashing`'s."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from ..errors import EvaluationError


class ManifestError(EvaluationError):
    """A manifest of models that cannot be used. The message names entries by their ordinal, from 1, never by their content."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """One file of a model: SHA-256 in hex, and its length in bytes."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One model. None is "not known", never "none".

    repository: the checkpoint on the Hub. artifact_repository: where the same model lies as an openmed-mlx.json artifact.
    revision, files: of `pull_from`, the one of the two that is pulled; files are by their path in the folder.
    path: where the folder lies, relative to the manifest's own. architecture: in the words of the collection; family: in
    those of this runtime, None where it has none. labels: entities, without a tag scheme's prefixes. label_set: what they
    are said to be where they are not listed. parameters: their number. window: tokens of a sequence, special ones included.
    parity: an artifact's record of what conversion changed.
    """

    name: str
    repository: str | None = None
    revision: str | None = None
    artifact_repository: str | None = None
    path: str | None = None
    architecture: str | None = None
    family: str | None = None
    kind: str | None = None
    task: str | None = None
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    label_set: str | None = None
    tag_scheme: str | None = None
    parameters: int | None = None
    tier: str | None = None
    window: int | None = None
    dtype: str | None = None
    formats: tuple[str, ...] = ()
    base_model: str | None = None
    license: str | None = None
    released: str | None = None
    parity: Mapping[str, Any] | None = None
    files: Mapping[str, FileFact] | None = None

    @property
    def pull_from(self) -> str | None:
        return self.artifact_repository or self.repository

    def to_json(self) -> dict[str, Any]:
        """As it stands in a manifest; every key, in the order of the fields."""
        written = asdict(self)
        for key in ("languages", "labels", "formats"):
            written[key] = None if written[key] is None else list(written[key])
        return written


def entry_of(row: Any, ordinal: int) -> Entry:
    """A manifest's row as an Entry. Raises ManifestError that says which key of which entry is wrong."""
    if not isinstance(row, dict):
        raise ManifestError(f"the manifest: entry {ordinal} is not an object")
    unknown = len(set(row) - set(_RULES))
    if unknown:
        raise ManifestError(f"the manifest: entry {ordinal} has {unknown} unknown keys – known are {', '.join(_RULES)}")
    if "name" not in row:
        raise ManifestError(f"the manifest: entry {ordinal} has no name")
    for key, value in row.items():
        holds, wanted = _RULES[key]
        if not holds(value):
            raise ManifestError(f"the manifest: entry {ordinal}: {key} must be {wanted}")
    return Entry(**{key: _VALUES[key](value) if key in _VALUES and value is not None else value for key, value in row.items()})


def is_inside(name: Any) -> bool:
    """Whether a relative path, with / between its parts, stays in the folder it is relative to."""
    if not isinstance(name, str) or not name or any(character in "\\:" or character < " " for character in name):
        return False
    plain = PurePosixPath(name)
    return not plain.is_absolute() and ".." not in plain.parts and plain.as_posix() == name and name != "."


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"
REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$"
REVISION = r"^[0-9a-f]{40}$"
SHA256 = r"^[0-9a-f]{64}$"

Rule = tuple[Callable[[Any], bool], str]


def matches(pattern: str, value: Any) -> bool:
    """As JSON Schema's `pattern`, which unlike Python's $ does not end before a line's end."""
    return isinstance(value, str) and re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value) is not None


def _or_null(holds: Callable[[Any], bool], wanted: str) -> Rule:
    return lambda value: value is None or holds(value), f"{wanted}, or null"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and value >= least


def _is_files(value: Any) -> bool:
    return isinstance(value, dict) and all(is_inside(name) and _is_file(fact) for name, fact in value.items())


def _is_file(fact: Any) -> bool:
    if not isinstance(fact, dict) or set(fact) != {"sha256", "bytes"}:
        return False
    return matches(SHA256, fact["sha256"]) and _is_count(fact["bytes"], 0)


_TEXT = _or_null(_is_text, "a string")
_LIST: Rule = (_is_texts, "a list of strings")
_NATURAL = _or_null(_is_count, "a whole number of at least 1")
_REPOSITORY = _or_null(lambda value: matches(REPOSITORY, value), "owner/name")
_FILES = "an object of files, each a path within the model's folder with its sha256 (64 digits, lower case) and its bytes"  #

_RULES: dict[str, Rule] = {
    **{field.name: _TEXT for field in fields(Entry)},
    "name": (lambda value: matches(NAME, value), "letters, digits, dots, - and _, and begin with a letter or digit"),
    "repository": _REPOSITORY,
    "artifact_repository": _REPOSITORY,
    "revision": _or_null(lambda value: matches(REVISION, value), "a commit of 40 digits"),
    "path": _or_null(is_inside, "a path within the manifest's folder"),
    "languages": _LIST,
    "formats": _LIST,
    "labels": _or_null(_is_texts, "a list of strings"),
    "parameters": _NATURAL,
    "window": _NATURAL,
    "parity": _or_null(lambda value: isinstance(value, dict), "an object"),
    "files": _or_null(_is_files, _FILES),
}

_VALUES: dict[str, Callable[[Any], Any]] = {
    "languages": tuple,
    "formats": tuple,
    "labels": tuple,
    "files": lambda files: {name: FileFact(fact["sha256"], fact["bytes"]) for name, fact in files.items()},
}
