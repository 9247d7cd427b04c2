"""Latency of single documents: each handed over alone, as one arrives at a desk, and its spans waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .statistics import summary

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier

WARMUPS = 10


@dataclass(frozen=True, slots=True)
class DocumentTime:
    """One document: milliseconds to its spans, content tokens, spans found."""

    ms: float
    tokens: int
    spans: int


def document_times(classifier: TokenClassifier, texts: Sequence[str], warmups: int = WARMUPS) -> Iterator[DocumentTime]:
    """A time for each text, in order, after the first `warmups` texts have been tagged once for nothing."""
    for text in texts[:warmups]:
        list(classifier.predict([text]))
    for text in texts:
        started = time.perf_counter()
        spans = next(classifier.predict([text]))
        ms = (time.perf_counter() - started) * 1000
        yield DocumentTime(ms, len(classifier.encoder.encode([text])[0].ids), len(spans))


def documents_block(times: Sequence[DocumentTime]) -> dict[str, Any]:
    """`documents` of latency.json; samples in corpus order, so that two runs can be paired."""
    seconds = sum(one.ms for one in times) / 1000
    totals = {
        "documents": len(times),
        "tokens": sum(one.tokens for one in times),
        "spans": sum(one.spans for one in times),
    }
    return {
        **totals,
        "latency_ms": summary([one.ms for one in times]),
        **{f"{name}_per_second": round(total / seconds, 3) if seconds > 0 else None for name, total in totals.items()},
        "samples_ms": [round(one.ms, 4) for one in times],
    }


def latency_metrics(cold_start: dict[str, Any] | None, documents: dict[str, Any] | None) -> dict[str, Any]:
    """`metrics.latency` of both report.json and latency.json, from the blocks of cold start and documents."""
    times = (documents or {}).get("latency_ms") or {}
    return {
        "cold_start_ms": cold_start["cold_start_ms"]["median"] if cold_start else None,
        **{f"{name}_ms": times.get(key) for name, key in (("p50", "median"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99"))},
        "count": times.get("count", 0),
        **{name: (documents or {}).get(name) for name in ("tokens_per_second", "documents_per_second")},
    }
