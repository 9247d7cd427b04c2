"""Seconds to align 3,830 answers of 3,000 characters, as many as AnatEM's test split has: unchanged, and spoilt in three ways.

Run as `python benchmarks/alignment.py`; no model and no corpus is needed.
"""

from __future__ import annotations

import argparse
import random
import re
import time

from openmed_mlx_eval.generative.alignment import align
from openmed_mlx_eval.generative.evalscope import evalscope_tags
from openmed_mlx_eval.generative.rendering import tagged
from openmed_mlx_eval.spans import Span

ANSWERS, CHARACTERS = 3830, 3000
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
    "cortex",
    "T",
    "-",
    "cell",
    "expression",
    "was",
    "found",
]


def text_and_spans(random_: random.Random) -> tuple[str, list[Span]]:
    text = ""
    spans = []
    while len(text) < CHARACTERS:
        word = random_.choice(WORDS)
        if random_.random() < 0.05:
            spans.append(Span(len(text), len(text) + len(word), "ANATOMY"))
        text += word + " "
    return text[:-1], spans


def spoilt(answer: str, change) -> str:
    return "".join(part if n % 2 else change(part) for n, part in enumerate(re.split(r"(</?\w+>)", answer)))


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    random_ = random.Random(0)
    changes = {
        "unchanged": lambda part: part,
        "spacing": lambda part: part.replace(" ", "  "),
        "case": str.upper,
        "letters replaced (1 %)": lambda part: "".join("x" if c != " " and random_.random() < 0.01 else c for c in part),
        "characters replaced (1 %)": lambda part: "".join("x" if random_.random() < 0.01 else c for c in part),
        "letters left out (1 %)": lambda part: "".join("" if random_.random() < 0.01 else c for c in part),
    }
    documents = [text_and_spans(random_) for _ in range(ANSWERS)]
    for name, change in changes.items():
        answers = [spoilt(tagged(text, spans, {"ANATOMY": "anatomy"}), change) for text, spans in documents]
        started = time.perf_counter()
        outcomes = [align(answer, text, {"anatomy": "ANATOMY"}) for answer, (text, _) in zip(answers, documents, strict=True)]
        seconds = time.perf_counter() - started
        right = sum(len(set(o.spans) & set(spans)) for o, (_, spans) in zip(outcomes, documents, strict=True))
        print(f"faithful, {name}: {seconds:.2f} s, {right:,} of {sum(len(spans) for _, spans in documents):,} entities")
    started = time.perf_counter()
    for text, spans in documents:
        evalscope_tags(tagged(text, spans, {"ANATOMY": "anatomy"}), text.split(" "), {"anatomy": "ANATOMY"})
    print(f"evalscope's rules: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
