"""A report for people: Markdown for the file, tables for the terminal. Both show the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .sections import Section, sections


def facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was run on what, in words."""
    model, corpus, environment, timing = (report[key] for key in ("model", "corpus", "environment", "timing"))
    where = " · ".join(str(environment[key]) for key in ("engine", "device", "dtype", "chip") if environment.get(key))
    scored, documents = corpus["documents_scored"], corpus["documents"]
    of = f"{scored:,} of {documents:,} documents" if scored != documents else f"{documents:,} documents"
    rows = [
        (
            "Model",
            str(model["name"]) + (f" ({model['family']}, {model['parameters']:,} parameters)" if model.get("family") else ""),
        ),
        ("Corpus", f"{corpus['name']} ({corpus['format']}): {of}, {corpus['spans']:,} gold spans"),
        ("Ran on", where),
    ]
    if timing.get("documents_per_second"):
        rows.append(("Speed", f"{timing['documents_per_second']:,.1f} documents per second, loaded in {timing['load_s']:.2f} s"))
    if report["partial"]:
        shard = report["config"].get("shard")
        rows.append(("Partial", "yes: --limit was given" if shard is None else f"yes: shard {shard}"))
    return rows


def to_markdown(report: Mapping[str, Any]) -> str:
    """report.md."""
    parts = [f"# {escaped(report['suite'])}", markdown_table(("", ""), facts(report))]
    for section in sections(report["metrics"]):
        parts += [f"## {escaped(section.title)}", markdown_table(section.columns, section.rows)]
    mapped = report["config"]["labels"]["mapped"]
    if mapped:
        parts += ["## Label names", markdown_table(("In the data", "Scored as"), sorted(mapped.items()))]
    if report["warnings"]:
        lines = [f"- **{w['code']}** ({w['count']:,}): {escaped(w['message'])}" for w in report["warnings"]]
        parts += ["## Warnings", "\n".join(lines)]
    files = report["model"].get("files") or {}
    versions = [(key, str(value)) for key, value in report["environment"].items() if value is not None]
    parts += ["## Provenance", markdown_table(("", ""), versions)]
    hashes = [*sorted(files.items()), ("corpus", report["corpus"]["sha256"])]
    parts.append(markdown_table(("File", "SHA-256"), hashes))
    return "\n\n".join(parts) + "\n"


def print_report(report: Mapping[str, Any]) -> None:
    """Tables on stdout."""
    print_tables(facts(report), sections(report["metrics"]))


def print_tables(lines: Sequence[tuple[str, str]], tables: Iterable[Section]) -> None:
    """Named lines, then the tables that are brief, on stdout."""
    from rich.text import Text

    out = stdout()
    for name, value in lines:
        out.print(Text.assemble((f"{name:<8}", "bold"), printable(value)))
    if lines:
        out.print()
    for section in tables:
        if section.brief:
            out.print(rich_table(section.columns, section.rows))


def stdout() -> Any:
    """A console on stdout that wraps no line itself."""
    from rich.console import Console

    out = Console(soft_wrap=True)
    if not out.is_terminal:
        out.width = PIPE_WIDTH
    return out


PIPE_WIDTH = 10_000
"""Columns where no terminal limits them: rich would cut tables at 80."""


def print_warnings(report: Mapping[str, Any]) -> None:
    """The report's warnings on stderr, one a line. Without one nothing is imported for it."""
    if not report["warnings"]:
        return
    from rich.console import Console
    from rich.text import Text

    err = Console(stderr=True, soft_wrap=True)
    for warning in report["warnings"]:
        said = f"{printable(warning['message'])} ({warning['code']}: {warning['count']:,})"
        err.print(Text.assemble(("warning: ", "yellow"), said))


def printable(text: str) -> str:
    """The text without what a terminal would obey: a label of a corpus may hold an escape sequence."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):  # where room is short the name is folded; a digit is never cut off
        table.add_column(column, justify="right" if number else "left", no_wrap=bool(number), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, the first column to the left and, of three or more, the others to the right."""
    aligned = ["---", *["---:"] * (len(columns) - 1)] if len(columns) > 2 else ["---"] * len(columns)
    lines = [[escaped(column) for column in columns], aligned, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(cell: Any) -> str:
    """A cell that Markdown shows as it is: one line, no column of its own, no markup, link or HTML."""
    return printable(_MARKUP.sub(r"\\\g<0>", str(cell).replace("\n", " "))).replace("&", "&amp;").replace("<", "&lt;")


_MARKUP = re.compile(r"[\\|`*\[\]~]|(?<!\w)_|_(?!\w)")
