"""run_benchmark and run_suite: OpenMed's arguments and keys, this project's numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_corpora

import openmed_mlx_eval
from openmed_mlx_eval import BenchmarkReport, Document, ModelError, Span, load_fixtures, run_benchmark, run_suite
from openmed_mlx_eval.benchmark import RunOptions, run

CANARY = "QZX-7781"
FIXTURES = [
    Document("a", f"{CANARY} saw Bo", (Span(0, 8, "NAME"), Span(13, 15, "NAME"))),
    Document("b", "nobody"),
]


def finder(fixture: Document, name: str, device: str) -> list[dict[str, object]]:
    assert (name, device) == ("my model", "cpu")
    at = fixture.text.find("Bo")
    return [{"start": at, "end": at + 2, "label": "PERSON", "confidence": 0.75}] if at >= 0 else []


def test_a_runner_s_spans_are_scored() -> None:
    report = run_benchmark(FIXTURES, suite="s", model_name="my model", runner=finder, confidence_intervals=True, ci_resamples=20)
    assert (report.suite, report.model_name, report.device, report.fixture_count) == ("s", "my model", "cpu", 2)
    exact = report.metrics["exact_span_f1"]
    assert (exact["true_positives"], exact["false_positives"], exact["false_negatives"]) == (1, 0, 1)
    assert report.metrics["uncertainty"]["resamples"] == 20
    assert report.metrics["latency"]["count"] == 2 and report.metrics["latency"]["p95_ms"] >= 0
    assert report.metrics["calibration"]["predictions"] == 1


def test_the_keys_are_openmed_s() -> None:
    openmed = pytest.importorskip("openmed.eval.report")
    theirs = openmed.BenchmarkReport(suite="s", model_name="m", device="cpu", fixture_count=0, metrics={}, generated_at="t")
    ours = BenchmarkReport("s", "m", "cpu", 0, "t", {})
    assert set(ours.to_dict()) == set(theirs.to_dict())


def test_a_directory_gives_what_run_gives(tiny_model: Path, tmp_path: Path) -> None:
    corpus = small_corpora.write(tmp_path, "openmed")
    report = run_suite(
        corpus, suite="s", model_name=str(tiny_model), output_json=tmp_path / "new" / "r.json", output_markdown=tmp_path / "r.md"
    )
    whole = run(RunOptions(model=str(tiny_model), corpus=str(corpus))).report["metrics"]
    for key in ("exact_span_f1", "relaxed_span_f1"):
        assert report.metrics[key]["true_positives"] == whole[key]["true_positives"]
        assert report.metrics[key]["f1"] == whole[key]["f1"]
    written = json.loads((tmp_path / "new" / "r.json").read_text("utf-8"))
    assert written == json.loads(report.to_json())
    assert report.model_name == "tiny"
    text = (tmp_path / "r.md").read_text("utf-8")
    assert text.startswith("# s\n") and "## Scores" in text
    assert load_fixtures(corpus)[0].text not in text + report.to_json()


def test_a_failing_runner_is_named_by_ordinal_alone() -> None:
    def fail(fixture: Document, name: str, device: str) -> list[object]:
        raise KeyError(fixture.text)

    with pytest.raises(ModelError, match=r"fixture 1 \(KeyError\)") as caught:
        run_benchmark(FIXTURES, suite="s", model_name="m", runner=fail)
    assert CANARY not in str(caught.value) and caught.value.__context__ is None


def test_no_fixtures_are_null_and_no_crash() -> None:
    report = run_benchmark([], suite="s", model_name="my model", runner=finder)
    assert report.metrics["exact_span_f1"]["f1"] is report.metrics["latency"]["p50_ms"] is None
    assert "run_suite" in dir(openmed_mlx_eval)
