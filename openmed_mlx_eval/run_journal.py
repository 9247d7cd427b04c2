"""The journal of a run: what a model predicted, batch by batch, so that a run that was killed goes on where it was.

It lies in the output folder until the report is written. Offsets, labels and scores alone, never text. A line is a checksum
and JSON; the first holds the key of the run, each other the spans of the documents that were done together. Batches are
taken up whole, so that the next one is made of the same documents as it would have been.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .run_key import RunKey, differences
from .spans import Span

NAME = "journal.jsonl"
NO_FILE = "not a file"
KIND = "openmed-mlx-eval/journal"


class RunJournal:
    """documents: how many are done. notes: what to tell the user of the file as it was found. failure: why nothing more is
    written, None while it is.
    """

    def __init__(self, folder: Path, key: RunKey, most: int, labels: Collection[str]) -> None:
        """most: documents of the run. labels: those that its model gives; what else a journal holds is damage."""
        self.documents = 0
        self._most, self._labels = most, frozenset(labels)
        self.notes: list[str] = []
        self.failure: str | None = None
        self._path, self._key = folder / NAME, json.loads(json.dumps(key))
        self._whole = 0
        try:
            if self._path.is_symlink() or (self._path.exists() and not self._path.is_file()):
                self.notes.append("what lies in the journal's place is no file of this program; the run has no journal")
                self.failure = NO_FILE
                return
            self._find_end()
        except FileNotFoundError:
            pass
        except OSError as error:
            self.notes.append(f"the journal of an earlier run cannot be read ({error.strerror}); everything is done anew")

    def _find_end(self) -> None:
        """Count what is done, and the bytes of whole lines."""
        lines = self._lines()
        head = next(lines, (None, 0))[0]
        if not isinstance(head, dict) or head.get("kind") != KIND or not isinstance(head.get("key"), dict):
            self.notes.append("the journal in the output folder is damaged; everything is done anew")
            return
        differing = differences(self._key, head["key"])
        if differing:
            word = "differs" if len(differing) == 1 else "differ"
            what = f"the journal in the output folder is of another run ({', '.join(differing)} {word})"
            self.notes.append(f"{what}; everything is done anew")
            return
        self._whole = len(_line(head))
        for batch, end in lines:
            if self._spans(batch) is None or self.documents + len(batch) > self._most:
                break
            self.documents += len(batch)
            self._whole = end
        if self._whole < self._path.stat().st_size:
            self.notes.append("the journal's end is damaged, as after a kill; what it held is done anew")
        if self.documents:
            self.notes.append(f"going on after {self.documents:,} documents that are done")

    def _lines(self) -> Iterator[tuple[Any, int]]:
        """Each line's value and the place where it ends, until the first that is damaged."""
        end = 0
        with self._path.open("rb") as file:
            for line in file:
                end += len(line)
                value = _value(line)
                if value is None:
                    return
                yield value, end

    def done(self) -> Iterator[list[Span]]:
        """The spans of each document that is done, in order."""
        waiting = self.documents
        for batch, _ in islice(self._lines(), 1, None) if waiting else ():
            yield from self._spans(batch) or []
            waiting -= len(batch)
            if not waiting:
                return

    def add(self, batch: Sequence[Sequence[Span]]) -> None:
        """The spans of the next documents. A disk that lets nothing be written ends the journal, not the run."""
        if self.failure is not None or not batch:
            return
        rows = [[(span.start, span.end, span.label, span.score) for span in spans] for spans in batch]
        try:
            with self._path.open("r+b" if self._whole else "wb") as file:
                file.seek(self._whole)
                file.truncate()
                written = b"" if self._whole else _line({"kind": KIND, "version": 1, "key": self._key})
                written += _line(rows)
                file.write(written)
            self._whole += len(written)
        except OSError as error:
            self.failure = error.strerror or "unknown reason"
            if not self._whole:
                self.remove()  # half a first line is nobody's journal

    def _spans(self, batch: Any) -> list[list[Span]] | None:
        """None for what is no batch of this model."""
        try:
            made = [[Span(*span) for span in spans] for spans in batch]
            return made if all(map(self._stands, chain.from_iterable(made))) else None
        except TypeError:  # no list of lists, or a label that is a list
            return None

    def _stands(self, span: Span) -> bool:
        start, end, score = span.start, span.end, span.score
        offsets = type(start) is type(end) is int and 0 <= start <= end
        return offsets and span.label in self._labels and (score is None or (type(score) is float and 0 <= score <= 1))

    @property
    def begun(self) -> bool:
        """Whether the file holds documents that are done."""
        return self._whole > 0 and self.failure is None

    def remove(self) -> None:
        if self.failure == NO_FILE:
            return
        with suppress(OSError):
            self._path.unlink()


def _line(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _value(line: bytes) -> Any:
    """None for a line that is not as it was written."""
    check, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or check != b"%08x" % zlib.crc32(text):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
