"""Which entries of a catalog are meant, and in which order; sizes as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .entries import Entry

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgb]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


@dataclass(frozen=True, slots=True)
class Selection:
    """None: any. architecture also meets a family's name; size limits leave out models of unknown size."""

    architecture: str | None = None
    language: str | None = None
    task: str | None = None
    kind: str | None = None
    least: int | None = None
    most: int | None = None
    runnable: bool = False

    def holds(self, entry: Entry) -> bool:
        size = entry.parameters
        return (
            (not self.architecture or _same(self.architecture, entry.architecture, entry.family))
            and (not self.language or _same(self.language, *entry.languages))
            and (not self.task or _same(self.task, entry.task))
            and (not self.kind or _same(self.kind, entry.kind))
            and (self.least is None or (size is not None and size >= self.least))
            and (self.most is None or (size is not None and size <= self.most))
            and (not self.runnable or entry.family is not None)
        )


def _same(asked: str, *values: str | None) -> bool:
    return any(value is not None and value.casefold() == asked.casefold() for value in values)


ORDERS: dict[str, Callable[[Entry], Any]] = {
    "name": lambda entry: (),
    "size": lambda entry: (entry.parameters is None, entry.parameters or 0),
    "architecture": lambda entry: (entry.architecture is None, entry.architecture or ""),
    "language": lambda entry: (not entry.languages, len(entry.languages), entry.languages),
    "task": lambda entry: (entry.task is None, entry.task or "", entry.kind or ""),
}
"""What to sort by; ties, and `name` itself, by name without case. Unknown comes last."""


def chosen(entries: Iterable[Entry], selection: Selection, order: str = "name") -> list[Entry]:
    return sorted(filter(selection.holds, entries), key=lambda entry: (ORDERS[order](entry), entry.name.casefold()))


def parsed_size(said: str | None, option: str) -> int | None:
    """`110M`, `0.6B` or `33000000` as a number of parameters. Raises UsageError."""
    if said is None:
        return None
    found = _SIZE.fullmatch(said.strip())
    if found is None:
        raise UsageError(f"{option}: give a number of parameters such as 33M, 0.6B or 110000000")
    return round(float(found[1]) * _FACTORS[found[2].lower()])


def shown_size(parameters: int | None) -> str:
    """As `33M`; nothing for an unknown size."""
    if parameters is None:
        return ""
    for factor, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if parameters >= factor:
            return f"{parameters / factor:.3g}{letter}"
    return str(parameters)
