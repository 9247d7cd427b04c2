"""conlleval.pl's counts, worked out as that script does it: line by line, with one flag for "right so far".

The rules are those of the script's 2004-01-26 version and of its later one, which knows S and lets a B end what an E
ended; written anew here from their description, without square brackets.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.counts import Counts
from openmed_mlx_eval.scoring.tagging import tag_scores


def pairs_of(words: str) -> set[str]:
    return set(words.split(" "))


ENDS_2004 = pairs_of("BB BO IB IO EE EI EO")
STARTS_2004 = pairs_of("BB IB OB OI EE EI OE")
ENDS = ENDS_2004 | pairs_of("BS IS ES EB SE SI SO SS SB")
STARTS = STARTS_2004 | pairs_of("SB EB BS IS OS SS ES SI SE")


class Rules(NamedTuple):
    ends: set[str]
    starts: set[str]

    def end(self, before: tuple[str, str], now: tuple[str, str]) -> bool:
        return before[0] + now[0] in self.ends or (before[0] not in ("O", ".") and before[1] != now[1])

    def start(self, before: tuple[str, str], now: tuple[str, str]) -> bool:
        return before[0] + now[0] in self.starts or (now[0] not in ("O", ".") and before[1] != now[1])


class Report(NamedTuple):
    tokens: int
    correct_tokens: int
    correct: Counter[str]
    found_correct: Counter[str]
    found_guessed: Counter[str]


def conlleval(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], rules: Rules) -> Report:
    tokens = correct_tokens = 0
    correct, found_correct, found_guessed = Counter[str](), Counter[str](), Counter[str]()
    last, last_guess, right_so_far = ("O", ""), ("O", ""), False
    for one, other in zip(gold, predicted, strict=True):
        for tag, guess in [*zip(map(split, one), map(split, other), strict=True), (("O", ""), ("O", ""))]:
            if right_so_far:
                ends = rules.end(last, tag), rules.end(last_guess, guess)
                if all(ends) and last[1] == last_guess[1]:
                    correct[last[1]] += 1
                    right_so_far = False
                elif ends[0] != ends[1] or tag[1] != guess[1]:
                    right_so_far = False
            starts = rules.start(last, tag), rules.start(last_guess, guess)
            right_so_far |= all(starts) and tag[1] == guess[1]
            found_correct[tag[1]] += starts[0]
            found_guessed[guess[1]] += starts[1]
            last, last_guess = tag, guess
        tokens += len(one)
        correct_tokens += sum(split(a) == split(b) for a, b in zip(one, other, strict=True))
    return Report(tokens, correct_tokens, correct, found_correct, found_guessed)


def split(tag: str) -> tuple[str, str]:
    prefix, _, type = tag.partition("-")
    return prefix, type


def assert_same(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], rules: Rules) -> Report:
    ours, theirs = tag_scores(gold, predicted), conlleval(gold, predicted, rules)
    assert (ours.tokens, ours.correct_tokens) == (theirs.tokens, theirs.correct_tokens)
    for type in ours.by_type.keys() | (theirs.found_correct + theirs.found_guessed).keys():
        counts = Counts.of(theirs.correct[type], theirs.found_correct[type], theirs.found_guessed[type])
        assert ours.by_type[type] == counts, type
    return theirs


@pytest.mark.parametrize(
    ("prefixes", "rules"),
    [
        ("I", (ENDS_2004, STARTS_2004)),
        ("IB", (ENDS_2004, STARTS_2004)),
        ("IE", (ENDS_2004, STARTS_2004)),
        ("IBES", (ENDS, STARTS)),
    ],
)
@given(data=st.data())
def test_lenient_counts_are_conllevals(prefixes: str, rules: tuple[set[str], set[str]], data: st.DataObject) -> None:
    tags = st.sampled_from(["O", *(f"{prefix}-{type}" for prefix in prefixes for type in ("X", "Y-Z"))])
    pair = tags.map(lambda tag: (tag, tag)) | st.tuples(tags, tags)
    pairs = data.draw(st.lists(st.lists(pair, max_size=8), max_size=4))
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    assert_same(gold, predicted, Rules(*rules))


def anatem(path: Path) -> list[list[str]]:
    return [[line.split("\t")[1] for line in block.split("\n")] for block in path.read_text("utf-8").strip().split("\n\n")]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_anatem_with_perturbed_tags(shared, share: float) -> None:
    rng = random.Random(7)
    gold = anatem(shared("corpora/anatem/devel.tsv"))
    tags = ["O", "B-Anatomy", "I-Anatomy", "B-Organ", "I-Organ"]
    predicted = [[rng.choice(tags) if rng.random() < share else tag for tag in sentence] for sentence in gold]
    report = assert_same(gold, predicted, Rules(ENDS_2004, STARTS_2004))
    assert report.found_correct.total() == 2139
    assert (report.correct.total() == 2139) == (share == 0)
