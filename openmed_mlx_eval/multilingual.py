"""run_multilingual_ner_scorecard: one model on several corpora and languages, a row each, and a gate for every row.

Takes what OpenMed 3.1.0's function of that name takes and gives its keys. Differences, all on purpose: corpora may be
paths and the model a directory; documents are scored one by one, so that no prediction reaches into the next; a row
without gold fails its gate, where there it has F1 1.0; labels no table knows stay apart; the training manifest is
compared as in overlap.py, and no document id is in the result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .corpora.document import Corpus, Document, language_code
from .corpora.loading import load_corpus
from .errors import ModelError, UsageError
from .given_documents import given_documents
from .labels import LabelMap
from .layers import layered
from .overlap import TrainingOverlap, training_overlap
from .predictors import Runner, predictor_of
from .scoring.eval_spans import as_spans, normalize_eval_spans
from .scoring.language_rows import LanguageRow, checked_gates, macro, rows_of
from .scoring.scorecard import DocumentScore, score_spans
from .scoring.sides import Sides
from .scoring.validity import checked_gold, checked_predictions

SUITE = "multilingual-clinical-ner"
EVERY = "*"
"""The benchmark, or the language, of a row over all of them."""


@dataclass(frozen=True, slots=True)
class MultilingualScorecard:
    """What came out. Read like OpenMed's BenchmarkReport: `metrics`, `to_dict()`, `to_json()`, `to_markdown()`.

    rows: by corpus and language; per_benchmark, per_language: the same documents added up otherwise, without a gate.
    gates: {metric: least value}. overlap: of all documents, in the order given; None where no manifest was.
    """

    suite: str
    model_name: str
    device: str
    rows: tuple[LanguageRow, ...]
    per_benchmark: tuple[LanguageRow, ...]
    per_language: tuple[LanguageRow, ...]
    gates: Mapping[str, float]
    overlap: TrainingOverlap | None = None
    generated_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fixture_count(self) -> int:
        return sum(row.score.documents for row in self.rows)

    @property
    def passed(self) -> bool | None:
        """False if a row fails or a document was trained on; None where neither gates nor a manifest were given."""
        if any(row.passed is False for row in self.rows) or (self.overlap is not None and self.overlap.documents):
            return False
        return True if self.gates or self.overlap is not None else None

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Every reason why `passed` is False."""
        found: list[dict[str, Any]] = [
            {"benchmark": row.benchmark, "language": row.language, **failure.to_dict()}
            for row in self.rows
            for failure in row.failures
        ]
        if self.overlap is not None and self.overlap.documents:
            found.append({"reason": "train_eval_overlap", "finding_count": len(self.overlap.documents)})
        return found

    @property
    def metrics(self) -> dict[str, Any]:
        rows = [row.to_dict() for row in self.rows]
        overlap = None
        if self.overlap is not None:
            count = len(self.overlap.documents)
            overlap = {"passed": not count, "finding_count": count, **self.overlap.to_dict()}
        return {
            "scorecard": rows,
            "per_benchmark_language": rows,
            "per_benchmark": [row.to_dict() for row in self.per_benchmark],
            "per_language": [row.to_dict() for row in self.per_language],
            "macro": macro(self.rows),
            "gate": {
                "passed": self.passed,
                "gates": dict(self.gates),
                "min_exact_span_f1": self.gates.get("exact_f1"),
                "failures": self.failures,
            },
            "train_eval_overlap": overlap,
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "model_name": self.model_name,
            "device": self.device,
            "fixture_count": self.fixture_count,
            "generated_at": self.generated_at,
            "metadata": dict(self.metadata),
            "metrics": self.metrics,
        }

    def to_json(self, *, indent: int = 2) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_markdown(self) -> str:
        """A table of the rows and their macro average, and what failed."""
        from .reporting.sections import count, rate
        from .reporting.text import escaped, markdown_table

        verdict = {True: "passed", False: "failed", None: "–"}
        metrics = [f"{rule}_{part}" for rule in ("exact", "relaxed") for part in ("precision", "recall", "f1")]
        table = [
            [
                row.benchmark,
                row.language,
                count(row.score.documents),
                count(row.score.overall.support),
                *(rate(row.rate(metric)) for metric in metrics),
                verdict[row.passed],
            ]
            for row in self.rows
        ]
        average = macro(self.rows)
        means = [rate(average[rule][part]) for rule in ("exact", "relaxed") for part in ("precision", "recall", "f1")]
        support = sum(row.score.overall.support for row in self.rows)
        table.append(["macro", "", count(self.fixture_count), count(support), *means, verdict[self.passed]])
        columns = ("Corpus", "Language", "Documents", "Gold", *(name.replace("_", " ") for name in metrics), "Gate")
        parts = [f"# {escaped(self.suite)}", f"Model: {escaped(self.model_name)}", markdown_table(columns, table)]
        if self.failures:
            parts += ["## Gates not met", "\n".join(f"- {escaped(_in_words(failure))}" for failure in self.failures)]
        return "\n\n".join(parts) + "\n"


