"""What a shell offers for a value, by the metavar that the help shows for it. Used only while a shell asks.

Names of commands, options and choices are click's own doing. A new metavar is offered nothing until it stands in the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

import click
from click.shell_completion import CompletionItem

VARIABLE = "_OPENMED_MLX_EVAL_COMPLETE"

Offer = Callable[[click.Context, str], list[CompletionItem]]


def _files(context: click.Context, begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="file")]


def _folders(context: click.Context, begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="dir")]


def _models(context: click.Context, begun: str) -> list[CompletionItem]:
    """Folders, and names of the manifests. The names come last: in bash a folder takes away what was offered before it."""
    return _folders(context, begun) + _names(context, begun)


def _names(context: click.Context, begun: str) -> list[CompletionItem]:
    """A manifest that cannot be read offers nothing: what is wrong with it is said when the command runs."""
    from ..errors import EvaluationError
    from ..model_manifest.catalog import load_catalog
    from ..model_manifest.selecting import shown_size

    try:
        models = load_catalog(context.params.get("manifest")).models
    except EvaluationError:
        return []
    return [
        CompletionItem(entry.name, help=" ".join(filter(None, (entry.architecture, shown_size(entry.parameters)))))
        for entry in models
        if entry.name.startswith(begun)
    ]


OFFERS: Mapping[str, Offer] = {
    **dict.fromkeys(
        ("PATH", "FILE", "FILE|none", "NUMBER|FILE", "A,B|FILE", "OLD.json", "GOLD", "PREDICTIONS", "CORPUS", "A B [MORE]..."),
        _files,
    ),
    **dict.fromkeys(("DIR", "RUN", "RUN...", "OUT", "compare A", "compare B"), _folders),
    **dict.fromkeys(("DIR|NAME", "MODELS...|FILE.toml", "SRC", "parity A", "parity B", "verify DIR"), _models),
    **dict.fromkeys(("show NAME", "pull NAME"), _names),
}
"""{metavar, after its command's name where several commands mean different things by it: what is offered}."""


class _Offered(click.types.StringParamType):
    """Text, with an offer."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._offer(ctx, incomplete)


def is_asked() -> bool:
    """Whether a shell started this process to complete a line."""
    return VARIABLE in os.environ


def with_offers(command: click.Command, name: str) -> click.Command:
    """The command, and those below it, whose values are completed by the table. name: as it is called by."""
    for parameter, key in _texts(command):
        offer = OFFERS.get(f"{name} {key}") or OFFERS.get(key)
        if offer is not None:
            parameter.type = _Offered(offer)
    for below, child in command.commands.items() if isinstance(command, click.Group) else ():
        with_offers(child, below)
    return command


def _texts(command: click.Command) -> Iterator[tuple[click.Parameter, str]]:
    """The parameters of a command that take any text, and how the help shows their value."""
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType):
            yield parameter, parameter.metavar or (parameter.name or "").upper()
