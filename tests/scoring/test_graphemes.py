"""Clusters against the regex library on whole texts, counts against cutting, and scripts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.graphemes import Clusters, dominant_script, is_plain, script_of, scripts_of_clusters

regex = pytest.importorskip("regex")

PIECES = [
    *"ab1 .\r\n",
    "\r\n",
    "é",
    "\u0301",
    "\u200d",
    "👩",
    "🏽",
    "🇩",
    "🇪",
    "क",
    "\u094d",
    "ष",
    "한",
    "ᄒ",
    "ᅡ",
    "\u0600",
    "ำ",
    "漢",
    "\ufe0f",
    "\u20e3",
]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=16).map("".join)


@given(TEXTS)
@settings(max_examples=400)
def test_cutting_a_whole_text_gives_the_regex_librarys_clusters(text):
    clusters = Clusters(text)
    assert clusters.cut(0, len(text)) == [match.span() for match in regex.finditer(r"\X", text)]


@given(TEXTS, st.data())
def test_counts_are_those_of_cutting(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    cut = Clusters(text).cut(start, end)
    assert Clusters(text).count(start, end) == len(cut)
    assert cut[0][0] == start and cut[-1][1] == end


def test_plain_text_is_ascii_without_a_two_character_line_end():
    assert is_plain("a\nb\r") and not is_plain("a\r\nb") and not is_plain("é")
    assert Clusters("a\r\nb").count(0, 4) == 3


@pytest.mark.parametrize(
    ("character", "script"),
    [("a", "Latin"), ("é", "Latin"), ("Д", "Cyrillic"), ("漢", "Han"), ("か", "Hiragana"), ("한", "Hangul")],
)
def test_script_of_a_letter(character, script):
    assert script_of(character) == script


@pytest.mark.parametrize("character", ["1", "٣", " ", "🩺", "\u0301"])
def test_digits_symbols_and_common_marks_have_no_script(character):
    assert script_of(character) is None


def test_dominant_script_counts_letters_and_ties_go_to_the_first():
    assert dominant_script("Dr. 山田太郎") == "Han"
    assert dominant_script("ab 山田") == "Latin"
    assert dominant_script("山田 ab") == "Han"
    assert dominant_script("12-34") == dominant_script("🩺") == "Unknown"


def test_neutral_clusters_follow_the_letters_beside_them():
    text = "1 Иван 山"
    clusters = [(at, at + 1) for at in range(len(text))]
    assert scripts_of_clusters(text, clusters) == ["Cyrillic"] * 7 + ["Han"]
