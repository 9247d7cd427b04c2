"""A run whose work outlives it: journalled while it goes on, and kept whole in a cache when it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .benchmark import Progress, RunOptions, prepared
from .errors import EvaluationError, UsageError
from .reporting.report import to_json
from .run_cache import RunCache
from .run_journal import NO_FILE, RunJournal
from .run_lines import WaitingLines
from .saved_runs import REPORT

CACHE_OR_COLD_START = "--cold-start measures this machine now, and --cache gives what was measured before – leave one out"


@dataclass(frozen=True, slots=True)
class KeptRun:
    """report: report.json as a dict. lines: {name: lines} of the files with a line a document, to be read once.
    written: to be called when the files are, so that what fails after that, as a closed pipe, leaves no journal."""

    report: dict[str, Any]
    lines: Mapping[str, Iterable[str]]
    written: Callable[[], Any] = lambda: None


@contextmanager
def kept_run(
    options: RunOptions,
    folder: str | Path | None,
    *,
    cache: str | Path | None = None,
    say: Callable[[str], Any] | None = None,
    progress: Progress | None = None,
    started: float | None = None,
) -> Iterator[KeptRun]:
    """Run, or take up a run that was broken off, or give one that is in the cache; the body writes what it is given.

    folder: where the journal lies, and the results are to be; the journal goes when the body has ended well. None: there is
    no journal, and no lines. cache: a folder of whole runs. say: called with what the user should know of either.
    Documents are scored one by one and not held. Other parameters and errors as `run`'s.
    """
    if cache is not None and options.cold_start:
        raise UsageError(CACHE_OR_COLD_START)
    say = say or (lambda note: None)
    store = None if cache is None else RunCache(cache)
    made = prepared(options, started=started)
    if store is not None:
        found = store.get(made.key)
        if found is not None:
            say("the same run is in the cache; nothing was predicted, and its timing is that of then")
            yield KeptRun(json.loads(found.pop(REPORT)), {name: [text] for name, text in found.items()})
            return
        if store.holds(made.key):
            say("what the cache has of this run is damaged; it is made anew")
    journal = None if folder is None else RunJournal(Path(folder), made.key, made.part.scored, made.classifier.entity_labels)
    for note in journal.notes if journal is not None else ():
        say(note)
    place = folder if folder is not None or store is None else store.path
    if place is None:
        yield KeptRun(made.result(lambda row: None, progress=progress).report, {})
        return
    with closing(WaitingLines(Path(place), shard=options.shard is not None)) as waiting:
        try:
            result = made.result(waiting.add, journal=journal, progress=progress)
        except KeyboardInterrupt:
            if journal is not None and journal.begun:
                say("the documents that are done are in the journal; the same command goes on from there")
            raise
        if journal is not None and journal.failure not in (None, NO_FILE):
            say(f"the journal could not be written ({journal.failure}); the run would have begun anew after a kill")
        yield KeptRun(result.report, result.files(waiting), journal.remove if journal is not None else lambda: None)
        if store is not None:
            try:
                kept = {name: "".join(lines) for name, lines in result.files(waiting).items()}
                store.put(made.key, {REPORT: to_json(result.report), **kept})
            except (EvaluationError, OSError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                say(f"the run was not kept in the cache: {reason}")
    if journal is not None:
        journal.remove()
