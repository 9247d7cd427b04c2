"""Which entities a sequence of tags holds, as the field's evaluation scripts read it: leniently or strictly.

Lenient is seqeval's default mode (seqeval 1.2.2, `get_entities`), which on B, I, E, S and O is conlleval.pl
(Tjong Kim Sang 2004; its square brackets aside). Strict is seqeval's mode='strict' (`seqeval.scheme`): an entity
is one only where every tag of it keeps to the scheme. Both are kept to the letter, odd tags included, because
published figures rest on them.

`openmed_mlx_eval.tags`, with which files are read, knows more spellings: `b_x`, `o`, `0`, `U-`, `L-`, a label alone.
seqeval takes the first character of any tag for its prefix, so that a bare `NAME` is of type `AME`, and its
default mode does not know L and U. Where a tag is one of B, I, E, S with a dash, or O, both give the same entities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeAlias

from ..errors import InputError, UsageError

FORMAT = "tags"
"""What an InputError about tags calls its place."""

Entity: TypeAlias = tuple[int, int, str]
"""(first, last_exclusive, type): half-open positions of tags."""
_Parts: TypeAlias = tuple[str, str]
"""A tag's prefix and type."""
_Step: TypeAlias = tuple["str | None", bool, "_State"]
"""The type of the entity that ended before a tag, whether one starts at it, and the state after it."""
_Decide: TypeAlias = Callable[[_Parts, bool, _Parts], tuple[bool, bool, bool]]
"""(previous tag, whether an entity is open, tag) → (whether one ended, whether one starts, whether one is open)."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A strict scheme: the prefixes it has, and the pairs of tags between which something happens.

    A rule is previous prefix, prefix (`?` is any), and what their types must be: `=` the same, `!` not the same,
    `*` anything. starts: the tag begins an entity. goes_on: it belongs to the entity that is open. ends: the open
    entity ended properly with the previous tag; without it the entity is none.
    """

    prefixes: str
    starts: str
    goes_on: str
    ends: str


