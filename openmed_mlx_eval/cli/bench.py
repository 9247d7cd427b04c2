"""`bench`: several models scored in turn, each into a folder of its own, and a table of them with its Pareto front."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..errors import EvaluationError, UsageError
from ..reporting.files import RunFolder
from .options import cache_option, corpus_options, model_options, run_files, run_folder, scoring_of, scoring_options
from .run import streams

if TYPE_CHECKING:
    from ..bench import CorpusChoice, Outcome
    from ..benchmark import RunOptions

_OWN = ("models", "corpus", "cache", "output", "as_json", "quiet")


@click.command(help="Score MODELS in turn, past one that fails; or what a file such as night.toml says.")
@click.argument("models", nargs=-1, required=True, metavar="MODELS...|FILE.toml")
@click.option("--corpus", metavar="PATH", help="A file or a folder.")
@corpus_options
@model_options
@scoring_options
@click.option(
    "--cold-start", type=click.IntRange(min=1), metavar="N", help="Measure N fresh processes of each model, and p95 of documents."
)
@cache_option
@click.option("--output", required=True, metavar="DIR", help="Write a folder for each model, bench.json, bench.md and runs.html.")
@click.option("--json", "as_json", is_flag=True, help="Print bench.json instead of a table.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def command(
    context: click.Context,
    /,
    models: Sequence[str],
    corpus: str | None,
    cache: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    from ..bench import CorpusChoice, bench
    from ..kept_run import CACHE_OR_COLD_START
    from ..reporting.bench import bench_section
    from ..reporting.text import print_tables, printable

    if len(models) == 1 and models[0].endswith(".toml"):
        models, corpora, chosen = _night(context, models[0])
    elif corpus is None:
        raise UsageError("--corpus is missing – give a corpus, or a file such as night.toml")
    else:
        corpora, chosen = (CorpusChoice(corpus, options["suite"] or "corpus"),), _options(options)
    if cache is not None and chosen.cold_start:
        raise UsageError(CACHE_OR_COLD_START)
    with run_folder(output) as folder:
        assert folder is not None  # --output is required
        run_one = partial(_run_one, folder, cache, quiet)
        block = _scored(folder, bench(models, corpora, chosen, run_one), quiet=quiet)
    if as_json:
        click.echo(_json(block), nl=False)
    else:
        print_tables([], [bench_section(block)])
    failures = block["failures"]
    if failures:
        named = "; ".join(f"{one['model']} on {one['corpus']} ({one['message']})" for one in failures)
        raise EvaluationError(printable(f"{len(failures)} of {len(failures) + len(block['runs'])} runs failed: {named}"))


def _run_one(folder: RunFolder, cache: str | None, quiet: bool, options: RunOptions, name: str) -> dict[str, Any]:
    """One run of the night, whose work outlives it like any run's."""
    from ..kept_run import kept_run

    own = RunFolder(folder.path / name)
    try:
        with own.alone(), kept_run(options, own.path, cache=cache, **streams(quiet)) as made:
            own.write(run_files(made.report, made.lines))
    except BaseException:
        own.abandon()
        raise
    return made.report


def _scored(folder: RunFolder, outcomes: Iterable[Outcome], *, quiet: bool) -> dict[str, Any]:
    """bench.json, written after each run, so that a night cut short has its table."""
    from ..reporting.bench import bench_block, to_markdown
    from ..reporting.text import printable

    runs: list[tuple[str, str, str, Mapping[str, Any]]] = []
    failures: list[tuple[str, str, str]] = []
    block: dict[str, Any] = {}
    for outcome in outcomes:
        if outcome.report is not None:
            runs.append((outcome.model, outcome.corpus, outcome.folder, outcome.report))
        else:
            failures.append((outcome.model, outcome.corpus, str(outcome.failure)))
            if not quiet:
                click.echo(printable(f"error: {outcome.model} on {outcome.corpus}: {outcome.failure}"), err=True)
        block = bench_block(runs, failures)
        folder.write({"bench.json": [_json(block)], "bench.md": [to_markdown(block)]})
    _write_page(folder, [report for *_, report in runs])
    return block


def _options(options: dict[str, Any]) -> RunOptions:
    from ..benchmark import RunOptions

    return RunOptions(scoring=scoring_of(options), **options)


def _night(context: click.Context, path: str) -> tuple[Sequence[str], Sequence[CorpusChoice], RunOptions]:
    """What the file says; its options are checked as if they had been typed."""
    from ..bench_night import load_night

    typed = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if any(name not in _OWN or name == "corpus" for name in typed):
        raise UsageError(
            "options stand in the bench file, under [options] – give --cache, --output, --json and --quiet beside it alone"
        )
    known = {
        option.removeprefix("--")
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and parameter.name not in _OWN
        for option in parameter.opts
    }
    night = load_night(path, known)
    with context.command.make_context("bench file", [*night.arguments, "--output", "", path]) as asked:
        options = {name: value for name, value in asked.params.items() if name not in _OWN}
    return night.models, night.corpora, _options(options)


def _write_page(folder: RunFolder, reports: Sequence[Mapping[str, Any]]) -> None:
    """runs.html of several runs, where the `report` extra is installed; bench.md says the same without. None of an older night."""
    from ..reporting.side_by_side import comparison_html

    (folder.path / "runs.html").unlink(missing_ok=True)
    if len(reports) < 2:
        return

    try:
        page = comparison_html(reports)
    except UsageError:
        return
    folder.write({"runs.html": [page]})


def _json(block: Mapping[str, Any]) -> str:
    return json.dumps(block, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
