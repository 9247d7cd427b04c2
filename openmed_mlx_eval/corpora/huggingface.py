"""Hugging Face token classification: rows of `tokens` and `ner_tags`, as JSON, JSONL or Parquet. Row = document.

Tags are names, or numbers whose names the features give: in Parquet's own metadata, in the answer of the datasets
server (`features`, `rows`), or in dataset_info.json or features.json of the same folder. The text is rebuilt: tokens
joined by one space. One tag scheme holds for a file, as in CoNLL. Format: https://huggingface.co/docs/datasets
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tags import TagScheme, spans_of_tags
from . import parquet
from .conll import rebuilt, scheme_of
from .draft import Draft, Fault, Made, Mention, attempt
from .json_fields import IDS, LANGUAGES, id_in, kind_of, language_in, list_in, metadata_in, object_of
from .json_rows import json_value, values_of
from .source import Source, text_of

TOKENS = ("tokens", "words")
TAGS = ("ner_tags", "tags", "ner", "labels")
BESIDE = ("features.json", "dataset_info.json", "dataset_infos.json")

_KNOWN = {*IDS, *LANGUAGES, *TOKENS, *TAGS}
_SHAPE = 'write one row a line: {"tokens": ["Dr", "Quill"], "ner_tags": ["O", "B-NAME"]}'
_NAMES = 'put {"ner_tags": ["O", "B-NAME", …]} into features.json in the same folder, or use tag names'


@dataclass(frozen=True, slots=True)
class _Row:
    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    id: str | None
    language: str
    metadata: Mapping[str, Any]
    line: int | None


def read(source: Source) -> Iterator[Made]:
    """The rows of one file, read under the one scheme that all its tags show. Raises Fault for a file of another shape."""
    features = json_value(text_of(source.beside, name="the features' file")) if source.beside is not None else None
    if parquet.is_parquet(source.data or b""):
        values, own = parquet.table_of(source.data or b"")
        made = [attempt(_row, value, None, (own, features)) for value in values]
    else:
        made = list(_rows(source, features))
    scheme = scheme_of({tag for row in made if isinstance(row, _Row) for tag in row.tags})
    for row in made:
        yield row if isinstance(row, Fault) else _draft(row, scheme)


def _rows(source: Source, features: Any) -> Iterator[_Row | Fault]:
    for made in values_of(source, _SHAPE, alone=True):
        if isinstance(made, Fault):
            yield made
            continue
        value, line = made
        if isinstance(value, dict) and isinstance(value.get("rows"), list):
            for row in value["rows"]:
                inner = row.get("row") if isinstance(row, dict) else row
                yield attempt(_row, row if inner is None else inner, line, (value.get("features"), features))
        else:
            yield attempt(_row, value, line, (features,))


def _row(value: Any, line: int | None, features: Sequence[Any]) -> _Row:
    row = object_of(value, line, _SHAPE)
    tokens = list_in(row, TOKENS, line, "the tokens")
    tags = list_in(row, TAGS, line, "the tags")
    key = next(key for key in TAGS if key in row)
    if len(tokens) != len(tags):
        raise Fault(f"{len(tokens)} tokens and {len(tags)} tags", "give each token a tag", line=line)
    for number, token in enumerate(tokens, start=1):
        if not isinstance(token, str) or not token:
            what = "empty" if token == "" else kind_of(token)
            raise Fault(f"token {number} is {what}", "a token is a string of one character or more", line=line)
    if any(type(tag) is int for tag in tags):
        names = next((found for found in (tag_names(one, key) for one in features) if found), ())
        tags = [_named(tag, names, line) for tag in tags]
    for number, tag in enumerate(tags, start=1):
        if not isinstance(tag, str):
            raise Fault(f"tag {number} is {kind_of(tag)}", "a tag is a name, or the number of one", line=line)
    metadata = metadata_in(row, _KNOWN)
    return _Row(tuple(tokens), tuple(tags), id_in(row, line), language_in(row, line), metadata, line)


def _named(tag: Any, names: Sequence[str], line: int | None) -> Any:
    if type(tag) is not int:
        return tag
    if not names:
        raise Fault("the tags are numbers without names", _NAMES, line=line)
    if not 0 <= tag < len(names):
        raise Fault(f"a tag's number that is none of the {len(names)} names", _NAMES, line=line)
    return names[tag]


def tag_names(features: Any, column: str) -> tuple[str, ...]:
    """The names of a column's tags in what a data set says of its features, in any of the shapes that is written in.

    Walks the value without recursion, in time proportional to it. Empty where nothing names them.
    """
    waiting, inside = [features], False
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            if inside and value and all(isinstance(name, str) for name in value):
                return tuple(value)
            waiting += value
        elif isinstance(value, dict):
            if not inside and (column in value or value.get("name") == column):
                waiting, inside = [value.get(column, value)], True
            elif inside and value and all(str(n) in value for n in range(len(value))):
                waiting = [[value[str(n)] for n in range(len(value))]]
            else:
                waiting += value.values() if not inside else [v for v in value.values() if isinstance(v, list | dict)]
    return ()


def _draft(row: _Row, scheme: TagScheme) -> Draft:
    text, bounds = rebuilt([(token, True) for token in row.tokens])
    mentions = tuple(
        Mention(label, ((bounds[first][0], bounds[last - 1][1]),), line=row.line)
        for first, last, label in spans_of_tags(row.tags, scheme)
    )
    return Draft(row.id, text, mentions, row.language, row.metadata, row.line)
