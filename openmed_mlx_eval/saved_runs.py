"""What `--output` left, read back: the report of a run and its documents' scores.

A folder may have come from anywhere, so what is used of it is checked first, and nothing of it is quoted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .corpora.source import STDIN
from .document_scores import FORMAT, load_document_scores
from .errors import InputError, UsageError
from .reporting.report import SCHEMA, SCHEMA_VERSION
from .scoring.scorecard import scorecard, total
from .scoring.uncertainty import Row

Made = TypeVar("Made")

REPORT = "report.json"
_REMEDY = "give a folder that `run --output` or `score --output` of this version wrote"


@dataclass(frozen=True, slots=True)
class SavedRun:
    """report: report.json. rows: the integers of each document, in corpus order."""

    report: dict[str, Any]
    rows: list[Row]


def load_run(folder: str | Path, name: str = "") -> SavedRun:
    """Read a run folder. name: what messages call the run, when there are several.

    Raises UsageError for a folder that is not there, InputError for files that are not what a run writes, or not of
    the same run.
    """
    where = f"run {name}, " if name else ""
    report = _load_report(Path(folder), where)
    refuse_shard(report, where)
    rows = load_document_scores(Path(folder) / FORMAT, where + FORMAT)
    if _counted(scorecard(total(spans for spans, *_ in rows))) != _counted(report["metrics"]):
        raise InputError(where + FORMAT, f"the counts are not those of {REPORT} beside it", remedy=_REMEDY)
    return SavedRun(report, rows)


def refuse_shard(report: Mapping[str, Any], where: str = "") -> None:
    """Raise InputError for the report of one shard, whose documents are not those that the corpus begins with."""
    if _at(report, ("config", "shard")) is not None:
        raise InputError(where + REPORT, "one shard of a run", remedy="put its shards together with `merge` first")


def load_report(path: str | Path, where: str = "") -> dict[str, Any]:
    """Read the report of a run folder, or a file that holds one; - is stdin. Raises as load_run does.

    where: begins the file's name in messages.
    """
    return _load_report(STDIN if str(path) == STDIN else Path(path), where)


def made_from_report(make: Callable[[], Made], where: str = "", remedy: str = "run it again") -> Made:
    """What `make` returns. A report of the right name and the wrong inside is bad input, not a fault of the program."""
    try:
        return make()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        pass
    raise InputError(where + REPORT, "it lacks what a run of this version writes, or has it otherwise", remedy=remedy)


def _load_report(path: Path | str, where: str) -> dict[str, Any]:
    try:
        report = json.loads(_read(path).decode("utf-8-sig"), parse_constant=lambda _: None)
    except OSError as error:
        raise UsageError(f"{where or 'RUN: '}{REPORT} cannot be read ({error.strerror}) – {_REMEDY}") from None
    except (ValueError, RecursionError):
        raise InputError(where + REPORT, "the file is not JSON, or not whole", remedy=_REMEDY) from None
    wrong = next((".".join(keys) for keys, is_right in _NEEDED.items() if not is_right(_at(report, keys))), None)
    if wrong is not None:
        raise InputError(where + REPORT, f"no report of a run that this version can read: see its {wrong}", remedy=_REMEDY)
    return dict(report)


def _read(path: Path | str) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read()
    path = Path(path)
    return (path / REPORT if path.is_dir() else path).read_bytes()


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool)


_NEEDED: dict[tuple[str, ...], Callable[[Any], bool]] = {
    ("schema",): lambda value: value == SCHEMA,
    ("schema_version",): lambda value: value == SCHEMA_VERSION,
    ("suite",): _is(str),
    ("model", "name"): _is(str),
    ("model", "family"): _is(str, type(None)),
    ("model", "dtype"): _is(str, type(None)),
    ("model", "quantization"): _is(dict, type(None)),
    ("corpus", "name"): _is(str),
    ("corpus", "format"): _is(str),
    ("corpus", "sha256"): _is(str),
    ("corpus", "documents_scored"): _is(int),
    ("environment", "engine"): _is(str, type(None)),
    ("environment", "device"): _is(str, type(None)),
    ("environment", "dtype"): _is(str, type(None)),
    ("metrics",): _is(dict),
}
"""What is read of a report by any command, and what it must be: keys of report.schema.json."""

_COUNTED = (("support",), ("predicted",), ("exact", "true_positives"), ("relaxed", "true_positives"))


def _counted(metrics: Mapping[str, Any]) -> tuple[Any, dict[str, list[Any]]]:
    """What the report and documents.jsonl must agree in: documents, and the counts of each label."""
    labels = metrics.get("by_label")
    labels = labels if isinstance(labels, Mapping) else {}
    return metrics.get("documents"), {label: [_at(block, keys) for keys in _COUNTED] for label, block in labels.items()}
