"""run_generative: a language model, a server or a file of answers on one corpus, from the options to the report.

The library's counterpart of `openmed-mlx-eval generate`. Nothing is printed, and nothing written but the journal that
`keep_answers` asks for. No report holds an answer.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..benchmark import RunResult, scoring_config
from ..corpora import Corpus, load_corpus
from ..corpora.document import Document
from ..errors import UsageError
from ..evaluation import Evaluation, Warning, corpus_warnings, evaluate
from ..labels import LabelMap
from ..reporting.environment import environment
from ..reporting.report import build_report, now
from ..scoring.bootstrap import Bootstrap
from ..scoring.bundle import Options
from .alignment import align
from .asking import Asking, Made, Progress, ask_endpoint, ask_model, nameless
from .endpoint import Endpoint
from .evalscope import evalscope_outcome
from .journal import load_answers
from .measures import generative_block, token_scores
from .outcome import UNUSABLE, Outcome
from .protocol import Protocol, Shot, load_protocol
from .rendering import prompt_of
from .tokens import Tokens

ALIGNMENTS = ("faithful", "evalscope")


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The options of `generate`, by their names on the command line; exactly one of model, answers and endpoint."""

    corpus: str
    model: str | None = None
    adapter: str | None = None
    answers: str | None = None
    endpoint: str | None = None
    endpoint_model: str | None = None
    benchmark: str = "anat_em"
    protocol: str | None = None
    entities: tuple[str, ...] = ()
    shots: int | None = None
    shots_file: str | None = None
    align: str = "faithful"
    system_role: bool = False
    raw_prompt: bool = False
    max_tokens: int | None = None
    temperature: float = 0.0
    seed: int = 0
    batch_size: int = 8
    format: str | None = None
    discontinuous: str = "hull"
    skip_bad: bool = False
    suite: str | None = None
    limit: int | None = None
    scoring: Options = field(default_factory=lambda: Options(bootstrap=Bootstrap()))


def run_generative(
    options: GenerateOptions,
    *,
    keep_answers: Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], Any] = lambda line: None,
    started: float | None = None,
) -> RunResult:
    """Score a language model's tagging of a corpus.

    keep_answers: a file for the answers, which hold text; an earlier run of the same kind is resumed from it. progress:
    see `asking.Progress`. say: takes a line for the user, without text. started: a `time.perf_counter()` from which the total
    is counted. Raises UsageError, InputError or ModelError. With a model, call it from the thread that imported mlx.
    """
    started = time.perf_counter() if started is None else started
    if sum(one is not None for one in (options.model, options.answers, options.endpoint)) != 1:
        raise UsageError("give one of --model, --answers and --endpoint")
    if options.align not in ALIGNMENTS:
        raise UsageError(f"--align: give one of {', '.join(ALIGNMENTS)}")
    endpoint = None if options.endpoint is None else Endpoint.of(options.endpoint, options.endpoint_model)
    protocol, warnings = _protocol(options)
    labels = LabelMap(protocol.label_table())
    corpus = load_corpus(
        options.corpus,
        options.format,
        name=options.suite,
        skip_bad=options.skip_bad,
        discontinuous=options.discontinuous,
    )
    documents = tuple(islice(corpus.documents, options.limit))
    if options.align == "evalscope" and corpus.format != "conll":
        raise UsageError(
            "--align evalscope works on the tokens of a CoNLL corpus – make one with "
            "`openmed-mlx-eval corpus convert CORPUS --to conll -o OUT`, or use --align faithful"
        )
    asking = Asking(
        protocol,
        system_role=options.system_role,
        raw_prompt=options.raw_prompt,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        batch_size=options.batch_size,
        key=corpus.sha256,
        keep=keep_answers,
        progress=progress,
        say=say,
    )
    read_s = time.perf_counter() - started
    made = _made(options, endpoint, corpus, documents, asking)
    answered = time.perf_counter()
    evaluation, outcomes, block, more = _scored(options, protocol, labels, corpus, documents, made)
    evaluation.metrics["generative"] = block
    report = build_report(
        suite=options.suite or protocol.name,
        model=made.model,
        corpus=corpus,
        evaluation=evaluation,
        environment=made.environment,
        config=_config(options, protocol),
        timing={
            "generated_at": now(),
            "read_s": round(read_s, 6),
            **({} if made.load_s is None else {"load_s": round(made.load_s, 6)}),
            "answer_s": round(answered - started - read_s - (made.load_s or 0.0), 6),
            "score_s": round(time.perf_counter() - answered, 6),
            "total_s": round(time.perf_counter() - started, 6),
        },
        warnings=(*corpus_warnings(corpus), *warnings, *made.warnings, *more, *_unusable(outcomes)),
        partial=len(documents) < len(corpus.documents),
    )
    return RunResult(report, evaluation)


