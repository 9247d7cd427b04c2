"""run_benchmark, run_suite, BenchmarkReport: OpenMed's entry points, with this project's scoring behind them.

For who has scripts against OpenMed 3.1.0. They take what its functions take of fixtures, runner and confidence intervals,
and give its report's keys; the metrics are those of `run`, so documents are scored one by one, labels that no table
knows stay apart, and where there is nothing to measure a number is None. A runner's failure names the document's ordinal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .corpora.loading import load_corpus
from .errors import EvaluationError, ModelError
from .evaluation import evaluate
from .given_documents import as_document, given_documents
from .labels import LabelMap
from .predictors import Predictor, Runner, predictor_of
from .reporting.files import RunFolder
from .reporting.report import now
from .reporting.sections import sections
from .reporting.text import escaped, markdown_table
from .scoring.api import latency_summary
from .scoring.bootstrap import Bootstrap
from .scoring.bundle import Options
from .scoring.eval_spans import as_spans, normalize_eval_spans
from .spans import Span


@dataclass(frozen=True, slots=True)
class BenchmarkReport:
    """What OpenMed's report of that name holds. metrics: the `metrics` block of report.json. metadata: the caller's own words."""

    suite: str
    model_name: str
    device: str
    fixture_count: int
    generated_at: str
    metrics: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "model_name": self.model_name,
            "device": self.device,
            "fixture_count": self.fixture_count,
            "generated_at": self.generated_at,
            "metadata": dict(self.metadata),
            "metrics": dict(self.metrics),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        facts = [("Model", self.model_name), ("Device", self.device), ("Fixtures", str(self.fixture_count))]
        parts = [f"# {escaped(self.suite)}", markdown_table(("", ""), facts)]
        for section in sections(self.metrics):
            parts += [f"## {escaped(section.title)}", markdown_table(section.columns, section.rows)]
        return "\n\n".join(parts) + "\n"

    def write_json(self, path: str | Path) -> None:
        """Written whole or not at all; its folder is made. Raises EvaluationError where the disk does not let."""
        _write(Path(path), self.to_json())

    def write_markdown(self, path: str | Path) -> None:
        _write(Path(path), self.to_markdown())


def _write(path: Path, text: str) -> None:
    RunFolder(path.parent).write({path.name: [text]})


def run_benchmark(
    fixtures: Iterable[Any],
    *,
    suite: str,
    model_name: str,
    device: str = "cpu",
    runner: Runner | None = None,
    generated_at: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    confidence_intervals: bool = False,
    ci_resamples: int = 1000,
    ci_alpha: float = 0.05,
    ci_seed: int = 0,
    calibration_bins: int = 10,
    abstention_thresholds: Mapping[str, float] | None = None,
    label_map: LabelMap | Mapping[str, str] | str | Path | None = None,
) -> BenchmarkReport:
    """Run a model over fixtures, one by one, and score them.

    fixtures: documents, ours or OpenMed's fixtures. runner: (fixture, model name, device) → spans in any form that
    normalize_eval_spans takes; by default model_name is a model directory. metrics.latency: milliseconds a fixture, by nearest-rank percentiles as OpenMed's. Raises
    ModelError where the runner fails, naming the fixture's ordinal alone, UsageError and InputError as `run` does.
    """
    fixtures = given_documents(fixtures)
    documents = [as_document(fixture) for fixture in fixtures]
    labels = LabelMap.of(label_map)
    model = predictor_of(None, model_name=model_name, device=device, runner=runner, labels=labels)
    bootstrap = Bootstrap(ci_resamples, 1 - ci_alpha, ci_seed) if confidence_intervals else None
    options = Options(bins=calibration_bins, thresholds=abstention_thresholds, bootstrap=bootstrap)
    predictions: list[Sequence[Span]] = []
    milliseconds = []
    for ordinal, fixture in enumerate(fixtures, start=1):
        started = time.perf_counter()
        spans = _predicted(model, fixture, ordinal)
        milliseconds.append((time.perf_counter() - started) * 1000)
        predictions.append(as_spans(normalize_eval_spans(spans, label_map=LabelMap.verbatim())))
    metrics = evaluate(documents, predictions, labels, options=options).metrics
    return BenchmarkReport(
        suite=suite,
        model_name=model.name,
        device=model.device,
        fixture_count=len(fixtures),
        generated_at=generated_at or now(),
        metrics={**metrics, "latency": latency_summary(milliseconds)},
        metadata=metadata or {},
    )


def _predicted(model: Predictor, fixture: Any, ordinal: int) -> list[Any]:
    """One fixture's spans. A runner is the caller's code: what it raises may quote the document."""
    try:
        made: Iterable[Any] = next(iter(model.predict([fixture])))
        return list(made)
    except EvaluationError:
        raise
    except Exception as error:
        failure = type(error).__name__
    raise ModelError(f"the runner failed at fixture {ordinal} ({failure}) – run it on that fixture alone to see why")


def run_suite(
    fixture_path: str | Path,
    *,
    suite: str,
    model_name: str,
    output_json: str | Path | None = None,
    output_markdown: str | Path | None = None,
    **options: Any,
) -> BenchmarkReport:
    """Load a corpus of any format, run a model over it, and write the report where asked. options: run_benchmark's."""
    corpus = load_corpus(fixture_path, name=suite)
    report = run_benchmark(corpus.documents, suite=suite, model_name=model_name, **options)
    if output_json is not None:
        report.write_json(output_json)
    if output_markdown is not None:
        report.write_markdown(output_markdown)
    return report
