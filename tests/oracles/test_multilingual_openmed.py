"""openmed 3.1.0's run_multilingual_ner_scorecard on sorted, in-bounds spans with known labels: the same rows and gate.

Its import takes seconds, so one subprocess answers; fixtures and predictions travel as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from typing import Any

import pytest

from openmed_mlx_eval import Document, Span, run_multilingual_ner_scorecard

pytestmark = pytest.mark.skipif(importlib.util.find_spec("openmed") is None, reason="openmed is not installed")

ORACLE = """
import json, sys
from openmed.eval.harness import BenchmarkFixture, run_multilingual_ner_scorecard
rows = json.load(sys.stdin)
predicted = {row["id"]: row["predicted"] for row in rows}
report = run_multilingual_ner_scorecard(
    [BenchmarkFixture.from_mapping(row) for row in rows],
    model_name="m",
    runner=lambda fixture, model, device: predicted[fixture.fixture_id],
    min_exact_span_f1=0.6,
)
json.dump(report.to_dict(), sys.stdout)
"""
ROW = ("benchmark", "language", "fixture_count", "span_count", "precision", "recall", "f1")


def spans(rng: random.Random, text: str) -> list[dict[str, Any]]:
    starts = sorted(rng.sample(range(0, len(text) - 4, 4), rng.randint(1, 6)))
    labels = ["PERSON", "DATE", "DISEASE"]
    return [{"start": start, "end": start + rng.randint(1, 4), "label": rng.choice(labels)} for start in starts]


def test_rows_and_gate_are_openmeds() -> None:
    rng = random.Random(5)
    text = "abcd " * 12
    rows = []
    for number in range(40):
        gold = spans(rng, text)
        kept = [span for span in gold if rng.random() < 0.7]
        benchmark, language = rng.choice(["one", "two"]), rng.choice(["de", "en", "fr"])
        predicted = sorted([*kept, *spans(rng, text)[:2]], key=lambda span: (span["start"], span["end"], span["label"]))
        named = {"id": f"f{number}", "text": text, "language": language, "metadata": {"benchmark": benchmark}}
        rows.append({**named, "gold_spans": gold, "predicted": predicted})
    command = [sys.executable, "-c", ORACLE]
    answer = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)
    expected = json.loads(answer.stdout)["metrics"]

    documents = [
        Document(row["id"], row["text"], tuple(Span(**span) for span in row["gold_spans"]), row["language"], row["metadata"])
        for row in rows
    ]
    predictions = {row["id"]: row["predicted"] for row in rows}
    ours = run_multilingual_ner_scorecard(
        documents, model_name="m", runner=lambda document, *_: predictions[document.id], min_exact_span_f1=0.6
    ).metrics
    for key in ("scorecard", "per_benchmark_language"):
        assert len(ours[key]) == len(expected[key]) == 6
        for row, other in zip(ours[key], expected[key], strict=True):
            assert {name: row[name] for name in ROW} == pytest.approx({name: other[name] for name in ROW})
            for rule in ("exact_span_f1", "relaxed_span_f1"):
                assert row[rule] == pytest.approx({name: other[rule][name] for name in row[rule]})
    for key, name in (("per_language", "language"), ("per_benchmark", "benchmark")):
        assert [(row[name], row["f1"]) for row in ours[key]] == [(row[name], pytest.approx(row["f1"])) for row in expected[key]]
    assert ours["gate"]["passed"] == expected["gate"]["passed"] is False
    failed = [{(one["benchmark"], one["language"]) for one in gate["failures"]} for gate in (ours["gate"], expected["gate"])]
    assert failed[0] == failed[1]
    assert 0 < len(failed[0]) < 6
