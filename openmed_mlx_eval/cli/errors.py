"""`errors`: which label fails, how and where. `errors` runs a model, `errors from` reads a run, `errors show` puts the text back."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from ..errors import UsageError
from ..scoring.error_examples import ExampleOptions
from ..scoring.errors import KINDS
from .options import (
    all_of,
    choice,
    corpus_options,
    corpus_path_option,
    model_option,
    model_options,
    run_files,
    run_folder,
    scoring_of,
    scoring_options,
)  # fmt: skip
from .run import both_or_demo, progress_bar

sample_options = all_of(
    click.option("--examples", type=click.IntRange(min=0), default=5, show_default=True, metavar="N",
                 help="Examples of each label and kind, drawn by --seed."),
    click.option("--context-window", type=click.IntRange(min=0), default=24, show_default=True, metavar="N",
                 help="Characters of context on either side of an example."),
)  # fmt: skip
key_option = click.option(
    "--hash-key-file", metavar="FILE", help="Key of the hashes, to compare reports by them; by default random and forgotten."
)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draw.")
result_options = all_of(
    click.option("--output", metavar="DIR", help="Write errors.json and errors.md there; a run writes its own files too."),
    click.option("--json", "as_json", is_flag=True, help="Print errors.json instead of tables."),
    click.option("--quiet", is_flag=True, help="No progress and no warnings on stderr."),
)  # fmt: skip
corpus_option = click.option("--corpus", metavar="PATH", help="The corpus of the run. [default: the embedded demo's]")


@click.group(
    invoke_without_command=True,
    help="Say which errors a model makes on a corpus. With neither --model nor --corpus: the embedded demo.",
)
@model_option
@corpus_path_option
@corpus_options
@model_options
@scoring_options
@sample_options
@key_option
@result_options
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str | None,
    corpus: str | None,
    examples: int,
    context_window: int,
    hash_key_file: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    if context.invoked_subcommand is not None:
        if any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in context.params):
            raise UsageError(f"options stand behind the command: errors {context.invoked_subcommand} OPTIONS")
        return
    from ..benchmark import RunOptions, run
    from ..error_analysis import analysed

    both_or_demo(model, corpus)
    started = time.perf_counter()
    key = _key(hash_key_file)
    sample = ExampleOptions(examples, context_window, options["seed"])
    with run_folder(output) as folder:
        chosen = RunOptions(model=model, corpus=corpus, scoring=scoring_of(options), **options)
        result = run(chosen, progress=None if quiet else progress_bar, started=started)
        done = result.evaluation
        report = analysed(
            done.documents, done.predictions, **_origin(result.report), options=sample, hash_key=key, seams=result.seams
        )
        files = run_files(result.report, result.files())
        _deliver(report, folder, files, result.report["warnings"], as_json=as_json, quiet=quiet)


@command.command("from")
@click.argument("folder", metavar="RUN")
@corpus_option
@sample_options
@seed_option
@key_option
@result_options
def from_run(
    folder: str,
    corpus: str | None,
    examples: int,
    context_window: int,
    seed: int,
    hash_key_file: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The same from RUN, a folder that `run` or `score` wrote: no model is opened, and no option of it repeated."""
    from ..error_analysis import analysed

    key = _key(hash_key_file)
    with run_folder(output) as written:
        run = _recorded(folder, corpus)
        sample = ExampleOptions(examples, context_window, seed)
        report = analysed(run.documents, run.predictions, **_origin(run.report), options=sample, hash_key=key)
        warnings = [warning.to_dict() for warning in run.warnings]
        _deliver(report, written, {}, warnings, as_json=as_json, quiet=quiet)


@command.command()
@click.argument("folder", metavar="RUN")
@corpus_option
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Only errors of this label; may be given again.")
@click.option("--kind", "kinds", multiple=True, type=choice(KINDS), help="Only errors of this kind; may be given again.")
@sample_options
@seed_option
@click.option("--allow-pipe", is_flag=True, help="Print document text although stdout is not a terminal.")
def show(
    folder: str,
    corpus: str | None,
    labels: tuple[str, ...],
    kinds: tuple[str, ...],
    examples: int,
    context_window: int,
    seed: int,
    allow_pipe: bool,
) -> None:
    """Show errors of RUN with their text, for you who hold the corpus.

    Prints what patients' documents say, on a terminal only. The examples are those of errors.json where --examples and
    --seed are the same.
    """
    from ..error_analysis import analysed
    from ..reporting.excerpts import print_excerpts

    if not (allow_pipe or sys.stdout.isatty()):
        raise UsageError("this prints document text and stdout is not a terminal – add --allow-pipe if it may go there")
    run = _recorded(folder, corpus)
    sample = ExampleOptions(examples, context_window, seed)
    labels = tuple(_scored_as(label, run.report) for label in labels)
    drawn = analysed(run.documents, run.predictions, **_origin(run.report), options=sample).examples
    chosen = [one for one in drawn if (not labels or one.label in labels) and (not kinds or one.kind in kinds)]
    print_excerpts([document.text for document in run.documents], chosen)


def _scored_as(label: str, report: Mapping[str, Any]) -> str:
    """A label of the run, given by its name or as the data has it. Raises UsageError for one that it has not."""
    known = list(report["metrics"]["by_label"])
    name = label if label in known else report["config"]["labels"]["mapped"].get(label, label)
    if name not in known:
        raise UsageError(f"--label: the run has no such label – it has {', '.join(known)}")
    return str(name)


def _key(path: str | None) -> bytes | None:
    from ..error_analysis import load_hash_key

    return None if path is None else load_hash_key(path)


def _recorded(folder: str, corpus: str | None) -> Any:
    from ..demo import corpus_path
    from ..recorded import load_recorded

    return load_recorded(folder, corpus_path() if corpus is None else corpus)


def _origin(report: Mapping[str, Any]) -> dict[str, Any]:
    """What report.json says of where the numbers come from."""
    return {"suite": report["suite"], "model_name": report["model"]["name"], "corpus": report["corpus"]}


def _deliver(
    report: Any,
    folder: Any,
    files: Mapping[str, Any],
    warnings: Sequence[Mapping[str, Any]],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """As options.deliver: files, then stdout, then warnings on stderr."""
    from ..reporting.error_report import print_errors
    from ..reporting.text import print_warnings

    if folder is not None:
        folder.write({**files, "errors.json": [report.to_json()], "errors.md": [report.to_markdown()]})
    if as_json:
        click.echo(report.to_json(), nl=False)
    else:
        print_errors(report)
    if not quiet:
        print_warnings({"warnings": warnings})
