"""What `run --cold-start` measures besides scoring: the blocks `latency` and `resources` of a report's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..request import ModelChoice
from .cold import ColdStart
from .documents import document_times, documents_block, latency_metrics
from .memory import model_mib, peak_device_mib, peak_rss_mib

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier

MOST_DOCUMENTS = 200
"""Documents timed one by one, spread over the corpus: enough for a p95 that holds, without a second run of it all."""


def cold_start_block(model: ModelChoice, processes: int) -> dict[str, Any]:
    """`cold_start` as in latency.json, with warm caches. Raises ModelError or UsageError."""
    how = ColdStart(processes)
    return how.block(list(how.samples(model)))


def measured_blocks(cold_start: dict[str, Any], classifier: TokenClassifier, texts: Sequence[str]) -> dict[str, Any]:
    """{latency, resources}: the documents timed one by one, and the peaks of this process until then.

    latency also has what its pictures are made from: the median of each phase of the cold start, and the documents'
    times in corpus order, in milliseconds.
    """
    step = -(-len(texts) // MOST_DOCUMENTS) or 1
    documents = documents_block(list(document_times(classifier, texts[::step])))
    return {
        "latency": {
            **latency_metrics(cold_start, documents),
            "phases_ms": {phase: found["median"] for phase, found in cold_start["phases_ms"].items()},
            "samples_ms": documents["samples_ms"],
        },
        "resources": {
            "peak_rss_mib": peak_rss_mib(),
            "peak_device_mib": peak_device_mib(classifier.ops),
            "model_mib": model_mib(classifier.artifact),
        },
    }
