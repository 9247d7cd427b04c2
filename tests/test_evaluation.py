"""evaluate: documents and predictions to numbers, names and warnings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import Document
from openmed_mlx_eval.corpora.document import language_code
from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.evaluation import evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.scoring import Options
from openmed_mlx_eval.spans import Span

TEXT = "Quill saw Bo."
DOCUMENT = Document("a", TEXT, (Span(0, 5, "NAME"), Span(10, 12, "Person")))


def codes(evaluation) -> dict[str, int]:
    return {warning.code: warning.count for warning in evaluation.warnings}


@st.composite
def gold_documents(draw: st.DrawFn) -> list[Document]:
    made = []
    for number in range(draw(st.integers(1, 4))):
        spans = []
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, 11))
            spans.append(Span(start, draw(st.integers(start + 1, 12)), draw(st.sampled_from(["NAME", "DATE", "Odd one"]))))
        made.append(Document(str(number), "x" * 12, tuple(spans)))
    return made


@given(gold_documents())
def test_gold_scored_against_itself_is_right(documents: list[Document]) -> None:
    metrics = evaluate(documents, [document.gold_spans for document in documents], LabelMap()).metrics
    expected = 1.0 if any(document.gold_spans for document in documents) else None
    for rule in ("exact_span_f1", "relaxed_maximum", "relaxed_two_sided", "relaxed_span_f1"):
        assert metrics[rule]["recall"] == expected
        assert metrics[rule]["f1"] == expected


@given(gold_documents(), st.data())
def test_documents_in_any_order_give_the_same_metrics(documents: list[Document], data: st.DataObject) -> None:
    pairs = list(zip(documents, [document.gold_spans[1:] for document in documents], strict=True))
    shuffled = data.draw(st.permutations(pairs))
    one, other = (
        evaluate([document for document, _ in order], [spans for _, spans in order], LabelMap()) for order in (pairs, shuffled)
    )
    assert one.metrics == other.metrics
    assert one.warnings == other.warnings


def test_labels_meet_before_they_are_scored_and_the_report_says_so() -> None:
    predicted = [Span(0, 5, "B-PERSON", 0.5), Span(10, 12, "name")]
    evaluation = evaluate([DOCUMENT], [predicted], LabelMap({"name": "PERSON"}))
    assert evaluation.metrics["exact_span_f1"]["true_positives"] == 2
    assert evaluation.label_map["met"] == {"PERSON": ["B-PERSON", "NAME", "Person", "name"]}
    assert evaluation.predictions == ((Span(0, 5, "PERSON", 0.5), Span(10, 12, "PERSON")),)


def test_two_unknown_labels_do_not_match() -> None:
    document = Document("a", TEXT, (Span(0, 5, "TREATMENT"),))
    metrics = evaluate([document], [[Span(0, 5, "HOSPITAL")]], LabelMap()).metrics
    for rule in ("exact_span_f1", "relaxed_span_f1", "relaxed_maximum"):
        counts = metrics[rule]
        assert (counts["true_positives"], counts["false_positives"], counts["false_negatives"]) == (0, 1, 1)


def test_nothing_to_measure_is_null_and_said() -> None:
    nothing = evaluate([], [], LabelMap())
    assert codes(nothing) == {"no_documents": 1}
    assert nothing.metrics["exact_span_f1"]["f1"] is nothing.metrics["macro"]["exact"]["f1"] is None
    empty = evaluate([Document("a", TEXT)], [[]], LabelMap())
    assert codes(empty) == {"no_gold": 1}
    assert [empty.metrics["exact_span_f1"][rate] for rate in ("precision", "recall", "f1")] == [None] * 3


def test_a_prediction_without_gold_is_a_false_positive() -> None:
    metrics = evaluate([Document("a", TEXT)], [[Span(0, 5, "NAME")]], LabelMap()).metrics
    counts = metrics["exact_span_f1"]
    assert (counts["false_positives"], counts["precision"], counts["recall"]) == (1, 0.0, None)


def test_a_prediction_past_the_end_does_not_touch_the_next_document() -> None:
    documents = [Document("a", "Bo"), Document("b", TEXT, (Span(0, 5, "NAME"),))]
    evaluation = evaluate(documents, [[Span(0, 7, "NAME")], []], LabelMap())
    counts = evaluation.metrics["relaxed_span_f1"]
    assert (counts["true_positives"], counts["false_positives"], counts["false_negatives"]) == (0, 1, 1)
    assert evaluation.metrics["invalid_predictions"] == {"past_end": 1}
    assert codes(evaluation) == {"invalid_predictions": 1}


def test_gold_labels_the_model_never_gives_are_said() -> None:
    evaluation = evaluate([DOCUMENT], [[]], LabelMap.verbatim(), model_labels=["NAME"])
    assert codes(evaluation) == {"labels_unknown_to_model": 1}
    assert "Person" in evaluation.warnings[0].message
    assert codes(evaluate([DOCUMENT], [[]], LabelMap({"*": "NAME"}), model_labels=["NAME"])) == {}


def test_as_many_predictions_as_documents_are_needed() -> None:
    with pytest.raises(ValueError, match="zip"):
        evaluate([DOCUMENT], [], LabelMap())


def wards(*names: object) -> list[Document]:
    return [Document(str(n), TEXT, (Span(0, 5, "NAME"),), metadata={"ward": name}) for n, name in enumerate(names)]


def test_slices_pool_what_names_one_document_alone() -> None:
    """A value that no other document has may be a patient's number; a list or an object is no value."""
    documents = wards("icu", "icu", "MRN 12", True, True, ["Quill"], None)
    block = evaluate(documents, [[]] * 7, LabelMap(), options=Options(slice_by=("ward",))).metrics["slices"]["ward"]
    assert {value: one["documents"] for value, one in block["values"].items()} == {
        "icu": 2, "True": 2, "(single documents)": 1, "(none)": 2,
    }  # fmt: skip


