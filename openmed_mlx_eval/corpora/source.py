"""The edge between disk and readers: which files a path means, in which order, and their bytes as text.

Text is exactly what the bytes say: a byte-order mark is dropped, line ends are kept. Nothing here knows
what a document is.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .draft import Fault

STDIN = "-"

_FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
)
"""What compressed files begin with. None is unpacked here: a few bytes may hold more than a disk."""

_SUBFOLDERS = {".con": ("txt", "concept")}
"""Second suffixes of pairs whose two files may lie in subfolders of these names: i2b2-2010 as it is given out."""


BLOCK = 1 << 22
"""Bytes of a file of lines that a reader is given at once, about: a line is never cut."""

_FOREIGN_FIRST = tuple({mark[:1] for mark, _ in _FOREIGN_MARKS})


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or the two of a standoff pair (`data` is then the text, `standoff` its annotations), or a piece of a file.

    ordinal counts from 1 in reading order. stem and suffix: of the file's name; empty for stdin. data is None
    where a pair lacks its text, standoff where it lacks its annotations or the format has none. beside: the file
    in the same folder that says what all its documents have in common, None where there is none. line: the number of the
    first line of `data` in its file; over 1 only in the later pieces of a file that has a document a line.
    """

    ordinal: int
    stem: str
    suffix: str
    data: bytes | None
    standoff: bytes | None = None
    beside: bytes | None = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a Source is read from, as often as one likes, and its bytes held only then.

    files: one, or the two of a standoff pair, None for one that is not there. held: what came from stdin, which cannot be
    read again. Other fields as in Source.
    """

    ordinal: int
    stem: str
    suffix: str
    files: tuple[Path | None, ...] = ()
    beside: bytes | None = None
    held: bytes | None = None

    def source(self) -> Source:
        """Whole. Raises Fault for a file that cannot be read."""
        data, *standoff = [self.held] if self.held is not None else [_read(file, self.ordinal) for file in self.files]
        return Source(self.ordinal, self.stem, self.suffix, data, standoff[0] if standoff else None, self.beside)

    def head(self, size: int) -> bytes:
        """The first bytes of the one file. Raises Fault."""
        return self.held[:size] if self.held is not None else next(self._read_in(size), b"")

    def pieces(self) -> Iterator[Source]:
        """A file that has a document a line, in pieces of whole lines. Raises Fault."""
        line = 1
        for data in [self.held] if self.held is not None else _whole_lines(self._read_in(BLOCK)):
            yield Source(self.ordinal, self.stem, self.suffix, data, None, self.beside, line)
            line += data.count(b"\n")

    def blocks(self) -> Iterator[bytes]:
        """All its bytes, in blocks: those of a pair's text, then those of its annotations. Raises Fault."""
        yield from [self.held] if self.held is not None else self._read_in(BLOCK)

    def state(self) -> tuple[Any, ...]:
        """What changes when a file is written to. Raises Fault."""
        try:
            stats = [file.stat() for file in self.files if file is not None]
        except OSError as error:
            reason = error.strerror
            raise _unreadable(self.ordinal, reason) from None
        return tuple((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) for one in stats)

    def _read_in(self, size: int) -> Iterator[bytes]:
        for path in self.files:
            if path is None:
                continue
            try:
                with path.open("rb") as file:
                    while block := file.read(size):
                        yield block
            except OSError as error:
                reason = error.strerror
                raise _unreadable(self.ordinal, reason) from None


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            waiting.append(block)
            continue
        yield b"".join((*waiting, block[:end]))
        waiting = [block[end:]] if end < len(block) else []
    if waiting:
        yield b"".join(waiting)


def decoded(data: bytes, *, line: int | None = None, name: str = "the file") -> str:
    """The text of UTF-8 bytes without byte-order mark. Raises Fault with the byte offset for anything
    else."""
    for mark, encoding in _FOREIGN_MARKS if data[:1] in _FOREIGN_FIRST else ():
        if data.startswith(mark):
            raise Fault(f"{name} is {encoding}, not UTF-8", "convert it to UTF-8 first, e.g. with iconv", line=line)
    skip = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        return data[skip:].decode("utf-8")
    except UnicodeDecodeError as error:
        place = skip + error.start
    packed = compression_of(data)
    if packed:
        raise Fault(f"{name} is compressed with {packed}", "unpack it first, e.g. with gunzip", line=line)
    raise Fault(f"{name} is not UTF-8 at byte {place}", "convert it to UTF-8 first, e.g. with iconv", line=line)


def text_of(data: bytes, *, line: int | None = None, name: str = "the file") -> str:
    """As `decoded`, and the text of UTF-16 bytes that begin with its byte-order mark."""
    if not is_utf16(data):
        return decoded(data, line=line, name=name)
    try:
        return data.decode("utf-16")
    except UnicodeDecodeError as error:
        place = error.start
    raise Fault(f"{name} is not UTF-16, whose mark it bears, at byte {place}", "convert it to UTF-8 first", line=line)


