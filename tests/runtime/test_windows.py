"""Windows: every token is in one, and is judged where it stands furthest from an edge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.runtime.windows import DEFAULT_STRIDE, Window, stride_for, windows


@st.composite
def cuts(draw: st.DrawFn) -> tuple[int, int, int]:
    """(tokens, size, stride)"""
    size = draw(st.integers(1, 40))
    return draw(st.integers(0, 200)), size, draw(st.integers(0, size - 1))


@given(cuts())
def test_windows_begin_a_step_apart_and_stay_in_bounds(cut: tuple[int, int, int]) -> None:
    tokens, size, stride = cut
    made = windows(tokens, size, stride)
    assert [window.start for window in made] == [i * (size - stride) for i in range(len(made))]
    for window in made:
        assert 0 <= window.start <= window.kept_from <= window.kept_to <= window.end <= tokens
        assert window.end - window.start <= size
    assert (made[-1].end if made else 0) == tokens
    assert all(window.end < tokens for window in made[:-1])  # none is more than is needed


@given(cuts())
def test_each_token_is_kept_once_and_in_order(cut: tuple[int, int, int]) -> None:
    tokens, size, stride = cut
    kept = [token for window in windows(tokens, size, stride) for token in range(window.kept_from, window.kept_to)]
    assert kept == list(range(tokens))


def context(token: int, window: Window, tokens: int) -> int:
    """Tokens between this one and the nearer edge at which the window hides some of the document."""
    left = token - window.start if window.start > 0 else tokens
    right = window.end - 1 - token if window.end < tokens else tokens
    return min(left, right)


@given(cuts())
def test_kept_where_it_is_furthest_from_a_cut(cut: tuple[int, int, int]) -> None:
    tokens, size, stride = cut
    made = windows(tokens, size, stride)
    for window in made:
        for token in range(window.kept_from, window.kept_to):
            best = max(context(token, other, tokens) for other in made if other.start <= token < other.end)
            assert context(token, window, tokens) == best


def test_stride_is_the_overlap() -> None:
    assert [window.start for window in windows(18, 8, 3)] == [0, 5, 10]
    assert windows(8, 8, 3) == [Window(0, 8, 0, 8)]
    assert windows(0, 8, 3) == []


@pytest.mark.parametrize(("tokens", "count"), [(509, 1), (510, 1), (511, 2), (512, 2), (513, 2), (956, 2), (957, 3)])
def test_at_the_limit_of_a_512_model(tokens: int, count: int) -> None:
    assert len(windows(tokens, 510, 64)) == count


@pytest.mark.parametrize("stride", [8, 9, -1])
def test_stride_without_a_step_is_a_usage_error(stride: int) -> None:
    with pytest.raises(UsageError, match=f"--stride {stride}.*8 content tokens"):
        stride_for(8, stride)


@given(st.integers(1, 5000))
def test_default_stride_leaves_a_step(size: int) -> None:
    assert 0 <= stride_for(size, None) <= DEFAULT_STRIDE
    assert windows(3 * size, size, stride_for(size, None))[-1].end == 3 * size
