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
    from rich.console import Console

    from ..reporting.sections import count, rate
    from ..reporting.text import PIPE_WIDTH, rich_table

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    console.print(f"{result['annotators']} annotators, {result['documents']:,} documents, {result['tokens']:,} tokens")
    for pair in result["pairs"]:
        columns = [column.format(*pair["annotators"]) for column in _COLUMNS]
        rows = [
            [label, *map(count, block["spans"]), *map(rate, (block["exact"]["f1"], block["relaxed"]["f1"], block["kappa"]))]
            for label, block in (("all", pair), *pair["by_label"].items())
        ]
        console.print(rich_table(columns, rows))
    if len(result["pairs"]) > 1:
        exact, relaxed, kappa = (rate(result["mean"][key]) for key in ("exact_f1", "relaxed_f1", "kappa"))
        console.print(f"mean of the pairs: exact F1 {exact}, relaxed F1 {relaxed}, kappa {kappa}")
