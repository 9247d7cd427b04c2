"""The options of `score` for taggers, and which files they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..scoring.tag_readings import MODES, SCHEMES
from .options import Command, choice

if TYPE_CHECKING:
    from ..tag_runs import TagRun

_OPTIONS = (
    click.option("--tags", type=choice(MODES),
                 help="Score tag by tag, as seqeval's two modes do: CoNLL files of the same tokens, columns or .npz. [for the last "
                 "two: lenient]"),
    click.option("--scheme", type=choice(SCHEMES), help="The scheme of the tags; told by the tags if not given."),
    click.option("--tag-names", metavar="FILE", help='The names of the ids in .npz files: JSON, ["O", "B-DRUG"] or {"0": "O"}.'),
)  # fmt: skip


def tag_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_tags(gold: str, predictions: str | None, predictions_format: str | None, options: Mapping[str, Any]) -> TagRun | None:
    """What is to be scored tag by tag; None where it is spans. Raises UsageError for options that do not go together."""
    from ..tag_arrays import load_arrays
    from ..tag_files import CONLL, CONLLEVAL, load_conll_pair, load_conlleval

    scheme, names = options["scheme"], options["tag_names"]
    is_arrays = any(path.lower().endswith(".npz") for path in (gold, predictions or ""))
    is_columns = predictions_format == CONLLEVAL
    if is_arrays != (names is not None):
        raise UsageError("--tag-names FILE and .npz files of tag ids go together")
    if is_columns and (predictions is not None or is_arrays):
        raise UsageError("a conlleval file holds gold and predictions – give it alone")
    if options["format"] is not None and (is_arrays or is_columns):
        raise UsageError("--format is a corpus's – leave it out for columns or .npz files of tags")
    if predictions is None and not (is_arrays or is_columns):
        raise UsageError("PREDICTIONS is missing – or is GOLD a file of both, for --predictions-format conlleval?")
    if scheme is not None and options["tags"] is None and not (is_arrays or is_columns):
        raise UsageError("--scheme is for tags – give --tags lenient or --tags strict")
    if is_arrays:
        return load_arrays(gold, predictions, names, scheme)
    if is_columns:
        return load_conlleval(gold, scheme, skip_bad=options["skip_bad"])
    if options["tags"] is None or predictions is None:
        return None
    for path, format in ((gold, options["format"]), (predictions, predictions_format)):
        if _format_of(path, format) != CONLL:
            raise UsageError("--tags compares the tags of two CoNLL files – leave it out for spans")
    return load_conll_pair(gold, predictions, scheme, skip_bad=options["skip_bad"])


def _format_of(path: str, format: str | None) -> str:
    from ..corpora import detect_format
    from ..corpora.source import STDIN

    return format or ("conll" if path == STDIN else detect_format(path))
