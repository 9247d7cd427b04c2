"""What is said of a corpus beside its errors: how its files are written, and what was done for its offsets to fit.

Counted by code; the words are here and hold nothing of a corpus.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping

from .source import Source, is_utf16

CRLF = "\r\n"
NOTES: Mapping[str, str] = {
    "utf16_files": "files in UTF-16, decoded",
    "byte_order_marks": "files with a byte-order mark, which is no character of their text",
    "crlf_documents": "documents with \\r\\n line ends, both of whose characters count",
    "utf16_offsets": "documents whose offsets count UTF-16 code units, converted to code points",
    "byte_offsets": "documents whose offsets count UTF-8 bytes, converted to code points",
    "not_accepted": "entries that no annotator accepted, read past",
}
"""{code: the words that follow its count}."""

OF_GOLD = ("utf16_offsets", "byte_offsets", "not_accepted")
"""Those that a reader of scores must know: what gold was made from, or what is not among it."""


def of_source(source: Source) -> Iterator[str]:
    """The codes of a file, or a pair's two; a later piece of a file has none."""
    for data in (source.data or b"", source.standoff or b"") if source.line == 1 else ():
        if is_utf16(data):
            yield "utf16_files"
        elif data.startswith(codecs.BOM_UTF8):
            yield "byte_order_marks"
