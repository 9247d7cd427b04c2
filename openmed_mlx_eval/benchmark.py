"""run: one model on one corpus, from the options to the report. The library's counterpart of `openmed-mlx-eval run`.

Corpora → runtime → scoring → reporting, in that order and each by its own floor; nothing is printed or written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

from .corpora.document import CorpusStream, Document
from .errors import UsageError
from .evaluation import Evaluation, Scored, Scoring, SliceValues, corpus_warnings
from .labels import LabelMap
from .overlap import TrainingOverlap, checked_overlap
from .reporting.environment import environment
from .reporting.report import build_report, model_block, now
from .request import Request
from .run_journal import RunJournal
from .run_key import RunKey, run_key
from .run_lines import WaitingLines, lines_of
from .runtime.classifier import TokenClassifier
from .scoring.bootstrap import Bootstrap
from .scoring.bundle import Options, collector_at_rest
from .shard_file import FORMAT as SHARD_FILE
from .shard_file import Shard, ShardOrigin, shard_head
from .spans import Span
from .stopwatch import Clock, Spent

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
    """report: report.json as a dict. evaluation: documents, predictions and integer scores behind it, where they were kept.
    seams: a text → the offsets at which the model's windows meet. shard: what it is a part of; None for a whole run."""

    report: dict[str, Any]
    evaluation: Evaluation
    seams: Callable[[str], Sequence[int]] | None = None
    shard: ShardOrigin | None = None

    def files(self, waiting: WaitingLines | None = None) -> dict[str, Iterable[str]]:
        """{name: lines} of the files with a line a document. waiting: where the lines are, if the documents were not kept."""
        rows = self.evaluation.rows
        made: dict[str, Iterable[str]] = (
            {name: map(line, rows) for name, line in lines_of(self.shard is not None).items()}
            if waiting is None
            else dict(waiting.files())
        )
        if self.shard is not None and SHARD_FILE in made:
            made[SHARD_FILE] = chain([shard_head(self.evaluation.observed, self.shard)], made[SHARD_FILE])
        return made


def run(options: RunOptions, *, progress: Progress | None = None, started: float | None = None) -> RunResult:
    """Score a model on a corpus and keep every document's spans and scores.

    progress: called with the number of documents, gives what is called with the number just done. started: a
    `time.perf_counter()` from which the total is counted, by default this call. Raises UsageError, InputError
    or ModelError, and EvaluationError for documents that were trained on where `forbid_overlap` is set – before the
    model is opened.
    """
    rows: list[Scored] = []
    with collector_at_rest():
        return prepared(options, started=started).result(rows.append, rows=rows, progress=progress)


def prepared(options: RunOptions, *, started: float | None = None) -> PreparedRun:
    """Everything that can go wrong before the first document: the corpus read through, the model opened. As `run`."""
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit: give 1 or more documents")
    clock = Clock(time.perf_counter() if started is None else started)
    shard = None if options.shard is None else Shard.parse(options.shard)
    if shard is not None and options.cold_start:
        raise UsageError("--cold-start measures one machine, and shards are merged – measure with `latency`")
    labels = LabelMap.load(options.label_map)
    part = Part(shard, options.limit, SliceValues(options.scoring.slice_by))
    corpus = options.open(part.see)
    part.slices.check()
    clock.lap("read_s")
    overlap = None
    if options.training_manifest is not None or options.forbid_overlap:
        whole = list(islice(corpus, options.limit))  # near duplicates are looked for among all at once
        overlap = checked_overlap(whole, options.training_manifest, forbid=options.forbid_overlap)
        clock.lap("overlap_s")
    cold = None
    if options.cold_start:  # before this process maps the model's files and needs memory itself
        from .latency.in_run import cold_start_block  # a run without it starts without it

        cold = cold_start_block(options.choice, options.cold_start)
        clock.lap("cold_start_s")
    classifier = options.choice.load(rename=labels.tags)
    clock.lap("load_s")
    return PreparedRun(options, corpus, part, labels, classifier, overlap, cold, clock)


@dataclass(slots=True)
class Part:
    """Which documents of a corpus are scored, and what was seen of all of them. whole: documents until the limit; scored: those
    of them that the shard takes."""

    shard: Shard | None
    limit: int | None
    slices: SliceValues
    whole: int = 0
    scored: int = 0

    def see(self, ordinal: int, document: Document) -> None:
        if self.limit is None or ordinal < self.limit:
            taken = self.takes(document)
            self.whole += 1
            self.scored += taken
            self.slices.see(document, scored=taken)

    def takes(self, document: Document) -> bool:
        return self.shard is None or self.shard.takes(document.text)

    def of(self, documents: Iterable[Document]) -> Iterator[tuple[int, Document]]:
        """(ordinal from 0 in the whole, document) of those scored."""
        numbered = enumerate(islice(documents, self.limit))
        return (pair for pair in numbered if self.takes(pair[1]))


