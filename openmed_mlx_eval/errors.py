"""The errors a user sees. They say what is wrong, where, and what to do; they never quote a document.

Everything raised on purpose derives from EvaluationError. An exception of a library that carries input
(`JSONDecodeError.doc`, `UnicodeDecodeError.object`, a `KeyError`'s key, an `int()` message) is turned into one
of these at the boundary with `raise … from None`.
"""

from __future__ import annotations


class EvaluationError(Exception):
    """Something failed; the command line prints the message and exits with `exit_code`."""

    exit_code = 1


class UsageError(EvaluationError):
    """The call itself is wrong: an unknown option value, two options that exclude each other."""

    exit_code = 2


class GateError(EvaluationError):
    """Everything worked, and the numbers are not what was asked of them."""

    exit_code = 3


class ModelError(EvaluationError):
    """A model directory that cannot be run, or that gave numbers which are none."""


class InputError(EvaluationError):
    """A corpus or prediction file that cannot be read as what it should be.

    `where` holds only positions (format name, ordinals, line numbers, offsets), `what` and `remedy` only words
    of this program. Ordinals and lines count from 1, offsets from 0.
    """

    def __init__(
        self,
        format: str,
        what: str,
        *,
        file: int | None = None,
        document: int | None = None,
        line: int | None = None,
        span: int | None = None,
        offsets: tuple[int, int] | None = None,
        remedy: str = "",
    ) -> None:
        places = [("file", file), ("document", document), ("line", line), ("span", span)]
        where = [format] + [f"{name} {value}" for name, value in places if value is not None]
        if offsets is not None:
            where.append(f"offsets {offsets[0]}–{offsets[1]}")
        self.where = ", ".join(where)
        self.document = document
        self.what = what
        self.remedy = remedy
        super().__init__(f"{self.where}: {what}" + (f" – {remedy}" if remedy else ""))
