"""Units: a table of offsets against encoding each prefix."""

from __future__ import annotations

import pytest
from corpus_files import texts
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora.draft import Mention
from openmed_mlx_eval.corpora.units import BYTES, CODE_POINTS, UTF16, Unit, as_counted, recounted

PREFIX = {"": len, "utf16_offsets": lambda t: len(t.encode("utf-16-le")) // 2, "byte_offsets": lambda t: len(t.encode())}


@pytest.mark.parametrize("unit", [CODE_POINTS, UTF16, BYTES])
@given(texts, st.data())
def test_offsets_are_lengths_of_prefixes(unit: Unit, text: str, data: st.DataObject) -> None:
    length = PREFIX[unit.code]
    assert unit.length(text) == length(text) == sum(unit.widths(text))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    mention = Mention("X", ((length(text[:start]), length(text[:end])),), text[start:end])
    assert recounted(text, [mention], unit) == (Mention("X", ((start, end),), text[start:end]),)


def test_an_offset_within_a_character_is_none() -> None:
    assert recounted("\U0001fa7aa", [Mention("X", ((1, 2),), "a")], UTF16) is None
    assert recounted("\U0001fa7aa", [Mention("X", ((4, 6),), "a")], BYTES) is None


@pytest.mark.parametrize("surface", [None, "", "other"])
def test_nothing_is_converted_without_evidence_or_against_it(surface: str | None) -> None:
    silent = (Mention("X", ((2, 3),), surface),)
    assert as_counted("\U0001fa7aa", silent) == (silent, "")
    told = (Mention("X", ((2, 3),), "a"), *silent)
    assert as_counted("\U0001fa7aa", told)[1] == ("" if surface else "utf16_offsets")


def test_one_emoji_that_both_units_could_explain_is_read_as_utf16() -> None:
    mentions = (Mention("X", ((2, 4),), "ab"),)
    assert as_counted("\U0001fa7aab", mentions) == ((Mention("X", ((1, 3),), "ab"),), "utf16_offsets")
