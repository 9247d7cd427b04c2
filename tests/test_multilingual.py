"""run_multilingual_ner_scorecard: every form of corpora and model gives the same rows, and gates and overlap are kept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import small_corpora

from openmed_mlx_eval import Corpus, Document, EvalSpan, Span, TokenClassifier, load_corpus, run_multilingual_ner_scorecard
from openmed_mlx_eval.errors import InputError, ModelError, UsageError
from openmed_mlx_eval.multilingual import MultilingualScorecard

NAMES = {"Quill", "Marsh", "Bo"}


def fixture(number: int, text: str, language: str = "en", benchmark: str = "notes", label: str = "NAME") -> Document:
    spans = tuple(Span(text.index(word), text.index(word) + len(word), label) for word in text.split() if word in NAMES)
    return Document(f"QZX-{number}", text, spans, language, {"benchmark": benchmark})


FIXTURES = [
    fixture(1, "seen by Quill today"),
    fixture(2, "Marsh and Bo came"),
    fixture(3, "gesehen von Quill", "de"),
    fixture(4, "vu par Marsh", "fr-CA", "lettres"),
    fixture(5, "Bo was here", "en", "lettres"),
]
CORPORA = {
    "notes": FIXTURES[:3],
    "lettres": Corpus("whatever", "openmed", tuple(FIXTURES[3:]), ""),
}


def finds_quill_and_bo(text: str) -> list[dict[str, Any]]:
    words = ("Quill", "Bo")
    return [{"start": text.index(word), "end": text.index(word) + len(word), "label": "PERSON"} for word in words if word in text]


class Finder:
    def predict(self, texts):
        return [[Span(span["start"], span["end"], "Patient", 0.5) for span in finds_quill_and_bo(text)] for text in texts]


ROWS = {("lettres", "en"): 1.0, ("lettres", "fr"): 0.0, ("notes", "de"): 1.0, ("notes", "en"): 0.8}


def f1(rows) -> dict[tuple[str, str], float]:
    return {(row["benchmark"], row["language"]): row["f1"] for row in rows}


def test_a_row_for_each_corpus_and_language() -> None:
    result = run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo)
    metrics = result.metrics
    assert f1(metrics["scorecard"]) == ROWS
    assert metrics["scorecard"] == metrics["per_benchmark_language"]
    assert f1(metrics["per_language"]) == {("*", "de"): 1.0, ("*", "en"): pytest.approx(6 / 7), ("*", "fr"): 0.0}
    assert f1(metrics["per_benchmark"]) == {("lettres", "*"): pytest.approx(2 / 3), ("notes", "*"): pytest.approx(6 / 7)}
    assert metrics["macro"]["exact"]["f1"] == pytest.approx(0.7)
    assert (result.fixture_count, result.passed) == (5, False)
    assert [(one["benchmark"], one["language"], one["reason"]) for one in result.failures] == [
        ("lettres", "fr", "below_threshold"),
        ("notes", "en", "below_threshold"),
    ]
    assert metrics["train_eval_overlap"] is None


def openmed_fixture(document: Document) -> Any:
    """As openmed.eval.harness.BenchmarkFixture looks."""
    spans = tuple(EvalSpan(span.start, span.end, span.label, "") for span in document.gold_spans)
    parts = {"text": document.text, "language": document.language, "metadata": document.metadata}
    return SimpleNamespace(fixture_id=document.fixture_id, gold_spans=spans, **parts)


FORMS = {
    "mapping": CORPORA,
    "documents": FIXTURES,
    "openmed's": [openmed_fixture(document) for document in FIXTURES],
    "corpora": [Corpus("notes", "x", tuple(FIXTURES[:3]), ""), Corpus("lettres", "x", tuple(FIXTURES[3:]), "")],
    "any iterable": iter(FIXTURES),
}
MODELS = {
    "function": finds_quill_and_bo,
    "predict": Finder(),
    "objects": lambda text: [SimpleNamespace(**span) for span in finds_quill_and_bo(text)],
    "eval spans": lambda text: [EvalSpan(**span) for span in finds_quill_and_bo(text)],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_corpora(form: str) -> None:
    assert f1(run_multilingual_ner_scorecard(FORMS[form], finds_quill_and_bo).metrics["scorecard"]) == ROWS


@pytest.mark.parametrize("form", MODELS)
def test_every_form_of_model(form: str) -> None:
    assert f1(run_multilingual_ner_scorecard(CORPORA, MODELS[form]).metrics["scorecard"]) == ROWS


def test_openmeds_call() -> None:
    seen = []

    def runner(document: Any, model_name: str, device: str) -> Any:
        seen.append((document.text, model_name, device))
        return iter(finds_quill_and_bo(document.text))

    result = run_multilingual_ner_scorecard(
        FIXTURES,
        suite="mine",
        model_name="OpenMed/tagger",
        device="cpu",
        runner=runner,
        generated_at="2026-01-01",
        metadata={"split": "test"},
        min_exact_span_f1=0.5,
    )
    assert seen == [(document.text, "OpenMed/tagger", "cpu") for document in FIXTURES]
    said = result.to_dict()
    assert {key: said[key] for key in ("suite", "model_name", "device", "fixture_count", "generated_at", "metadata")} == {
        "suite": "mine",
        "model_name": "OpenMed/tagger",
        "device": "cpu",
        "fixture_count": 5,
        "generated_at": "2026-01-01",
        "metadata": {"split": "test"},
    }
    assert said["metrics"]["gate"]["min_exact_span_f1"] == 0.5
    assert [one["language"] for one in result.failures] == ["fr"]


def test_a_directory_and_a_loaded_model_give_what_run_gives(tiny_model: Path, tmp_path: Path) -> None:
    from openmed_mlx_eval import RunOptions, run

    paths = {format: small_corpora.write(tmp_path / format, format) for format in ("openmed", "brat")}
    expected = run(RunOptions(model=str(tiny_model), corpus=str(paths["openmed"]))).report
    results = [
        run_multilingual_ner_scorecard(paths, tiny_model),
        run_multilingual_ner_scorecard(list(paths.values()), TokenClassifier.load(tiny_model)),
        run_multilingual_ner_scorecard(list(paths.values()), model_name=str(tiny_model)),
    ]
    for result in results:
        assert [(row.benchmark, row.language) for row in result.rows] == [("brat", "en"), ("openmed", "en")]
        for row in result.metrics["scorecard"]:
            for key in ("exact_span_f1", "relaxed_span_f1"):
                assert row[key].items() <= expected["metrics"][key].items()
        assert result.model_name == expected["model"]["name"] == "tiny"
        assert result.device == expected["environment"]["device"]
        assert str(tmp_path) not in result.to_json() + result.to_markdown()
    one = run_multilingual_ner_scorecard(str(paths["brat"]), tiny_model)
    assert one.rows == (dataclasses.replace(results[0].rows[0]),)


def test_the_gate_of_a_row_without_gold_does_not_open() -> None:
    empty = [Document("1", "nothing here", (), "es")]
    result = run_multilingual_ner_scorecard({"empty": empty, "notes": FIXTURES[:1]}, finds_quill_and_bo, gates={"exact_f1": 0.0})
    assert [(row.benchmark, row.passed) for row in result.rows] == [("empty", False), ("notes", True)]
    assert result.failures[0]["reason"] == "no_gold"
    assert result.metrics["macro"]["exact"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "rows": 1}


def test_without_gates_nothing_passes_or_fails() -> None:
    result = run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo, gates={})
    assert (result.passed, result.failures, {row.passed for row in result.rows}) == (None, [], {None})
    assert run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo, gates={"exact_recall": 0.0}).passed is True


def test_languages_of_corpora_that_do_not_say() -> None:
    result = run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo, languages={"lettres": "fr"})
    assert [(row.benchmark, row.language) for row in result.rows] == [("lettres", "fr"), ("notes", "de"), ("notes", "en")]
    odd = [dataclasses.replace(FIXTURES[0], language="QZX-7781")]
    assert run_multilingual_ner_scorecard({"a": odd}, finds_quill_and_bo).rows[0].language == "und"


def test_labels_and_layers() -> None:
    gold = [Document("1", "Amy Quill", (Span(0, 9, "Doctor"), Span(4, 9, "SURNAME")))]

    def model(text: str) -> list[Span]:
        return [Span(0, 9, "PATIENT"), Span(4, 9, "SURNAME")]

    def found(**options: Any) -> tuple[int, int]:
        overall = run_multilingual_ner_scorecard({"a": gold}, model, **options).rows[0].score.overall
        return overall.support, overall.exact

    assert found() == (2, 2)
    assert found(label_map="none") == (2, 1)
    assert found(label_map="none", layers="innermost") == (1, 1)
    assert found(layers="outermost") == (1, 1)


def test_documents_that_were_trained_on_fail_the_gate(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"text": FIXTURES[2].text.upper()}) + "\n")
    result = run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo, gates={}, training_manifest_path=path)
    assert result.passed is False
    assert result.failures == [{"reason": "train_eval_overlap", "finding_count": 1}]
    overlap = result.metrics["train_eval_overlap"]
    assert (overlap["passed"], overlap["documents"], overlap["by_kind"]["normalised_text"]) == (False, [3], 1)
    path.write_text(json.dumps({"text": "else", "id": "QZX-1"}))
    assert run_multilingual_ner_scorecard(CORPORA, finds_quill_and_bo, gates={}, training_manifest_path=path).passed is True


def test_the_result_is_frozen_json_and_markdown_without_text_or_ids() -> None:
    result = run_multilingual_ner_scorecard({"a|b": FIXTURES}, finds_quill_and_bo)
    assert isinstance(result, MultilingualScorecard)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.suite = "other"  # type: ignore[misc]
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    markdown = result.to_markdown()
    assert "| a\\|b | fr | 1 | 1 |" in markdown
    assert "| macro |  | 5 | 6 |" in markdown
    assert "- a\\|b, fr: exact_f1 0.0000, wanted 0.85" in markdown
    for secret in ("QZX", "Quill", "gesehen"):
        assert secret not in markdown + result.to_json()


@pytest.mark.parametrize(
    ("corpora", "options"),
    [
        ([], {"model": finds_quill_and_bo}),
        ({}, {"model": finds_quill_and_bo}),
        (CORPORA, {}),
        (CORPORA, {"model": 5}),
        (CORPORA, {"model": finds_quill_and_bo, "runner": lambda *_: []}),
        (CORPORA, {"model": finds_quill_and_bo, "gates": {"f1": 1}}),
        (CORPORA, {"model": finds_quill_and_bo, "languages": {"other": "de"}}),
        (CORPORA, {"model": finds_quill_and_bo, "layers": "middle"}),
        ([CORPORA["lettres"], CORPORA["lettres"]], {"model": finds_quill_and_bo}),
        ([CORPORA["lettres"], FIXTURES[0]], {"model": finds_quill_and_bo}),
    ],
)
def test_wrong_calls_are_usage_errors(corpora: Any, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run_multilingual_ner_scorecard(corpora, **options)


def test_bad_gold_and_a_model_that_stops_short() -> None:
    bad = [FIXTURES[0], Document("2", "Bo", (Span(0, 9, "NAME"),))]
    with pytest.raises(InputError, match="document 2, span 1"):
        run_multilingual_ner_scorecard({"a": bad}, finds_quill_and_bo)
    with pytest.raises(ModelError, match="1 lists of spans for 5 texts"):
        run_multilingual_ner_scorecard(FIXTURES, SimpleNamespace(predict=lambda texts: [[]]))


def test_public_corpora_of_two_languages_against_themselves(shared) -> None:
    corpora = {"ncbi": load_corpus(shared("corpora/ncbi-disease/brat-devel")), "meddocan": shared("corpora/meddocan/dev/brat")}
    known = [corpora["ncbi"], load_corpus(corpora["meddocan"])]
    gold = {document.text: document.gold_spans for corpus in known for document in corpus}
    result = run_multilingual_ner_scorecard(corpora, lambda text: gold[text], languages={"meddocan": "es"})
    rows = [(row.benchmark, row.language, row.score.overall.support, row.rate("exact_f1"), row.passed) for row in result.rows]
    assert rows == [("meddocan", "es", 5801, 1.0, True), ("ncbi", "en", 787, 1.0, True)]
