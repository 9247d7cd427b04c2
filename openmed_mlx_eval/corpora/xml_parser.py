"""An XML parser for files of unknown origin: expat, with declarations refused. What elements mean is a reader's.

Entity declarations, and document types that could hold them, are refused: a corpus needs none, and they are how a small
file becomes a large one. Expat itself opens no other file.
"""

from __future__ import annotations

from xml.parsers import expat

from .draft import Fault

# Private-use characters: the first that a file lacks stands in for \\r while the parser runs.
_STAND_INS = ("\ue00d", "\uf00d", "\uf8ff", "\U000f000d", "\U0010000d")


def safe_parser(external_dtd: bool = False) -> expat.XMLParserType:
    """A parser whose handlers the caller sets.

    external_dtd: a document type is let pass if it only names a file, as BioC's does; the file is not read.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = False

    def refuse(*_: object) -> None:
        what = "a document type or entity declaration"
        raise Fault(what, "remove it; nothing in it is read", line=parser.CurrentLineNumber)

    def doctype(_name: str, _system: str | None, _public: str | None, has_declarations: int) -> None:
        if has_declarations or not external_dtd:
            refuse()

    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = refuse
    return parser


def parse(parser: expat.XMLParserType, markup: str) -> None:
    """Run a parser over a whole file. Raises Fault with line and column where it is no XML."""
    try:
        parser.Parse(markup, True)
        return
    except expat.ExpatError as error:
        line, column, reason = error.lineno, error.offset, expat.errors.messages.get(error.code, "")
    raise Fault(f"the XML is broken at column {column} ({reason})", "correct the file", line=line)


def stand_in_for_cr(markup: str) -> str:
    """A character that the file lacks, to keep \\r from a parser that turns it into \\n; empty if there is no need or none."""
    return next((c for c in _STAND_INS if c not in markup), "") if "\r" in markup else ""
