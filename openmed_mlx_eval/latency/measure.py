"""latency: one model measured cold, on single documents and in steady state – from the options to latency.json's dict.

Fresh processes come first, before this one maps the model's files (mapped pages cannot be dropped from the page
cache) and before it uses memory. Ctrl-C ends the measuring, keeps what was measured and marks it partial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..corpora import Corpus
from ..evaluation import Warning, corpus_warnings
from ..reporting.environment import environment
from ..reporting.report import model_block, now
from ..request import Request
from .budget import Budget, checked, tiers_met
from .cold import ColdSample, ColdStart
from .comparison import SCHEMA, SCHEMA_VERSION, comparison_block
from .documents import WARMUPS, DocumentTime, document_times, documents_block, latency_metrics
from .machine import State, machine_block, state, unrest
from .memory import model_mib, peak_device_mib, peak_rss_mib
from .roofline import roofline_block
from .steady import CellTimes, Steady, measure_cell, source_of

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier

Progress = Callable[[int], AbstractContextManager[Callable[[int], Any]]]

WIDE = 0.1
"""Above this MAD, as a share of the median, a spread is called wide."""


@dataclass(frozen=True, slots=True)
class LatencyOptions(Request):
    """The options of `latency`. compare: an older latency.json, as loaded."""

    cold: ColdStart = field(default_factory=ColdStart)
    steady: Steady = field(default_factory=Steady)
    roofline: bool = False
    budget: Budget | None = None
    compare: dict[str, Any] | None = None


@dataclass(slots=True)
class _Taken:
    """What has been measured so far."""

    cold: list[ColdSample] = field(default_factory=list)
    documents: list[DocumentTime] = field(default_factory=list)
    cells: list[CellTimes] = field(default_factory=list)
    roofline: dict[str, Any] | None = None
    resources: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(("peak_rss_mib", "peak_device_mib")))
    whole: bool = False


def measure(options: LatencyOptions, *, progress: Progress | None = None) -> dict[str, Any]:
    """latency.json as a dict. progress: as in benchmark.run, of steps; a step is a process, a document or a cell.

    Raises UsageError, InputError or ModelError; KeyboardInterrupt only before there is a model to speak of.
    """
    started, before = time.perf_counter(), state()
    corpus = options.read()
    texts = [document.text for document in islice(corpus.documents, options.limit)]
    classifier = options.choice.load()
    cells = options.steady.cells(classifier.window + classifier.encoder.special_tokens, classifier.encoder.special_tokens)
    loaded = _loaded_facts(options, classifier)
    del classifier  # its files must not be mapped while they are dropped from the page cache
    taken = _Taken()
    steps = options.cold.processes + len(texts) + len(cells)
    # Ctrl-C is no failure here: whatever is in `taken` is whole.
    with suppress(KeyboardInterrupt), (progress or (lambda total: nullcontext(lambda done: None)))(steps) as advance:
        _measure(options, texts, cells, taken, advance)
        taken.whole = True
    return _report(options, corpus, loaded, taken, before, started)


def _measure(
    options: LatencyOptions,
    texts: Sequence[str],
    cells: Sequence[tuple[int, int]],
    taken: _Taken,
    advance: Callable[[int], Any],
) -> None:
    for sample in options.cold.samples(options.choice):
        taken.cold.append(sample)
        advance(1)
    classifier = options.choice.load()
    for one in document_times(classifier, texts):
        taken.documents.append(one)
        advance(1)
    # Before the batches of the steady state and the roofline's arrays, which are more than a device ever has to hold.
    taken.resources = {"peak_rss_mib": peak_rss_mib(), "peak_device_mib": peak_device_mib(classifier.ops)}
    if cells:
        source = source_of(classifier, texts, max(length for length, _ in cells))
    for length, batch in cells:
        measure_cell(classifier, source, length, batch, options.steady, taken.cells.append)
        advance(1)
    if options.roofline:
        taken.roofline = roofline_block(classifier, [cell.to_dict() for cell in taken.cells])


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is said of a classifier after it is gone."""

    model: dict[str, Any]
    environment: dict[str, Any]
    config: dict[str, Any]
    model_mib: float
    cores: int


