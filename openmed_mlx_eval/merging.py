"""merge: the shards of one run put together, as if one run had scored the whole corpus.

Counts are added, and rates and intervals derived from all documents anew with the options of the runs; only `timing`
tells the report from a single run's. Shards that are not of one run, one too few or one too many are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from .document_scores import FORMAT as DOCUMENTS
from .document_scores import document_lines
from .errors import InputError, UsageError
from .evaluation import CORPUS_WARNINGS, Warning, evaluation_warnings
from .overlap import OVERLAP_WARNINGS
from .predictions import FORMAT as PREDICTIONS
from .predictions import prediction_lines, prediction_rows
from .reporting.report import gold_counts, now, schema
from .saved_runs import REPORT, load_report, made_from_report
from .scoring.bootstrap import Bootstrap
from .scoring.bundle import CaseScore, Options, metrics
from .scoring.scorecard import DocumentScore, total
from .shard_file import Shard, ShardScores, load_shard
from .spans import Span

_REMEDY = "give the folders that `run --shard` of this version wrote"


@dataclass(frozen=True, slots=True)
class Merged:
    """report: report.json as a dict. scores, predictions: one each document, in corpus order."""

    report: dict[str, Any]
    scores: list[CaseScore]
    predictions: list[tuple[Span, ...]]

    def files(self) -> dict[str, Iterator[str]]:
        """{name: lines} of the files with a line a document."""
        return {f"{PREDICTIONS}.jsonl": prediction_lines(self.predictions), DOCUMENTS: document_lines(self.scores)}


@dataclass(frozen=True, slots=True)
class _Part:
    """One folder. name: what messages call it."""

    name: str
    shard: Shard
    report: dict[str, Any]
    read: ShardScores
    predictions: list[tuple[Span, ...]]


def merge(folders: Sequence[str | Path]) -> Merged:
    """Put the folders of `run --shard 1/n` … `n/n` together, in any order.

    Raises UsageError for a folder that is not there, or a corpus with too many values of a key that is sliced by, and
    InputError for folders that are no shards, not of one run, twice the same shard, or not all of them.
    """
    parts = [_load(folder, f"run {number}") for number, folder in enumerate(folders, start=1)]
    if not parts:
        raise InputError("merge", "no run was given", remedy=_REMEDY)
    _require_one_run(parts)
    _require_all(parts)
    by_ordinal = {
        ordinal: (score, spans)
        for part in parts
        for ordinal, score, spans in zip(part.read.ordinals, part.read.scores, part.predictions, strict=True)
    }
    whole = parts[0].read.origin.documents
    if sorted(by_ordinal) != list(range(whole)) or sum(len(part.read.ordinals) for part in parts) != whole:
        what = f"{len(by_ordinal):,} documents in the shards of a corpus of {whole:,}"
        raise InputError("merge", what, remedy="a run folder was changed; make its shard again")
    scores, predictions = zip(*(by_ordinal[at] for at in range(whole)), strict=True) if whole else ((), ())
    return made_from_report(lambda: Merged(_report(parts, scores), list(scores), list(predictions)), remedy=_REMEDY)


def _load(folder: str | Path, name: str) -> _Part:
    where = f"{name}, "
    report = load_report(folder, where)
    written = report["config"].get("shard") if isinstance(report.get("config"), dict) else None
    if type(written) is not str:
        raise InputError(where + REPORT, "no shard of a run", remedy=_REMEDY)
    try:
        shard = Shard.parse(written)
    except UsageError:
        raise InputError(where + REPORT, "config.shard is no I/N", remedy=_REMEDY) from None
    read = load_shard(folder, where)
    rows = prediction_rows(Path(folder) / f"{PREDICTIONS}.jsonl", where + f"{PREDICTIONS}.jsonl")
    if [ordinal for ordinal, _ in rows] != read.ordinals:
        raise InputError(where + f"{PREDICTIONS}.jsonl", "other documents than in shard.jsonl", remedy=_REMEDY)
    part = _Part(name, shard, report, read, [spans for _, spans in rows])
    if made_from_report(lambda: _counts(part), where, _REMEDY) != _counted(
        total(score.spans for score in read.scores), part.predictions
    ):
        raise InputError(where + REPORT, "its counts are not those of the files beside it", remedy="make the shard again")
    return part


def _counts(part: _Part) -> tuple[Any, ...]:
    said = part.report["metrics"]
    return said["documents"], said["support"], said["predicted"], said["predicted"], said["exact_span_f1"]["true_positives"]


def _counted(score: DocumentScore, predictions: Iterable[Sequence[Span]]) -> tuple[Any, ...]:
    overall = score.overall
    return score.documents, overall.support, overall.predicted, sum(map(len, predictions)), overall.exact


_SAME: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "the corpus": lambda report: [report["corpus"][key] for key in ("format", "sha256", "documents")],
    "the training manifest": lambda report: report["corpus"].get("training_overlap"),
    "the model's files": lambda report: report["model"]["files"],
    "how the model was read": lambda report: {**report["model"], "files": None, "name": None},
    "the version of the program": lambda report: report["environment"]["package"],
    "--suite": lambda report: [report["suite"], report["corpus"]["name"]],
}
"""{what the shards of one run have in common: where it is in their reports}."""


def _require_one_run(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        if part.shard.of != first.shard.of:
            what = f"shard {part.shard}, where {first.name} is shard {first.shard}"
            raise InputError(part.name, what, remedy="give shards of one division of the corpus")
        differing = _differences(first, part)
        if differing:
            what = f"not of the run that {first.name} is of; different: {', '.join(differing)}"
            raise InputError(part.name, what, remedy="make all shards with one model, one corpus and one set of options")


def _differences(one: _Part, other: _Part) -> list[str]:
    def same() -> list[str]:
        return [name for name, of in _SAME.items() if of(one.report) != of(other.report)]

    differing = made_from_report(same, f"{other.name}, ", _REMEDY)
    options = _differing_options(one.report["config"], other.report["config"])
    if not options and one.read.origin != other.read.origin:
        options = ["label_map"]
    return [*differing, *([f"options ({', '.join(options)})"] if options else [])]


def _differing_options(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of options; one that no report of this program has is not repeated."""
    known = schema()["$defs"]["config"]["properties"]
    keys = [key for key in {**one, **other} if key not in ("shard", "labels") and one.get(key) != other.get(key)]
    return sorted({key if key in known else "an unknown one" for key in keys})


