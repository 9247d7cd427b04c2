"""The whole metrics block: invariance, slices, what is refused, and that a sum of parts is the whole."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.reporting.report import schema as report_schema
from openmed_mlx_eval.scoring import Bootstrap, Case, CaseScore, Options, metrics, score_case, total_scores
from openmed_mlx_eval.spans import Span

from .strategies import spans

TEXT = "Aé\u0301b 漢7 c👩\u200d👩 xyz 12345 Quill"[:24]
CASES = st.lists(
    st.builds(
        Case,
        spans(most=6),
        spans(most=6),
        st.sampled_from([TEXT, "x" * 24]),
        language=st.sampled_from(["en", "de"]),
        slices=st.fixed_dictionaries({"ward": st.sampled_from(["a", "b", "c"])}),
    ),
    min_size=1,
    max_size=6,
)
RATES = {"precision", "recall", "f1", "rate", "overall", "any_label", "character_recall", "any_label_leakage"}


def scored(cases: list[Case]) -> list[CaseScore]:
    return [score_case(case, ordinal) for ordinal, case in enumerate(cases, 1)]


def rates_in(block: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not isinstance(block, dict):
        return {path: block} if path[-1] in RATES else {}
    return {place: value for key in block for place, value in rates_in(block[key], (*path, str(key))).items()}


@given(CASES, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_permuting_documents_and_spans_changes_no_digit(cases, rng):
    shuffled = [
        Case(
            rng.sample(case.gold, len(case.gold)),
            rng.sample(case.predicted, len(case.predicted)),
            case.text,
            language=case.language,
            slices=case.slices,
        )
        for case in rng.sample(cases, len(cases))
    ]
    options = Options(slice_by=["ward"])
    assert metrics(scored(shuffled), options) == metrics(scored(cases), options)


@given(CASES)
@settings(max_examples=60)
def test_doubling_the_corpus_changes_no_rate(cases):
    once, twice = rates_in(metrics(scored(cases))), rates_in(metrics(scored(cases * 2)))
    assert once.keys() == twice.keys()
    for place, value in once.items():
        assert twice[place] == (None if value is None else pytest.approx(value)), place


@given(CASES, st.integers(0, 6))
@settings(max_examples=60)
def test_a_corpus_may_be_scored_in_parts(cases, cut):
    scores = scored(cases)
    assert total_scores(scores[:cut]) + total_scores(scores[cut:]) == total_scores(scores)


@given(CASES)
@settings(max_examples=40)
def test_the_slices_of_a_key_add_up_to_the_corpus(cases):
    block = metrics(scored(cases), Options(slice_by=["ward"]))
    for key in ("language", "script", "ward"):
        values = block["slices"][key]["values"].values()
        for count in ("true_positives", "false_positives", "false_negatives"):
            assert sum(value["exact"][count] for value in values) == block["exact_span_f1"][count]
        assert sum(value["documents"] for value in values) == len(cases)
    json.dumps(block, allow_nan=False)


def test_the_worst_slice_and_the_spread():
    cases = [
        Case([Span(0, 2, "A")], [Span(0, 2, "A")], "x" * 9, slices={"ward": "north"}),
        Case([Span(0, 2, "A")], [Span(1, 2, "A")], "x" * 9, slices={"ward": "south"}),
        Case([], [], "x" * 9),
    ]
    ward = metrics(scored(cases), Options(slice_by=["ward"]))["slices"]["ward"]
    assert list(ward["values"]) == ["(none)", "north", "south"]
    assert ward["worst"] == {"value": "south", "exact_f1": 0.0, "support": 1}
    assert ward["spread"] == {
        "exact_f1": 1.0,
        "relaxed_f1": 0.0,
        "character_recall": 0.5,
        "any_label_leakage": 0.5,
    }


def test_a_key_that_is_not_there_or_names_documents_is_a_usage_error():
    cases = [Case([], [], "x", slices={"record": str(number)}) for number in range(300)]
    with pytest.raises(UsageError):
        metrics(scored(cases), Options(slice_by=["ward"]))
    with pytest.raises(UsageError) as caught:
        metrics(scored(cases), Options(slice_by=["record"]))
    assert "record" not in str(caught.value)


def test_per_document_rows_and_their_distribution():
    cases = [
        Case([Span(0, 2, "A")], [Span(0, 2, "A")], "x" * 9),
        Case([Span(0, 2, "A")], [], "x" * 9),
        Case([], [], "x" * 9),
    ]
    scores = scored(cases)
    assert [score.spans.counts("exact").f1 for score in scores] == [1.0, 0.0, None]
    block = metrics(scores)["per_document"]
    assert (block["documents"], block["exact_f1"]["measured"], block["exact_f1"]["mean"]) == (3, 2, 0.5)
    assert (block["exact_f1"]["minimum"], block["exact_f1"]["p50"], block["exact_f1"]["maximum"]) == (0.0, 0.5, 1.0)


def test_no_document_at_all_is_null_everywhere():
    block = metrics([], Options(bootstrap=Bootstrap(resamples=10)))
    assert set(rates_in(block).values()) == {None}
    assert block["documents"] == block["support"] == 0


def test_invalid_gold_is_refused_by_ordinals_without_its_label_or_text():
    with pytest.raises(InputError) as caught:
        score_case(Case([Span(0, 2, "QZX"), Span(3, 99, "QZX")], [], "QZX-7781"), 7)
    message = str(caught.value)
    assert "document 7" in message and "span 2" in message and "3–99" in message and "QZX" not in message
    with pytest.raises(UsageError):
        score_case(Case([], []))


def test_importing_scoring_imports_neither_numpy_nor_regex():
    code = "import sys, openmed_mlx_eval.scoring; print(sorted({'numpy', 'regex', 'mlx'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(CASES)
@settings(max_examples=15)
def test_the_block_is_what_the_schema_of_reports_says(cases):
    jsonschema = pytest.importorskip("jsonschema")
    options = Options(slice_by=["ward"], thresholds={"*": 0.5}, bootstrap=Bootstrap(resamples=20))
    schema = report_schema()
    block = json.loads(json.dumps(metrics(scored(cases), options)))
    jsonschema.validate(block, {**schema["$defs"]["metrics"], "$defs": schema["$defs"]})
