"""`corpus agreement`: how far annotators of the same documents agree. Prints numbers and labels alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from ..corpora import DISCONTINUOUS, FORMATS, load_corpus
from ..corpora.copies import same_documents
from ..corpora.source import STDIN
from ..errors import UsageError
from ..labels import LabelMap
from ..scoring.agreement import annotator_agreement
from ..spans import Span

_COLUMNS = ("Label", "Spans of {0}", "Spans of {1}", "Exact F1", "Relaxed F1", "Kappa")
_PIPE_WIDTH = 10_000  # columns where no terminal limits them: rich would cut labels at 80


@click.command("agreement")
@click.argument("paths", metavar="A B [MORE]...", nargs=-1)
@click.option("--format", type=click.Choice(list(FORMATS)), help="Format of all of them; told by each path if not given.")
@click.option(
    "--discontinuous",
    type=click.Choice(list(DISCONTINUOUS)),
    default="hull",
    show_default=True,
    help="What becomes of an annotation in several pieces.",
)
@click.option(
    "--label-map",
    metavar="FILE|none",
    help='JSON {"label in the data": "name to compare"}, "*" for all others; none: labels as they are.',
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--quiet", is_flag=True, help="No notices on stderr.")
def agreement(
    paths: tuple[str, ...],
    format: str | None,
    discontinuous: str,
    label_map: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Measure how far two or more annotators agree.

    A, B … are each annotator's copy of the same documents: files or folders, of any format; one may be - for stdin.
    For each pair: F1 of equal spans and of overlapping spans of one label (a maximum matching), the same whichever is
    gold, and Cohen's kappa over tokens, overall and per label.
    """
    if len(paths) < 2:
        raise UsageError("give two annotators' copies of the corpus, or more")
    if paths.count(STDIN) > 1:
        raise UsageError("only one of the copies can be -")
    names = LabelMap.load(label_map)
    copies = [load_corpus(path, format, discontinuous=discontinuous) for path in paths]
    documents = same_documents(copies)
    annotations = [[_named(row[number].gold_spans, names) for row in documents] for number in range(len(copies))]
    measured = annotator_agreement([row[0].text for row in documents], annotations)
    result = {**measured.to_dict(), "labels": {"mapped": names.mappings(), "met": names.met()}}
    if as_json:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        _print_tables(result)
    if not documents and not quiet:
        click.echo("warning: no document was read", err=True)
    return 0


def _named(spans: tuple[Span, ...], names: LabelMap) -> list[Span]:
    return [Span(span.start, span.end, names(span.label)) for span in spans]


def _print_tables(result: Mapping[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..reporting.sections import rate
    from ..reporting.text import printable

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(f"{result['annotators']} annotators, {result['documents']:,} documents, {result['tokens']:,} tokens")
    for pair in result["pairs"]:
        one, other = pair["annotators"]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for number, column in enumerate(_COLUMNS):
            table.add_column(
                column.format(one, other), justify="right" if number else "left", no_wrap=bool(number), overflow="fold"
            )
        for label, block in (("all", pair), *pair["by_label"].items()):
            numbers = [f"{count:,}" for count in block["spans"]]
            rates = [rate(block["exact"]["f1"]), rate(block["relaxed"]["f1"]), rate(block["kappa"])]
            table.add_row(*map(Text, [printable(label), *numbers, *rates]))
        console.print(table)
    if len(result["pairs"]) > 1:
        mean = result["mean"]
        console.print(
            f"mean of the pairs: exact F1 {rate(mean['exact_f1'])}, relaxed F1 {rate(mean['relaxed_f1'])}, "
            f"kappa {rate(mean['kappa'])}"
        )