def _require_all(parts: Sequence[_Part]) -> None:
    of = parts[0].shard.of
    names: dict[int, list[str]] = {}
    for part in parts:
        names.setdefault(part.shard.number, []).append(part.name)
    for number, same in names.items():
        if len(same) > 1:
            raise InputError(" and ".join(same[:2]), f"both are shard {number}/{of}", remedy="give each shard once")
    missing = [f"{number}/{of}" for number in range(1, of + 1) if number not in names] if len(parts) < of else []
    if missing:
        more = ", …" if len(missing) > 5 else ""
        word = "shards" if len(missing) > 1 else "shard"
        what = f"{word} {', '.join(missing[:5])}{more} missing"
        raise InputError("merge", what, remedy="run what is missing with the options of the others")


def _report(parts: Sequence[_Part], scores: Sequence[CaseScore]) -> dict[str, Any]:
    """The first part's report with all that was counted put anew; what the parts have in common stays as it is."""
    first, config = parts[0].report, parts[0].report["config"]
    observed = reduce(add, (part.read.observed for part in parts))
    how = config["bootstrap"]
    options = Options(config["slice_by"], thresholds=config["thresholds"], bootstrap=None if how is None else Bootstrap(**how))
    score = total(one.spans for one in scores)
    known = {observed.names[label] for label in first["model"]["labels"]}
    environment, differing = _environment([part.report["environment"] for part in parts])
    kept = [warning for warning in first["warnings"] if warning["code"] in (*CORPUS_WARNINGS, *OVERLAP_WARNINGS)]
    said = (*differing, *evaluation_warnings(score, observed, known, config["layers"]))
    return {
        **first,
        "corpus": {**first["corpus"], **gold_counts(score)},
        "environment": environment,
        "config": {**config, "shard": None, "labels": observed.label_map()},
        "metrics": metrics(scores, options),
        "timing": _timing([part.report["timing"] for part in parts], len(scores)),
        "warnings": [*kept, *(warning.to_dict() for warning in said)],
        "partial": parts[0].read.origin.partial,
    }


def _environment(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[Warning]]:
    """What the machines have in common; where they differ all words, and no number."""
    joined: dict[str, Any] = {}
    differing = []
    for key in parts[0]:
        values = list(dict.fromkeys(part[key] for part in parts))
        if len(values) > 1:
            differing.append(key)
        words = sorted(value for value in values if isinstance(value, str))
        joined[key] = values[0] if len(values) == 1 else "; ".join(words) or None
    if not differing:
        return joined, []
    what = f"shards that ran elsewhere than the first ({', '.join(differing)} differ)"
    count = Counter(part == parts[0] for part in parts)[False]
    return joined, [Warning("different_machines", count, what)]


def _timing(parts: Sequence[Mapping[str, Any]], documents: int) -> dict[str, Any]:
    """Seconds are those of all shards together, as one machine after the other would have needed them."""
    laps = {key: round(sum(part[key] for part in parts), 6) for key in parts[0] if key.endswith("_s")}
    seconds = laps.get("predict_s", 0)
    rate = round(documents / seconds, 3) if documents and seconds > 0 else None
    return {"generated_at": now(), **laps, "documents_per_second": rate}
