"""Protocol: what a language model is asked, as data. One TOML file a benchmark under `protocols/`, or a user's own.

A file has `name`, `[[entities]]` (tag, label, description, corpus_labels), optional `[[shots]]` (tagged), and either
`template = "ner_template"` or `[templates]` with `zero_shot` and `few_shot`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..labels import upper_snake
from ..spans import Span

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).with_name("protocols")
BENCHMARKS = ("anat_em", "bc5cdr", "ncbi_disease", "custom")
RESPONSE = "response"
"""The element around a whole answer; no entity may take its name."""

_TAG = re.compile(r"[a-z][a-z0-9_-]*")
_PLACES = {"zero_shot": ("entities", "entity_list", "text"), "few_shot": ("fewshot", "entities", "entity_list", "text")}


@dataclass(frozen=True, slots=True)
class EntityType:
    """tag: the element's name in an answer, lower case. label: what its spans are called in the report.

    description: what the prompt says of it, may be empty. corpus_labels: gold labels that are this type; `*` for all
    that no other type names.
    """

    tag: str
    label: str
    description: str = ""
    corpus_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shot:
    """One example: a text and its entities; a span's label is the type's label."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Protocol:
    """shots_wanted: how many examples the published protocol shows. zero_shot, few_shot: templates with `{…}` places."""

    name: str
    entities: tuple[EntityType, ...]
    zero_shot: str
    few_shot: str
    shots: tuple[Shot, ...] = ()
    shots_wanted: int = 0

    @property
    def tags(self) -> dict[str, str]:
        """{label: tag}."""
        return {entity.label: entity.tag for entity in self.entities}

    @property
    def labels(self) -> dict[str, str]:
        """{tag: label}."""
        return {entity.tag: entity.label for entity in self.entities}

    def label_table(self) -> dict[str, str]:
        """{gold label: label scored}, for a LabelMap; what a type calls itself is among the gold labels it takes."""
        table: dict[str, str] = {}
        for entity in self.entities:
            table.update(dict.fromkeys((*entity.corpus_labels, entity.tag, entity.label), entity.label))
        return table

    def with_shots(self, shots: Sequence[Shot]) -> Protocol:
        return replace(self, shots=tuple(shots))


def load_protocol(benchmark: str, *, file: str | Path | None = None, entities: Sequence[str] = ()) -> Protocol:
    """The protocol of a benchmark of BENCHMARKS.

    file, entities: for `custom`, one of them: a TOML file, or types as `tag` or `tag=description`. Raises UsageError.
    """
    if benchmark not in BENCHMARKS:
        raise UsageError(f"--benchmark: give one of {', '.join(BENCHMARKS)}")
    if benchmark != "custom":
        if file is not None or entities:
            raise UsageError("--protocol and --entity belong to --benchmark custom")
        return read_protocol(FOLDER / f"{benchmark}.toml")
    if (file is None) == (not entities):
        raise UsageError("--benchmark custom: give either --protocol FILE or --entity TAG=DESCRIPTION, once a type")
    if file is not None:
        return read_protocol(Path(file))
    rows = [dict(zip(("tag", "description"), map(str.strip, entity.split("=", 1)), strict=False)) for entity in entities]
    return _protocol({"name": "custom", "template": "ner_template", "entities": rows})


def read_protocol(path: Path) -> Protocol:
    """A protocol file. Raises UsageError, which does not repeat the path, for one that is none."""
    return _protocol(_toml(path))


def _toml(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))
        return table
    except OSError:
        raise UsageError("--protocol: the file cannot be read") from None
    except (ValueError, RecursionError) as error:
        line = re.search(r"\(at line (\d+)", str(error))
        raise UsageError(f"--protocol: the file is not TOML{f' (line {line[1]})' if line else ''}") from None


def _protocol(data: Mapping[str, Any]) -> Protocol:
    entities = tuple(_entity(row, number) for number, row in enumerate(_rows(data, "entities"), start=1))
    if not entities:
        raise UsageError("--protocol: no [[entities]] – name at least one type")
    if len({entity.tag for entity in entities}) < len(entities) or len({entity.label for entity in entities}) < len(entities):
        raise UsageError("--protocol: two entities have one tag or one label")
    templates = _templates(data)
    tags = {entity.tag: entity.label for entity in entities}
    shots = tuple(_shot(_text(row, "tagged", f"shot {n}"), tags) for n, row in enumerate(_rows(data, "shots"), start=1))
    wanted = data.get("shots_wanted", len(shots))
    if type(wanted) is not int or wanted < 0:
        raise UsageError("--protocol: shots_wanted is no number of shots")
    return Protocol(_text(data, "name", "the protocol"), entities, **templates, shots=shots, shots_wanted=wanted)


def _rows(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"--protocol: {key} must be tables, [[{key}]]")
    return rows


def _text(row: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = row.get(key, default)
    if not isinstance(value, str):
        raise UsageError(f"--protocol: {where}: {key} must be a string")
    return value


def _entity(row: Mapping[str, Any], number: int) -> EntityType:
    where = f"entity {number}"
    tag = _text(row, "tag", where).lower()
    if not _TAG.fullmatch(tag) or tag == RESPONSE:
        raise UsageError(f"{where}: a tag is a letter, then letters, digits, - or _; and not {RESPONSE}")
    labels = row.get("corpus_labels", [])
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        raise UsageError(f"--protocol: {where}: corpus_labels must be a list of strings")
    label = upper_snake(_text(row, "label", where, tag))
    return EntityType(tag, label, _text(row, "description", where, ""), tuple(labels))


def _templates(data: Mapping[str, Any]) -> dict[str, str]:
    if "templates" not in data and data.get("template", "ner_template") != "ner_template":
        raise UsageError('--protocol: template must be "ner_template", or give [templates] with zero_shot and few_shot')
    templates = data.get("templates") or _toml(FOLDER / "ner_template.toml")
    if not isinstance(templates, Mapping):
        raise UsageError("--protocol: templates must be a table, [templates]")
    found = {key: _text(templates, key, "templates") for key in _PLACES}
    for key, places in _PLACES.items():
        absent = [f"{{{place}}}" for place in places if f"{{{place}}}" not in found[key]]
        if absent:
            raise UsageError(f"--protocol: the template {key} lacks {', '.join(absent)}")
    return found


def _shot(tagged: str, labels: Mapping[str, str]) -> Shot:
    """`the <anatomy>lung</anatomy>` as a text and its spans; the tags are the protocol's and are not nested."""
    names = "|".join(map(re.escape, labels))
    parts: list[str] = []
    spans: list[Span] = []
    length = last = 0
    for match in re.finditer(rf"<({names})>(.*?)</\1>", tagged, re.DOTALL):
        before = tagged[last : match.start()]
        length += len(before)
        spans.append(Span(length, length + len(match[2]), labels[match[1]]))
        length += len(match[2])
        parts += [before, match[2]]
        last = match.end()
    return Shot("".join([*parts, tagged[last:]]), tuple(spans))
