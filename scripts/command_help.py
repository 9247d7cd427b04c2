"""docs/commands.md: the help of every command, as the program prints it.

python scripts/command_help.py [--write]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from openmed_mlx_eval.cli.main import cli

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
WIDTH = 100


def helps(
    command: click.Command, parent: click.Context | None = None, name: str = "openmed-mlx-eval"
) -> Iterator[tuple[str, str]]:
    """(how the command is called, its help), depth first, in the order of the help."""
    widths = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **{**command.context_settings, **widths})
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from helps(found, context, child)


def page() -> str:
    """The whole file."""
    parts = ["# Commands\n\nPrinted by `python scripts/command_help.py --write`.\n"]
    for path, text in helps(cli):
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## {path}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