def is_utf16(data: bytes) -> bool:
    """Whether bytes begin with the byte-order mark of UTF-16 and not with that of UTF-32, which begins alike."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(codecs.BOM_UTF32_LE)


def compression_of(data: bytes) -> str | None:
    """By what these bytes are compressed; None for a text, which may begin like bzip2's."""
    packed = next((name for mark, name in COMPRESSED if data.startswith(mark)), None)
    return packed if packed != "bzip2" or data[4:10] == b"1AY&SY" else None


def encoded(text: str) -> bytes:
    """UTF-8 bytes that `decoded` gives back: a text that begins with U+FEFF gets a mark to lose."""
    return (codecs.BOM_UTF8 if text.startswith("\ufeff") else b"") + text.encode("utf-8")


def sources_of(path: str | os.PathLike[str], suffixes: Sequence[str], pairs: bool, beside: Sequence[str] = ()) -> list[Source]:
    """The files that a path means, read; as places_of."""
    return [place.source() for place in places_of(path, suffixes, pairs, beside)]


def places_of(path: str | os.PathLike[str], suffixes: Sequence[str], pairs: bool, beside: Sequence[str] = ()) -> list[Place]:
    """The files that a path means: itself, stdin for `-`, or those of a folder with these suffixes, by name.

    pairs: the format keeps a text and its annotations apart (BRAT), in files of the first and the second suffix,
    which may lie in subfolders where the format is given out so (i2b2-2010).
    beside: names of files that hold no documents; the first of them in the folder is every source's `beside`.
    Other subfolders are not entered and names with a leading dot are passed over. Raises UsageError for a path that is not
    there or a folder with no such file, Fault for a file that cannot be read.
    """
    if os.fspath(path) == STDIN:
        if pairs:
            raise UsageError("this format is a folder of files and cannot come from stdin – give the folder")
        return [Place(1, "", "", held=sys.stdin.buffer.read())]
    place = existing(path)
    folder = place if place.is_dir() else place.parent
    names = [e for e in entries_of(place) if e.suffix.lower() in suffixes and e.name not in beside] if place.is_dir() else [place]
    homes = subfolders_of(place, suffixes[1]) if pairs and not any(name.suffix.lower() == suffixes[1] for name in names) else ()
    names = [e for home in homes for e in entries_of(home) if e.suffix.lower() in suffixes] or names
    if not names:
        wanted = ", ".join(suffixes)
        raise UsageError(f"the folder holds no {wanted} file – subfolders are not entered: give the right one")
    if pairs:
        stems = sorted({name.with_suffix("").name for name in names})
        return [_pair(ordinal, stem, homes or (folder, folder), suffixes) for ordinal, stem in enumerate(stems, start=1)]
    common = next((_read(folder / name, 1) for name in beside if (folder / name).is_file()), None)
    return [Place(n, p.stem, p.suffix.lower(), (p,), common, _piped(p, n)) for n, p in enumerate(names, start=1)]


def existing(path: str | os.PathLike[str], what: str = "the corpus path") -> Path:
    """The path, or a UsageError that does not repeat it: a name may be a patient's."""
    place = Path(path)
    try:
        found = bool(os.fspath(path)) and place.exists()
    except (OSError, ValueError):
        found = False
    if not found:
        raise UsageError(f"no such file or folder: {what} – check its spelling")
    return place


def entries_of(folder: Path) -> list[Path]:
    """The folder's files by name, without those of a leading dot. Raises UsageError if it cannot be read."""
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: (entry.stem, entry.name))
    except OSError as error:
        reason = error.strerror
        raise UsageError(f"the corpus folder cannot be read ({reason}) – check its rights") from None
    return [entry for entry in entries if not entry.name.startswith(".") and not entry.is_dir()]


def subfolders_of(folder: Path, suffix: str | None = None) -> tuple[Path, ...]:
    """The two subfolders that hold pairs of this second suffix, or of any; empty where it has not both."""
    for named, names in _SUBFOLDERS.items():
        found = tuple(folder / name for name in names)
        if suffix in (None, named) and all(part.is_dir() for part in found):
            return found
    return ()


def _pair(ordinal: int, stem: str, homes: Sequence[Path], suffixes: Sequence[str]) -> Place:
    parts = [home / (stem + suffix) for home, suffix in zip(homes, suffixes, strict=False)]
    return Place(ordinal, stem, ".txt", tuple(part if part.is_file() else None for part in parts))


def _piped(path: Path, ordinal: int) -> bytes | None:
    """What a pipe gives, which gives it once; None for a file."""
    return None if path.is_file() else _read(path, ordinal)


def _read(path: Path | None, ordinal: int) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        reason = error.strerror
    raise _unreadable(ordinal, reason)


def _unreadable(ordinal: int, reason: str | None) -> Fault:
    return Fault(f"file {ordinal} cannot be read ({reason})", "check its permissions")
