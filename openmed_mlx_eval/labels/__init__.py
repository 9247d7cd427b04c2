"""Label names: OpenMed's canonical names and their known aliases, and a user's own map over them.

`canonical.json` lists OpenMed 3.1.0's 174 canonical labels, each with the spellings known for it (lower case,
letters and digits only). A label that is in no table keeps its own name, upper-snake; two unknown labels never
become one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ..errors import UsageError

_NAMELESS = re.compile(r"LABEL_\d+")
_PREFIX = re.compile(r"^[BIESLU]-(?=.)")


def folded(label: str) -> str:
    """The key under which spellings of one label meet: lower-cased letters and digits of any script.

    A label without any is its own key, so that `+` and `-` stay two.
    """
    return "".join(character for character in label.casefold() if character.isalnum()) or label


def upper_snake(label: str) -> str:
    """`Multi-tissue structure` → `MULTI_TISSUE_STRUCTURE`; a label without letters or digits stays as it is."""
    words = re.findall(r"[^\W_]+", label)
    return "_".join(words).upper() or label


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """{folded spelling: canonical label}, read once from the package."""
    table = json.loads(Path(__file__).with_name("canonical.json").read_text(encoding="utf-8"))
    known = {folded(label): label for label in table}
    for label, spellings in table.items():
        known.update(dict.fromkeys(spellings, label))
    return known


class LabelMap:
    """Raw label → the name under which it is scored; remembers what it did, for the report.

    table: a user's {raw: name}, matched case-insensitively and without tag prefix, `"*"` for all labels not
    named; its names stand as the user wrote them, upper-snake. Labels outside it go through `aliases()`.
    With `table=None` the aliases alone; `LabelMap.verbatim()` changes nothing.
    """

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        self._identity = False
        self._user: dict[str, str] = {}
        self._rest: str | None = None
        self._seen: dict[str, str] = {}
        self._table = dict(table or {})
        for raw, name in (table or {}).items():
            if raw == "*":
                self._rest = upper_snake(name)
            elif not _NAMELESS.fullmatch(raw):  # those name a model's tags, see `tags`
                self._user[folded(raw)] = upper_snake(name)
        for name in list(self._user.values()):
            self._user.setdefault(folded(name), name)  # a target is not mapped on

    @classmethod
    def verbatim(cls) -> LabelMap:
        """`--label-map none`: every label is its own name, letter for letter."""
        made = cls()
        made._identity = True
        return made

    @classmethod
    def of(cls, given: LabelMap | Mapping[str, str] | str | os.PathLike[str] | None) -> LabelMap:
        """A map in whatever form a user of the library holds it: itself, its table, or what `load` takes. Raises UsageError."""
        if isinstance(given, LabelMap):
            return given
        if isinstance(given, Mapping):
            if not all(isinstance(part, str) and part for entry in given.items() for part in entry):
                raise UsageError('label_map: write {"label in the data": "name to score"}')
            return cls(given)
        if given is not None and not isinstance(given, str | os.PathLike):
            raise UsageError('label_map: give a LabelMap, a dict of names, the path of a JSON file, or "none"')
        return cls.load(given if given is None else os.fspath(given))

    @classmethod
    def load(cls, option: str | None) -> LabelMap:
        """From the option `--label-map FILE|none`. Raises UsageError for a file that is not {"raw": "name"}."""
        if option is None:
            return cls()
        if option == "none":
            return cls.verbatim()
        try:
            table = json.loads(Path(option).read_bytes().decode("utf-8-sig"))
        except OSError:
            raise UsageError("--label-map: the file cannot be read – give a JSON file, or `none`") from None
        except (ValueError, RecursionError):
            raise UsageError('--label-map: the file is not JSON – write {"label in the data": "name to score"}') from None
        if not isinstance(table, dict) or not all(isinstance(name, str) and name for name in table.values()):
            raise UsageError('--label-map: the file must be one JSON object of {"label in the data": "name to score"}')
        return cls(table)

    def __call__(self, raw: str) -> str:
        name = self._seen.get(raw)
        if name is None:
            name = self._seen[raw] = raw if self._identity else self._name(raw)
        return name

    def _name(self, raw: str) -> str:
        bare = _PREFIX.sub("", raw.strip())
        for table in (self._user, *([] if self._rest else [aliases()])):
            for spelling in (raw, bare):
                name = table.get(folded(spelling))
                if name is not None:
                    return name
        return self._rest or upper_snake(bare)

    def digest(self) -> str:
        """SHA-256 of what was asked for: equal for two maps that name every label alike."""
        asked = json.dumps([self._identity, self._table], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()

    def unmet(self) -> list[str]:
        """The user's entries that no label seen so far answers to, sorted: a wrong spelling, or an entry too many."""
        met = {folded(spelling) for raw in self._seen for spelling in (raw, _PREFIX.sub("", raw.strip()))}
        return sorted(raw for raw in self._table if raw != "*" and not _NAMELESS.fullmatch(raw) and folded(raw) not in met)

    @classmethod
    def of_seen(cls, names: Mapping[str, str]) -> LabelMap:
        """The map that has given these names: what `seen` says of another."""
        made = cls()
        made._seen = dict(names)
        return made

    def seen(self) -> dict[str, str]:
        """{raw: name} of every label so far, sorted."""
        return dict(sorted(self._seen.items()))

    def mappings(self) -> dict[str, str]:
        """{raw: name} of every label that changed its name so far, sorted."""
        return {raw: name for raw, name in sorted(self._seen.items()) if raw != name}

    def met(self) -> dict[str, list[str]]:
        """{name: raw labels} for every name that more than one raw label was given, sorted."""
        groups: dict[str, list[str]] = {}
        for raw, name in sorted(self._seen.items()):
            groups.setdefault(name, []).append(raw)
        return {name: raws for name, raws in sorted(groups.items()) if len(raws) > 1}

    def tags(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The tags of a checkpoint whose labels have no names (`LABEL_0` …), as the user's table names them."""
        return tuple(self._table.get(label, label) if _NAMELESS.fullmatch(label) else label for label in labels)
