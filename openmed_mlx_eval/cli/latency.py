"""`latency`: how cold and how warm a model is on this machine. Ctrl-C keeps what was measured."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..errors import GateError, UsageError
from ..latency.cold import JIT_CACHES, PAGE_CACHES, ColdStart
from ..latency.steady import BATCHES, LENGTHS, Steady
from .options import Finite, all_of, choice, corpus_path_option, model_option, model_options, reading_options, run_folder
from .run import progress_bar

latency_options = all_of(
    click.option("--processes", type=click.IntRange(min=0), default=10, show_default=True, metavar="N",
                 help="Fresh processes of the cold start, besides one that is thrown away."),
    click.option("--page-cache", type=choice(PAGE_CACHES), default="warm", show_default=True,
                 help="Whether the system's page cache holds the model's files before a cold start."),
    click.option("--jit-cache", type=choice(JIT_CACHES), default="kept", show_default=True,
                 help="Whether mlx finds the kernels that an earlier process compiled."),
    click.option("--lengths", metavar="N,N,…", help=f"Model tokens of the steady state's texts. [default: "
                 f"{', '.join(map(str, LENGTHS))} as far as the window goes, and the window]"),
    click.option("--batches", default=",".join(map(str, BATCHES)), show_default=True, metavar="N,N,…",
                 help="How many of them at a time."),
    click.option("--seconds", type=Finite(min=0), default=1.0, show_default=True, metavar="S",
                 help="Each length and batch is measured at least so long,"),
    click.option("--iterations", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
                 help="and at least so often."),
    click.option("--warmups", type=click.IntRange(min=0), default=10, show_default=True, metavar="N",
                 help="Calls before that, not measured."),
    click.option("--roofline", is_flag=True, help="Measure this device's own peaks, and the share of them the model reaches."),
    click.option("--budget", metavar="NAME=N,…", help="The most that is allowed, as in p95_ms=150,cold_start_ms=400,"
                 "peak_rss_mib=350, or a device tier such as tiny; exit 3 if it is not kept."),
    click.option("--compare", metavar="OLD.json", help="How much slower or faster than in an older latency.json."),
)  # fmt: skip


@click.command(help="Measure cold start, single documents and steady state. Without --model and --corpus: the embedded demo.")
@model_option
@corpus_path_option
@reading_options
@model_options
@latency_options
@click.option("--output", metavar="DIR", help="Write latency.json and latency.md there.")
@click.option("--json", "as_json", is_flag=True, help="Print latency.json instead of tables.")
@click.option("--quiet", is_flag=True, help="No progress and no warnings on stderr.")
def command(output: str | None, as_json: bool, quiet: bool, **options: Any) -> int:
    from ..latency.budget import parsed_budget
    from ..latency.comparison import load_report
    from ..latency.measure import LatencyOptions, measure
    from ..reporting.latency import print_latency, to_markdown
    from ..reporting.report import to_json
    from ..reporting.text import print_warnings

    budget, compare = options.pop("budget"), options.pop("compare")
    lengths = options.pop("lengths")
    cold = ColdStart(*(options.pop(name) for name in ("processes", "page_cache", "jit_cache")))
    steady = Steady(
        None if lengths is None else _numbers(lengths, "--lengths"),
        _numbers(options.pop("batches"), "--batches"),
        *(options.pop(name) for name in ("warmups", "iterations", "seconds")),
    )
    chosen = LatencyOptions(
        cold=cold,
        steady=steady,
        budget=None if budget is None else parsed_budget(budget),
        compare=None if compare is None else load_report(compare),
        **options,
    )
    with run_folder(output) as folder:
        report = measure(chosen, progress=None if quiet else partial(progress_bar, unit="steps"))
        if folder is not None:
            folder.write({"latency.json": [to_json(report)], "latency.md": [to_markdown(report)]})
        if as_json:
            click.echo(to_json(report), nl=False)
        else:
            print_latency(report)
        if not quiet:
            print_warnings(report)
    if report["partial"]:
        return 130
    _hold(report)
    return 0


def _numbers(said: str, option: str) -> tuple[int, ...]:
    """`1,8,32` as numbers, each once."""
    try:
        return tuple(dict.fromkeys(int(part) for part in said.split(",")))
    except ValueError:
        raise UsageError(f"{option}: give whole numbers with commas between them, such as 1,8,32") from None


def _hold(report: dict[str, Any]) -> None:
    """Raise GateError, which names every measure over its budget."""
    broken = [row for row in report["budget"] or () if not row["met"]]
    if broken:
        said = [
            f"{row['measure']} is {'not measured' if row['measured'] is None else format(row['measured'], '.6g')}, "
            f"at most {row['limit']:g}"
            for row in broken
        ]
        raise GateError(f"{len(broken)} of {len(report['budget'])} budgets not kept: {'; '.join(said)}")
