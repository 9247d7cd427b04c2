"""What a reader makes: a document as its file says it, not yet checked, the fault in its place, or a note.

Readers are pure functions from a file's bytes to these values, so that one place numbers documents, checks
gold and words errors. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..errors import InputError

T = TypeVar("T")


class Fault(Exception):
    """Something in a file that cannot be: yielded by a reader for one bad document, raised for a bad file.

    what, remedy: words of this program only. line counts from 1; span is the number of the gold span, from 1.
    is_mismatch: the offsets are possible, but the annotation's own text stands elsewhere.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        line: int | None = None,
        span: int | None = None,
        offsets: tuple[int, int] | None = None,
        is_mismatch: bool = False,
    ) -> None:
        super().__init__(what)
        self.is_mismatch = is_mismatch
        self.what, self.remedy, self.line, self.span, self.offsets = what, remedy, line, span, offsets

    def at(self, format: str, file: int | None, document: int | None = None) -> InputError:
        """The error a user sees, with the place that only the loader knows."""
        return InputError(
            format,
            self.what,
            remedy=self.remedy,
            file=file,
            document=document,
            line=self.line,
            span=self.span,
            offsets=self.offsets,
        )


class Mention(NamedTuple):
    """A gold annotation as written.

    pieces: half-open offsets, in the file's order; more than one where the annotation is discontinuous.
    surface: the text that the file says stands there, its pieces joined by a space; None or empty where it
    says nothing.
    loose: the surface is a model's own spelling (a pipeline's `word`): like the text but for case, accents
    and spacing.
    category: the critical finding it is, a value of labels/critical.py, or None.
    """

    label: str
    pieces: tuple[tuple[int, int], ...]
    surface: str | None = None
    line: int | None = None
    loose: bool = False
    category: str | None = None


class Draft(NamedTuple):
    """A document as written. id: None where the file gives none. Other fields as in Document."""

    id: str | None
    text: str
    mentions: tuple[Mention, ...]
    language: str = "en"
    metadata: Mapping[str, Any] = MappingProxyType({})
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader says of its file beside the documents. code: a key of notes.NOTES."""

    code: str


Made: TypeAlias = Draft | Fault | Note


def attempt(make: Callable[..., T], *arguments: Any) -> T | Fault:
    """What `make` returns, or the Fault it raises: how a reader goes on after a bad document."""
    try:
        return make(*arguments)
    except Fault as fault:
        return fault
