"""The grammar of the demo's notes: templates in, text with exact gold spans out. It knows no particular template.

A template is a text with slots `{name}` and choices `[a|b]` (not nested). Persons, the hospitals and the sex are
one cast a note; dates run forward in it; everything else is drawn anew at each slot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random

import demo_medicine as medicine
import demo_pools as pools
import demo_values as values
from demo_words import ordinary, perturbed


@dataclass(frozen=True)
class NoteKind:
    """take: least and most body sentences of a round, in the order written unless `shuffled`; joiner: what stands between them."""

    name: str
    opening: tuple[str, ...]
    body: tuple[str, ...]
    closing: tuple[str, ...]
    take: tuple[int, int]
    rounds: int = 1
    joiner: str = " "
    shuffled: bool = False

    def units(self) -> Iterator[str]:
        """Every line or sentence of the kind that holds a slot and words: what must not be in two splits."""
        for template in (*self.opening, *self.body, *self.closing):
            yield from (line for line in template.split("\n") if "{" in line and re.search(r"\w", _SLOT.sub("", line)))


@dataclass(frozen=True)
class Note:
    """text and its gold spans (start, end, label), half-open code points, in order."""

    kind: str
    text: str
    spans: tuple[tuple[int, int, str], ...]


_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def skeletons(unit: str) -> Iterator[str]:
    """Every reading of a template's choices, folded for comparison; the first 4,096 of very rich ones."""
    pieces = _CHOICE.split(unit)
    options = [[piece] if number % 2 == 0 else piece.split("|") for number, piece in enumerate(pieces)]
    for count, reading in enumerate(product(*options)):
        if count == 4096:
            return
        yield " ".join("".join(reading).casefold().split())


def _ordinal(day: int) -> str:
    return f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


_DATES: tuple[Callable[[int, int, int], str], ...] = (
    lambda y, m, d: f"{m:02}/{d:02}/{y}",
    lambda y, m, d: f"{d:02}/{m:02}/{y}",
    lambda y, m, d: f"{y}-{m:02}-{d:02}",
    lambda y, m, d: f"{d} {_MONTHS[m - 1]} {y}",
    lambda y, m, d: f"{_MONTHS[m - 1]} {d}, {y}",
    lambda y, m, d: f"{d:02}.{m:02}.{y}",
    lambda y, m, d: f"{m}/{d}/{y % 100:02}",
    lambda y, m, d: f"{d}-{_MONTHS[m - 1][:3]}-{y}",
    lambda y, m, d: f"{d} {_MONTHS[m - 1][:3]} {y}",
    lambda y, m, d: f"{_MONTHS[m - 1][:3]} {d}, {y}",
    lambda y, m, d: f"{_ordinal(d)} {_MONTHS[m - 1]} {y}",
)
_SHORT_DATES: tuple[Callable[[int, int, int], str], ...] = (
    lambda y, m, d: f"{m:02}/{d:02}",
    lambda y, m, d: f"{d} {_MONTHS[m - 1]}",
    lambda y, m, d: f"{_MONTHS[m - 1]} {d}",
    lambda y, m, d: f"{_ordinal(d)} {_MONTHS[m - 1]}",
    lambda y, m, d: f"{d} {_MONTHS[m - 1][:3]}",
)