def _loaded_facts(options: LatencyOptions, classifier: TokenClassifier) -> _Loaded:
    from ..runtime.engines.numpy_ops import available_cores

    ops = classifier.ops
    label_map = options.label_map if options.label_map in (None, "none") else "file"
    config = {
        "engine": ops.name,
        "device": ops.device,
        "dtype": ops.dtype,
        "batch_tokens": classifier.batch_tokens,
        "compile": classifier.ops.compiles,
        "stride": classifier.stride,
        "window": classifier.window,
        **classifier.asked,
        "aggregation": options.aggregation,
        "label_map": label_map,
        "limit": options.limit,
        **asdict(options.cold),
        **{key: list(value) if isinstance(value, tuple) else value for key, value in asdict(options.steady).items()},
        "document_warmups": WARMUPS,
    }
    return _Loaded(
        model_block(classifier),
        environment(ops.name, ops.device, ops.dtype),
        config,
        model_mib(classifier.artifact),
        available_cores(),
    )


def _report(
    options: LatencyOptions, corpus: Corpus, loaded: _Loaded, taken: _Taken, before: State, started: float
) -> dict[str, Any]:
    after = state()
    cold, documents = options.cold.block(taken.cold), documents_block(taken.documents)
    steady = [cell.to_dict() for cell in taken.cells]
    metrics = {
        "latency": latency_metrics(cold, documents),
        "resources": {**taken.resources, "model_mib": loaded.model_mib},
    }
    report = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "model": loaded.model,
        "corpus": {
            "name": corpus.name,
            "format": corpus.format,
            "sha256": corpus.sha256,
            "documents": len(corpus) + len(corpus.skipped),
            "documents_measured": len(taken.documents),
        },
        "environment": {**loaded.environment, **machine_block(before, after)},
        "config": loaded.config,
        "metrics": metrics,
        "cold_start": cold,
        "documents": documents,
        "steady_state": steady,
        "roofline": taken.roofline,
        "budget": None if options.budget is None else checked(options.budget, metrics),
        "tiers": tiers_met(metrics),
        "comparison": None,
    }
    if options.compare is not None:
        report["comparison"] = comparison_block(options.compare, report)
    warnings = [*corpus_warnings(corpus), *_warnings(report, list(unrest(before, after, loaded.cores)), whole=taken.whole)]
    timing = {"generated_at": now(), "total_s": round(time.perf_counter() - started, 6)}
    return {**report, "timing": timing, "warnings": [one.to_dict() for one in warnings], "partial": not taken.whole}


def _warnings(report: dict[str, Any], unquiet: Sequence[str], *, whole: bool) -> list[Warning]:
    found = []
    if not whole:
        found.append(Warning("interrupted", 1, "stopped with Ctrl-C; what was measured until then is here"))
    if whole and not report["documents"]["documents"]:
        found.append(Warning("no_documents", 1, "no document was measured; latency is null"))
    if unquiet:
        found.append(Warning("machine_busy", len(unquiet), f"{'; '.join(unquiet)} – measure again on a quiet machine"))
    summaries = {
        "cold start": report["cold_start"]["cold_start_ms"],
        **{f"{cell['batch']} × {cell['length']} tokens": cell["forward_ms"] for cell in report["steady_state"]},
    }
    wide = [name for name, one in summaries.items() if one["median"] and one["mad"] / one["median"] > WIDE]
    if wide:
        what = f"the samples of {', '.join(wide)} lie far apart (MAD above {WIDE:.0%} of the median)".replace("%", " %")
        found.append(Warning("wide_spread", len(wide), what))
    for option, key in (("--page-cache", "page_cache"), ("--jit-cache", "jit_cache")):
        if report["cold_start"]["processes"] and report["cold_start"][key]["state"] == "unknown":
            found.append(
                Warning(f"{key}_unknown", 1, f"{option}: the state asked for could not be set, or not be verified, here")
            )
    unlike = (report["comparison"] or {}).get("unlike")
    if unlike:
        found.append(Warning("compared_unlike", len(unlike), f"the runs compared differ in {', '.join(unlike)}"))
    return found
