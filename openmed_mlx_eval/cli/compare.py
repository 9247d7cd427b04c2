"""`compare`: two runs of one corpus, number by number and label by label; with --max-loss a verdict and exit code 3."""

from __future__ import annotations

import json
from typing import Any

import click

from ..comparison import DEFAULT_METRIC, METRICS
from .options import bootstrap_of, bootstrap_options, choice, run_folder


@click.command(help="Compare run folder B, the candidate, with run folder A, its baseline or parent.")
@click.argument("a")
@click.argument("b")
@click.option(
    "--metric",
    type=choice(list(METRICS)),
    default=DEFAULT_METRIC,
    show_default=True,
    help="The number of each label that the terminal shows and --max-loss judges.",
)
@click.option(
    "--max-loss",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help="Exit 3 if any label lost more than this, has no gold, or is never predicted by A or by B.",
)
@click.option("--labels", metavar="A,B", help="List, adjust and judge these labels only.")
@bootstrap_options
@click.option("--output", metavar="DIR", help="Write comparison.json and comparison.md there.")
@click.option("--json", "as_json", is_flag=True, help="Print comparison.json instead of tables.")
def command(
    a: str,
    b: str,
    metric: str,
    max_loss: float | None,
    labels: str | None,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    from ..comparison import compare
    from ..errors import GateError
    from ..reporting.comparison import print_comparison, to_markdown, verdict_line
    from ..reporting.text import printable
    from ..saved_runs import load_run

    chosen = None if labels is None else [label.strip() for label in labels.split(",") if label.strip()]
    with run_folder(output) as folder:
        runs = load_run(a, "A"), load_run(b, "B")
        made = compare(*runs, bootstrap_of(options), labels=chosen, max_loss=max_loss, metric=metric)
        written = json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if folder is not None:
            folder.write({"comparison.json": [written], "comparison.md": [to_markdown(made)]})
    if as_json:
        click.echo(written, nl=False)
    else:
        print_comparison(made)
    if made["verdict"] is not None and not made["verdict"]["passed"]:
        raise GateError(printable(verdict_line(made)))
