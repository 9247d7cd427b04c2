"""Rows by corpus and language: they add up, their macro is a mean of what exists, and no gate opens for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.scoring.language_rows import METRICS, checked_gates, macro, rows_of
from openmed_mlx_eval.scoring.scorecard import DocumentScore, score_document, total
from openmed_mlx_eval.spans import Span

from .strategies import documents

KEYS = st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["de", "en", "fr"]))


def score(gold: int, right: int, wrong: int = 0) -> DocumentScore:
    spans = [Span(2 * at, 2 * at + 1, "A") for at in range(gold + wrong)]
    return score_document(spans[:gold], spans[:right] + spans[gold:], 99)


@given(documents(), st.data())
def test_rows_add_up_to_the_whole(made: list, data: st.DataObject) -> None:
    scores = [score_document(gold, predicted, length) for gold, predicted, length in made]
    keyed = [(data.draw(KEYS), one) for one in scores]
    rows = rows_of(keyed)
    assert total(row.score for row in rows) == total(scores)
    assert [(row.benchmark, row.language) for row in rows] == sorted({key for key, _ in keyed})
    assert rows == rows_of(keyed[::-1])
    assert all(row.passed is None for row in rows)


@given(documents(), st.data())
def test_macro_is_the_mean_of_the_rates_that_exist(made: list, data: st.DataObject) -> None:
    rows = rows_of((data.draw(KEYS), score_document(gold, predicted, length)) for gold, predicted, length in made)
    average = macro(rows)
    for metric in METRICS:
        rule, part = metric.split("_")
        known = [row.rate(metric) for row in rows if row.rate(metric) is not None]
        assert average[rule][part] == (pytest.approx(sum(known) / len(known)) if known else None)
    assert average["exact"]["rows"] == sum(bool(row.score.overall.support + row.score.overall.predicted) for row in rows)


def test_a_row_says_what_openmeds_does() -> None:
    row = rows_of([(("mine", "de"), score(4, 3, 1))])[0].to_dict()
    assert (row["benchmark"], row["language"], row["fixture_count"], row["span_count"]) == ("mine", "de", 1, 4)
    assert row["f1"] == row["exact_span_f1"]["f1"] == row["relaxed_span_f1"]["f1"] == 0.75
    assert (row["precision"], row["recall"], row["predicted"], row["invalid_predictions"]) == (0.75, 0.75, 4, 0)


@pytest.mark.parametrize(
    ("one", "gates", "passed", "reasons"),
    [
        (score(4, 3, 1), {}, None, []),
        (score(4, 3, 1), {"exact_f1": 0.75}, True, []),
        (score(4, 3, 1), {"exact_f1": 0.76}, False, ["below_threshold"]),
        (score(4, 3, 1), {"exact_f1": 0.7, "relaxed_recall": 0.8}, False, ["below_threshold"]),
        (score(4, 0), {"exact_precision": 0.0}, False, ["nothing_to_measure"]),
        (score(4, 0), {"exact_recall": 0.0}, True, []),
        (score(0, 0), {"exact_f1": 0.0}, False, ["no_gold"]),
        (score(0, 0, 2), {"exact_f1": 0.0, "exact_recall": 0.0}, False, ["no_gold", "no_gold"]),
    ],
)
def test_gates(one: DocumentScore, gates: dict[str, float], passed: bool | None, reasons: list[str]) -> None:
    row = rows_of([(("mine", "de"), one)], checked_gates(gates))[0]
    assert row.passed is passed
    assert [failure.reason for failure in row.failures] == reasons
    assert row.to_dict()["gate"]["passed"] is passed


@pytest.mark.parametrize("gates", [{"f1": 0.5}, {"exact_f1": 1.1}, {"exact_f1": -0.1}, {"exact_f1": True}, {"exact_f1": "0.5"}])
def test_gates_that_are_none(gates: dict) -> None:
    with pytest.raises(UsageError, match="gates: "):
        checked_gates(gates)