def _in_words(failure: Mapping[str, Any]) -> str:
    if failure["reason"] == "train_eval_overlap":
        return f"{failure['finding_count']:,} documents are in the training manifest"
    where = f"{failure['benchmark']}, {failure['language']}: {failure['metric']}"
    value = "nothing to measure" if failure["value"] is None else f"{failure['value']:.4f}"
    return f"{where} {value}, wanted {failure['threshold']} ({failure['reason']})"


def run_multilingual_ner_scorecard(
    corpora: Any,
    model: Any = None,
    *,
    suite: str = SUITE,
    model_name: str | None = None,
    device: str = "auto",
    runner: Runner | None = None,
    generated_at: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    min_exact_span_f1: float = 0.85,
    gates: Mapping[str, float] | None = None,
    training_manifest_path: str | os.PathLike[str] | None = None,
    languages: Mapping[str, str] | None = None,
    label_map: LabelMap | Mapping[str, str] | str | os.PathLike[str] | None = None,
    layers: str = "all",
) -> MultilingualScorecard:
    """Score a model on corpora, by corpus and language.

    corpora: {name: path, Corpus or documents}; one path or Corpus, or several of different names; or documents – then
    `metadata["benchmark"]` or `["dataset"]` names the corpus, as in OpenMed. Documents are ours or OpenMed's fixtures.
    model: a directory, an object with `predict(texts)` such as TokenClassifier, or a function from a text to its spans;
    or give OpenMed's `runner`. With neither, model_name is the directory. Spans are anything normalize_eval_spans takes.
    languages: {corpus: ISO 639-1 code} for corpora whose files do not say. gates: {metric of language_rows.METRICS: least
    value} for each row; by default exact F1 of `min_exact_span_f1`, {} for none. label_map, layers: as in `run`.

    Raises UsageError for what is none of these, InputError for bad gold, ModelError for a model that cannot be run.
    """
    labels = LabelMap.of(label_map)
    wanted = checked_gates({"exact_f1": min_exact_span_f1} if gates is None else gates)
    named = list(_named_documents(corpora, languages or {}))
    given_documents(document for _, document in named)
    if not named:
        raise UsageError("the scorecard needs at least one document")
    documents = [document for _, document in named]
    overlap = training_overlap(documents, training_manifest_path) if training_manifest_path is not None else None
    used = predictor_of(model, model_name=model_name, device=device, runner=runner, labels=labels)
    predictions = list(used.predict(documents))
    if len(predictions) != len(documents):
        raise ModelError(f"the model gave {len(predictions):,} lists of spans for {len(documents):,} texts")
    scores = [
        _score(document, spans, labels, layers, number)
        for number, (document, spans) in enumerate(zip(documents, predictions, strict=True), start=1)
    ]
    keyed = [
        ((name, (languages or {}).get(name) or language_code(d.language)), s) for (name, d), s in zip(named, scores, strict=True)
    ]
    return MultilingualScorecard(
        suite=suite,
        model_name=used.name,
        device=used.device,
        rows=rows_of(keyed, wanted),
        per_benchmark=rows_of(((name, EVERY), score) for (name, _), score in keyed),
        per_language=rows_of(((EVERY, language), score) for (_, language), score in keyed),
        gates=wanted,
        overlap=overlap,
        generated_at=generated_at,
        metadata=dict(metadata or {}),
    )


def _named_documents(corpora: Any, languages: Mapping[str, str]) -> Iterator[tuple[str, Document]]:
    """(corpus name, document) of all corpora in the order given."""
    if isinstance(corpora, Mapping):
        parts = [(str(name), _documents(value)) for name, value in corpora.items()]
    else:
        several = [corpora] if isinstance(corpora, str | os.PathLike | Corpus) else list(corpora)
        read: list[Any] = [load_corpus(one) if isinstance(one, str | os.PathLike) else one for one in several]
        whole = [one for one in read if isinstance(one, Corpus)]
        if whole and len(whole) < len(read):
            raise UsageError("corpora: give corpora or documents, not both")
        if len({one.name for one in whole}) < len(whole):
            raise UsageError("corpora: two have the same name – give {name: corpus}")
        parts = [(one.name, list(one)) for one in whole] or [(_benchmark(document), [document]) for document in read]
    strangers = set(languages) - {name for name, _ in parts}
    if strangers:
        raise UsageError("languages: names a corpus that is not among the corpora")
    for name, documents in parts:
        yield from ((name, document) for document in documents)


def _documents(value: Any) -> list[Document]:
    """The documents of a path, of a Corpus, or of a list of fixtures."""
    return list(load_corpus(value) if isinstance(value, str | os.PathLike) else value)


def _benchmark(document: Any) -> str:
    said = getattr(document, "metadata", None) or {}
    return str(said.get("benchmark") or said.get("dataset") or "unknown")


def _score(document: Any, predicted: Iterable[Any], labels: LabelMap, layers: str, number: int) -> DocumentScore:
    length = len(document.text)
    gold, spans = (
        layered(as_spans(normalize_eval_spans(side, label_map=labels)), layers, length)
        for side in (document.gold_spans, predicted)
    )
    golds = checked_gold(gold, length, number)
    predictions, invalid = checked_predictions(spans, length)
    return score_spans(Sides.of(golds, predictions), invalid, length)
