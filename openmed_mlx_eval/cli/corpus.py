"""`corpus check|stats|convert|agreement`: thin commands over the readers, the counts and the writers.

Only `convert` writes text, and only to where it is told to. Reports of problems hold places, never names or
text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from ..corpora import DISCONTINUOUS, FORMATS, Corpus, GoldError, load_corpus
from ..corpora.notes import NOTES
from ..corpora.saving import save
from ..corpora.source import STDIN
from ..corpora.stats import CorpusStats
from ..corpora.writers import WRITERS, to_openmed
from ..errors import EvaluationError, InputError, UsageError
from .corpus_agreement import agreement

Command = TypeVar("Command", bound=Callable[..., Any])


def _reading_options(command: Command) -> Command:
    """What every sub-command needs to read a corpus. The path is checked by the loader: click would quote it."""
    options = (
        click.argument("path"),
        click.option("--format", type=click.Choice(list(FORMATS)), help="Format; told by names and first bytes if not given."),
        click.option("--discontinuous", type=click.Choice(list(DISCONTINUOUS)), default="hull",
                     show_default=True, help="What becomes of an annotation in several pieces."),
        click.option("--name", help="What to call the corpus; its format if not given."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option("--quiet", is_flag=True, help="No notices on stderr."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


_skip_bad = click.option("--skip-bad", is_flag=True, help="Leave bad documents out and count them.")


@click.group(help="Check, count, convert and compare corpora.")
def command() -> None:
    pass


command.add_command(agreement)


@command.command()
@_reading_options
def check(path: str, format: str | None, discontinuous: str, name: str | None, as_json: bool, quiet: bool) -> int:
    """Read a corpus whole and list every problem; exit 1 if there is any.

    PATH is a file, a folder, or - for stdin.
    """
    try:
        corpus = load_corpus(path, format, name=name, skip_bad=True, discontinuous=discontinuous)
    except InputError as error:  # of a whole file: there is no document to leave out
        if not as_json:
            raise
        listed = [{"where": error.where, "what": error.what, "remedy": error.remedy}]
        _print_json(
            {
                "name": name,
                "format": format,
                "documents": 0,
                "bad_documents": 0,
                "spans": 0,
                "problems": 1,
                "notes": {},
                "problem_list": listed,
            }
        )
        return 1
    problems = [problem for error in corpus.skipped for problem in _all_of(error)]
    counts = {
        "documents": len(corpus) + len(corpus.skipped),
        "bad_documents": len(corpus.skipped),
        "spans": sum(len(document.gold_spans) for document in corpus),
        "problems": len(problems),
    }
    if as_json:
        listed = [{"where": p.where, "what": p.what, "remedy": p.remedy} for p in problems]
        notes = {**_emptiness(corpus), **corpus.notes}
        _print_json({"name": corpus.name, "format": corpus.format, **counts, "notes": notes, "problem_list": listed})
    else:
        for problem in problems:
            click.echo(str(problem))
        good = f"good documents: {len(corpus):,}, with spans: {counts['spans']:,}"
        bad = f"bad documents: {len(corpus.skipped):,}, with problems: {len(problems):,}"
        click.echo(f"{corpus.name} – {good}; {bad}")
    _warn_if_empty(corpus, quiet)
    _say_notes(corpus, quiet)
    return 1 if problems else 0


def _all_of(error: InputError) -> tuple[InputError, ...]:
    return error.problems if isinstance(error, GoldError) else (error,)


@command.command()
@_reading_options
@_skip_bad
def stats(
    path: str,
    format: str | None,
    discontinuous: str,
    name: str | None,
    as_json: bool,
    quiet: bool,
    skip_bad: bool,
) -> int:
    """Count documents, spans, labels, lengths and overlaps.

    PATH is a file, a folder, or - for stdin.
    """
    corpus = load_corpus(path, format, name=name, skip_bad=skip_bad, discontinuous=discontinuous, keep_mismatched=True)
    counted = CorpusStats.of(corpus)
    if as_json:
        _print_json(counted.to_json())
    else:
        _print_tables(counted)
    _warn_if_empty(corpus, quiet)
    _notice(counted.skipped, "bad documents left out – `corpus check` lists them", quiet)
    _notice(
        counted.mismatched,
        "documents whose annotations do not fit their own text – `corpus check` lists them",
        quiet,
    )
    if counted.in_pieces:
        _notice(
            counted.in_pieces,
            f"annotations in several pieces, read with --discontinuous {discontinuous}",
            quiet,
        )
    _say_notes(corpus, quiet)
    return 0


@command.command()
@_reading_options
@_skip_bad
@click.option("--to", "target", type=click.Choice(list(WRITERS)), required=True, help="The format to write.")
@click.option(
    "-o", "--output", required=True, metavar="PATH", help="File (openmed, conll, doccano; - is stdout) or folder (brat) to write."
)
@click.option("--force", is_flag=True, help="Replace what is there.")
@click.option("--lossy", is_flag=True, help="Write even if the format cannot hold all gold, and count what is lost.")
def convert(
    path: str,
    format: str | None,
    discontinuous: str,
    name: str | None,
    as_json: bool,
    quiet: bool,
    skip_bad: bool,
    target: str,
    output: str,
    force: bool,
    lossy: bool,
) -> int:
    """Write a corpus in another format; lose no gold without --lossy.

    PATH is a file, a folder, or - for stdin.
    """
    if as_json and output == STDIN:
        raise UsageError("--json and -o - both want stdout – write the corpus to a file")
    corpus = load_corpus(path, format, name=name, skip_bad=skip_bad, discontinuous=discontinuous)
    as_lines = target == "openmed" and Path(output).suffix.lower() in (".jsonl", ".ndjson")
    written = to_openmed(corpus.documents, lines=True) if as_lines else WRITERS[target](corpus.documents)
    if written.lost and not lossy:
        losses = "; ".join(f"{count:,} {what}" for what, count in written.lost.items())
        raise EvaluationError(f"{target} cannot hold all gold of this corpus ({losses}) – --lossy writes the rest")
    save(written.files, output, force=force)
    if as_json:
        summary = {"documents": len(corpus), "skipped": len(corpus.skipped), "format": target}
        _print_json({**summary, "lost": dict(written.lost), "changed": dict(written.changed)})
    _notice(len(corpus.skipped), "bad documents left out", quiet)
    _say_notes(corpus, quiet)
    for verb, counts in (("lost", written.lost), ("changed", written.changed)):
        for what, count in counts.items():
            _notice(count, f"{what} ({verb})", quiet)
    return 0


def _emptiness(corpus: Corpus) -> dict[str, int]:
    """{code: how many documents} where there is nothing to score, under the codes of a report's warnings."""
    if not len(corpus):
        return {"no_documents": 0}
    return {} if any(document.gold_spans for document in corpus) else {"no_gold": len(corpus)}


