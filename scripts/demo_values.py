"""Invented names, places and identifiers for the demo: one pool a split, and no value in two of them.

Pools are closed lists for validation and gold; training also draws made-up words, so that a surname is learnt by
its place and shape and not by heart. Nothing here knows templates, offsets or labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from unicodedata import normalize


@dataclass(frozen=True)
class Pool:
    """The values of one split. `made_up`: the share of names built from syllables instead of taken from a list.

    Masks: `#` is a digit, `@` a capital letter, anything else stands for itself.
    """

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]
    streets: tuple[str, ...]
    cities: tuple[str, ...]
    hospitals: tuple[str, ...]
    pharmacies: tuple[str, ...]
    employers: tuple[str, ...]
    mail_hosts: tuple[str, ...]
    id_masks: tuple[str, ...]
    phone_masks: tuple[str, ...]
    years: tuple[int, int]
    made_up: float = 0.0


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split(";"))


TRAIN = Pool(
    female=_words(
        "Anna Mary Laura Susan Karen Emily Rachel Olivia Sophie Claire Helen Diana Joan Ruth Alice Martha Julia Nora "
        "Victoria Megan Paula Teresa Carmen Lucía María Inés Elena Ingrid Astrid Greta Hélène Zoë Fatima Aisha Leila "
        "Yasmin Priya Anjali Mei Yuki Hana Chloe Grace Rose Daisy Amber Tanya Olga Natasha Agnes Beatrice Dorothy "
        "Edith Gloria Irene Kathleen Lillian Marjorie Pamela Sandra Sheila Vera Wanda Yvonne Bridget Siobhan Nóra"
    ),
    male=_words(
        "John James Robert Michael William David Thomas Charles Daniel Matthew Anthony Mark Paul Steven Andrew Kevin "
        "Brian George Edward Ronald Peter Henry Carl Arthur Ryan Roger Joe Juan Luis Jesús Ramón Andrés Pedro Jürgen "
        "Günther Hans Klaus Björn Lars Sven François René André Ahmed Omar Ali Hassan Raj Vikram Arjun Wei Hiroshi "
        "Kenji Liam Noah Ethan Jack Frank Albert Walter Harold Ernest Stanley Leonard Ivan Boris Dmitri Cormac Seán"
    ),
    last=_words(
        "Smith Johnson Williams Brown Jones Davis Miller Wilson Moore Taylor Anderson Thomas Jackson White Harris Martin "
        "Thompson Young King Wright Hill Green Adams Baker Nelson Carter Mitchell Turner Phillips Campbell Parker Evans "
        "Edwards Collins Stewart Morris Rogers Reed Cook Morgan Bell Murphy Bailey Cooper Richardson Cox Howard Ward "
        "García Martínez Rodríguez López Hernández González Pérez Sánchez Ramírez Núñez Schröder Krüger Böhm Weiß Schmidt "
        "Fischer Weber Wagner Becker Hoffmann O'Brien O'Connor McDonald McCarthy MacLeod Fitzgerald Kowalski Nowak "
        "Novák Horváth Nagy Ivanov Petrov Popescu Rossi Ferrari Romano Dubois Lefèvre Moreau Lambert Patel Singh Kumar "
        "Sharma Khan Ahmed Hassan Nguyen Tran Chen Wang Li Zhang Kim Park Lee Tanaka Suzuki Sato Okoye Mensah Adeyemi "
        "Johansson Nielsen Hansen Sørensen Lindqvist Virtanen Smith-Jones Hall-Baker Price-Evans Stone Fox Brooks Rice"
    ),
    streets=_words(
        "Maple Oak Pine Elm Church Park Main Washington Lincoln Station Mill Victoria Spring Cherry River Sunset Hillside "
        "Chestnut Prospect Walnut Highland Queen Market Chapel Abbey Castle Grange Manor Orchard Garden Canal Bridge"
    ),
    cities=_phrases(
        "Springfield; Riverside; Brighton; Oxford; Denver; Portland; Austin; Leeds; York; Salem; Dayton; Fairview; Milton; "
        "Ashford; Burton; Cambridge; Durham; Lancaster; Newport; Hamburg; Lyon; Porto; Sevilla; Köln; Malmö; Zürich; Gdansk; "
        "Santa Rosa; New Haven; Port Arthur; Cedar Falls; Green Bay; St. Albans; Upper Norwood; Lake Charles; Fort Wayne; "
        "Little Rock; El Paso; East Grinstead; Kings Lynn; Long Eaton; North Platte; Mount Vernon; Bad Homburg"
    ),
    hospitals=_phrases(
        "St. Mary's Hospital; Mercy Hospital; County General Hospital; Good Samaritan Medical Center; Riverside Clinic; "
        "Memorial Hospital; Royal Infirmary; St. Luke's Medical Center; Children's Hospital; Sacred Heart Hospital; "
        "Lakeside Family Practice; Valley Health Centre; Northside Surgery; Pine Street Medical Group; Hope Hospice; "
        "Oak Park Nursing Home; Sunrise Rehabilitation Center; University Hospital; Bay Area Imaging; Hill House; "
        "Queen Anne Hospital; Trinity Care Home; Park Road Surgery; Community Health Center; Eastside Dialysis Unit"
    ),
    pharmacies=_phrases(
        "City Pharmacy; Main Street Drugs; Walker Chemist; Corner Pharmacy; Lakeside Drug Store; Bell Apothecary"
    ),
    employers=_phrases(
        "Walker Steel; Acme Logistics; Delta Airlines; First National Bank; Brown Brothers; Nordic Foods; Pacific Insurance; "
        "Johnson Construction; City Council; State University; Star Electronics; Green Energy Ltd; Atlas Mutual; Harris & Sons"
    ),
    mail_hosts=_words(
        "example.com example.org example.net mail.test clinic.example hospital.test health.example.org care.example post.test "
        "uni.example.net web.invalid inbox.test practice.example.com"
    ),
    id_masks=(),
    phone_masks=(),
    years=(1990, 2019),
    made_up=0.55,
)

VALIDATION = Pool(
    female=_words("Miriam Rosalie Jutta Clementine Zsófia Winifred Noor Delphine Harriet Parveen"),
    male=_words("Quentin Aurelio Ruben Matthias Benoît Duncan Tariq Lorenz Oswald Emeka"),
    last=_words(
        "Haverstock Bellweather Castellanos Drummond Eszterházy Farnsworth Gruber Hollis Iqbal Jørgensen Kettering "
        "Lombardi Mbeki Nakamura Orlowski Pemberton Quigley Rasmussen Sattar Trevelyan"
    ),
    streets=_words("Juniper Halliwell Bramble Ferndown Cobbler Saddler Windmill Ropewalk"),
    cities=_phrases("Ludbrook; Carrowmore; Eastwick; Neustadt; Port Selwyn; Great Marden; Halden; Vilaverde"),
    hospitals=_phrases(
        "Ludbrook District Hospital; St. Cuthbert's Hospital; Marden Valley Clinic; Selwyn Heart Institute; Halden Medical "
        "Centre; Carrowmore Infirmary; Eastwick Family Surgery"
    ),
    pharmacies=_phrases("Halden Pharmacy; Cobbler Lane Chemist"),
    employers=_phrases("Selwyn Shipyards; Meridian Assurance; Foxglove Textiles; Kettle & Moss"),
    mail_hosts=_words("ludbrook.example halden-medical.test marden.example.org postbox.example.net"),
    id_masks=("M######", "VK-####-##", "## ## ####", "@@#####", "####/##/@"),
    phone_masks=("(472) 555-01##", "01632 9601##", "472.555.01##", "+44 1632 9602##"),
    years=(2020, 2021),
)

GOLD = Pool(
    female=_words(
        "Selma Ottilie Marisol Henrietta Saoirse Thandiwe Rosalind Ximena Birgitta Nadezhda Imogen Zainab Philippa Renée "
        "Cordelia Sunniva Leocadia Annelise Tamsin Wilhelmina Chiamaka Estrella Gwendolyn Maëlle Hyacinth"
    ),
    male=_words(
        "José Torvald Ignatius Caspian Leopold Barnaby Fergus Emmerich Kwabena Alasdair Rupert Cassius Dietrich Lucjan "
        "Matteo Ansel Horatio Jerzy Søren Thaddeus Efraín Gideon Montgomery Idris Vaughn"
    ),
    last=_words(
        "Müller Arkwright Thornbury Quintanilla Oyelaran Vandersloot Penhaligon Marchetti Szymański Ravenscroft Delacroix "
        "Featherstone Bjørnstad Ibáñez Cholmondeley Wetherby Kaczmarek Abernathy Montoya Lundgren O'Halloran McAllister "
        "Hargreaves Tsukamoto Villanueva Ashdown Crabtree Ekwueme Fontaine Grimshaw Holloway Isaksen Jellicoe Kirkbride "
        "Loughlin Maddox Nettleton Oakeshott Pettigrew Rutledge Stavros Thistlewood Underhill Wainwright Yarborough "
        "Zamora Blackthorne-Reyes Dunmore Gallagher Bracewell"
    ),
    streets=_words(
        "Larkspur Tanglewood Cinnabar Quarry Foundry Marigold Wharf Sycamore Blackbird Copperfield Hawthorn Lantern "
        "Meadowsweet Pemberley Harbour Thimble"
    ),
    cities=_phrases(
        "Wexmoor; Alderbrook; Tarrington; Pennfield; Kilbrannan; Osterholt; San Telmo; Brackenridge; Northwold; Fallowby; "
        "Grünwald; Corvane; Lower Heddon; Silverton; Vallorbe; Eskdale; Port Maren; Ambleford"
    ),
    hospitals=_phrases(
        "Wexmoor General Hospital; St. Brannoc's Hospital; Alder Valley Clinic; Tarrington Medical Center; Kilbrannan Royal "
        "Infirmary; Osterholt University Hospital; Brackenridge Cancer Institute; Heddon Lane Surgery; Silverton Community "
        "Hospital; Eskdale Nursing Home; Port Maren Imaging; Corvane Rehabilitation Centre; Fallowby Health Centre; "
        "San Telmo Children's Hospital; Ambleford Hospice"
    ),
    pharmacies=_phrases("Northwold Pharmacy; Gull & Anchor Chemist; Pennfield Apothecary; Eskdale Drugs"),
    employers=_phrases(
        "Harrowgate Freight; Bluebell Insurance; Penn & Darrow; Tarrington Glassworks; Vallorbe Watches; Orrin Mutual; "
        "Kestrel Aviation; Wexmoor Council"
    ),
    mail_hosts=_words(
        "wexmoor.example alder-valley.example tarrington.example.org brannoc.test mailbox.example osterholt.example.net"
    ),
    id_masks=("7######", "WX-######", "###-##-##@", "@##-#####", "485 ### ####", "TM#######", "20-@@-####", "#####-##"),
    # Numbers reserved for fiction: North America 555-01xx, United Kingdom 020 7946 0xxx and 0117 496 0xxx.
    phone_masks=(
        "(318) 555-01##",
        "318-555-01##",
        "020 7946 0###",
        "+44 20 7946 0###",
        "0117 496 0###",
        "+1 729 555 01##",
        "729.555.01##",
    ),
    years=(2022, 2025),
)

SPLITS: Mapping[str, Pool] = {"train": TRAIN, "validation": VALIDATION, "gold": GOLD}

_LISTS = (
    "female",
    "male",
    "last",
    "streets",
    "cities",
    "hospitals",
    "pharmacies",
    "employers",
    "mail_hosts",
    "id_masks",
    "phone_masks",
)
RESERVED = frozenset(
    word.casefold()
    for pool in (VALIDATION, GOLD)
    for name in _LISTS
    for value in getattr(pool, name)
    for word in [value, *value.replace("-", " ").split()]
)
"""Every value of validation and gold, and each of its words: what training may not make up by accident."""

_ONSETS = _words("b br c ch cl d dr f fl g gr h j k kl l m n p pr qu r s sh st t th tr v w wh y z zh sch kr")
_VOWELS = _words("a e i o u a e i o u ai ea ee ie ou ö ü é á ø y oo au")
_CODAS = ("", "", "", "n", "r", "l", "s", "m", "t", "nd", "rk", "ll", "ss", "ck", "rt", "x", "ng", "ń", "w")
_SURNAME_ENDS = _words("son ley ton ski sky ez es ova berg mann wood man field worth stein er er ham by dale well ić shaw ford")
_TOWN_ENDS = _words("ton ham ford field brook ville bury mouth burg dale wick stead moor haven bridge by minster holm ridge")
_STREET_KINDS = _words("Street Road Avenue Lane Drive Court Close Way Place St Rd Ave Terrace Crescent Boulevard")
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


def _made_word(rng: Random, syllables: int, ends: Sequence[str] = ("",)) -> str:
    while True:
        stem = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(syllables))
        word = (stem + rng.choice(ends)).capitalize()
        if word.casefold() not in RESERVED and len(word) <= 14:
            return word


def fill(mask: str, rng: Random) -> str:
    """A mask's `#` and `@` replaced by random digits and capital letters."""
    kinds = {"#": "0123456789", "@": "ABCDEFGHJKLMNPRSTUVWXYZ"}
    return "".join(rng.choice(kinds[sign]) if sign in kinds else sign for sign in mask)