STRICT = {
    "IO": Scheme("IO", "OI* II!", "II=", "IO* II!"),
    "IOB1": Scheme("IOB", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="),
    "IOB2": Scheme("IOB", "?B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "IOE1": Scheme("IOE", "OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="),
    "IOE2": Scheme("IOE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E?*"),
    "IOBES": Scheme("IOBES", "?B* ?S*", "BI= BE= II= IE=", "S?* E?*"),
    "BILOU": Scheme("BILOU", "?B* ?U*", "BI= BL= II= IL=", "U?* L?*"),
}
"""The schemes of seqeval.scheme; IO, which it does not have, is its IOB1 without B."""

SCHEMES = tuple(STRICT)
MODES = ("lenient", "strict")


class TagReading:
    """One way to read tags, for any number of sequences.

    mode: lenient or strict. scheme: one of SCHEMES. Strict needs one; lenient looks only whether it is BILOU, and
    then reads L as E and U as S, which seqeval's default mode does not. Without that it is seqeval to the letter.
    Raises UsageError for a mode or scheme that is none.

    A reading is an automaton. Its state is the last tag and whether an entity is open; the step from a state over
    a tag is worked out when first met, so that a token costs one look-up.
    """

    def __init__(self, mode: str = "lenient", scheme: str | None = None) -> None:
        if mode not in MODES:
            raise UsageError(f"--tags: choose one of {', '.join(MODES)}")
        if scheme is not None and scheme not in STRICT:
            raise UsageError(f"--scheme: choose one of {', '.join(SCHEMES)}")
        if mode == "strict" and scheme is None:
            raise UsageError(f"strict tags need a scheme – give --scheme {'|'.join(SCHEMES)}")
        self.mode, self.scheme = mode, scheme
        self._strict = STRICT[scheme] if mode == "strict" and scheme else None
        self._decide: _Decide = partial(_decide_strictly, self._strict) if self._strict else _decide_leniently
        self._states: dict[tuple[str, bool], _State] = {}
        self._beginning = _State(self, ("O", ""), False)  # of no type, which seqeval's own O is not

    def entities(self, tags: Iterable[str]) -> list[Entity]:
        """The entities of one sequence in order of their ends.

        Strict: a tag whose prefix the scheme does not have belongs to no entity; `check` refuses it.
        """
        found: list[Entity] = []
        first, state = 0, self._beginning
        for position, tag in enumerate(chain(tags, ("O",))):
            ended, starts, state = state[tag]
            if ended is not None:
                found.append((first, position, ended))
            if starts:
                first = position
        return found

    def compare(self, gold: Iterable[str], predicted: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
        """The types of the gold entities, of the predicted ones, and of those that are both, of two parallel sequences.

        What `entities` of either and the intersection would say, in one pass and without an object an entity.
        """
        golds, predictions, both = [], [], []
        first = other_first = 0
        state = other_state = self._beginning
        for position, (tag, other) in enumerate(chain(zip(gold, predicted, strict=True), (("O", "O"),))):
            ended, starts, state = state[tag]
            other_ended, other_starts, other_state = other_state[other]
            if ended is not None:
                golds.append(ended)
                if ended == other_ended and first == other_first:
                    both.append(ended)
            if other_ended is not None:
                predictions.append(other_ended)
            if starts:
                first = position
            if other_starts:
                other_first = position
        return golds, predictions, both

    def check(self, tags: Sequence[str], sequence: int | None = None) -> None:
        """Raise InputError for the first tag whose prefix the strict scheme does not have, as seqeval raises.

        sequence: its ordinal from 1, for the message.
        """
        if self._strict is None or all(tag[:1] in self._strict.prefixes and tag for tag in set(tags)):
            return
        prefixes = self._strict.prefixes
        place = next(position for position, tag in enumerate(tags, start=1) if not tag or tag[0] not in prefixes)
        raise InputError(
            FORMAT,
            f"the tag of token {place} has a prefix that {self.scheme} does not",
            document=sequence,
            remedy=f"{self.scheme} has {', '.join(prefixes)}: give another --scheme, or --tags lenient",
        )

    def step(self, state: _State, tag: str) -> _Step:
        """What happens between the state and a tag that was not met in it before."""
        parts = self._split(tag)
        ended, starts, is_open = self._decide(state.tag, state.is_open, parts)
        key = (tag, is_open)
        if key not in self._states:
            self._states[key] = _State(self, parts, is_open)
        return state.tag[1] if ended else None, starts, self._states[key]

    def _split(self, tag: str) -> _Parts:
        prefix, rest = tag[:1] or "O", tag[1:]
        if self._strict:
            return prefix, rest.strip("-") or "_"
        if self.scheme == "BILOU":
            prefix = {"L": "E", "U": "S"}.get(prefix, prefix)
        return prefix, rest.split("-", 1)[-1] or "_"


class _State(dict[str, _Step]):
    """The steps from one state by tag, each worked out when it is first met."""

    __slots__ = ("is_open", "reading", "tag")

    def __init__(self, reading: TagReading, tag: _Parts, is_open: bool) -> None:
        super().__init__()
        self.reading, self.tag, self.is_open = reading, tag, is_open

    def __missing__(self, tag: str) -> _Step:
        made = self[tag] = self.reading.step(self, tag)
        return made


_ENDS = {"BB", "BS", "BO", "IB", "IS", "IO"}
_STARTS = {"EE", "EI", "SE", "SI", "OE", "OI"}


def _decide_leniently(previous: _Parts, _: bool, tag: _Parts) -> tuple[bool, bool, bool]:
    """`end_of_chunk` and `start_of_chunk` of seqeval, and of conlleval before it; neither asks what is open."""
    pair, differ = previous[0] + tag[0], previous[1] != tag[1]
    ended = previous[0] in "ES" or pair in _ENDS or (differ and previous[0] not in "O.")
    starts = tag[0] in "BS" or pair in _STARTS or (differ and tag[0] not in "O.")
    return ended, starts, False


def _decide_strictly(scheme: Scheme, previous: _Parts, is_open: bool, tag: _Parts) -> tuple[bool, bool, bool]:
    """`Tokens.entities` of seqeval.scheme, one tag at a time."""
    if is_open and _fits(scheme.goes_on, previous, tag):
        return False, False, True
    starts = _fits(scheme.starts, previous, tag)
    return is_open and _fits(scheme.ends, previous, tag), starts, starts


def _fits(rules: str, previous: _Parts, tag: _Parts) -> bool:
    types = "=*" if previous[1] == tag[1] else "!*"
    pairs = ("?", previous[0]), ("?", tag[0])
    return any(rule[0] in pairs[0] and rule[1] in pairs[1] and rule[2] in types for rule in rules.split())


def entities(tags: Sequence[str], mode: str = "lenient", scheme: str | None = None) -> list[Entity]:
    """The entities of one sequence of tags as (first, last_exclusive, type), in order.

    mode, scheme: as in TagReading; strict without a scheme takes the one that the tags show. Raises UsageError for
    a mode or scheme that is none, InputError for tags that the strict scheme does not have. Takes time in
    proportion to the number of tags.
    """
    reading = TagReading(mode, scheme or (scheme_of(tags) if mode == "strict" else None))
    reading.check(tags)
    return reading.entities(tags)


def scheme_of(tags: Iterable[str]) -> str:
    """`detect_scheme`, or an InputError that asks for the scheme."""
    found = detect_scheme(tags)
    if found is None:
        raise InputError(FORMAT, "prefixes of no one scheme", remedy=f"give --scheme {'|'.join(SCHEMES)}, or --tags lenient")
    return found


def detect_scheme(tags: Iterable[str]) -> str | None:
    """The scheme that the prefixes of these tags show, None where they are of several or none.

    As `seqeval.scheme.auto_detect`, where that knows an answer; it refuses I and O alone (here IO) and some
    sets in which a prefix of IOBES or BILOU happens to be missing. B, I and O are taken for IOB2: nothing in a
    set of tags tells IOB1.
    """
    prefixes = {tag[:1] or "O" for tag in set(tags)}
    if prefixes & {"L", "U"}:
        name = "BILOU"
    elif "S" in prefixes or prefixes >= {"B", "E"}:
        name = "IOBES"
    elif "E" in prefixes:
        name = "IOE2"
    else:
        name = "IOB2" if "B" in prefixes else "IO"
    return name if prefixes <= set(STRICT[name].prefixes) else None
