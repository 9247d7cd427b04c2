"""Findings that must not be missed: found by any overlap of their label, missed with per-document offsets."""

from __future__ import annotations

import pytest

from openmed_mlx_eval.labels.critical import category_in, normalized_category
from openmed_mlx_eval.scoring import Case, metrics, score_case
from openmed_mlx_eval.spans import Span


def case(gold: list[Span], predicted: list[Span], categories: list[str | None]) -> Case:
    return Case(gold, predicted, "x" * 30, categories=categories)


def test_misses_carry_the_documents_own_offsets():
    cases = [
        case([Span(0, 6, "ALLERGEN")], [Span(5, 9, "ALLERGEN")], ["allergy"]),
        case(
            [Span(4, 10, "DISEASE"), Span(12, 14, "DISEASE"), Span(20, 24, "LAB_TEST")],
            [Span(4, 10, "DRUG"), Span(20, 24, "LAB_TEST")],
            ["Diagnosis", None, "critical-lab"],
        ),
    ]
    block = metrics([score_case(one, ordinal) for ordinal, one in enumerate(cases, 1)])["critical_finding_recall"]
    assert block == {
        "overall": pytest.approx(2 / 3),
        "by_category": {"critical_diagnosis": 0.0, "critical_result": 1.0, "drug_allergy": 1.0},
        "covered": 2,
        "total": 3,
        "covered_by_category": {"critical_diagnosis": 0, "critical_result": 1, "drug_allergy": 1},
        "total_by_category": {"critical_diagnosis": 1, "critical_result": 1, "drug_allergy": 1},
        "missed_findings": [{"category": "critical_diagnosis", "document": 1, "start": 4, "end": 10, "label": "DISEASE"}],
    }


def test_a_category_of_ones_own_words_is_not_critical_and_stays_out_of_the_report():
    block = metrics([score_case(case([Span(0, 2, "A")], [], ["Mr Quill's rash"]))])["critical_finding_recall"]
    assert (block["total"], block["by_category"]) == (0, {})


def test_no_critical_gold_is_null():
    block = metrics([score_case(case([Span(0, 2, "A")], [], [None]))])["critical_finding_recall"]
    assert (block["overall"], block["total"], block["missed_findings"]) == (None, 0, [])


def test_categories_must_stand_beside_the_gold():
    with pytest.raises(ValueError):
        score_case(case([Span(0, 2, "A"), Span(3, 4, "A")], [], ["allergy"]))


def test_categories_of_metadata_and_their_spellings():
    assert category_in({"critical_category": "Lab Result"}) == "critical_result"
    assert category_in({"critical_finding_type": " "}) is category_in({}) is None
    assert normalized_category("airway risk") is None
