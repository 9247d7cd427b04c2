"""`generate`: a language model as tagger, scored. Its answers hold text: they are kept only where `--keep-answers` says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..corpora import DISCONTINUOUS, FORMATS
from ..errors import UsageError
from .options import Finite, choice, deliver, output_options, run_folder, scoring_of, scoring_options

_BENCHMARKS = ("anat_em", "bc5cdr", "ncbi_disease", "custom")
_ALIGNMENTS = ("faithful", "evalscope")


@click.command(help="Score a language model's tagging of a corpus. Give one of --model, --answers and --endpoint.")
@click.option("--model", metavar="DIR", help="A model that mlx-lm can load.")
@click.option("--adapter", metavar="DIR", help="A LoRA adapter for it.")
@click.option("--answers", metavar="FILE", help='Answers made elsewhere: JSONL of {"id", "answer"}.')
@click.option("--endpoint", metavar="URL", help="An OpenAI-compatible server on this machine (loopback only).")
@click.option("--endpoint-model", metavar="NAME", help="Which of the server's models to ask.")
@click.option("--corpus", required=True, metavar="PATH", help="A file, a folder, or - for stdin.")
@click.option("--benchmark", type=choice(_BENCHMARKS), default="anat_em", show_default=True, help="The protocol.")
@click.option("--protocol", metavar="FILE", help="With --benchmark custom: a protocol of your own, in TOML.")
@click.option(
    "--entity",
    "entities",
    multiple=True,
    metavar="TAG[=DESCRIPTION]",
    help="With --benchmark custom: a type to tag; once a type.",
)
@click.option("--shots", type=click.IntRange(min=0), metavar="N", help="Examples shown. [default: those the protocol has]")
@click.option("--shots-file", metavar="PATH", help="Take the examples from the first documents of this corpus.")
@click.option(
    "--align",
    type=choice(_ALIGNMENTS),
    default="faithful",
    show_default=True,
    help="How answers become spans; evalscope: by that tool's own rules, faults included.",
)
@click.option("--system-role", is_flag=True, help="Give the instructions as the system's message.")
@click.option("--raw-prompt", is_flag=True, help="Give the prompt as it is, without the model's chat template.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Most tokens of an answer. [default: three for each of the text's, and 64]",
)
@click.option(
    "--temp",
    "temperature",
    type=Finite(min=0),
    default=0.0,
    show_default=True,
    help="Temperature of the sampling; 0 takes the likeliest token.",
)
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=8, show_default=True, metavar="N", help="Documents answered together."
)
@click.option(
    "--keep-answers", is_flag=True, help="Keep the answers, which hold text, in answers.jsonl of --output, and resume from there."
)
@click.option("--format", type=choice(list(FORMATS)), help="The corpus format; told by names and first bytes if not given.")
@click.option(
    "--discontinuous",
    type=choice(list(DISCONTINUOUS)),
    default="hull",
    show_default=True,
    help="What becomes of a gold annotation in several pieces.",
)
@click.option("--skip-bad", is_flag=True, help="Leave bad documents out and count them, instead of stopping.")
@click.option("--suite", metavar="NAME", help="What the report calls this evaluation and its corpus.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Score the first N documents only.")
@scoring_options
@output_options
def command(output: str | None, keep_answers: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    from ..generative.journal import NAME
    from ..generative.running import GenerateOptions, run_generative

    started = time.perf_counter()
    if keep_answers and (output is None or options["answers"] is not None):
        raise UsageError("--keep-answers needs --output, and a --model or --endpoint that answers")
    with run_folder(output) as folder:
        seed = options["seed"]
        chosen = GenerateOptions(scoring=scoring_of(options), seed=seed, **options)
        try:
            result = run_generative(
                chosen,
                keep_answers=Path(output or "") / NAME if keep_answers else None,
                progress=None if quiet else tokens_bar,
                say=lambda line: click.echo(f"note: {line}", err=True),
                started=started,
            )
        except KeyboardInterrupt:
            if keep_answers:
                click.echo(
                    f"note: the answers so far, which hold text, are kept in {NAME}; the same command goes on from them", err=True
                )
            raise
        deliver(result.report, folder, result.files(), as_json=as_json, quiet=quiet)


@contextmanager
def tokens_bar(total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar of answers with tokens a second on stderr, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda answers, tokens: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    speed = TextColumn("{task.fields[speed]}")
    columns = (TextColumn("answers"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("answers", total=total, speed="")
        started, written = time.perf_counter(), 0

        def advance(answers: int, tokens: int) -> None:
            nonlocal written
            written += tokens
            bar.update(task, advance=answers, speed=f"{written / (time.perf_counter() - started):,.1f} tokens/s")

        yield advance