class Cast:
    """What stays the same through one note, and how each slot is filled."""

    def __init__(self, split: str, rng: Random) -> None:
        self.pool, self.rng, self.training = pools.SPLITS[split], rng, split == "train"
        self.female = rng.random() < 0.5
        self._people: dict[str, tuple[str, str]] = {}
        self._drug = ""
        self._aunt = rng.random() < 0.5  # the sex of the relative
        self._places: dict[str, str] = {}
        self._style = rng.randrange(len(_DATES))
        self._short = rng.randrange(len(_SHORT_DATES))
        self._year = rng.randrange(self.pool.years[0], self.pool.years[1] + 1)
        self._day = rng.randrange(1, 300)  # of a year of 12 months of 28 days

    def _person(self, role: str) -> tuple[str, str]:
        if role not in self._people:
            known = {"patient": self.female, "relative": self._aunt}
            female = known[role] if role in known else self.rng.random() < 0.5
            last = values.last_name(self.pool, self.rng)
            if role == "relative" and self.rng.random() < 0.5:
                last = self._person("patient")[1]
            self._people[role] = values.first_name(self.pool, female, self.rng), last
        return self._people[role]

    def _named(self, role: str, form: str) -> str:
        first, last = self._person(role)
        if form == "" and role == "patient" and self.rng.random() < 0.15:
            return f"{first} {self.rng.choice('ABCDEFGHJKLMNPRSTW')}. {last}"
        return {
            "": f"{first} {last}",
            "first": first,
            "last": last,
            "formal": f"{last}, {first}",
            "initial": f"{first[0]}. {last}",
        }[form]

    def _once(self, name: str, make: Callable[[], str]) -> str:
        if name not in self._places:
            self._places[name] = make()
        return self._places[name]

    def _date(self, forms: tuple[Callable[[int, int, int], str], ...], style: int) -> str:
        self._day = min(self._day + self.rng.randrange(0, 4), 335)
        style = self.rng.randrange(len(forms)) if self.rng.random() < 0.15 else style
        return forms[style](self._year, self._day // 28 + 1, self._day % 28 + 1)

    def fill(self, slot: str) -> tuple[str, str | None]:
        """(surface, label or None) for a slot. A slot in capitals is the same value in capitals."""
        if slot.isupper() and len(slot) > 2:
            surface, label = self.fill(slot.lower())
            return surface.upper(), label
        role, _, form = slot.partition("_")
        if role in ("patient", "doctor", "doctor2", "doctor3", "relative"):
            return self._named(role, form), "PERSON"
        if slot in _PHI:
            label, make = _PHI[slot]
            return make(self), label
        return self._plain(slot), None

    def _plain(self, slot: str) -> str:
        rng = self.rng
        if slot in _SEXED:
            options = _SEXED[slot][0 if self.female else 1]
            return self._once(slot, lambda: rng.choice(options)) if slot == "Mr" else rng.choice(options)
        if slot == "kin":
            return self._once("kin", lambda: rng.choice(_KIN[0 if self._aunt else 1]))
        if slot in ("word", "Word"):
            return ordinary(rng) if slot == "word" else ordinary(rng).capitalize()
        if slot == "number":
            return medicine.number(rng)
        if slot == "vitals":
            return medicine.vitals(rng)
        if slot == "drug":
            self._drug = medicine.made_up_drug(rng) if self.training and rng.random() < 0.4 else rng.choice(medicine.DRUGS)
            return self._drug
        if slot == "dose":
            return rng.choice(medicine.DOSES.get(self._drug, medicine.ANY_DOSE))
        if self.training and slot == "diagnosis" and rng.random() < 0.3:
            return medicine.made_up_eponym(values.last_name(self.pool, rng), rng)
        return rng.choice(medicine.WORDS[slot])


_KIN = (
    ("sister", "daughter", "niece", "mother", "partner", "wife"),
    ("brother", "son", "nephew", "father", "partner", "husband"),
)

_SEXED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Mr": (("Mrs.", "Ms.", "Ms", "Mrs"), ("Mr.", "Mr")),
    "he": (("she",), ("he",)),
    "He": (("She",), ("He",)),
    "his": (("her",), ("his",)),
    "His": (("Her",), ("His",)),
    "him": (("her",), ("him",)),
    "man": (("woman", "lady", "female"), ("man", "gentleman", "male")),
    "sex": (("F",), ("M",)),
}

