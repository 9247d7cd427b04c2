"""run: one model on one corpus, from the options to the report. The library's counterpart of `openmed-mlx-eval run`.

Corpora → runtime → scoring → reporting, in that order and each by its own floor; nothing is printed or written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from .document_scores import document_lines
from .errors import UsageError
from .evaluation import Evaluation, corpus_warnings, evaluate
from .labels import LabelMap
from .overlap import checked_overlap
from .predictions import prediction_lines
from .reporting.environment import environment
from .reporting.report import build_report, model_block, now
from .request import Request
from .runtime.classifier import TokenClassifier
from .scoring.bootstrap import Bootstrap
from .scoring.bundle import Options
from .shard_file import FORMAT as SHARD_FILE
from .shard_file import Shard, ShardOrigin, shard_lines

Progress = Callable[[int], AbstractContextManager[Callable[[int], Any]]]


@dataclass(frozen=True, slots=True)
class RunOptions(Request):
    """The options of `run`, by their names on the command line."""

    layers: str = "all"
    training_manifest: str | None = None
    forbid_overlap: bool = False
    cold_start: int | None = None
    shard: str | None = None
    scoring: Options = field(default_factory=lambda: Options(bootstrap=Bootstrap()))


@dataclass(frozen=True, slots=True)
class RunResult:
    """report: report.json as a dict. evaluation: documents, predictions and integer scores behind it. seams: a text → the
    offsets at which the model's windows meet. shard: what it is a part of; None for a whole run."""

    report: dict[str, Any]
    evaluation: Evaluation
    seams: Callable[[str], Sequence[int]] | None = None
    shard: ShardOrigin | None = None

    def prediction_lines(self) -> Iterator[str]:
        return prediction_lines(self.evaluation.predictions, self.evaluation.ordinals)

    def document_lines(self) -> Iterator[str]:
        return document_lines(self.evaluation.scores, self.evaluation.ordinals)

    def shard_files(self) -> dict[str, Iterator[str]]:
        """{name: lines} of what else `merge` needs; empty where the run is no shard."""
        return {} if self.shard is None else {SHARD_FILE: shard_lines(self.evaluation, self.shard)}


def run(options: RunOptions, *, progress: Progress | None = None, started: float | None = None) -> RunResult:
    """Score a model on a corpus.

    progress: called with the number of documents, gives what is called with the number just done. started: a
    `time.perf_counter()` from which the total is counted, by default this call. Raises UsageError, InputError
    or ModelError, and EvaluationError for documents that were trained on where `forbid_overlap` is set – before the
    model is opened.
    """
    clock = _Clock(time.perf_counter() if started is None else started)
    shard = None if options.shard is None else Shard.parse(options.shard)
    if shard is not None and options.cold_start:
        raise UsageError("--cold-start measures one machine, and shards are merged – measure with `latency`")
    labels = LabelMap.load(options.label_map)
    corpus = options.read()
    whole = corpus.documents[: options.limit]
    part = None if shard is None else [at for at, document in enumerate(whole) if shard.takes(document.text)]
    documents = whole if part is None else tuple(whole[at] for at in part)
    clock.lap("read_s")
    overlap = checked_overlap(whole, options.training_manifest, forbid=options.forbid_overlap)
    if overlap is not None:
        clock.lap("overlap_s")
    cold = None
    if options.cold_start:  # before this process maps the model's files and needs memory itself
        from .latency.in_run import cold_start_block, measured_blocks  # a run without it starts without it

        cold = cold_start_block(options.choice, options.cold_start)
        clock.lap("cold_start_s")
    classifier = options.choice.load(rename=labels.tags)
    clock.lap("load_s")
    with (progress or (lambda total: nullcontext(lambda done: None)))(len(documents)) as advance:
        predicted = list(classifier.predict((document.text for document in documents), advance))
    seconds = clock.lap("predict_s")
    measured = {}
    if cold is not None:
        measured = measured_blocks(cold, classifier, [document.text for document in documents])
        clock.lap("latency_s")
    evaluation = evaluate(
        whole,
        predicted,
        labels,
        model_labels=classifier.entity_labels,
        options=options.scoring,
        layers=options.layers,
        part=part,
    )
    clock.lap("score_s")
    report = build_report(
        suite=options.suite,
        model=model_block(classifier),
        corpus=corpus,
        evaluation=evaluation,
        environment=environment(classifier.ops.name, classifier.ops.device, classifier.ops.dtype),
        config=_config(options, classifier),
        timing=clock.timing(documents=len(documents), seconds=seconds),
        warnings=corpus_warnings(corpus),
        partial=len(documents) < len(corpus.documents),
        overlap=overlap,
    )
    report["metrics"] |= measured
    origin = (
        None if shard is None else ShardOrigin(len(whole), partial=len(whole) < len(corpus.documents), labels=labels.digest())
    )
    return RunResult(report, evaluation, classifier.seams, origin)


def scoring_config(options: Options) -> dict[str, Any]:
    """What was measured beyond the counts, as the report's `config` says it."""
    return {
        "slice_by": list(options.slice_by),
        "thresholds": None if options.thresholds is None else dict(options.thresholds),
        "bootstrap": None if options.bootstrap is None else asdict(options.bootstrap),
    }


def _config(options: RunOptions, classifier: TokenClassifier) -> dict[str, Any]:
    """Every option in force, as it was met; of paths only whether one was given."""
    in_force = {
        "engine": classifier.ops.name,
        "device": classifier.ops.device,
        "dtype": classifier.ops.dtype,
        "batch_tokens": classifier.batch_tokens,
        "compile": classifier.ops.compiles,
        "stride": classifier.stride,
        "window": classifier.window,
        **classifier.asked,
        "label_map": options.label_map if options.label_map in (None, "none") else "file",
        "training_manifest": options.training_manifest is not None,
    }
    elsewhere = ("model", "corpus", "suite", "format", "scoring")
    said = {key: value for key, value in asdict(options).items() if key not in elsewhere}
    return said | in_force | scoring_config(options.scoring)


class _Clock:
    """Seconds from lap to lap of one run."""

    def __init__(self, started: float) -> None:
        self._started = self._last = started
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> float:
        now = time.perf_counter()
        self._laps[name], self._last = now - self._last, now
        return self._laps[name]

    def timing(self, *, documents: int, seconds: float) -> dict[str, Any]:
        laps = {name: round(lap, 6) for name, lap in self._laps.items()}
        return {
            "generated_at": now(),
            **laps,
            "total_s": round(time.perf_counter() - self._started, 6),
            "documents_per_second": round(documents / seconds, 3) if documents and seconds > 0 else None,
        }
