"""Windows of words: every span that can be whole in one is, and its scores come from the window in which it stands best."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.runtime.word_windows import Stitched, span_places, word_stride_for, word_windows

SIZES = st.lists(st.integers(1, 9), max_size=60)


@given(sizes=SIZES, words=st.integers(1, 12), tokens=st.integers(9, 40), stride=st.integers(0, 11))
def test_windows_hold_what_they_may_and_every_span_that_can_be_whole(
    sizes: list[int], words: int, tokens: int, stride: int
) -> None:
    stride = min(stride, words - 1)
    found = word_windows(sizes, words, tokens, stride)
    assert [0, len(sizes)] == ([found[0].start, found[-1].end] if found else [0, 0]) or not sizes
    for window in found:
        assert 0 < window.end - window.start <= words
        assert sum(sizes[window.start : window.end]) <= tokens
    for before, after in itertools.pairwise(found):
        assert before.start < after.start <= before.end < after.end
    for start in range(len(sizes)):
        for end in range(start + 1, min(start + 1 + stride, len(sizes)) + 1):
            if sum(sizes[start:end]) <= tokens:
                assert any(window.start <= start and end <= window.end for window in found)


@given(sizes=SIZES.filter(bool), words=st.integers(2, 12), width=st.integers(1, 5), data=st.data())
def test_scores_come_from_the_window_with_most_around_whatever_the_order(
    sizes: list[int], words: int, width: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(min(width, words) - 1, words - 1))
    found = word_windows(sizes, words, 30, stride)
    total = len(sizes)
    places = list(range(len(found)))
    random.Random(data.draw(st.integers(0, 9))).shuffle(places)
    stitched = Stitched(found, total, width, 1)
    for place in places:
        window = found[place]
        stitched.add(place, np.full((window.end - window.start, width, 1), place + 1, dtype=np.float32))
    rows = stitched.rows()[:, 0]
    for start, more, row in zip(*span_places(total, width), rows, strict=True):
        best, distance = 0, -1
        for place, window in enumerate(found):
            if window.start <= start and start + more < window.end:
                before = start - window.start if window.start else total
                after = window.end - 1 - start - more if window.end < total else total
                if min(before, after) > distance:
                    best, distance = place + 1, min(before, after)
        assert row == best


@given(st.integers(0, 20), st.integers(1, 6))
def test_places_are_all_spans_in_order(words: int, width: int) -> None:
    first, more = span_places(words, width)
    assert list(zip(first.tolist(), more.tolist(), strict=True)) == [
        (start, extra) for start in range(words) for extra in range(width) if start + extra < words
    ]


@pytest.mark.parametrize(
    ("words", "width", "stride", "expected"), [(384, 12, None, 64), (30, 12, None, 11), (384, 12, 11, 11), (5, 12, None, 4)]
)
def test_the_overlap_holds_a_span(words: int, width: int, stride: int | None, expected: int) -> None:
    assert word_stride_for(words, width, stride) == expected


def test_an_overlap_that_does_not_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"--stride 10: windows of this model have 384 words and its spans up to 12 .* share 11 to 383"
    ):
        word_stride_for(384, 12, 10)
