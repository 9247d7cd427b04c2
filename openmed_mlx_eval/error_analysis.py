"""error_report: the errors of a model on a corpus, counted, explained and sampled without text.

`analysed` is the core, for documents and predictions that are there already; `error_report` carries OpenMed's name and
makes the predictions itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .corpora import load_corpus
from .corpora.document import Document
from .errors import UsageError
from .evaluation import relabelled
from .given_documents import as_document, given_documents
from .labels import LabelMap
from .predictors import predictor_of
from .reporting.error_report import ErrorAnalysisReport
from .reporting.report import DEFAULT_SUITE, now
from .scoring.error_examples import Draw, ExampleOptions, example_of
from .scoring.errors import document_errors, total_errors
from .scoring.eval_spans import as_spans, normalize_eval_spans
from .scoring.validity import checked_gold, checked_predictions
from .spans import Span

Runner = Callable[[Document, str, str], Iterable[Any]]
"""(document, model name, device) → spans in any form that normalize_eval_spans takes: OpenMed's benchmark runners."""
Seams = Callable[[str], Sequence[int]]
"""A text → the offsets at which one window of the model ends and the next takes over."""

LEAST_KEY = 16
"""Bytes. Whoever guesses the key can try every date of birth against a hash."""
CORPUS_KEYS = ("name", "format", "sha256", "documents", "documents_scored")


def error_report(
    model: Any,
    suite: str | Path | Iterable[Any],
    *,
    suite_name: str | None = None,
    device: str = "auto",
    runner: Runner | None = None,
    example_cap: int = 5,
    context_window: int = 24,
    seed: int = 0,
    hash_key: bytes | None = None,
    label_map: LabelMap | Mapping[str, str] | str | Path | None = None,
) -> ErrorAnalysisReport:
    """Run a model over a corpus once and report its errors.

    model: a model directory, an object with `predict(texts)` such as TokenClassifier, or a callable that gives each
    document's spans; runner: such a callable beside a name. suite: a corpus path, or documents, ours or OpenMed's fixtures.
    Other parameters as in `analysed`. Raises UsageError, InputError, ModelError.
    """
    labels = LabelMap.of(label_map)
    if isinstance(suite, str | Path):
        corpus = load_corpus(suite, name=suite_name)
        documents, source = corpus.documents, {key: getattr(corpus, key) for key in ("name", "format", "sha256")}
    else:
        documents, source = given_documents(suite), {"name": suite_name or DEFAULT_SUITE, "format": None, "sha256": None}
    name, predictions, seams = _predicted(model, runner, documents, device, labels)
    return analysed(
        [replace(document, gold_spans=relabelled(document.gold_spans, labels)) for document in map(as_document, documents)],
        predictions,
        suite=suite_name or DEFAULT_SUITE,
        model_name=name,
        corpus={**source, "documents": len(documents), "documents_scored": len(documents)},
        options=ExampleOptions(example_cap, context_window, seed),
        hash_key=hash_key,
        seams=seams,
    )


def analysed(
    documents: Sequence[Document],
    predictions: Sequence[Sequence[Span]],
    *,
    suite: str,
    model_name: str,
    corpus: Mapping[str, Any],
    options: ExampleOptions | None = None,
    hash_key: bytes | None = None,
    seams: Seams | None = None,
) -> ErrorAnalysisReport:
    """The errors of predictions, one sequence a document; labels on either side as they are to be scored.

    corpus: CORPUS_KEYS, as in report.json. hash_key: at least 16 bytes, for hashes that can be compared with those of
    another report; by default a random one that is forgotten. seams: of the windows the model read, if known. Raises
    UsageError for a negative number among the options and a key that is too short, InputError for gold that cannot stand.
    """
    options = options or ExampleOptions()
    if options.cap < 0 or options.context_window < 0:
        raise UsageError("the number of examples and the context must be at least 0")
    if hash_key is not None and not isinstance(hash_key, bytes):
        raise UsageError("the key of the hashes must be bytes")
    if hash_key is not None and len(hash_key) < LEAST_KEY:
        raise UsageError(f"the key of the hashes must have at least {LEAST_KEY} bytes")
    draw = Draw(options)
    counts = []
    for ordinal, (document, spans) in enumerate(zip(documents, predictions, strict=True)):
        length = len(document.text)
        gold = checked_gold(document.gold_spans, length, ordinal + 1)
        one, findings = document_errors(gold, *checked_predictions(spans, length))
        counts.append(one)
        draw.add(ordinal, document.text, findings)
    key = hash_key or secrets.token_bytes(32)
    examples = [
        example_of(finding, at, text, key=key, context_window=options.context_window, seams=seams(text) if seams else None)
        for at, finding in draw.drawn()
        for text in (documents[at].text,)
    ]
    return ErrorAnalysisReport(
        suite=suite,
        model_name=model_name,
        corpus={name: corpus[name] for name in CORPUS_KEYS},
        counts=total_errors(counts),
        examples=tuple(examples),
        generated_at=now(),
        config={
            "example_cap": options.cap,
            "context_window": options.context_window,
            "seed": options.seed,
            "hash_key": "random" if hash_key is None else "given",
        },
    )


def load_hash_key(path: str | Path) -> bytes:
    """The bytes of a key file without a line end after them. Raises UsageError for one that cannot be read or is short."""
    try:
        key = Path(path).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"--hash-key-file: the file cannot be read ({error.strerror})") from None
    if len(key) < LEAST_KEY:
        raise UsageError(f"--hash-key-file: the key must have at least {LEAST_KEY} bytes – make one with `openssl rand -hex 32`")
    return key


def _predicted(
    model: Any, runner: Runner | None, documents: Sequence[Any], device: str, labels: LabelMap
) -> tuple[str, list[Sequence[Span]], Seams | None]:
    """(the model's name, its spans under the names they are scored by, its seams if they are known)."""
    if not hasattr(model, "predict") and not callable(model) and not isinstance(model, str | Path):
        raise UsageError("give a model: a directory, an object with predict(texts), or a runner and a name")
    call = model if callable(model) and not hasattr(model, "predict") else runner
    if call is not None:
        name = str(getattr(model, "__name__", "runner")) if callable(model) else str(model)
        made = (normalize_eval_spans(call(document, name, device), label_map=labels) for document in documents)
        return name, [as_spans(spans) for spans in made], None
    used = predictor_of(model, device=device, labels=labels)
    found = [as_spans(normalize_eval_spans(spans, label_map=LabelMap.verbatim())) for spans in used.predict(documents)]
    return used.name, [relabelled(spans, labels) for spans in found], used.seams