def test_a_key_no_document_has_is_refused() -> None:
    with pytest.raises(UsageError, match="--slice-by"):
        evaluate(wards("icu"), [[]], LabelMap(), options=Options(slice_by=("room",)))


@pytest.mark.parametrize(("said", "code"), [("de", "de"), ("DE-at", "de"), ("pt_BR", "pt"), ("Dr Quill", "und"), ("", "und")])
def test_a_language_is_named_by_its_code_alone(said: str, code: str) -> None:
    assert language_code(said) == code


def test_critical_findings_of_the_corpus_are_scored() -> None:
    documents = [Document("a", TEXT, (Span(0, 5, "NAME"), Span(10, 12, "NAME")), categories=("drug_allergy", None))]
    block = evaluate(documents, [[Span(10, 12, "NAME")]], LabelMap()).metrics["critical_finding_recall"]
    assert (block["overall"], block["total"]) == (0.0, 1)
    assert block["missed_findings"] == [{"category": "drug_allergy", "document": 0, "start": 0, "end": 5, "label": "PERSON"}]


def nested() -> Document:
    spans = (Span(6, 9, "VERB"), Span(0, 12, "CLAUSE"), Span(0, 5, "NAME"), Span(10, 12, "NAME"))
    return Document("a", TEXT, spans, categories=("drug_allergy", None, None, "critical_result"))


@pytest.mark.parametrize(("layers", "spans", "findings"), [("all", 4, 2), ("outermost", 1, 0), ("innermost", 3, 2)])
def test_layers_take_gold_its_categories_and_predictions_alike(layers: str, spans: int, findings: int) -> None:
    document = nested()
    evaluation = evaluate([document], [document.gold_spans[::-1]], LabelMap.verbatim(), layers=layers)
    assert evaluation.metrics["exact_span_f1"]["true_positives"] == evaluation.metrics["support"] == spans
    assert evaluation.metrics["predicted"] == spans
    assert evaluation.metrics["critical_finding_recall"]["total"] == findings
    assert codes(evaluation).get("nested_spans_left_out", 0) == 2 * (4 - spans)


@given(gold_documents(), st.sampled_from(["all", "outermost", "innermost"]))
def test_gold_against_itself_is_right_in_any_layer(documents: list[Document], layers: str) -> None:
    metrics = evaluate(documents, [document.gold_spans for document in documents], LabelMap(), layers=layers).metrics
    assert metrics["exact_span_f1"]["f1"] == (1.0 if any(document.gold_spans for document in documents) else None)


def test_a_prediction_past_the_end_is_counted_and_hides_no_right_one() -> None:
    predicted = [Span(0, 99, "NAME"), *DOCUMENT.gold_spans]
    evaluation = evaluate([DOCUMENT], [predicted], LabelMap(), layers="outermost")
    assert evaluation.metrics["exact_span_f1"]["true_positives"] == 2
    assert codes(evaluation) == {"invalid_predictions": 1}


def test_an_unknown_rule_of_layers_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--layers"):
        evaluate([DOCUMENT], [[]], LabelMap(), layers="middle")


def test_an_entry_of_a_label_map_that_nothing_answers_to_is_said() -> None:
    labels = LabelMap({"PERSN": "X", "name": "PERSON", "*": "OTHER", "LABEL_3": "PERSON"})
    evaluation = evaluate([DOCUMENT], [[Span(0, 5, "B-NAME")]], labels)
    assert codes(evaluation) == {"label_map_unmet": 1}
    assert "PERSN" in evaluation.warnings[0].message
    assert codes(evaluate([DOCUMENT], [[Span(0, 5, "Date")]], LabelMap({"DATE": "WHEN"}))) == {}
