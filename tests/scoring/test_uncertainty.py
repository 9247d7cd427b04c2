"""Intervals: the vectorised rates are the scalar ones at every place, and the bootstrap is what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.scoring import Bootstrap, Case, Options, metrics
from openmed_mlx_eval.scoring.bootstrap import intervals
from openmed_mlx_eval.scoring.bundle import CaseScore
from openmed_mlx_eval.scoring.uncertainty import count_matrix, rates
from openmed_mlx_eval.spans import Span

from .test_bundle import CASES, rates_in, scored

np = pytest.importorskip("numpy")


def rows_of(scores: list[CaseScore]) -> list[tuple]:
    return [(score.spans, score.semeval, score.coverage, score.critical) for score in scores]


@given(CASES)
@settings(max_examples=60)
def test_vectorised_rates_are_the_scalar_ones_at_every_place(cases):
    cases = [Case(case.gold, case.predicted, case.text, categories=["allergy"] * len(case.gold)) for case in cases]
    scores = scored(cases)
    block = metrics(scores)
    labels = list(block["by_label"])
    found = rates(count_matrix(rows_of(scores), labels).sum(axis=0, keepdims=True), labels)
    for place, values in found.items():
        scalar = block
        for key in (*place.block, *place.rate):
            scalar = scalar.get(key) if isinstance(scalar, dict) else None
        assert values.shape == (1,)
        assert (None if np.isnan(values[0]) else pytest.approx(values[0])) == scalar, place
    told = {(*place.block, *place.rate) for place in found}
    untold = {path for path in rates_in(block) if path[0] not in ("slices", "recall_slices", "per_document")}
    extra = {("leakage", "characters", "overall"), ("leakage", "characters", "any_label"), ("character_recall", "any_label")}
    assert untold - extra <= told


def noisy(documents: int) -> list[Case]:
    return [
        Case(
            [Span(10 * at, 10 * at + 5, f"L{at % 3}") for at in range(6)],
            [Span(10 * at, 10 * at + 5 - (document * at % 4 == 3), f"L{at % 3}") for at in range(6)],
            "x" * 70,
        )
        for document in range(documents)
    ]


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_hold_the_point_and_depend_only_on_the_seed(method):
    scores = scored(noisy(60))
    how = Bootstrap(resamples=400, seed=3, method=method)
    block = metrics(scores, Options(bootstrap=how))
    assert metrics(scores, Options(bootstrap=how)) == block
    for owner, rate in (
        (block["exact_span_f1"], "f1"),
        (block["macro"]["exact"], "f1"),
        (block["by_label"]["L1"]["exact"], "recall"),
        (block["semeval"]["partial"], "f1"),
        (block["leakage"], "overall"),
    ):
        interval = owner["confidence_interval"][rate]
        assert interval["lower"] < owner[rate] < interval["upper"]
        assert not interval["degenerate"]
    assert block["leakage"]["confidence_interval"]["by_label"].keys() == block["by_label"].keys()
    assert block["uncertainty"] == {
        "method": method,
        "level": 0.95,
        "resamples": 400,
        "seed": 3,
        "unit": "document",
        "documents": 60,
    }
    other = metrics(scores, Options(bootstrap=Bootstrap(resamples=400, seed=4, method=method)))
    assert other["exact_span_f1"]["confidence_interval"] != block["exact_span_f1"]["confidence_interval"]


def test_degenerate_intervals_say_so():
    one = metrics(scored(noisy(1)), Options(bootstrap=Bootstrap(resamples=50)))
    assert one["exact_span_f1"]["confidence_interval"]["f1"]["degenerate"]
    perfect = [Case([Span(0, 2, "A")], [Span(0, 2, "A")], "xxx") for _ in range(9)]
    interval = metrics(scored(perfect), Options(bootstrap=Bootstrap(resamples=50)))["exact_span_f1"]["confidence_interval"]
    assert interval["f1"] == {"lower": 1.0, "upper": 1.0, "degenerate": True}
    rare = [*perfect, Case([Span(0, 2, "RARE")], [], "xxx")]  # not drawn in a third of the resamples
    block = metrics(scored(rare), Options(bootstrap=Bootstrap(resamples=200)))["by_label"]["RARE"]["exact"]
    assert block["confidence_interval"]["recall"]["degenerate"]
    assert block["confidence_interval"]["precision"] is None


def test_coverage_of_the_interval_is_near_its_level():
    """Of 200 samples of 40 documents, the 90 % interval of a proportion should hold the truth in about 180."""
    rng = np.random.default_rng(0)
    held = 0
    for trial in range(200):
        counts = np.stack([rng.binomial(5, 0.7, 40), np.full(40, 5)], axis=1).astype(float)
        how = Bootstrap(resamples=300, level=0.9, seed=trial)
        interval = intervals(counts, lambda sums: {"rate": sums[:, 0] / sums[:, 1]}, how)["rate"]
        held += interval.lower <= 0.7 <= interval.upper
    assert 165 <= held <= 194


@pytest.mark.parametrize("wrong", [{"method": "jackknife"}, {"level": 1.0}, {"resamples": 0}])
def test_senseless_settings_are_a_usage_error(wrong):
    with pytest.raises(UsageError):
        Bootstrap(**wrong)