def first_name(pool: Pool, female: bool, rng: Random) -> str:
    if rng.random() < pool.made_up / 2:
        return _made_word(rng, rng.choice((1, 2, 2)), ("", "a", "e", "o") if female else ("", "o", "us"))
    return rng.choice(pool.female if female else pool.male)


def last_name(pool: Pool, rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(pool.last)
    if rng.random() < 0.08:
        return f"{rng.choice(('van', 'de', 'van der', 'di', 'al'))} {_made_word(rng, 2)}"
    if rng.random() < 0.08:
        return rng.choice(("O'", "Mc", "Mac", "D'")) + _made_word(rng, 2)
    if rng.random() < 0.06:
        return f"{_made_word(rng, 1, _SURNAME_ENDS)}-{rng.choice(pool.last)}"
    return _made_word(rng, rng.choice((1, 2, 2, 3)), rng.choice((("",), _SURNAME_ENDS)))


def city(pool: Pool, rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(pool.cities)
    town = _made_word(rng, rng.choice((1, 2)), rng.choice((("",), _TOWN_ENDS)))
    first = ("Port", "New", "Lower", "Great", "San", "North", "Lake", "Fort", "West")
    return f"{rng.choice(first)} {town}" if rng.random() < 0.2 else town


def street(pool: Pool, rng: Random) -> str:
    made = rng.random() < pool.made_up
    name = _made_word(rng, rng.choice((1, 2)), rng.choice((("",), _TOWN_ENDS))) if made else rng.choice(pool.streets)
    number = str(rng.randrange(1, 400)) + (rng.choice("abcd") if rng.random() < 0.08 else "")
    return f"{number} {name} {rng.choice(_STREET_KINDS)}"


def _organization(pool: Pool, listed: Sequence[str], made: Sequence[str], rng: Random) -> str:
    if rng.random() >= pool.made_up:
        return rng.choice(listed)
    form = rng.choice(made)
    return form.format(*(_made_word(rng, rng.choice((1, 2)), rng.choice((("",), _TOWN_ENDS))) for _ in range(form.count("{}"))))


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
        host = f"{_plain(_made_word(rng, 2))}.{host}"
    return f"{account}@{host}"
