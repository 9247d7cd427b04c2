"""Values drawn from a split's pool: names, places, organisations, identifiers, telephone numbers, addresses.

Validation and gold draw from closed lists; training also makes up names, so that a surname is learnt by its place and
shape and not by heart. Nothing here knows templates, offsets or labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from unicodedata import normalize

from demo_pools import GOLD, RESERVED, TRAIN, VALIDATION, Pool
from demo_words import chain, ordinary

_MAKERS: dict[str, Callable[[Random], str]] = {
    "female": chain(TRAIN.female), "male": chain(TRAIN.male), "last": chain(word for name in TRAIN.last for word in name.split("-")),
    "town": chain(word for name in TRAIN.cities for word in name.split() if word[-1] != "."),
}  # fmt: skip
_STREET_KINDS = (
    "Street",
    "Road",
    "Avenue",
    "Lane",
    "Drive",
    "Court",
    "Close",
    "Way",
    "Place",
    "St",
    "Rd",
    "Ave",
    "Terrace",
    "Crescent",
    "Boulevard",
)
_ID_PREFIXES = ("", "", "", "MRN", "H-", "A", "P-", "CH/", "S", "PT-", "R", "No", "EN-", "K")
_MADE_HOSPITALS = (
    "{} General Hospital", "{} Hospital", "{} Medical Center", "{} Clinic", "St. {}'s Hospital", "{} Infirmary",
    "University Hospital of {}", "{} Health Centre", "{} Nursing Home", "{} Surgery", "{} Regional Hospital", "{} Hospice",
    "{} Memorial Hospital", "{} Imaging", "{} Cancer Center", "{} Medical Group", "{} Family Practice",
    "{} Rehabilitation Center", "{} Children's Hospital", "{} Institute", "{} District Hospital",
    "{} Care Home", "{} Community Hospital", "{} University Hospital", "{} Royal Infirmary",
)  # fmt: skip
_MADE_PHARMACIES = ("{} Pharmacy", "{} Chemist", "{} Drugs", "{} Drug Store", "{} Apothecary", "{} & {} Chemist")
_MADE_EMPLOYERS = (
    "{} Logistics", "{} Insurance", "{} & Sons", "{} Ltd", "{} Mutual", "{} Foods", "{} Council", "{} Motors", "{} Steelworks",
    "{} Bank", "{} & {}", "{} Electronics", "{} School", "{} Airlines", "{} Textiles", "{} Group", "{} Brewery", "{} Mills",
)  # fmt: skip


def _made(kind: str, rng: Random) -> str:
    """A made-up name of a kind that is neither of validation nor of gold."""
    while True:
        name = _MAKERS[kind](rng)
        if name.casefold() not in RESERVED and name[0].isupper():
            return name


def fill(mask: str, rng: Random) -> str:
    """A mask's `#` and `@` replaced by random digits and capital letters."""
    kinds = {"#": "0123456789", "@": "ABCDEFGHJKLMNPRSTUVWXYZ"}
    return "".join(rng.choice(kinds[sign]) if sign in kinds else sign for sign in mask)


def first_name(pool: Pool, female: bool, rng: Random) -> str:
    if rng.random() < pool.made_up:
        return _made("female" if female else "male", rng)
    return rng.choice(pool.female if female else pool.male)


