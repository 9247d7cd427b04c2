"""evalscope's own alignment, faults included: the examples and figures that the description of the protocol gives."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.generative.evalscope import _pairs, entities_of, evalscope_entities, evalscope_tags
from openmed_mlx_eval.generative.rendering import tagged

TYPES = {"anatomy": "ANATOMY", "mrna": "MRNA", "rna": "RNA"}
CASES = {
    "adjacent entities of one type become one": (
        "<response><anatomy>left kidney</anatomy> <anatomy>right kidney</anatomy> biopsy</response>",
        "left kidney right kidney biopsy",
        "B-ANATOMY I-ANATOMY I-ANATOMY I-ANATOMY O",
    ),
    "without a response the whole answer": ("the <anatomy>lung</anatomy>", "the lung", "O B-ANATOMY"),
    "the first response": (
        "<response>the lung</response> <response>the <anatomy>lung</anatomy></response>",
        "the lung",
        "O O",
    ),
    "another closing name": ("<response>the <anatomy>lung</organ> is</response>", "the lung is", "O B-ANATOMY O"),
    "an unknown name is a type": ("<response>the <organ>lung</organ></response>", "the lung", "O B-ORGAN"),
    "an unclosed known tag reaches to the next": ("<response>the <anatomy>lung is</response>", "the lung is", "O B-ANATOMY I-ANATOMY"),
    "an unclosed unknown tag is nothing": ("<response>the <organ>lung is</response>", "the lung is", "O O O"),
    "changed case loses": ("<response>the <anatomy>Lung</anatomy></response>", "the lung", "O O"),
    "changed spacing loses": ("<response>the <anatomy>left  lung</anatomy></response>", "the left lung", "O O O"),
    "a line end inside loses": ("<response>the <anatomy>left\nlung</anatomy></response>", "the left lung", "O O O"),
    "a stray tag swallows the next entity": (
        "<response>p <x> 0.05 in <anatomy>lung</anatomy> now</response>",
        "p <x> 0.05 in lung now",
        "O O O O O O",
    ),
    "MRNA then RNA is I-RNA": (
        "<response><mrna>a b</mrna> <rna>c</rna></response>",
        "a b c",
        "B-MRNA I-MRNA I-RNA",
    ),
    "no entity": ("<response>the lung</response>", "the lung", "O O"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_rules_and_their_faults(name: str) -> None:
    answer, source, tags = CASES[name]
    assert " ".join(evalscope_tags(answer, source.split(" "), TYPES)) == tags


def test_a_repeated_mention_may_land_on_the_earlier_place() -> None:
    source = "that a lung is like a lung is like a lung is like that other lung of the rat which was examined a day later ."
    answer = (
        "<response>that a lung is like a <anatomy>lung</anatomy> is like a lung is like that other lung of the rat .</response>"
    )
    tags = evalscope_tags(answer, source.split(" "), TYPES)
    assert tags.index("B-ANATOMY") == 2  # the gold is 6


def test_a_stray_tag_is_read_with_what_it_swallows() -> None:
    assert entities_of("a <x> 5 <anatomy>lung</anatomy>", TYPES) == [(" 5 <anatomy>lung", "X")]


def test_perfect_answers_on_anatem_give_the_figures_of_that_tool(shared) -> None:
    right = wrong = missed = changed = 0
    for document in load_corpus(shared("corpora/anatem/devel.tsv")):
        tokens = document.text.split(" ")
        starts = [sum(len(token) + 1 for token in tokens[:number]) for number in range(len(tokens))]
        answer = tagged(document.text, document.gold_spans, {"Anatomy": "anatomy"})
        found = {
            (starts[first], starts[last - 1] + len(tokens[last - 1]))
            for first, last, _ in evalscope_entities(answer, tokens, TYPES)
        }
        gold = {(span.start, span.end) for span in document.gold_spans}
        right, wrong, missed = right + len(found & gold), wrong + len(found - gold), missed + len(gold - found)
        changed += found != gold
    assert (right, wrong, missed, changed) == (2118, 3, 21, 13)
    assert round(2 * right / (2 * right + wrong + missed), 4) == 0.9944


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", " ", "\n", "<", "</a", "<A>"]), max_size=25).map("".join))
def test_pairs_are_what_the_expressions_find(text: str) -> None:
    for pattern, same_name in ((r"<(\w+)>(.*?)</(\w+)>", False), (r"<(\w+)>(.*?)</\1>", True)):
        found = [(m[1], *m.span(2), m.end(), m.start()) for m in re.finditer(pattern, text)]
        assert list(_pairs(text, same_name=same_name)) == found


@pytest.mark.parametrize(
    "answer", ["<anatomy>" * 110_000, "<anatomy>lung</anatomy>" * 40_000, "<" * 1_000_000, "</anatomy>" * 90_000]
)
def test_a_megabyte_takes_little_time(answer: str) -> None:
    started = time.process_time()
    evalscope_tags(answer, ["the", "lung"] * 300, TYPES)
    assert time.process_time() - started < 20
