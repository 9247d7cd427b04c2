"""A GLiNER model on the command line: what it is asked stands in the report, and no other model is asked anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from runtime.tiny_gliner import ASKED, GOLDEN, TEXTS, changed

from openmed_mlx_eval.reporting.latency import schema as latency_schema
from openmed_mlx_eval.reporting.parity import schema as parity_schema
from openmed_mlx_eval.reporting.report import schema as report_schema
from openmed_mlx_eval.runtime.span_classifier import SpanClassifier

MODEL = GOLDEN / "deberta-plain"
LABELS = ",".join(ASKED)
BRIEF = ("--lengths", "32", "--batches", "1,2", "--warmups", "0", "--iterations", "1", "--seconds", "0")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """TEXTS with what the model finds in the first three for gold, so that it is right in those."""
    classifier = SpanClassifier.load(MODEL, engine="numpy", labels=ASKED)
    lines = []
    for number, (text, spans) in enumerate(zip(TEXTS, classifier.predict(TEXTS), strict=True)):
        gold = [{"start": span.start, "end": span.end, "label": span.label} for span in spans if number < 3]
        lines.append(json.dumps({"id": str(number), "text": text, "gold_spans": gold}))
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_run_says_what_was_asked(program, corpus: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(ASKED), "utf-8")
    options = ("run", "--model", MODEL, "--corpus", corpus, "--bootstrap", 0, "--json")
    said = program(*options, "--gliner-labels", labels)
    assert said.code == 0, said.err
    report = said.json()
    Draft202012Validator(report_schema()).validate(report)
    assert report["config"]["gliner_labels"] == list(ASKED)
    assert report["config"]["gliner_threshold"] == 0.5
    assert (report["model"]["family"], report["model"]["tag_scheme"]) == ("gliner-uni-encoder-span", "spans")
    assert report["config"]["labels"]["mapped"]["left kidney"] == "LEFT_KIDNEY"
    found = report["metrics"]["exact_span_f1"]
    assert found["recall"] == 1.0 and 0 < found["precision"] < 1
    higher = program(*options, "--gliner-labels", LABELS, "--gliner-threshold", 0.99).json()
    assert higher["config"]["gliner_threshold"] == 0.99
    assert higher["metrics"]["exact_span_f1"]["recall"] < 1.0


def test_labels_are_needed_and_refused(program, corpus: Path, tiny_model: Path) -> None:
    given = ("--corpus", corpus)
    missing = program("run", "--model", MODEL, *given)
    assert (missing.code, missing.out) == (2, "") and "--gliner-labels" in missing.err
    for option, value in (("--gliner-labels", LABELS), ("--gliner-threshold", 0.4)):
        refused = program("run", "--model", tiny_model, *given, option, value)
        assert refused.code == 2 and f"{option}: this is no GLiNER model" in refused.err
    assert program("run", "--model", MODEL, *given, "--gliner-labels", "a,,b").code == 2
    assert program("run", "--model", MODEL, *given, "--gliner-labels", LABELS, "--gliner-threshold", "nan").code == 2
    assert program("run", "--model", MODEL, *given, "--gliner-labels", LABELS, "--stride", 0).code == 2
    assert program("run", "--model", tiny_model, *given, "--json").json()["config"]["gliner_labels"] is None


def test_latency_asks_its_fresh_processes_the_same(program, corpus: Path) -> None:
    options = ("--model", MODEL, "--corpus", corpus, "--engine", "numpy", "--gliner-labels", LABELS, *BRIEF, "--processes", 1)
    said = program("latency", *options, "--json", "--roofline")
    assert said.code == 0, said.err
    report = said.json()
    Draft202012Validator(latency_schema()).validate(report)
    assert report["config"]["gliner_labels"] == list(ASKED)
    assert [(cell["length"], cell["batch"]) for cell in report["steady_state"]] == [(32, 1), (32, 2)]
    assert report["cold_start"]["processes"] == 1
    assert report["documents"]["documents"] == len(TEXTS)


def test_errors_are_explained(program, corpus: Path, tmp_path: Path) -> None:
    said = program("errors", "--model", MODEL, "--corpus", corpus, "--gliner-labels", LABELS, "--output", tmp_path / "out")
    assert said.code == 0, said.err


def test_parity_of_both_engines(program) -> None:
    pytest.importorskip("mlx.core")
    options = ("--engine", "numpy,mlx", "--device", "cpu", "--json")
    said = program("parity", MODEL, *options)
    assert said.code == 0, said.err
    Draft202012Validator(parity_schema()).validate(said.json())
    found = program("parity", MODEL, *options, "--gliner-labels", LABELS, "--gliner-threshold", 0.3).json()["texts"]["built_in"]
    assert found["label_agreement"] == found["span_agreement"] == 1.0
    assert found["spans"]["both"] > 100
    assert found["max_absolute_difference"] < 2e-4


def test_convert_verify_and_certify(program, corpus: Path, tmp_path: Path) -> None:
    source = changed(tmp_path / "source", "deberta-plain")
    options = ("--quantize", 8, "--group-size", 32, "--verify", "--certify", corpus, "--format", "openmed", "--json")
    said = program("convert", source, tmp_path / "out", *options, "--gliner-labels", LABELS)
    assert said.code in (0, 3), said.err
    manifest = said.json()
    assert manifest["parity"]["passed"] and manifest["certificate"]["labels"].keys() == {"LEFT_KIDNEY", "DR_QUILL", "FEVER"}
    unasked = program("convert", source, tmp_path / "other", "--quantize", 8, "--group-size", 32, "--certify", corpus)
    assert unasked.code == 2 and not (tmp_path / "other").exists()
    alone = program("convert", source, tmp_path / "other", "--gliner-labels", LABELS)
    assert alone.code == 2 and "give --verify or --certify" in alone.err
    shown = program("convert", source, tmp_path / "plain", "--verify")
    assert shown.code == 0 and "labels are given with the text" in shown.out
    assert program("run", "--model", tmp_path / "out", "--corpus", corpus, "--gliner-labels", LABELS).code == 0
