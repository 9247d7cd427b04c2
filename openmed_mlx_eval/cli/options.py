"""Options that several commands share, and how a result leaves a command."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from ..asked_labels import asked_labels
from ..corpora import DISCONTINUOUS, FORMATS
from ..errors import EvaluationError, UsageError
from ..layers import LAYERS
from ..reporting.files import RunFolder
from ..reporting.report import to_json
from ..reporting.text import print_report, print_warnings, to_markdown
from ..runtime.options import AGGREGATIONS, DEVICES, DTYPES, ENGINES
from ..scoring.abstention import Thresholds, parsed_thresholds
from ..scoring.bootstrap import METHODS, Bootstrap
from ..scoring.bundle import Options

Command = TypeVar("Command", bound=Callable[..., Any])


def all_of(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


def choice(values: Sequence[str]) -> click.Choice[str]:
    return click.Choice(list(values))


class Finite(click.FloatRange):
    """click's range lets NaN through every bound, and infinity through one that is not there; neither is an amount."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail("not a finite number", param, ctx)
        return number


reading_options = all_of(
    click.option("--format", type=choice(list(FORMATS)), help="The corpus format; told by names and first bytes if not given."),
    click.option("--discontinuous", type=choice(list(DISCONTINUOUS)), default="hull", show_default=True,
                 help="What becomes of a gold annotation in several pieces."),
    click.option("--skip-bad", is_flag=True, help="Leave bad documents out and count them, instead of stopping."),
    click.option("--suite", metavar="NAME", help="What the report calls this evaluation and its corpus."),
    click.option("--label-map", metavar="FILE|none",
                 help='JSON {"label in the data": "name to score"}, "*" for all others; none: labels as they are.'),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Score the first N documents only."),
)  # fmt: skip

corpus_options = all_of(
    reading_options,
    click.option("--layers", type=choice(list(LAYERS)), default="all", show_default=True,
                 help="Which of nested spans are scored, gold and predicted alike."),
    click.option("--training-manifest", metavar="FILE",
                 help="What the model was trained on: JSON(L) rows of id, text or sha256, or a corpus; overlap is reported."),
    click.option("--forbid-overlap", is_flag=True, help="Fail if a document is in the training manifest."),
)  # fmt: skip


