"""The labels a zero-shot model is to look for, as `--gliner-labels` gives them: by commas, or a file with one a line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from .errors import UsageError

OPTION = "--gliner-labels"
_SUFFIXES = (".txt", ".json", ".jsonl", ".csv", ".tsv", ".lst")
MOST_CHARACTERS = 200
"""Of a label: a name or a short description, not a text that was pasted in its place."""


def asked_labels(value: str | Sequence[str]) -> tuple[str, ...]:
    """The labels in the order given, without white space around them.

    value: the option's words, or labels. Raises UsageError for a file that cannot be read, for none, one that is empty, too
    long, given twice or not one line of text; none of them is quoted, since the file may be the wrong one.
    """
    given = _split(value) if isinstance(value, str) else list(value)
    if not all(isinstance(label, str) for label in given):
        raise UsageError(f"{OPTION}: a label is no string")
    labels = [label.strip() for label in given]
    if not labels:
        raise UsageError(f'{OPTION}: there is no label – give some, such as "person,date of birth"')
    seen: set[str] = set()
    for place, label in enumerate(labels, start=1):
        if not label:
            raise UsageError(f"{OPTION}: label {place} is empty")
        if len(label) > MOST_CHARACTERS:
            raise UsageError(f"{OPTION}: label {place} has more than {MOST_CHARACTERS} characters – is this a list of labels?")
        if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in label):
            raise UsageError(f"{OPTION}: label {place} holds a tab, a line end or another control character")
        if label in seen:
            raise UsageError(f"{OPTION}: label {place} is given twice")
        seen.add(label)
    return tuple(labels)


def _split(value: str) -> list[str]:
    try:
        if value.strip() and Path(value).is_dir():
            raise UsageError(f"{OPTION}: that is a folder – give labels, or a file with one a line")
        if not Path(value).is_file():
            if _means_a_file(value):
                raise UsageError(f"{OPTION}: no such file – check its spelling, or give labels by commas")
            return value.split(",")
        text = Path(value).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{OPTION}: the file is not UTF-8 text – write one label a line") from None
    except (OSError, ValueError) as error:  # a value too long, or with a NUL, names no file
        if isinstance(error, PermissionError):
            raise UsageError(f"{OPTION}: the file cannot be read ({error.strerror})") from None
        return value.split(",")
    lines = [line for line in text.split("\n") if line.strip()]
    if any(line.lstrip()[:1] in ("{", "[", "<") or "\t" in line.strip() for line in lines):
        raise UsageError(f"{OPTION}: the file holds JSON, XML or columns – write one label a line")
    return lines


def _means_a_file(value: str) -> bool:
    """By its look alone: a path would else become a label, and stand in the report."""
    path = Path(value)
    return "," not in value and (path.is_absolute() or value.startswith((".", "~")) or path.suffix.lower() in _SUFFIXES)
