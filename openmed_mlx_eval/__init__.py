"""openmed-mlx-eval: scores clinical NER and PHI de-identification models on the machine that will run them.

The public names below are resolved on first use, so that importing the package imports neither numpy nor mlx.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Span": "spans",
    "Document": "corpora.document",
    "BenchmarkFixture": "corpora.document",
    "Corpus": "corpora.document",
    "load_corpus": "corpora.loading",
    "load_fixtures": "corpora.loading",
    "TokenClassifier": "runtime.classifier",
    "SpanClassifier": "runtime.span_classifier",
    "RunOptions": "benchmark",
    "run": "benchmark",
    "run_benchmark": "harness",
    "run_suite": "harness",
    "BenchmarkReport": "harness",
    "run_multilingual_ner_scorecard": "multilingual",
    "MultilingualScorecard": "multilingual",
    "load_training_manifest": "corpora.manifest",
    "training_overlap": "overlap",
    "annotator_agreement": "scoring.agreement",
    "load_run": "saved_runs",
    "compare": "comparison",
    "GenerateOptions": "generative.running",
    "run_generative": "generative.running",
    "error_report": "error_analysis",
    "ErrorAnalysisReport": "reporting.error_report",
    "ErrorSpanExample": "scoring.error_examples",
    "EvalSpan": "scoring.api",
    "normalize_eval_spans": "scoring.api",
    "compute_exact_span_f1": "scoring.api",
    "compute_relaxed_span_f1": "scoring.api",
    "compute_metrics_bundle": "scoring.api",
    "EvaluationError": "errors",
    "InputError": "errors",
    "ModelError": "errors",
    "UsageError": "errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