@dataclass
class PreparedRun:
    """A run of which nothing is predicted yet."""

    options: RunOptions
    corpus: CorpusStream
    part: Part
    labels: LabelMap
    classifier: TokenClassifier
    overlap: TrainingOverlap | None
    cold: dict[str, Any] | None
    clock: Clock

    @cached_property
    def key(self) -> RunKey:
        """What the result depends on."""
        corpus, overlap = self.corpus, self.overlap
        return run_key(
            model=self._model,
            corpus={"format": corpus.format, "sha256": corpus.sha256},
            environment=self._environment,
            options={
                **_config(self.options, self.classifier),
                "suite": [self.options.suite, corpus.name],
                "label_map": self.labels.digest(),
                "training_manifest": None if overlap is None else overlap.to_dict(),
            },
        )

    @cached_property
    def _model(self) -> dict[str, Any]:
        return model_block(self.classifier)

    @property
    def _environment(self) -> dict[str, Any]:
        ops = self.classifier.ops
        return environment(ops.name, ops.device, ops.dtype)

    def result(
        self,
        each: Callable[[Scored], Any],
        *,
        rows: Iterable[Scored] = (),
        journal: RunJournal | None = None,
        progress: Progress | None = None,
    ) -> RunResult:
        """Predict and score. each: called with each document, in corpus order, when it is scored. rows: those to keep, filled
        by then. journal: gives the spans of the documents that are done, and is given the others'. progress: as for `run`.
        """
        options, part, classifier, clock = self.options, self.part, self.classifier, self.clock
        scoring = Scoring(self.labels, options.scoring, options.layers, part.slices)
        done = 0 if journal is None else journal.documents
        spent = Spent()
        with (progress or (lambda total: nullcontext(lambda done: None)))(part.scored) as advance:
            documents = part.of(spent.within("read_s", self.corpus))
            for ordinal, document, spans in tagged(classifier, documents, journal, advance):
                with spent.on("score_s"):
                    each(scoring.score(ordinal, document, spans))
        clock.lap("predict_s")
        seconds = clock.split("predict_s", spent.seconds)
        measured = {}
        if self.cold is not None:
            from .latency.in_run import measured_blocks

            texts = [document.text for _, document in part.of(self.corpus)]
            measured = measured_blocks(self.cold, classifier, texts)
            clock.lap("latency_s")
        evaluation = scoring.evaluation(classifier.entity_labels, rows)
        clock.lap("score_s")
        report = build_report(
            suite=options.suite,
            model=self._model,
            corpus=self.corpus,
            evaluation=evaluation,
            environment=self._environment,
            config=_config(options, classifier),
            timing={"generated_at": now(), **clock.timing(documents=part.scored - done, seconds=seconds)},
            warnings=corpus_warnings(self.corpus),
            partial=part.scored < len(self.corpus),
            overlap=self.overlap,
        )
        report["metrics"] |= measured
        origin = ShardOrigin(part.whole, partial=part.whole < len(self.corpus), labels=self.labels.digest())
        return RunResult(report, evaluation, classifier.seams, None if part.shard is None else origin)


def tagged(
    classifier: TokenClassifier,
    documents: Iterator[tuple[int, Document]],
    journal: RunJournal | None,
    advance: Callable[[int], Any],
) -> Iterator[tuple[int, Document, Sequence[Span]]]:
    """Each document with its spans: those that the journal has, then those that the model gives, journalled by the batch."""
    if journal is not None and journal.documents:
        for spans, (ordinal, document) in zip(journal.done(), documents, strict=False):
            yield ordinal, document, spans
        advance(journal.documents)
    waiting: deque[tuple[int, Document]] = deque()
    batch: list[Sequence[Span]] = []

    def texts() -> Iterator[str]:
        for pair in documents:
            waiting.append(pair)
            yield pair[1].text

    def finished(count: int) -> None:
        if journal is not None:
            journal.add(batch)
        batch.clear()
        advance(count)

    for spans in classifier.predict(texts(), finished):
        if journal is not None:
            batch.append(spans)
        yield *waiting.popleft(), spans


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
    elsewhere = ("model", "corpus", "suite", "format", "scoring", "manifest")
    said = {key: value for key, value in asdict(options).items() if key not in elsewhere}
    return said | in_force | scoring_config(options.scoring)