_PHI: Mapping[str, tuple[str, Callable[[Cast], str]]] = {
    "date": ("DATE", lambda cast: cast._date(_DATES, cast._style)),
    "date_short": ("DATE", lambda cast: cast._date(_SHORT_DATES, cast._short)),
    "month_year": ("DATE", lambda cast: f"{cast.rng.choice(_MONTHS)} {cast._year - cast.rng.randrange(0, 2)}"),
    "dob": (
        "DATE",
        lambda cast: _DATES[cast._style](
            cast._year - int(cast.fill("age")[0]), cast.rng.randrange(1, 13), cast.rng.randrange(1, 29)
        ),
    ),
    "age": ("AGE", lambda cast: cast._once("age", lambda: str(cast.rng.randrange(*(1, 100) if cast.training else (19, 96))))),
    "id": ("ID_NUM", lambda cast: values.identifier(cast.pool, cast.rng)),
    "phone": ("PHONE", lambda cast: values.phone(cast.pool, cast.rng)),
    "email": ("EMAIL", lambda cast: values.email(cast.pool, *cast._person("doctor"), cast.rng)),
    "street": ("LOCATION", lambda cast: values.street(cast.pool, cast.rng)),
    "city": ("LOCATION", lambda cast: cast._once("city", lambda: values.city(cast.pool, cast.rng))),
    "employer": ("ORGANIZATION", lambda cast: cast._once("employer", lambda: values.employer(cast.pool, cast.rng))),
    "pharmacy": ("ORGANIZATION", lambda cast: cast._once("pharmacy", lambda: values.pharmacy(cast.pool, cast.rng))),
    **{
        name: ("ORGANIZATION", lambda cast, name=name: cast._once(name, lambda: values.hospital(cast.pool, cast.rng)))
        for name in ("hospital", "hospital2", "clinic")
    },
}

PERTURBED = (0.0, 0.1, 0.2, 0.4)
"""The share of a training note's plain words that are replaced; one of these a note."""

LABELS = tuple(sorted({label for label, _ in _PHI.values()} | {"PERSON"}))


def realised(template: str, cast: Cast) -> tuple[str, list[tuple[int, int, str]]]:
    """A template filled: text and spans."""
    chosen = _CHOICE.sub(lambda found: cast.rng.choice(found[1].split("|")), template)
    text, spans, done = "", [], 0
    for slot in _SLOT.finditer(chosen):
        text += chosen[done : slot.start()]
        surface, label = cast.fill(slot[1])
        sentence_start = not text or text[-1] == "\n" or text.endswith((". ", ": "))
        if label is None and sentence_start and slot.start() == 0:
            surface = surface[0].upper() + surface[1:]
        if label is not None:
            spans.append((len(text), len(text) + len(surface), label))
        text += surface
        done = slot.end()
    return text + chosen[done:], spans


def write_note(kind: NoteKind, split: str, rng: Random) -> Note:
    cast = Cast(split, rng)
    text = ""
    spans: list[tuple[int, int, str]] = []

    def add(template: str, joiner: str) -> None:
        nonlocal text
        piece, found = realised(template, cast)
        text += joiner if text else ""
        spans.extend((start + len(text), end + len(text), label) for start, end, label in found)
        text += piece

    add(rng.choice(kind.opening), "")
    first = "\n"
    for _ in range(kind.rounds):
        count = min(rng.randint(*kind.take), len(kind.body))
        chosen = rng.sample(range(len(kind.body)), count)
        for index in chosen if kind.shuffled else sorted(chosen):
            add(kind.body[index], first)
            first = kind.joiner
    add(rng.choice(kind.closing), "\n")
    if split == "train":
        return Note(kind.name, *perturbed(text, tuple(spans), rng.choice(PERTURBED), rng))
    return Note(kind.name, text, tuple(spans))


def shared_units(splits: Mapping[str, Iterable[NoteKind]]) -> list[str]:
    """Skeletons that occur in more than one split; none may."""
    owner: dict[str, str] = {}
    shared: list[str] = []
    for split, kinds in splits.items():
        for kind in kinds:
            for unit in kind.units():
                for skeleton in skeletons(unit):
                    if owner.setdefault(skeleton, split) != split:
                        shared.append(skeleton)
    return shared
