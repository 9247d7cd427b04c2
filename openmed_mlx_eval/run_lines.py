"""The files of a run that have a line a document: which they are, and a place for lines while a run goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from .document_scores import FORMAT as DOCUMENTS
from .document_scores import counts_of, line_of
from .evaluation import Scored
from .predictions import FORMAT as PREDICTIONS
from .predictions import prediction_line
from .shard_file import FORMAT as SHARD
from .shard_file import shard_line

Line = Callable[[Scored], str]

MOST_KNOWN = 4096


class _DocumentLines:
    """Lines of documents.jsonl; what documents that count alike have in common is written out once."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def __call__(self, row: Scored) -> str:
        counts = self._known.get(row.row)
        if counts is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            counts = self._known[row.row] = counts_of(row.score)
        return line_of(row.ordinal, counts)


OF_EVERY_RUN: Mapping[str, Line] = {
    f"{PREDICTIONS}.jsonl": lambda row: prediction_line(row.ordinal, row.predicted),
    DOCUMENTS: _DocumentLines(),
}
OF_A_SHARD: Mapping[str, Line] = {**OF_EVERY_RUN, SHARD: lambda row: shard_line(row.ordinal, row.score)}
"""{file name: a document's line in it}; a shard's own file has one line before those."""


def lines_of(shard: bool) -> Mapping[str, Line]:
    return OF_A_SHARD if shard else OF_EVERY_RUN


class WaitingLines:
    """Lines that wait for the end of a run in nameless files, which are gone with the process however it ends.

    A disk that is full spoils these files and not the run: whoever then reads the lines gets the error.
    """

    def __init__(self, folder: Path, *, shard: bool) -> None:
        self._failure: OSError | None = None
        self._lines = lines_of(shard)
        self._files: dict[str, IO[str]] = {}
        try:
            for name in self._lines:
                self._files[name] = tempfile.TemporaryFile(  # noqa: SIM115 - open until the run ends
                    "w+", dir=folder, encoding="utf-8", errors="backslashreplace", newline="\n", buffering=1 << 18
                )
        except OSError as error:
            self._failure = error

    def add(self, row: Scored) -> None:
        if self._failure is not None:
            return
        try:
            for name, line in self._lines.items():
                self._files[name].write(line(row))
        except OSError as error:
            self._failure = error
            self.close()  # their room may be what the report needs

    def files(self) -> dict[str, Iterator[str]]:
        """{file name: its lines, once}. Reading them raises OSError where they could not be written."""
        return {name: self._read(name) for name in self._lines}

    def _read(self, name: str) -> Iterator[str]:
        if self._failure is not None:
            raise self._failure
        self._files[name].seek(0)
        yield from self._files[name]

    def close(self) -> None:
        self._files, files = {}, self._files
        for file in files.values():
            with suppress(OSError):  # a buffer that cannot be written, and that nobody will read
                file.close()
