"""Every rule against its naive definition, on intervals that nest, overlap, touch and repeat; then the cost."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.scoring import matching, pool
from openmed_mlx_eval.scoring.matching import count_matches, iou_pairs, maximum_pairs, pairs, relaxed_pairs
from openmed_mlx_eval.spans import Span

from .strategies import intervals, lines_run, naive_maximum, naive_relaxed, overlap, spans


@given(intervals(), intervals())
@settings(max_examples=300)
def test_counts_follow_the_definitions(gold, predicted):
    counts = count_matches(gold, predicted)
    assert counts.exact == sum((Counter(gold) & Counter(predicted)).values())
    assert counts.relaxed == naive_relaxed(gold, predicted)
    assert counts.relaxed_maximum == naive_maximum(gold, predicted)
    assert counts.found == sum(any(overlap(one, other) for other in predicted) for one in gold)
    assert counts.right == sum(any(overlap(one, other) for one in gold) for other in predicted)


@given(intervals(most=30), intervals(most=30))
@settings(max_examples=150)
def test_the_tree_pairs_what_comparison_one_by_one_pairs(gold, predicted):
    expected = relaxed_pairs(gold, predicted), iou_pairs(gold, predicted, 0.4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_COMPARISONS_PER_QUERY", 0)
        assert (relaxed_pairs(gold, predicted), iou_pairs(gold, predicted, 0.4)) == expected


@given(intervals(), intervals())
def test_maximum_pairs_overlap_and_use_nothing_twice(gold, predicted):
    found = maximum_pairs(gold, predicted)
    assert all(overlap(gold[i], predicted[j]) for i, j in found)
    assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found)


@given(intervals(), intervals(), st.sampled_from([0.1, 0.5, 0.75, 1.0]))
def test_iou_lies_between_exact_and_maximum(gold, predicted, threshold):
    found = iou_pairs(gold, predicted, threshold)
    for i, j in found:
        shared = overlap(gold[i], predicted[j])
        union = gold[i][1] - gold[i][0] + predicted[j][1] - predicted[j][0] - shared
        assert shared / union >= threshold
    counts = count_matches(gold, predicted)
    assert counts.exact <= len(found) <= counts.relaxed_maximum
    if threshold == 1.0:
        assert len(found) == counts.exact


@given(spans(), spans(), st.randoms(use_true_random=False), st.sampled_from([*matching.RULES]))
def test_pairs_of_spans_do_not_depend_on_order(gold, predicted, rng, rule):
    def surfaces(golds, predictions):
        return Counter((golds[i], predictions[j]) for i, j in pairs(golds, predictions, rule))

    before = surfaces(gold, predicted)
    assert all(one.label == other.label for one, other in before)
    assert surfaces(rng.sample(gold, len(gold)), rng.sample(predicted, len(predicted))) == before


def test_touching_empty_and_inverted_spans_match_nothing():
    assert count_matches([(0, 4)], [(4, 8)]) == (0, 0, 0, 0, 0)
    odd = [Span(3, 3, "PERSON"), Span(9, 4, "PERSON")]
    assert all(pairs([Span(0, 20, "PERSON"), *odd], odd, rule) == [] for rule in matching.RULES)


def test_pairs_refuse_an_unknown_rule_and_a_senseless_iou():
    with pytest.raises(UsageError):
        pairs([], [], "fuzzy")
    with pytest.raises(UsageError):
        iou_pairs([(0, 1)], [(0, 1)], 0.0)


def _adversaries(n: int) -> dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    rng = random.Random(7)
    nested = [(i, 4 * n - i) for i in range(n)]
    flat = [(4 * i, 4 * i + 3) for i in range(n)]
    scattered = [sorted(sorted(rng.sample(range(4 * n), 2)) for _ in range(n)) for _ in range(2)]
    return {
        "one prediction over all": (flat, [(0, 4 * n)]),
        "nested, shifted by one": (nested, [(start + 1, end + 1) for start, end in nested]),
        "nested over flat": (nested, flat),
        "stairs": ([(i, i + n) for i in range(n)], [(i + 3, i + n + 1 + i % 7) for i in range(n)]),
        "scattered": tuple([(a, b) for a, b in side] for side in scattered),
    }


@pytest.mark.parametrize("name", _adversaries(1))
def test_cost_stays_near_linear_on_piled_up_spans(name):
    """Eight times the spans may cost 8 log 8 times the lines of Python (twelve, with room); quadratic would be 64."""

    def cost(n: int) -> int:
        gold, predicted = (sorted(side) for side in _adversaries(n)[name])
        return lines_run(lambda: count_matches(gold, predicted))

    assert cost(4000) < 16 * cost(500)
