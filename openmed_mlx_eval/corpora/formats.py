"""The corpus formats: their readers, the names their files have, and which of them a path is.

Detection looks at names first and at the first bytes where names leave it open (heads.py); it never reads gold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from . import (
    bioc,
    brat,
    conll,
    docbin,
    doccano,
    fixtures,
    huggingface,
    i2b2_2006,
    i2b2_2010,
    i2b2_xml,
    label_studio,
    prodigy,
    pubtator,
    webanno,
)
from .draft import Made
from .heads import HEAD, format_of_head
from .source import STDIN, Source, compression_of, entries_of, existing, subfolders_of

_JSON = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Format:
    """What the loader must know of a format.

    read: from a file, or a pair, to its documents.
    suffixes: the files read from a folder. telling: those that no other format has.
    pairs: text and annotations lie in two files of one name, of the first and the second suffix.
    beside: names of files that hold no documents, but what all of the folder's have in common.
    lines: a file with a document a line is read piece by piece; no document hangs on another's.
    """

    read: Callable[[Source], Iterator[Made]]
    suffixes: tuple[str, ...]
    telling: tuple[str, ...] = ()
    pairs: bool = False
    beside: tuple[str, ...] = ()
    lines: bool = False


FORMATS: Mapping[str, Format] = {
    "openmed": Format(fixtures.read, _JSON, lines=True),
    "conll": Format(
        conll.read,
        (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes", ".tsv", ".txt"),
        (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes"),
    ),
    "brat": Format(brat.read, (".txt", ".ann"), (".ann",), pairs=True),
    "pubtator": Format(pubtator.read, (".pubtator", ".txt"), (".pubtator",)),
    "i2b2": Format(i2b2_xml.read, (".xml",)),
    "doccano": Format(doccano.read, _JSON, lines=True),
    "prodigy": Format(prodigy.read, _JSON, lines=True),
    "label-studio": Format(label_studio.read, _JSON),
    "huggingface": Format(huggingface.read, (*_JSON, ".parquet"), (".parquet",), beside=huggingface.BESIDE),
    "bioc": Format(bioc.read, (*_JSON, ".xml", ".bioc"), (".bioc",)),
    "webanno": Format(webanno.read, (".tsv",)),
    "i2b2-2010": Format(i2b2_2010.read, (".txt", ".con"), (".con",), pairs=True),
    "i2b2-2006": Format(i2b2_2006.read, (".xml",)),
    "docbin": Format(docbin.read, (".spacy",), (".spacy",)),
}

_FAMILIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_JSON, ("openmed", "doccano", "prodigy", "label-studio", "huggingface", "bioc")),
    ".xml": ("i2b2", "bioc", "i2b2-2006"),
}
"""Suffixes that several formats share. The first bytes decide; where they do not, it is the first."""


def format_named(name: str) -> Format:
    """Raises UsageError for a name that is no format's."""
    if name not in FORMATS:
        raise UsageError(f"--format: unknown format – choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(path: str | os.PathLike[str]) -> str:
    """The format of a file or folder. Raises UsageError where nothing tells it, and for stdin."""
    if os.fspath(path) == STDIN:
        raise UsageError("stdin has no name to tell its format by – give --format")
    place = existing(path)
    folders = (place, *subfolders_of(place)) if place.is_dir() else ()
    names = [name for folder in folders for name in entries_of(folder) if name.name not in _BESIDE] if folders else [place]
    told = formats_of_names({name.suffix.lower() for name in names})
    if len(told) == 1:
        return told[0]
    # Only a plain file can be read twice: what a pipe shows now it does not show the reader.
    shown = [name for name in (_telling_by_head(names, told) if place.is_dir() else names) if name.is_file()]
    by_head = format_of_head(_head(shown[0]), told or FORMATS) if shown else None
    return by_head or (told[0] if told else _untold(names))


def formats_of_names(suffixes: set[str]) -> tuple[str, ...]:
    """The one format that these suffixes tell, or the several of one family; none if they tell none, or too much."""
    told: set[tuple[str, ...]] = {(name,) for name, format in FORMATS.items() if suffixes.intersection(format.telling)}
    told |= {family for suffix, family in _FAMILIES.items() if suffix in suffixes}
    return told.pop() if len(told) == 1 else ()


def _telling_by_head(names: list[Path], told: tuple[str, ...]) -> list[Path]:
    """The files of a folder that are of the family its names tell; where they tell none, those of its one known suffix."""
    if told:
        return [name for name in names if _FAMILIES.get(name.suffix.lower()) == told]
    known = [name for name in names if any(name.suffix.lower() in format.suffixes for format in FORMATS.values())]
    return known if len({name.suffix.lower() for name in known}) == 1 else []


_BESIDE = {name for format in FORMATS.values() for name in format.beside}


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        raise UsageError("the corpus file cannot be read – check its permissions") from None


def _untold(names: list[Path]) -> str:
    packed = next((packed for name in names if name.is_file() and (packed := compression_of(_head(name)))), None)
    if packed:
        raise UsageError(f"the corpus is compressed with {packed} – unpack it first, e.g. with gunzip")
    raise UsageError(f"cannot tell the corpus format – give --format {'|'.join(FORMATS)}")
