"""JSON and JSONL files to the values of their documents, and no further: what a document's keys mean is a reader's.

The shape decides between JSON and JSONL, the name only where the shape leaves it open. A broken line spoils only itself,
a broken list the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from .draft import Draft, Fault, Made, Note, attempt
from .source import Source, decoded, is_utf16, text_of

LINES = (".jsonl", ".ndjson")
Value: TypeAlias = tuple[Any, int | None]
"""A JSON value, and the line it stands in where it has one of its own."""


def read_rows(
    source: Source, make: Callable[[Any, int | None], Draft | Note], shape: str, inside: Sequence[str] = ()
) -> Iterator[Made]:
    """What `make(value, line)` makes of each document's value, or the Fault it raises.

    shape: the remedy for a file that is no list of documents. inside: keys of an object that may hold the list.
    Raises Fault for a file that is no such list.
    """
    for value in values_of(source, shape, inside):
        yield value if isinstance(value, Fault) else attempt(make, *value)


def values_of(source: Source, shape: str, inside: Sequence[str] = (), alone: bool = False) -> Iterator[Value | Fault]:
    """The values of a list or of lines; a Fault in the place of each line that is no JSON.

    alone: an object without such a list is itself the one value.
    """
    data = source.data or b""
    data = text_of(data).encode("utf-8") if is_utf16(data) else data
    if source.line > 1 or is_lines(source.suffix, data):
        yield from _values_of_lines(data, source.line)
        return
    value = json_value(decoded(data))
    if isinstance(value, dict):
        value = next((value[key] for key in inside if isinstance(value.get(key), list)), [value] if alone else None)
    if not isinstance(value, list):
        raise Fault("the JSON is not a list of documents", shape)
    yield from ((one, None) for one in value)


def _values_of_lines(data: bytes, first: int) -> Iterator[Value | Fault]:
    # Split as bytes and at \n alone: a line that is not UTF-8 spoils only itself, and U+2028 may stand in
    # a string.
    for number, line in enumerate(data.split(b"\n"), start=first):
        if line.strip(b" \t\r\xef\xbb\xbf"):
            yield attempt(_value_of_line, line, number)


def _value_of_line(data: bytes, line: int) -> Value:
    return json_value(decoded(data, line=line, name="the line"), line), line


def is_lines(suffix: str, head: bytes) -> bool:
    """Whether a file has a document a line. head: its first bytes, at least its first line if one can tell by it."""
    return not is_utf16(head) and (suffix in LINES or is_one_document_a_line(head))


def is_one_document_a_line(data: bytes) -> bool:
    """Whether the first line that is not empty is a whole document of its own."""
    first = next((line for line in data.lstrip(b"\xef\xbb\xbf").split(b"\n") if line.strip()), b"")
    if not first.lstrip().startswith(b"{"):
        return False
    try:
        value = json_value(decoded(first))
    except Fault:
        return False
    return isinstance(value, dict) and "fixtures" not in value


def json_value(text: str, line: int | None = None) -> Any:
    """Raises Fault with the place, never the text, of what is no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if line else f"line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):  # an integer of thousands of digits, brackets of a thousand levels
        place = "a number too long or a nesting too deep"
    raise Fault(f"the JSON is broken: {place}", "correct the file; was its copy cut short?", line=line)
