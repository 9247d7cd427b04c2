"""BioC's XML to the objects of its JSON form, with the line where each begins. It knows no labels.

Elements that hold others become lists under their plural, `infon` a mapping, the rest their text.
"""

from __future__ import annotations

from typing import Any

from .draft import Fault
from .xml_parser import parse, safe_parser

_HOLDERS = {
    "document": "documents",
    "passage": "passages",
    "sentence": "sentences",
    "annotation": "annotations",
    "relation": "relations",
}
_TEXTS = ("id", "offset", "text")
LINE = 0
"""The key of an object's line. No JSON has it: there, keys are strings."""


def documents_of(markup: str) -> list[dict[str | int, Any]]:
    """The documents of a collection. Raises Fault for what is no XML, or another XML than BioC's."""
    parser = safe_parser(external_dtd=True)
    collection: dict[str | int, Any] = {}
    open_objects = [collection]
    path: list[str] = []
    words: list[str] = []
    key = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal key
        if not path and name != "collection":
            raise Fault("the root is no collection", "BioC's XML begins with <collection>", line=parser.CurrentLineNumber)
        path.append(name)
        words.clear()
        if name in _HOLDERS:
            made: dict[str | int, Any] = {
                LINE: parser.CurrentLineNumber,
                **({"id": attributes["id"]} if "id" in attributes else {}),
            }
            open_objects[-1].setdefault(_HOLDERS[name], []).append(made)
            open_objects.append(made)
        elif name == "location":
            open_objects[-1].setdefault("locations", []).append(dict(attributes))
        elif name == "infon":
            key = attributes.get("key", "")

    def end(name: str) -> None:
        path.pop()
        if name in _HOLDERS:
            open_objects.pop()
        elif name in _TEXTS:
            open_objects[-1][name] = "".join(words)
        elif name == "infon":
            open_objects[-1].setdefault("infons", {})[key] = "".join(words)
        words.clear()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words.append
    parse(parser, markup)
    documents: list[dict[str | int, Any]] = collection.get("documents", [])
    return documents
