"""`run`: a model on a corpus, scored. Reads the whole corpus before it opens the model: bad gold costs no time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from .gate import gate_options, gates_of, hold
from .options import (
    cache_option,
    corpus_options,
    corpus_path_option,
    deliver,
    model_option,
    model_options,
    output_options,
    run_files,
    run_folder,
    scoring_of,
    scoring_options,
)  # fmt: skip

if TYPE_CHECKING:
    from ..benchmark import RunOptions
    from ..gates import Gates


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
@cache_option
@output_options
def command(
    model: str | None, corpus: str | None, cache: str | None, output: str | None, as_json: bool, quiet: bool, **options: Any
) -> None:
    from ..benchmark import RunOptions
    from ..kept_run import kept_run

    both_or_demo(model, corpus)
    started, gates = time.perf_counter(), gates_of(options)
    chosen = RunOptions(model=model, corpus=corpus, scoring=scoring_of(options), **options)
    if chosen.shard is None and launched():
        _run_ranks(chosen, gates, output, as_json=as_json, quiet=quiet)
        return
    with run_folder(output) as folder:
        place = None if folder is None else folder.path
        with kept_run(chosen, place, cache=cache, started=started, **streams(quiet)) as made:
            deliver(made.report, folder, made.lines, as_json=as_json, quiet=quiet, written=made.written)
    hold(made.report, gates)


def streams(quiet: bool) -> dict[str, Any]:
    """What a run says on stderr, and the progress bar there."""
    return {} if quiet else {"say": lambda note: click.echo(f"note: {note}", err=True), "progress": progress_bar}


def launched() -> bool:
    """Whether `mlx.launch` started this process; asked without an import, as nearly always it did not."""
    return "MLX_RANK" in os.environ


def _run_ranks(chosen: RunOptions, gates: Gates | None, output: str | None, *, as_json: bool, quiet: bool) -> None:
    """One shard a rank; rank 0 writes and prints what a single run would, the others nothing."""
    from ..benchmark import run
    from ..distributed import Ranks

    ranks = Ranks()

    def files() -> dict[str, Iterable[str]]:
        result = run(replace(chosen, shard=ranks.shard))
        return run_files(result.report, result.files())

    with run_folder(output if ranks.rank == 0 else None) as folder:
        merged = ranks.merged(files)
        if merged is None:
            return
        deliver(merged.report, folder, merged.files(), as_json=as_json, quiet=quiet)
    hold(merged.report, gates)


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
