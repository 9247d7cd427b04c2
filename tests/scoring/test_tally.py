"""A tally is the documents it has seen: rows that count alike, kept once, give what the documents give one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring.bootstrap import Bootstrap, in_fixed_order, intervals
from openmed_mlx_eval.scoring.bundle import Case, Options, metrics, score_case, total_scores
from openmed_mlx_eval.scoring.slices import keys_to_slice_by
from openmed_mlx_eval.scoring.tally import Tally
from openmed_mlx_eval.spans import Span

SPANS = st.lists(
    st.builds(Span, st.integers(-1, 9), st.integers(0, 12), st.sampled_from(["A", "Ω"]), st.none() | st.floats(0, 1))
)
GOLD = st.lists(
    st.integers(0, 7).flatmap(lambda at: st.builds(Span, st.just(at), st.integers(at + 1, 8), st.sampled_from(["A", "B"])))
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    gold = draw(GOLD)
    categories = draw(st.lists(st.sampled_from([None, "drug_allergy"]), min_size=len(gold), max_size=len(gold)))
    text = draw(st.sampled_from(["abcd efg", "äbcd éfg", "🙂bcd\u0301efg"]))
    slices = draw(st.sampled_from([{}, {"ward": "x"}, {"ward": "y"}]))
    return Case(gold, draw(SPANS), text, language=draw(st.sampled_from(["en", "de"])), slices=slices, categories=categories)


@settings(max_examples=60)
@given(st.lists(cases(), max_size=5), st.lists(st.integers(0, 4), max_size=12))
def test_the_sum_over_rows_is_the_sum_over_documents(distinct, drawn):
    scores = [score_case(distinct[at % len(distinct)], ordinal) for ordinal, at in enumerate(drawn, start=1) if distinct]
    tally = Tally(keys_to_slice_by(["ward"]))
    for score in scores:
        tally.add(score)
    rows, whole = list(tally.rows()), total_scores(scores)
    assert sum(row.times for row in rows) == tally.documents == len(scores)
    assert len(rows) <= len(distinct)
    assert sum(row.all_spans() for row in rows) == (whole.spans if rows else 0)
    assert sum(row.all_coverage() for row in rows) == (whole.coverage if rows else 0)
    assert [sum(column) for column in zip(*(row.all_semeval() for row in rows), strict=True)] == (
        list(whole.semeval) if rows else []
    )
    assert sum(row.all_critical() for row in rows) == (type(whole.critical)(whole.critical.by_category) if rows else 0)
    assert sorted(tally.missed) == sorted(whole.critical.missed)
    told = sorted(map(repr, tally.confidences().rows()))
    assert told == sorted(map(repr, whole.confidences.rows()))
    assert (tally.confidences().support, tally.confidences().unusable) == (whole.confidences.support, whole.confidences.unusable)


@pytest.mark.parametrize("method", ["bca", "percentile"])
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
)
def test_intervals_do_not_hang_on_how_many_documents_share_a_row(method, kinds, drawn):
    """A row with how often it came, or as many rows: the same draws, so the same intervals."""
    rows = np.array([kinds[at % len(kinds)] for at in drawn], dtype=float)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    how = Bootstrap(resamples=40, method=method)

    def numbers(sums):
        return {"rate": sums[:, 0] / sums[:, 1]}

    one, many = in_fixed_order(distinct, times), in_fixed_order(rows)
    found, expected = (intervals(counts, numbers, how, often)["rate"] for counts, often in (one, many))
    assert found[:2] == pytest.approx(expected[:2], abs=1e-9)
    assert found.degenerate == expected.degenerate


def test_a_metrics_block_of_documents_twice_over_has_the_same_rates():
    scores = [score_case(Case([Span(0, 2, "A")], [Span(at, 2 + at, "A", 0.5)], "abcdef")) for at in (0, 0, 1, 3)]
    once, twice = metrics(scores, Options()), metrics(scores * 2, Options())
    assert twice["exact_span_f1"]["f1"] == once["exact_span_f1"]["f1"] == 0.5
    assert twice["exact_span_f1"]["true_positives"] == 2 * once["exact_span_f1"]["true_positives"] == 4
    assert twice["per_document"]["exact_f1"]["mean"] == once["per_document"]["exact_f1"]["mean"] == 0.5
    assert (once["per_document"]["documents"], twice["per_document"]["documents"]) == (4, 8)