def last_name(pool: Pool, rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(pool.last)
    kind = rng.random()
    if kind < 0.04:
        return f"{rng.choice(('van', 'de', 'van der', 'di', 'al', 'von'))} {_made('last', rng)}"
    if kind < 0.08:
        return rng.choice(("O'", "Mc", "Mac", "D'")) + _made("last", rng)
    if kind < 0.12:
        return f"{_made('last', rng)}-{_made('last', rng)}"
    return _made(rng.choice(("last", "last", "last", "town")), rng)


def city(pool: Pool, rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(pool.cities)
    first = ("Port", "New", "Lower", "Great", "San", "North", "Lake", "Fort", "West", "Upper", "St.", "Santa", "East", "Little")
    return (
        f"{rng.choice(first)} {_made('town', rng)}"
        if rng.random() < 0.2
        else _made(rng.choice(("town", "town", "town", "last")), rng)
    )


def _word_of_a_name(rng: Random) -> str:
    """What streets, hospitals and firms are called after: a person, a place, or any word."""
    kind = rng.choice(("last", "last", "town", "town", "word"))
    while kind == "word":
        word = ordinary(rng).capitalize()
        if word.casefold() not in RESERVED:
            return word
    return _made(kind, rng)


def street(pool: Pool, rng: Random) -> str:
    made = rng.random() < pool.made_up
    name = _word_of_a_name(rng) if made else rng.choice(pool.streets)
    number = str(rng.randrange(1, 400)) + (rng.choice("abcd") if rng.random() < 0.08 else "")
    return f"{number} {name} {rng.choice(_STREET_KINDS)}"


def _organization(pool: Pool, listed: Sequence[str], made: Sequence[str], rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(listed)
    form = rng.choice(made)
    return form.format(*(_word_of_a_name(rng) for _ in range(form.count("{}"))))


def hospital(pool: Pool, rng: Random) -> str:
    return _organization(pool, pool.hospitals, _MADE_HOSPITALS, rng)


def pharmacy(pool: Pool, rng: Random) -> str:
    return _organization(pool, pool.pharmacies, _MADE_PHARMACIES, rng)


def employer(pool: Pool, rng: Random) -> str:
    return _organization(pool, pool.employers, _MADE_EMPLOYERS, rng)


def _random_id_mask(rng: Random) -> str:
    groups = ["#" * rng.randrange(2, 8) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    if len(groups) == 1:
        groups = ["#" * rng.randrange(5, 11)]
    if rng.random() < 0.3:
        groups[rng.randrange(len(groups))] = rng.choice(("@@", "@#", "@", "@@@", "@##", "#@"))
        groups.append("#" * rng.randrange(3, 7))
    tail = rng.choice(("", "", "", "", "@", "/#", "-@"))
    return rng.choice(_ID_PREFIXES) + rng.choice(("-", "-", "-", " ", "/", "")).join(groups) + tail


def identifier(pool: Pool, rng: Random) -> str:
    if pool.id_masks:
        return fill(rng.choice(pool.id_masks), rng)
    while True:
        value = fill(_random_id_mask(rng), rng)
        if not any(matches(mask, value) for other in (VALIDATION, GOLD) for mask in other.id_masks):
            return value


def matches(mask: str, value: str) -> bool:
    """Whether `value` could have come from `mask`."""
    tests = {"#": str.isdigit, "@": str.isupper}
    return len(mask) == len(value) and all(
        tests[sign](letter) if sign in tests else sign == letter for sign, letter in zip(mask, value, strict=True)
    )


_TRAIN_PHONES = (
    "(###) ###-####", "###-###-####", "### ### ####", "###.###.####", "+1 ### ### ####", "1-###-###-####", "0### ### ####",
    "0## #### ####", "+44 ## #### ####", "+49 ### #######", "0#### ######", "+## ## ### ## ##", "###-####", "0##/#######",
    "+44 #### ######", "(0##) #### ####", "0# ## ## ## ##",
)  # fmt: skip


def phone(pool: Pool, rng: Random) -> str:
    if pool.phone_masks:
        return fill(rng.choice(pool.phone_masks), rng)
    while True:
        value = fill(rng.choice(_TRAIN_PHONES), rng)
        if not any(matches(mask, value) for other in (VALIDATION, GOLD) for mask in other.phone_masks):
            return value


def _plain(word: str) -> str:
    return normalize("NFKD", word).encode("ascii", "ignore").decode().casefold()


def email(pool: Pool, first: str, last: str, rng: Random) -> str:
    """An address of the person, in letters without accents, at a host of a reserved domain."""
    plain = [_plain(word).replace(" ", "").replace("'", "") for word in (first, last)]
    forms = ("{0}.{1}", "{1}{2}", "{3}.{1}", "{0}_{1}", "{0}{2}", "{1}", "{3}{1}")
    account = rng.choice(forms).format(plain[0], plain[1], rng.randrange(2, 99), plain[0][:1])
    host = rng.choice(pool.mail_hosts)
    if rng.random() < pool.made_up:
        host = f"{_plain(_word_of_a_name(rng))}.{host}"
    return f"{account}@{host}"
