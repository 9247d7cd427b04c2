"""Near-duplicates: the index against its definition by brute force over sets, and what counts as one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval import shingles as module
from openmed_mlx_eval.shingles import LEAST, SHARE, WORDS, near_duplicates, shingles

Set = set[tuple[str, ...]]


def naive(documents: list[str], others: list[str]) -> list[bool]:
    """The docstring's two sentences, over plain sets."""

    def of(text: str) -> Set:
        words = text.split()
        return {tuple(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}

    def counts_for(document: Set, other: Set) -> bool:
        return len(document & other) >= max(LEAST, SHARE * min(len(document), len(other)))

    found = []
    for document in map(of, documents):
        held = set().union(*(document & other for other in map(of, others) if counts_for(document, other)))
        found.append(len(document) >= LEAST and len(held) >= max(LEAST, SHARE * len(document)))
    return found


PHRASES = [" ".join(f"w{number}x{place}" for place in range(7)) for number in range(5)]
TEXTS = st.lists(st.sampled_from([*PHRASES, "a b", "c"]), max_size=8).map(" ".join)


@settings(max_examples=300)
@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=8), st.sampled_from([0, 1, 2, 50]))
def test_the_index_is_its_definition(documents: list[str], others: list[str], common: int) -> None:
    """And the bound on common shingles, which spares time, changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMMON", common)
        assert near_duplicates(documents, others) == naive(documents, others)


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_others_changes_nothing(documents: list[str], others: list[str], shuffle) -> None:
    expected = near_duplicates(documents, others)
    shuffle.shuffle(others)
    assert near_duplicates(documents, others) == expected


def note(seed: int, words: int = 200) -> list[str]:
    return random.Random(seed).choices([f"word{number}" for number in range(3000)], k=words)


def test_a_note_with_other_names_is_one() -> None:
    words = note(1)
    changed = [f"name{place}" if place % 12 == 0 else word for place, word in enumerate(words)]
    assert near_duplicates([" ".join(words)], [" ".join(changed)]) == [True]


def test_notes_with_the_same_headings_are_none() -> None:
    headings = " ".join(note(99, 80))
    texts = [f"{headings} {' '.join(note(seed, 120))}" for seed in range(40)]
    assert near_duplicates(texts[:20], texts[20:]) == [False] * 20


def test_a_note_cut_into_rows_is_found_and_so_is_a_sentence_of_a_note() -> None:
    words = note(2)
    whole, rows = " ".join(words), [" ".join(words[at : at + 20]) for at in range(0, 200, 20)]
    assert near_duplicates([whole], rows) == [True]
    assert near_duplicates([whole], rows[:4]) == [False]
    assert near_duplicates(rows, [whole]) == [True] * 10


def test_a_short_text_is_nobodys() -> None:
    eight, nine = " ".join(note(3, 8)), " ".join(note(3, 9))
    assert near_duplicates([eight, nine, ""], [eight, nine, ""]) == [False, True, False]


def test_punctuation_and_spacing_are_no_words_and_unspaced_scripts_are_read() -> None:
    text = "the left lung, and both kidneys, were seen to be well."
    assert near_duplicates([text], [text.replace(",", " ,").replace(".", " !")]) == [True]
    assert near_duplicates(["左右の腎臓と肺に異常を認めない"], ["所見 左右の腎臓と肺に異常を認めない。"]) == [True]


@given(st.text(max_size=200))
def test_shingles_are_sorted_and_distinct(text: str) -> None:
    found = shingles(text).tolist()
    assert found == sorted(set(found))


def test_public_abstracts_are_no_duplicates_of_each_other_but_of_themselves(shared) -> None:
    from openmed_mlx_eval import load_corpus

    texts = [document.text.casefold() for document in load_corpus(shared("corpora/bc5cdr/devel.pubtator.txt"))]
    assert near_duplicates(texts[:250], texts[250:]) == [False] * 250
    assert near_duplicates(texts, texts) == [True] * 500
