"""Documents, models, label maps and runs in the forms people hold them: taken, or refused in words; never misread in silence."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openmed_mlx_eval import (
    Document,
    InputError,
    Span,
    UsageError,
    compute_exact_span_f1,
    error_report,
    run_benchmark,
    run_multilingual_ner_scorecard,
    training_overlap,
)
from openmed_mlx_eval.benchmark import RunOptions, run
from openmed_mlx_eval.given_documents import as_document, given_documents
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.runtime.classifier import TokenClassifier

TEXT = "Quill saw Bo on 3 May"
OURS = Document("a", TEXT, (Span(0, 5, "PERSON"), Span(16, 21, "DATE")))
DICTS = [{"start": 0, "end": 5, "label": "PERSON"}, {"start": 16, "end": 21, "entity_type": "DATE"}]
THEIRS = SimpleNamespace(fixture_id="a", text=TEXT, gold_spans=DICTS, language="de", metadata={"k": 1})


def quill(fixture: Any, name: str, device: str) -> list[dict[str, Any]]:
    return [{"start": 0, "end": 5, "label": "PERSON"}]


def hits(fixtures: Any, **options: Any) -> tuple[int, int]:
    exact = run_benchmark(fixtures, suite="s", model_name="m", runner=quill, **options).metrics["exact_span_f1"]
    return exact["true_positives"], exact["false_negatives"]


@pytest.mark.parametrize("fixtures", [[OURS], (OURS,), [THEIRS], [Document("a", TEXT, tuple(DICTS))]])  # type: ignore[arg-type]
def test_fixtures_of_any_make_give_the_same_scores_and_errors(fixtures: Any) -> None:
    assert hits(fixtures) == hits(one for one in fixtures) == (1, 1)
    reports = [error_report(quill, given).confusion_matrix for given in (fixtures, iter(fixtures), [OURS])]
    assert reports[0] == reports[1] == reports[2] != {}


def test_openmed_s_own_fixtures_are_scored() -> None:
    harness = pytest.importorskip("openmed.eval.harness")
    fixture = harness.BenchmarkFixture.from_mapping({"id": "a", "text": TEXT, "language": "de", "gold_spans": DICTS})
    assert hits([fixture]) == (1, 1)
    assert (as_document(fixture).gold_spans, as_document(fixture).language) == (OURS.gold_spans, "de")
    assert error_report(quill, [fixture]).confusion_matrix == error_report(quill, [OURS]).confusion_matrix


def test_critical_findings_of_a_foreign_fixture_are_kept() -> None:
    gold = [{"start": 0, "end": 5, "label": "DRUG", "critical_finding_category": "drug_allergy"}]
    assert as_document(SimpleNamespace(text=TEXT, gold_spans=gold)).categories == ("drug_allergy",)


@pytest.mark.parametrize(
    "wrong", [None, 3, "path.json", Path("x"), b"x", {"text": TEXT}, [TEXT], [{"text": TEXT}], [Document("a", None)]]
)  # type: ignore[arg-type]
def test_what_is_no_documents_is_said_before_a_model_is_asked(wrong: Any) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError("asked")

    calls = [
        lambda: given_documents(wrong),
        lambda: run_benchmark(wrong, suite="s", model_name="m", runner=never),
        lambda: training_overlap(wrong, []),
    ]
    if isinstance(wrong, list):
        calls.append(lambda: run_multilingual_ner_scorecard({"a": wrong}, never))
    if not isinstance(wrong, str | Path):
        calls.append(lambda: error_report(never, wrong))
    for call in calls:
        with pytest.raises(UsageError, match="document") as caught:
            call()
        assert TEXT not in str(caught.value)


def test_overlap_takes_documents_that_come_one_by_one() -> None:
    assert training_overlap(iter([OURS]), []).kinds == (None,)


def test_label_maps_in_any_form() -> None:
    renamed = LabelMap({"PERSON": "X"})
    assert LabelMap.of(renamed) is renamed
    assert (LabelMap.of(None)("Patient"), LabelMap.of("none")("Patient"), LabelMap.of({"Patient": "x"})("Patient")) == (
        "PERSON",
        "Patient",
        "X",
    )
    for wrong in (3, ["a"], {"a": 1}, {"a": ""}):
        with pytest.raises(UsageError, match="label_map"):
            LabelMap.of(wrong)  # type: ignore[arg-type]
    for table in ({"PERSON": "DATE"}, LabelMap({"PERSON": "DATE"})):
        assert hits([OURS], label_map=table) == (1, 1)
        assert set(error_report(quill, [OURS], label_map=table).confusion_matrix) == {"DATE"}
        assert compute_exact_span_f1([Span(0, 1, "PERSON")], [Span(0, 1, "DATE")], label_map=table).true_positives == 1


def test_no_list_of_spans_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InputError, match="NoneType is no list of spans – give an empty list"):
        compute_exact_span_f1(None, [])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="NoneType is no list of spans"):
        error_report(lambda *given: None, [OURS])


def test_error_report_takes_a_loaded_model_as_it_takes_its_folder(tiny_model: Path) -> None:
    loaded = error_report(TokenClassifier.load(tiny_model), [OURS], example_cap=9)
    opened = error_report(str(tiny_model), [OURS], example_cap=9)
    assert (loaded.model_name, loaded.confusion_matrix) == (opened.model_name, opened.confusion_matrix)
    assert [one.seam_distance for one in loaded.examples] == [one.seam_distance for one in opened.examples]
    for wrong in (None, 3):
        with pytest.raises(UsageError, match="give a model"):
            error_report(wrong, [OURS])
    with pytest.raises(UsageError, match="bytes"):
        error_report(quill, [OURS], hash_key="sixteen letters or more")  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", ["one text", [None], [3], [b"x"], [OURS]])
def test_one_text_is_not_read_as_many(tiny_model: Path, texts: Any) -> None:
    with pytest.raises(UsageError, match="predict takes texts"):
        list(TokenClassifier.load(tiny_model).predict(texts))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_no_documents_is_refused_from_python_too(tiny_model: Path, limit: int) -> None:
    with pytest.raises(UsageError, match="--limit: give 1 or more"):
        run(RunOptions(model=str(tiny_model), limit=limit))