def _warn_if_empty(corpus: Corpus, quiet: bool) -> None:
    for code in _emptiness(corpus) if not quiet else ():
        click.echo(f"warning: {_EMPTY[code]} – is {corpus.format} its format?", err=True)


_EMPTY = {"no_documents": "no document was read", "no_gold": "no document has a gold span"}


def _say_notes(corpus: Corpus, quiet: bool) -> None:
    for code, count in corpus.notes.items():
        _notice(count, NOTES[code], quiet)


def _notice(count: int, what: str, quiet: bool) -> None:
    if count and not quiet:
        click.echo(f"note: {count:,} {what}", err=True)


def _print_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2))


def _print_tables(counted: CorpusStats) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    overview = Table("", "count", title=Text(f"{counted.name} ({counted.format})"))
    rows: dict[str, Any] = {
        "documents": counted.documents,
        "documents without spans": counted.documents_without_spans,
        "characters": counted.characters,
        "spans": counted.spans,
        "overlapping spans": counted.overlapping,
        "nested spans": counted.nested,
        **{f"document length {key}": value for key, value in counted.document_characters.items()},
        **{f"span length {key}": value for key, value in counted.span_characters.items()},
        **{f"documents in {key}": value for key, value in counted.languages.items()},
    }
    labels = Table("label", "spans", title="labels")
    for table, entries in ((overview, rows), (labels, counted.labels)):
        table.columns[1].justify = "right"
        for key, value in entries.items():
            table.add_row(Text("".join(c if c.isprintable() else "\ufffd" for c in key)), f"{value:,}")
        if table.row_count:
            console.print(table)