def _protocol(options: GenerateOptions) -> tuple[Protocol, list[Warning]]:
    """The protocol with the shots in force."""
    protocol = load_protocol(options.benchmark, file=options.protocol, entities=options.entities)
    if options.shots_file is not None:
        labels = LabelMap(protocol.label_table())
        shown = load_corpus(options.shots_file, limit=options.shots or protocol.shots_wanted or None)
        shots = [Shot(d.text, tuple(replace(span, label=labels(span.label)) for span in d.gold_spans)) for d in shown]
        protocol = protocol.with_shots(() if options.shots == 0 else shots)
    available = len(protocol.shots)
    if options.shots is not None and options.shots > available:
        raise UsageError(
            f"--shots: there are {available} – give more with --shots-file, the first documents of a training corpus"
        )
    protocol = protocol.with_shots(protocol.shots[: options.shots])
    if options.shots is None and available < protocol.shots_wanted:
        what = (
            f"the published protocol shows {protocol.shots_wanted} examples of its training corpus and this run {available} – "
            "give them with --shots-file to compare with published figures"
        )
        return protocol, [Warning("fewer_shots", protocol.shots_wanted - available, what)]
    return protocol, []


def _made(
    options: GenerateOptions, endpoint: Endpoint | None, corpus: Corpus, documents: Sequence[Document], asking: Asking
) -> Made:
    if options.model is not None:
        return ask_model(options.model, options.adapter, documents, asking)
    if endpoint is not None:
        return ask_endpoint(endpoint, documents, asking)
    read = load_answers(options.answers or "", corpus.documents, scored=len(documents), skipped=corpus.left_out)
    return Made(read.answers, nameless("answers"), environment(), warnings=read.warnings)


def _scored(
    options: GenerateOptions,
    protocol: Protocol,
    labels: LabelMap,
    corpus: Corpus,
    documents: Sequence[Document],
    made: Made,
) -> tuple[Evaluation, list[Outcome], dict[str, Any], list[Warning]]:
    texts = [answer.text if answer is not None else "" for answer in made.answers]
    outcomes = [align(text, document.text, protocol.labels) for text, document in zip(texts, documents, strict=True)]
    tokens = [Tokens.of(document.text, given=corpus.format == "conll") for document in documents]
    warnings, changed = [], None
    if options.align == "evalscope":
        faithful = outcomes
        outcomes = [evalscope_outcome(*one, protocol.labels) for one in zip(texts, tokens, faithful, strict=True)]
        changed = sum(one.spans != other.spans for one, other in zip(outcomes, faithful, strict=True))
        what = "documents scored by evalscope's own alignment, whose known faults are part of the figures"
        warnings.append(Warning("evalscope_alignment", max(1, len(documents)), what))
    evaluation = evaluate(
        documents,
        [outcome.spans for outcome in outcomes],
        labels,
        model_labels=sorted(protocol.labels.values()),
        options=options.scoring,
    )
    golds = [document.gold_spans for document in evaluation.documents]
    cut = sum(one.cuts(gold) for one, gold in zip(tokens, golds, strict=True))
    if cut:
        what = "gold spans that begin or end inside a token; the scores over tokens take its whole"
        warnings.append(Warning("gold_inside_token", cut, what))
    scores = token_scores(
        [one.tags(gold) for one, gold in zip(tokens, golds, strict=True)],
        [one.tags(found) for one, found in zip(tokens, evaluation.predictions, strict=True)],
    )
    block = generative_block(
        protocol=protocol.name,
        alignment=options.align,
        outcomes=outcomes,
        changed=changed,
        answers=made.answers,
        token_level=scores,
        load_s=made.load_s,
    )
    return evaluation, outcomes, block, warnings


def _unusable(outcomes: Iterable[Outcome]) -> list[Warning]:
    count = sum(outcome.state in UNUSABLE for outcome in outcomes)
    what = "answers that could not be used; the gold of their documents counts as missed"
    return [Warning("unusable_answers", count, what)] if count else []


def _config(options: GenerateOptions, protocol: Protocol) -> dict[str, Any]:
    """Every option in force; of paths and addresses only whether one was given."""
    prompt = prompt_of(protocol, "", system_role=options.system_role).raw
    return {
        "label_map": None,
        "limit": options.limit,
        "skip_bad": options.skip_bad,
        "discontinuous": options.discontinuous,
        "source": "model" if options.model else "endpoint" if options.endpoint else "answers",
        "benchmark": options.benchmark,
        "protocol_sha256": hashlib.sha256(prompt.encode("utf-8", "backslashreplace")).hexdigest(),
        "entities": protocol.labels,
        "shots": len(protocol.shots),
        "shots_from": "file" if options.shots_file else "protocol",
        "align": options.align,
        "system_role": options.system_role,
        "raw_prompt": options.raw_prompt,
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "batch_size": options.batch_size,
        "seed": options.seed,
        **scoring_config(options.scoring),
    }
