"""Tags: what `B-NAME`, `U_name` or a bare `I` say, and which entities a row of tags holds.

The ground floor: corpora read files with it, the runtime a model's id2label, scoring a tagger's output. It
knows no text and no offsets; an entity is a range of tag positions. Reading is lenient, as in conlleval and
in seqeval's default mode; strict readings belong to scoring.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ENTITY = "ENTITY"
"""The type of bare tags (`B I O`), which name none."""

_OUTSIDE = re.compile(r"(?:[BIESLU][-_])?O|0|_|", re.IGNORECASE)
_CANONICAL = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}

# From the form nobody mistakes to those that labels such as `e_mail` also have; the flag says which is which.
_FORMS = (
    (re.compile(r"([BIESLU])-(.*)", re.DOTALL), True),
    (re.compile(r"([BIESLU])_(.+)", re.DOTALL), False),
    (re.compile(r"([BIESLU])-(.+)", re.DOTALL | re.IGNORECASE), False),
    (re.compile(r"([BIESLU])_(.+)", re.DOTALL | re.IGNORECASE), False),
)


def is_outside(tag: str) -> bool:
    """Whether a tag marks no entity: `O`, `o`, `0`, `_`, the empty tag, `B-O`."""
    return _OUTSIDE.fullmatch(tag) is not None


@dataclass(frozen=True, slots=True)
class TagScheme:
    """How the tags of one set are to be taken apart.

    name: IO, IOB (IOB1 and IOB2 read alike), IOBES, BILOU, or unprefixed. A single tag cannot tell whether
    the `E_` of `E_MAIL` is a prefix; the whole set can, so the scheme comes from `TagScheme.of`.
    """

    name: str
    _form: re.Pattern[str] | None = None
    _bare: bool = False

    @classmethod
    def of(cls, tags: Iterable[str]) -> TagScheme:
        """The scheme of a tag set: the tags of a corpus, or the values of a model's id2label."""
        inside = {tag for tag in tags if not is_outside(tag)}
        letters = {tag.upper() for tag in inside if tag.upper() in _CANONICAL}
        if letters & {"B", "I"} and len(letters) == len({tag.upper() for tag in inside}):
            return cls(_name_of(letters), None, True)
        for form, certain in _FORMS:
            found = [match.groups() for match in map(form.fullmatch, sorted(inside)) if match]
            if _are_prefixes([(prefix.upper(), label) for prefix, label in found], len(inside), certain):
                return cls(_name_of({prefix.upper() for prefix, _ in found}), form, bool(letters))
        return cls("unprefixed")

    @classmethod
    def named(cls, name: str) -> TagScheme:
        """Tags known to be written `B-NAME`, whatever their set shows: all that some IOE2 corpora have is `E-NAME`."""
        return cls(name, _FORMS[0][0], True)

    def split(self, tag: str) -> tuple[str, str]:
        """(prefix, label) with the prefix in O, B, I, E (also L), S (also U); ("O", "") outside an entity.

        A tag without prefix says only that its token is inside: ("I", tag). A bare `B` is ("B", ENTITY).
        """
        if is_outside(tag):
            return "O", ""
        match = self._form.fullmatch(tag) if self._form else None
        if match:
            return _CANONICAL[match[1].upper()], match[2] or ENTITY
        if self._bare and tag.upper() in _CANONICAL:
            return _CANONICAL[tag.upper()], ENTITY
        return "I", tag

    def spelled(self, tag: str) -> str:
        """The tag as `B-NAME` or `O`, which every tool reads. Its own letter is kept, L and U too."""
        prefix, label = self.split(tag)
        return "O" if prefix == "O" else f"{tag[0].upper() if prefix in 'ES' else prefix}-{label}"


def _are_prefixes(found: Sequence[tuple[str, str]], tags: int, certain: bool) -> bool:
    """Whether what stands before the labels is a prefix.

    Evidence is one label under two prefixes; or no tag of another shape, and prefixes that can stand alone.
    """
    prefixes = {prefix for prefix, _ in found}
    begun = {label for prefix, label in found if prefix == "B"}
    if any(prefix != "B" and label in begun for prefix, label in found):
        return True
    if any(prefix in "ELSU" and ("I", label) in found for prefix, label in found):
        return True
    if not found or len(found) < tags:
        return False
    if certain:
        return bool(prefixes & {"B", "I"}) or prefixes <= {"S", "U"}
    return prefixes <= {"B", "I"}


def _name_of(prefixes: set[str]) -> str:
    if prefixes & {"L", "U"}:
        return "BILOU"
    if prefixes & {"E", "S"}:
        return "IOBES"
    return "IOB" if "B" in prefixes else "IO"


def spans_of_tags(tags: Sequence[str], scheme: TagScheme | None = None) -> list[tuple[int, int, str]]:
    """The entities of one tag sequence as (first, last_exclusive, label), in order.

    scheme: that of the whole tag set; by default what these tags alone show. Lenient: an orphan I (or E)
    starts an entity, a change of label ends one, B and S always start one, E and S end one. conlleval (Tjong
    Kim Sang 2000) reads so. Takes time in proportion to the number of tags; no sequence is invalid.
    """
    scheme = scheme or TagScheme.of(tags)
    known = {tag: scheme.split(tag) for tag in set(tags)}
    spans: list[tuple[int, int, str]] = []
    first, open_label = -1, ""
    for position, tag in enumerate(tags):
        prefix, label = known[tag]
        if first >= 0 and (prefix in "OBS" or label != open_label):
            spans.append((first, position, open_label))
            first = -1
        if prefix == "O":
            continue
        if first < 0:
            first, open_label = position, label
        if prefix in "ES":
            spans.append((first, position + 1, label))
            first = -1
    if first >= 0:
        spans.append((first, len(tags), open_label))
    return spans
