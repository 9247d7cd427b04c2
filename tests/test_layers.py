"""Layers of nested gold: the rules against their definitions by brute force, and what no rule may touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.strategies import spans

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.layers import LAYERS, kept, layered
from openmed_mlx_eval.spans import Span


def within(inner: Span, outer: Span) -> bool:
    """The definition: all of the one is covered by the other, which covers more."""
    bounds = (inner.start, inner.end) != (outer.start, outer.end)
    return bounds and outer.start <= inner.start and inner.end <= outer.end


BRUTE = {
    "all": lambda one, others: True,
    "outermost": lambda one, others: not any(within(one, other) for other in others),
    "innermost": lambda one, others: not any(within(other, one) for other in others),
}


@pytest.mark.parametrize("rule", LAYERS)
@given(given_spans=spans(length=12, most=10))
def test_each_rule_is_its_definition(rule: str, given_spans: list[Span]) -> None:
    expected = [number for number, span in enumerate(given_spans) if BRUTE[rule](span, given_spans)]
    assert kept(given_spans, rule) == expected
    once = layered(given_spans, rule)
    assert once == tuple(given_spans[number] for number in expected)
    assert layered(once, rule) == once


@pytest.mark.parametrize("rule", LAYERS)
@given(given_spans=spans(length=12, most=8), shuffle=st.randoms(use_true_random=False))
def test_the_order_changes_nothing(rule: str, given_spans: list[Span], shuffle) -> None:
    other = list(given_spans)
    shuffle.shuffle(other)
    assert sorted(layered(other, rule)) == sorted(layered(given_spans, rule))


NESTED = (Span(0, 20, "SITE"), Span(0, 5, "SIDE"), Span(6, 12, "ORGAN"), Span(6, 9, "PART"))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("all", NESTED), ("outermost", NESTED[:1]), ("innermost", (NESTED[1], NESTED[3]))],
)
def test_three_layers(rule: str, expected: tuple[Span, ...]) -> None:
    assert layered(NESTED, rule) == expected


@pytest.mark.parametrize("rule", LAYERS)
@pytest.mark.parametrize(
    "both",
    [
        (Span(0, 6, "A"), Span(4, 9, "B")),  # crossing
        (Span(0, 6, "A"), Span(0, 6, "B")),  # equal bounds
        (Span(0, 6, "A"), Span(0, 6, "A")),  # twice
        (Span(0, 4, "A"), Span(4, 8, "A")),  # touching
    ],
)
def test_what_is_not_nested_stays(rule: str, both: tuple[Span, Span]) -> None:
    assert layered(both, rule) == both


@pytest.mark.parametrize("rule", LAYERS)
@pytest.mark.parametrize(
    "stray",
    [Span(*bounds, "A") for bounds in [(0, 99), (-1, 9), (5, 5), (8, 2), ("0", 9), (0, None), (False, 9), (3, True), (0.0, 9)]],
)
def test_a_span_that_cannot_stand_stays_and_hides_none(rule: str, stray: Span) -> None:
    """A prediction past its document's end is counted as one; it must not take the right ones with it."""
    inside = Span(2, 6, "A")
    assert layered((stray, inside), rule, length=10) == (stray, inside)


def test_a_rule_that_is_none() -> None:
    with pytest.raises(UsageError, match="all, outermost, innermost"):
        kept((), "middle")


def test_deep_nesting_is_not_quadratic() -> None:
    deep = [Span(number, 400_000 - number, "A") for number in range(100_000)]
    assert layered(deep, "outermost") == (deep[0],)
    assert layered(deep, "innermost") == (deep[-1],)
