"""Coverage against sets of positions, and what de-identification reads from it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.scoring import Case, metrics, score_case
from openmed_mlx_eval.scoring.coverage import Coverage, score_coverage, total_coverage
from openmed_mlx_eval.scoring.graphemes import Clusters
from openmed_mlx_eval.scoring.sides import Sides
from openmed_mlx_eval.spans import Span

from .strategies import lines_run, spans

TEXTS = st.lists(
    st.sampled_from(["a", "7", " ", "é", "e\u0301", "漢", "👩\u200d👩", "🇩🇪", "\r\n"]), min_size=24, max_size=24
).map(lambda pieces: "".join(pieces)[:24])
"""Of exactly the length in which `spans()` stand; the last cluster may be cut."""


def coverage_of(gold: list[Span], predicted: list[Span], text: str | None = None) -> Coverage:
    golds, predictions = (sorted((span.start, span.end, span.label) for span in side) for side in (gold, predicted))
    return score_coverage(Sides.of(golds, predictions), 24, text)


def positions(spans_: list[Span]) -> set[int]:
    return {at for span in spans_ for at in range(span.start, span.end)}


@given(spans(), spans(), st.none() | TEXTS)
@settings(max_examples=300)
def test_counts_are_those_of_sets_of_positions(gold, predicted, text):
    coverage = coverage_of(gold, predicted, text)
    anything = positions(predicted)
    own = {span.label: positions([other for other in predicted if other.label == span.label]) for span in gold}
    clusters = {span: Clusters(text or "x" * 24).cut(span.start, span.end) for span in gold}
    expected = [0] * 6
    for span in gold:
        for column, held in ((1, own[span.label]), (2, anything)):
            expected[column] += sum(held.issuperset(range(*cluster)) for cluster in clusters[span])
            expected[column + 3] += len(positions([span]) & held)
        expected[0] += len(clusters[span])
        expected[3] += span.end - span.start
    assert list(coverage.overall) == expected
    assert coverage.over_redacted == len(anything - positions(gold))
    assert coverage.redactable == 24 - len(positions(gold))
    assert coverage.documents_with_leak == bool(positions(gold) - anything)
    assert coverage.documents_with_label_leak == any(positions([span]) - own[span.label] for span in gold)
    if text is not None:
        assert [sum(column) for column in zip(*coverage.by_script.values(), strict=True)] == (expected if gold else [])


@given(st.lists(st.tuples(spans(most=5), spans(most=5)), max_size=4))
def test_coverage_adds_up(cases):
    parts = [coverage_of(*case) for case in cases]
    whole = total_coverage(parts)
    assert total_coverage(parts[:2]) + total_coverage(parts[2:]) == whole
    assert whole.overall == tuple(sum(part.overall[at] for part in parts) for at in range(6))


def test_a_name_under_the_wrong_label_is_not_leaked():
    leakage = metrics([score_case(Case([Span(0, 5, "PERSON")], [Span(0, 5, "LOCATION")], "Quill 7"))])["leakage"]
    assert (leakage["overall"], leakage["any_label"]) == (1.0, 0.0)
    assert (leakage["documents_with_leak"], leakage["documents_with_label_leak"]) == (0, 1)


def test_half_a_cluster_covered_is_a_cluster_leaked():
    text = "e\u0301" * 3
    leakage = metrics([score_case(Case([Span(0, 6, "PERSON")], [Span(0, 3, "PERSON")], text))])["leakage"]
    assert (leakage["leaked_graphemes"], leakage["total_graphemes"]) == (2, 3)
    assert (leakage["characters"]["leaked"], leakage["characters"]["total"]) == (3, 6)


def test_nothing_to_measure_is_null():
    block = metrics([score_case(Case([], [], ""))])
    assert block["leakage"]["overall"] is block["leakage"]["any_label"] is None
    assert block["character_recall"]["rate"] is block["over_redaction_loss"]["rate"] is None


def test_without_text_the_unit_is_said_to_be_the_code_point():
    block = metrics([score_case(Case([Span(0, 2, "A")], [Span(0, 1, "A")], length=4))])
    assert block["leakage"]["unit"] == block["recall_slices"]["unit"] == "character"
    assert block["leakage"]["overall"] == 0.5
    assert block["leakage"]["by_script"] == {}


@pytest.mark.parametrize("character", ["x", "é"])
def test_nested_spans_of_one_document_cost_no_square(character):
    """Eight times the spans, and the text: quadratic would be 64 times the lines of Python."""

    def cost(n: int) -> int:
        gold = [Span(at, 2 * n - at, "A") for at in range(n)]
        predicted = [Span(2 * at, 2 * at + 1, "A") for at in range(n)]
        case = Case(gold, predicted, character * (2 * n))
        assert score_case(case).coverage.overall.characters == n * (n + 1)
        return lines_run(lambda: score_case(case))

    assert cost(2000) < 16 * cost(250)