def _asked(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else asked_labels(value)


gliner_options = all_of(
    click.option("--gliner-labels", metavar="A,B|FILE", callback=_asked,
                 help="What a GLiNER model is to find: labels by commas, or a file with one a line."),
    click.option("--gliner-threshold", type=click.FloatRange(0, 1), metavar="NUMBER",
                 help="The probability that its spans must exceed. [default: 0.5]"),
)  # fmt: skip

model_option = click.option(
    "--model", metavar="DIR|NAME", help="A Hugging Face directory, an openmed-mlx.json artifact, or a name of `models list`."
)
corpus_path_option = click.option("--corpus", metavar="PATH", help="A file, a folder, or - for stdin.")
manifest_option = click.option(
    "--manifest",
    metavar="FILE",
    help="Your own manifest of models. [default: $OPENMED_MLX_EVAL_MANIFEST, or one in your configuration]",
)

model_options = all_of(
    manifest_option,
    click.option("--engine", type=choice(ENGINES), default="auto", show_default=True, help="What computes."),
    click.option("--device", type=choice(DEVICES), default="auto", show_default=True, help="What it computes on."),
    click.option("--dtype", type=choice(DTYPES), default="auto", show_default=True, help="What it computes in."),
    click.option("--batch-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens computed together, about."),
    click.option("--stride", type=click.IntRange(min=0), metavar="N",
                 help="Tokens two windows of a long document share; of a GLiNER model, words. [default: 64, a quarter of a small window]"),
    click.option("--aggregation", type=choice(AGGREGATIONS), default="simple", show_default=True,
                 help="How tokens become spans; viterbi keeps to the tag scheme."),
    click.option("--compile/--no-compile", default=None,
                 help="Whether mlx compiles the network, once a shape. [default: on a GPU; elsewhere it takes a C++ compiler]"),
    gliner_options,
    click.option("--no-verify", "verify", is_flag=True, flag_value=False, default=True,
                 help="Do not compare the model's files with the SHA-256 in its openmed-mlx.json or the manifest."),
)  # fmt: skip

bootstrap_options = all_of(
    click.option("--bootstrap", type=click.IntRange(min=0), default=1000, show_default=True, metavar="N",
                 help="Confidence intervals from N resamples of the documents; 0 for none."),
    click.option("--interval", "interval_method", type=choice(METHODS), default="bca", show_default=True,
                 help="How the intervals are made."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the resampling."),
)  # fmt: skip

scoring_options = all_of(
    click.option("--slice-by", multiple=True, metavar="KEY",
                 help="Score each value of this metadata key apart, as language and script are; may be given again."),
    click.option("--abstain", metavar="NUMBER|FILE",
                 help='Decline predictions below this confidence; or JSON {"LABEL": number, "*": number}.'),
    bootstrap_options,
)  # fmt: skip


def scoring_of(options: dict[str, Any]) -> Options:
    """The values of `scoring_options`, taken out of a command's options. Raises UsageError."""
    abstain = options.pop("abstain")
    return Options(
        slice_by=options.pop("slice_by"),
        thresholds=None if abstain is None else thresholds_of(abstain),
        bootstrap=bootstrap_of(options),
    )


def bootstrap_of(options: dict[str, Any]) -> Bootstrap | None:
    """The values of `bootstrap_options`, taken out of a command's options."""
    resamples, method, seed = (options.pop(name) for name in ("bootstrap", "interval_method", "seed"))
    return Bootstrap(resamples, seed=seed, method=method) if resamples else None


def thresholds_of(value: str) -> Thresholds:
    """From the option `--abstain NUMBER|FILE`; labels as they are scored. Raises UsageError for what is neither."""
    try:
        return parsed_thresholds(float(value))
    except ValueError:
        pass
    try:
        table = json.loads(Path(value).read_bytes().decode("utf-8-sig"))
    except OSError:
        raise UsageError("--abstain: neither a number nor a file that can be read") from None
    except (ValueError, RecursionError):
        raise UsageError('--abstain: the file is not JSON – write {"LABEL": number, "*": number}') from None
    return parsed_thresholds(table)


cache_option = click.option(
    "--cache", metavar="DIR", help="Keep whole runs there, and give a run that is there without running it again."
)

output_options = all_of(
    click.option("--output", metavar="DIR", help="Write report.json, report.md, predictions.jsonl and documents.jsonl there."),
    click.option("--json", "as_json", is_flag=True, help="Print report.json instead of tables."),
    click.option("--quiet", is_flag=True, help="No progress and no warnings on stderr."),
)


@contextmanager
def run_folder(output: str | None) -> Iterator[RunFolder | None]:
    """The folder for `--output`, checked before the work and this process's alone; taken away again if the work fails."""
    if output is None:
        yield None
        return
    folder = RunFolder(output)
    try:
        with folder.alone():
            yield folder
    except BaseException:
        folder.abandon()
        raise


def run_files(report: Mapping[str, Any], lines: Mapping[str, Iterable[str]]) -> dict[str, Iterable[str]]:
    """{name: text} of what a run writes. lines: of its files with a line a document."""
    return {"report.json": [to_json(report)], "report.md": [to_markdown(report)], **lines}


def deliver(
    report: Mapping[str, Any],
    folder: RunFolder | None,
    lines: Mapping[str, Iterable[str]],
    *,
    as_json: bool,
    quiet: bool,
    written: Callable[[], Any] = lambda: None,
) -> None:
    """Files first, so that what was printed is also there; then stdout, then warnings on stderr.

    lines: as in run_files. written: called when the files are. Raises EvaluationError where the files could not be written; then the report was still printed.
    """
    failure: EvaluationError | None = None
    if folder is not None:
        try:
            folder.write(run_files(report, lines))
            written()
        except EvaluationError as error:
            failure = error
    if as_json:
        click.echo(to_json(report), nl=False)
    else:
        print_report(report)
    if not quiet:
        print_warnings(report)
    if failure is not None:
        raise failure
