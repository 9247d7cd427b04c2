"""bench: several models in turn on one corpus or more. One that fails is named and passed over; the others still run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from .benchmark import RunOptions, run
from .corpora.source import STDIN
from .errors import EvaluationError, UsageError
from .model_manifest.locating import model_name

_MARKS = ("openmed-mlx.json", "config.json", "gliner_config.json")


@dataclass(frozen=True, slots=True)
class CorpusChoice:
    """A corpus of a bench. name: what folders and tables call it; never its file's. path None: the embedded demo's."""

    path: str | None
    name: str
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model on one corpus. folder: where its files go, below the output. report: report.json as a dict; None where the run
    failed, and then failure says why, without text."""

    model: str
    corpus: str
    folder: str
    report: dict[str, Any] | None = None
    failure: str | None = None


def bench(
    models: Sequence[str],
    corpora: Sequence[CorpusChoice],
    options: RunOptions,
    reported: Callable[[RunOptions, str], dict[str, Any]] = lambda options, folder: run(options).report,
) -> Iterator[Outcome]:
    """Run each model on each corpus and give each outcome when it is there.

    options: of every run; model, corpus, suite and format are put in for each. reported: runs one, given its options and
    its folder below the output, and gives its report. Raises UsageError before the first run where there is no model or
    corpus.
    """
    if not models or not corpora:
        raise UsageError("bench: give one or more models, and a corpus")
    if options.shard is not None:
        raise UsageError("bench: a shard is of one run – use `run --shard`")
    if any(corpus.path == STDIN for corpus in corpora):
        raise UsageError("bench: a corpus is read for each model, and stdin only once – give a file")
    names = model_names(models, options.manifest)
    for corpus in corpora:
        for model, name in zip(models, names, strict=True):
            folder = name if len(corpora) == 1 else f"{name}/{corpus.name}"
            named = corpus.name if len(corpora) > 1 else options.suite
            chosen = replace(options, model=model, corpus=corpus.path, format=corpus.format or options.format, suite=named)
            yield _outcome(Outcome(name, corpus.name, folder), partial(reported, chosen, folder))


def _outcome(of: Outcome, made: Callable[[], dict[str, Any]]) -> Outcome:
    try:
        return replace(of, report=made())
    except EvaluationError as error:
        return replace(of, failure=str(error))
    except MemoryError:
        return replace(of, failure="it does not fit into memory")
    except Exception as error:  # a night goes on; the message may quote its input, so only the kind is kept
        return replace(of, failure=f"internal error: {type(error).__name__}")


def model_names(models: Sequence[str], manifest: str | None = None) -> list[str]:
    """A name for each model that no other has: its directory's or the manifest's, with its place where several are called so.

    What is neither a directory of a model nor a manifest's may be anything, such as a corpus: it is called by its place alone.
    manifest: the user's own. Raises UsageError or ManifestError where one cannot be read.
    """
    plain = [_name(Path(model)) or model_name(str(model), manifest) for model in models]
    often = Counter(name.casefold() for name in plain if name)
    return [
        f"{name}-{place}" if name and often[name.casefold()] > 1 else name or f"model-{place}"
        for place, name in enumerate(plain, start=1)
    ]


def _name(path: Path) -> str:
    try:
        return path.resolve().name if any((path / mark).is_file() for mark in _MARKS) else ""
    except (OSError, ValueError):
        return ""
