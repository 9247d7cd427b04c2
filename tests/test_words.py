"""Words of any script: they cover what is written, once, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.words import pieces, words


@given(st.text(max_size=60))
def test_pieces_cover_all_but_white_space(text: str) -> None:
    at = 0
    for start, end in pieces(text):
        assert at <= start < end
        assert text[at:start].strip() == ""
        at = end
    assert text[at:].strip() == ""
    assert set(words(text)) <= {text[start:end] for start, end in pieces(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Quill's 5mg", ["Dr", ".", "Quill", "'", "s", "5mg"]),
        ("I\u0307pek Öz", ["I\u0307pek", "Öz"]),
        ("腎臓と肺 CT2漢", ["腎", "臓", "と", "肺", "CT2", "漢"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("🩺 Quill", ["🩺", "Quill"]),
        ("", []),
    ],
)
def test_words_of_a_script(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in pieces(text)] == expected
