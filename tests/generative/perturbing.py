"""Answers that a language model might give for a tagged text: the gold rendered, then spoilt by a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from openmed_mlx_eval.spans import Span

WORDS = [
    "the",
    "of",
    "left",
    "right",
    "lung",
    "kidney",
    "cells",
    "tissue",
    "in",
    "and",
    "with",
    "(",
    ")",
    ",",
    ".",
    "5",
    "p",
    "<",
    "0.05",
    "cortex",
    "T",
    "-",
    "cell",
    "É",
    "naïve",
]


def source(random_: random.Random, words: int = 30) -> tuple[str, list[Span]]:
    """A text of words that repeat, and entities of one to three words that do not overlap."""
    tokens = [random_.choice(WORDS) for _ in range(random_.randint(3, words))]
    starts, length = [], 0
    for token in tokens:
        starts.append(length)
        length += len(token) + 1
    spans, at = [], 0
    while at < len(tokens):
        size = random_.randint(1, 3)
        if random_.random() < 0.25 and at + size <= len(tokens):
            spans.append(Span(starts[at], starts[at + size - 1] + len(tokens[at + size - 1]), "ANATOMY"))
            at += size
        at += 1
    return " ".join(tokens), spans


def pieces(answer: str) -> list[str]:
    """Tags and the texts between them, in turn."""
    return re.split(r"(</?\w+>)", answer)


def texts_changed(answer: str, change) -> str:
    return "".join(piece if number % 2 else change(piece) for number, piece in enumerate(pieces(answer)))


def spacing(answer: str, random_: random.Random) -> str:
    def change(text: str) -> str:
        return "".join(random_.choice([" ", "  ", "\n", "", " ", " "]) if c == " " else c for c in text)

    return texts_changed(answer, change)


def case(answer: str, random_: random.Random) -> str:
    change = random_.choice([str.upper, str.lower, str.title])
    return texts_changed(answer, lambda text: change(text) if len(change(text)) == len(text) else text)


def characters(answer: str, random_: random.Random, rate: float = 0.03) -> str:
    def spoilt(character: str) -> str:
        if random_.random() > rate:
            return character
        return random_.choice(["", character * 2, random_.choice("abcxyz"), character + "e"])

    return texts_changed(answer, lambda text: "".join(map(spoilt, text)))


def tags(answer: str, random_: random.Random) -> str:
    """Some tags dropped, doubled, renamed or in capitals."""
    made = []
    for number, piece in enumerate(pieces(answer)):
        if number % 2 and "response" not in piece and random_.random() < 0.2:
            piece = random_.choice(["", piece * 2, piece.replace("anatomy", "organ"), piece.upper(), "<x>" + piece])
        made.append(piece)
    return "".join(made)


def opened(answer: str) -> int:
    return len(re.findall(r"<(?!/)(?!response)[a-zA-Z]+>", answer))


CHANGES: Sequence = (spacing, case, characters, tags)
