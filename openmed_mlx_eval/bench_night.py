"""A bench night: a TOML file of models, corpora and the options of `bench`, read and checked."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bench import CorpusChoice
from .errors import UsageError
from .model_manifest.entries import NAME, REPOSITORY, matches
from .toml_file import check_keys, load_toml

_KEYS = ("models", "corpora", "options")
_CORPUS_KEYS = ("path", "name", "format")
_SHAPE = 'models = ["DIR"], corpora = ["PATH"] or [{path = "PATH", name = "NAME"}], and a table [options]'


@dataclass(frozen=True, slots=True)
class Night:
    """models, corpora: paths as the file has them, beside itself where they are relative; models may be names of a manifest. arguments: its options as they would
    be typed."""

    models: tuple[str, ...]
    corpora: tuple[CorpusChoice, ...]
    arguments: tuple[str, ...]


def load_night(path: str | Path, options: Collection[str]) -> Night:
    """Read the file. options: what its table `options` may name, as on the command line without dashes before.

    Raises UsageError, which names near keys for an unknown one and quotes nothing of the file.
    """
    table: Any = load_toml(path, "bench file", _SHAPE)
    check_keys(table, _KEYS, "bench file")
    beside = Path(path).parent
    models, corpora, given = table.get("models"), table.get("corpora"), table.get("options", {})
    if not _is_list_of(models, str) or not _is_list_of(corpora, (str, dict)) or not isinstance(given, dict):
        raise UsageError(f"bench file: write {_SHAPE}")
    chosen = tuple(_corpus(value, number, beside) for number, value in enumerate(corpora, start=1))
    if len({corpus.name.casefold() for corpus in chosen}) < len(chosen):
        raise UsageError("bench file: two corpora have one name – give each its own")
    check_keys({key.replace("_", "-"): value for key, value in given.items()}, sorted(options), "bench file: options")
    arguments = [part for key, value in given.items() for part in _typed(key.replace("_", "-"), value, beside)]
    return Night(tuple(_model(model, beside) for model in models), chosen, tuple(arguments))


def _model(model: str, beside: Path) -> str:
    """A path beside the file, or the name that a manifest may know. What lies only where the program was started is neither."""
    is_name = (matches(NAME, model) or matches(REPOSITORY, model)) and not os.path.lexists(model)
    return model if is_name and not os.path.lexists(beside / model) else str(beside / model)


def _is_list_of(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kinds) for one in value)


def _corpus(value: str | dict[str, Any], number: int, beside: Path) -> CorpusChoice:
    table = {"path": value} if isinstance(value, str) else value
    where = f"bench file: corpus {number}"
    check_keys(table, _CORPUS_KEYS, where)
    path, name, format = table.get("path"), table.get("name", f"corpus-{number}"), table.get("format")
    if not isinstance(path, str) or not isinstance(name, str) or not isinstance(format, str | None):
        raise UsageError(f"{where}: write {{path = PATH, name = NAME, format = FORMAT}}, the last two if need be")
    if not name.strip() or any(sign in name for sign in "/\\:\0") or set(name) == {"."} or not name.isprintable():
        raise UsageError(f"{where}: its name is to be a folder's – write it in letters, digits and dashes")
    return CorpusChoice(str(beside / path), name, format)


_FILES = ("label-map", "manifest", "training-manifest")


def _typed(key: str, value: Any, beside: Path) -> list[str]:
    """An option as it would be typed: true is a bare flag, false none, a list one after the other."""
    if isinstance(value, list):
        return [part for one in value for part in _typed(key, one, beside)]
    if isinstance(value, bool):
        return [f"--{key}"] if value else []
    if key in _FILES and value != "none":
        value = beside / str(value)
    return [f"--{key}={value}"]
