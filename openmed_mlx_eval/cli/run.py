"""`run`: a model on a corpus, scored. Reads the whole corpus before it opens the model: bad gold costs no time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import UsageError
from .gate import gate_options, gates_of, hold
from .options import (
    corpus_options,
    corpus_path_option,
    deliver,
    model_option,
    model_options,
    output_options,
    run_folder,
    scoring_of,
    scoring_options,
)


@click.command(help="Score a model on a corpus. With neither --model nor --corpus: the embedded demo.")
@model_option
@corpus_path_option
@corpus_options
@model_options
@scoring_options
@gate_options
@click.option(
    "--cold-start",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also measure N fresh processes, and documents one by one, for the report's latency and resources.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Score the I-th of N parts of the corpus, told apart by the documents' hashes; `merge` puts the runs together.",
)
@output_options
def command(model: str | None, corpus: str | None, output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    from ..benchmark import RunOptions, run

    both_or_demo(model, corpus)
    started, gates = time.perf_counter(), gates_of(options)
    with run_folder(output) as folder:
        chosen = RunOptions(model=model, corpus=corpus, scoring=scoring_of(options), **options)
        result = run(chosen, progress=None if quiet else progress_bar, started=started)
        files, more = (result.prediction_lines(), result.document_lines()), result.shard_files()
        deliver(result.report, folder, *files, as_json=as_json, quiet=quiet, more=more)
    hold(result.report, gates)


def both_or_demo(model: str | None, corpus: str | None) -> None:
    """Raise UsageError where one of the two is missing."""
    if (model is None) != (corpus is None):
        missing = "--corpus" if corpus is None else "--model"
        raise UsageError(f"{missing} is missing – give both --model and --corpus, or neither for the embedded demo")


@contextmanager
def progress_bar(total: int, unit: str = "documents") -> Iterator[Callable[[int], None]]:
    """A bar on stderr, where stderr is a terminal. unit: what is counted."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda done: bar.advance(task, done)
