"""Hypothesis strategies for spans, and the naive form of each matching rule, written as its definition reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations

from hypothesis import strategies as st

from openmed_mlx_eval.spans import Span

Names = tuple[str, ...]
Spans = st.SearchStrategy[list[Span]]
LABELS = ("DISEASE", "PERSON", "TREATMENT")


def intervals(length: int = 24, most: int = 12) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Sorted, non-empty intervals that may nest, overlap, touch and repeat."""
    one = st.tuples(st.integers(0, length - 1), st.integers(1, length)).map(
        lambda pair: (min(pair), max(pair)) if pair[0] != pair[1] else (pair[0], pair[0] + 1)
    )
    return st.lists(one, max_size=most).map(sorted)


def spans(length: int = 24, most: int = 12, labels: Names = LABELS) -> Spans:
    """Spans within the document, in any order."""
    offsets = st.sampled_from(intervals_of(length))
    one = st.builds(lambda at, label: Span(*at, label), offsets, st.sampled_from(labels))
    return st.lists(one, max_size=most)


def documents(most: int = 6) -> st.SearchStrategy[list[tuple[list[Span], list[Span], int]]]:
    """(gold, predicted, length) of some documents."""
    return st.lists(st.tuples(spans(most=8), spans(most=8), st.just(24)), max_size=most)


def flat_spans(length: int = 40, most: int = 8, labels: Names = LABELS) -> Spans:
    """Sorted spans that neither touch nor overlap."""

    def cut(marks: set[int], names: list[str]) -> list[Span]:
        bounds = sorted(marks)
        pairs = zip(bounds[::2], bounds[1::2], strict=False)
        return [Span(start, end, name) for (start, end), name in zip(pairs, names, strict=False)]

    return st.builds(
        cut,
        st.sets(st.integers(0, length), max_size=2 * most),
        st.lists(st.sampled_from(labels), min_size=most, max_size=most),
    )


def intervals_of(length: int) -> list[tuple[int, int]]:
    return list(combinations(range(length + 1), 2))


def overlap(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def naive_relaxed(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> int:
    free, found = sorted(predicted), 0
    for one in sorted(gold):
        candidates = [other for other in free if overlap(one, other)]
        if candidates:
            free.remove(max(candidates, key=lambda other: (overlap(one, other), -other[0], -other[1])))
            found += 1
    return found


def naive_maximum(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> int:
    """Kuhn's augmenting paths."""
    partner: dict[int, int] = {}

    def augment(i: int, seen: set[int]) -> bool:
        for j, other in enumerate(predicted):
            if overlap(gold[i], other) and j not in seen:
                seen.add(j)
                if j not in partner or augment(partner[j], seen):
                    partner[j] = i
                    return True
        return False

    return sum(augment(i, set()) for i in range(len(gold)))


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs: a cost that no busy machine changes."""
    lines = 0

    def count(frame: object, event: str, argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        call()
    finally:
        sys.settrace(before)
    return lines
