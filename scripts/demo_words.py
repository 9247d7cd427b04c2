"""Letter chains that make up words like the ones they were shown, and ordinary English words to mix into training.

A tagger that has seen a few hundred names learns them by heart; one that has seen ten thousand made-up ones learns
what a name looks like. The same holds for ordinary words, which are what names must be told from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import Random


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ORDINARY = _words(
    "able above accept account across act active actual add address admit adult advance advice affect after afternoon again "
    "age agency agree aid aim air alarm alert allow alone along already also although always among amount ample answer "
    "anxious any apart appear apply approach area argue arm arrange arrive article ask aspect assist assume attack attempt "
    "attend average avoid awake aware away back bad balance bank base basic basis bath bear beat become bed bedside before "
    "begin behave behind believe belong below belt bend benefit best better between beyond big bill birth bit bite bleed "
    "blind block blood blue board body bone book both bottle bottom bowel box brain branch break breakfast breast breath "
    "brief bright bring broad brown bruise build burn bus busy buy cable call calm cancel cap car card care careful carer "
    "carry case catch cause ceiling cell centre certain chair chance change charge chart check cheek chest child choice "
    "choose circle claim class clean clear clerk clinic close cloth clot coat cold collect colour column come comfort "
    "common company compare complete concern confirm confuse connect consent consider contact contain content continue "
    "control cook copy corner correct cost cough count country couple course cover cream create cross cry cup current cut "
    "daily damage danger dark data day dead deal decide decline deep defer degree delay deliver demand deny depend describe "
    "desk detail develop device diet differ difficult dinner direct discuss disease dish distance divide do dizzy document "
    "door double doubt down draw dress drink drive drop drug dry due dull during dust duty each ear early earn ease east "
    "easy eat edge effect effort egg eight either elbow elder else emergency empty end energy engine enjoy enough ensure "
    "enter entire equal error escort even evening event ever every exact exam example except exercise exist expect expert "
    "explain extend extra eye face fact fail fair faint fall false family far farm fast fasting fat father fault fear feed "
    "feel feet fell female fever few field fight figure fill film final find fine finger finish fire firm first fit fix "
    "flat floor flow fluid fold folder follow food foot force forget form formal forward free frequent fresh friend front "
    "full function further gain game garden gas general gentle gift girl give glad glass glove go goal gold good grade "
    "gradual great green grip group grow guide habit hair half hall hand happen happy hard harm head health hear heart heat "
    "heavy heel height help here high hip history hold hole holiday home hope hospital hot hour house how however human "
    "hurt husband ice idea ill image impact improve include income increase index infection inform initial injury inside "
    "instead intake intend interest interval invite irregular issue item itch job join joint judge jump keep key kidney "
    "kind kitchen knee know label lack lady language large last late later laugh lay lead leaflet learn least leave left "
    "leg length lens less lesson letter level licence lie life lift light like likely limb limit line lip liquid list "
    "listen little live liver local lock long look loose lose loss loud low lower lump lunch lung machine mail main major "
    "make manage many mark married mask mass match matter meal mean measure meat medical meet member memory mental mention "
    "message metal method middle might mild milk mind minor minute miss mix mobile mode model moderate moment money monitor "
    "month mood more morning most mother motion mouth move much muscle must nail name narrow nature near neck need needle "
    "nerve never new next night noise none normal north nose note nothing notice nurse object observe obtain obvious occur "
    "odd offer office often oil old once only onset open operate opinion option order organ other outcome outside oven over "
    "own pack page pain pair pale paper parent part partner party pass past patch path patient pattern pause pay peak "
    "people per perform perhaps period person phase phone photo pick picture piece pill pillow pink place plan plant "
    "plaster plate play please point police poor portion position possible post pour powder power practice prefer prepare "
    "present press pressure prevent previous price print private problem proceed process produce product program progress "
    "promise prompt proof proper protect prove provide public pull pulse pupil purpose push put quality quarter question "
    "quick quiet quite radio rain raise range rapid rare rate rather reach react read ready real reason recall receive "
    "recent record recover red reduce refer reflex refuse regard region regular relate relax release relief remain remember "
    "remind remote remove renew repair repeat reply report request require rest result retain return review rib rice rich "
    "ride right ring rise risk road role roll roof room root rough round route row rub rule run safe salt same sample save "
    "say scalp scan scar scene schedule school score screen scrub seal search season seat second section secure see seem "
    "seldom send sense separate series serious serve service session set settle seven severe shake shape share sharp sheet "
    "shift ship shock shoe shop short shoulder show shower sick side sign signal silent similar simple since single sister "
    "sit site size skill skin sleep slight slip slow small smell smile smoke smooth social soft solid some son soon sore "
    "sort sound source south space speak special speech speed spend spine spoon spot spread stable staff stage stair stand "
    "standard start state station stay steady step stiff still stitch stomach stool stop storage store story straight "
    "strain strange street stress stretch strict strong study subject sudden suffer sugar suggest suit summer supply "
    "support sure surface surgery surprise survey swallow sweat sweet swelling switch symptom system table tablet take talk "
    "tall tap task taste tea teach team tear tell temper tender tense term test thank theatre thick thin thing think third "
    "thirst throat through throw tight time tired tissue title today toe together toilet tomorrow tone tongue tonight tooth "
    "top total touch tough toward towel tower town track trade train transfer transport trauma travel treat trend trial "
    "trip trouble true trust truth try tube tumour turn twice twin type ulcer unable uncle under understand unit unless "
    "until unusual update upper upset urgent urine use usual value various vein very vessel view village virus vision visit "
    "visitor vital voice volume vomit wait wake walk wall want ward warm warn wash waste watch water weak wear week weight "
    "welcome well west wet wheel while white whole wide wife window winter wipe wish within without witness woman wonder "
    "wood wool word work world worry worse worth wound wrist write wrong yard year yellow yes yesterday young admission "
    "advised arrangement assessment attended breathing building ceased clothing completed counselling daughter described "
    "discharged discussion drainage employed evaluation examined excellent expected explained feeding finished handed "
    "happened hearing helped holding housing insurance invited laboratory landing lasting leaving listed living meeting "
    "nursing occupation ordered outpatient painful planned prepared prescribed protocol providing rapidly referred "
    "registered remained requested residence satisfactory scheduled situation specialist standing statement suspected "
    "swollen taking treatment trying unknown usually waiting walking warning weekly wheelchair written accordingly "
    "aftercare bandage beforehand bleeding cannot carefully caretaker category circumstances colleague community condition "
    "conversation cooperation currently deterioration"
)
"""Everyday and clerical English, as any word list has it."""

_FUNCTION = frozenset(
    _words(
        "a age aged an and are as at be born by doctor dr email fax for from had has he her him his in is it mail mr mrs ms no "
        "number of old on or phone prof professor she street tel that the this to under was were who with year years yo"
    )
)


def chain(words: Iterable[str], order: int = 3) -> Callable[[Random], str]:
    """A maker of words whose every letter follows the `order` letters before it in some word shown."""
    following: dict[str, list[str]] = {}
    for word in words:
        padded = "^" * order + word + "$"
        for place in range(order, len(padded)):
            following.setdefault(padded[place - order : place], []).append(padded[place])

    def make(rng: Random) -> str:
        while True:
            letters = "^" * order
            while letters[-1] != "$":
                letters += rng.choice(following[letters[-order:]])
            made = letters[order:-1]
            if 3 <= len(made) <= 12:
                return made

    return make


_made_ordinary = chain(ORDINARY, 3)


def ordinary(rng: Random) -> str:
    """A lower-case word, one in four made up."""
    return _made_ordinary(rng) if rng.random() < 0.25 else rng.choice(ORDINARY)


def perturbed(
    text: str, spans: tuple[tuple[int, int, str], ...], share: float, rng: Random
) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Text and spans with a share of the words outside spans replaced by other ordinary words of the same casing.

    Function words and titles, which say what a span is, are changed ten times more rarely.
    """
    made, moved, done = "", [], 0

    def changed(found: re.Match[str]) -> str:
        word = found[0]
        if rng.random() >= share * (0.1 if word.lower() in _FUNCTION else 1.0):
            return word
        other = ordinary(rng)
        return other.upper() if word.isupper() and len(word) > 2 else other.capitalize() if word[0].isupper() else other

    for start, end, label in spans:
        made += re.sub(r"[^\W\d_]{2,}", changed, text[done:start])
        moved.append((len(made), len(made) + end - start, label))
        made += text[start:end]
        done = end
    return made + re.sub(r"[^\W\d_]{2,}", changed, text[done:]), tuple(moved)
