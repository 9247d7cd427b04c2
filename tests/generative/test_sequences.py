"""Characters put for others are found without a search; what is found so is what is equal, place by place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.generative.sequences import character_matches, matches_in_place


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.text(st.characters(codec="utf-8"), max_size=60))
def test_matches_are_equal_characters_in_order(a: str, b: str) -> None:
    found = character_matches(a, b)
    solid_a, solid_b = "".join(a.casefold().split()), "".join(b.casefold().split())
    if (len(solid_a), len(solid_b)) == (found.length_a, found.length_b):  # no character that folds to several
        for i, j, n in zip(found.a, found.b, found.n, strict=True):
            assert n > 0 and solid_a[i : i + n] == solid_b[j : j + n]
    assert all(i + n <= later for i, n, later in zip(found.a, found.n, found.a[1:], strict=False))
    assert all(j + n <= later for j, n, later in zip(found.b, found.n, found.b[1:], strict=False))
    assert character_matches(a, a).size == found.length_a


def test_a_character_in_a_short_word_is_replaced_and_the_rest_of_it_still_matches() -> None:
    found = matches_in_place("oflungs", "oxlungs")
    assert found is not None
    assert (found.a, found.b, found.n) == ([0, 2], [0, 2], [1, 5])


def test_three_together_or_another_length_are_searched_for() -> None:
    assert matches_in_place("abcdef", "abxyzf") is None
    assert matches_in_place("abcdef", "bcdefa") is None
    assert matches_in_place("abcdef", "abcde") is None
    assert matches_in_place("", "") is not None


def test_letters_moved_by_one_are_not_taken_for_replaced_ones() -> None:
    found = character_matches("the left lung and kidney", "the leftlung aand kidney")
    assert found.size == len("theleftlungandkidney")
