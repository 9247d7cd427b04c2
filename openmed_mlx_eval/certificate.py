"""certificate: what a quantised model lost of its parent's scores, label by label, on a corpus with gold.

Certified is only what was seen: each required label must have gold and predictions of both models, and lose less exact
recall than its limit. A model that finds nothing is therefore never certified, nor is a label the corpus lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .comparison import differences
from .evaluation import evaluate
from .labels import LabelMap
from .scoring.bootstrap import Bootstrap
from .scoring.bundle import Options

if TYPE_CHECKING:
    from .corpora import Corpus
    from .runtime.artifact import Artifact
    from .runtime.classifier import TokenClassifier
    from .scoring.uncertainty import Row

LIMITS = {8: 0.005, 4: 0.010}
"""{bits: exact recall that no label may lose, nor more}."""

_ROUNDING = 1e-9
"""0.9 − 0.895 is a little more than 0.005."""

_RATES = ("recall", "precision", "f1")
Progress = Callable[[int], Any]


def certificate(
    parent: TokenClassifier,
    child: TokenClassifier,
    corpus: Corpus,
    *,
    label_map: str | None = None,
    required: Iterable[str] | None = None,
    how: Bootstrap | None = None,
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """The record that stands in the artifact's manifest. child: quantised, with 8 or 4 bits.

    label_map: as `--label-map`. required: the labels to certify, as they are scored; None for all that the model can
    give. how: the resamples of the intervals, None for Bootstrap(). progress: called with the number of texts just done.
    """
    labels = LabelMap.load(label_map)
    before, after = (_rows(model, corpus, labels, progress) for model in (parent, child))
    wanted = {labels(label) for label in parent.entity_labels} if required is None else set(required)
    found = differences(before, after, how or Bootstrap(), wanted)
    quantization = child.artifact.quantization
    limit = LIMITS[quantization.bits if quantization else 8]
    judged = {label: _label(block, limit) for label, block in found["by_label"].items()}
    return {
        "corpus": {
            "format": corpus.format,
            "sha256": corpus.sha256,
            "documents": len(corpus.documents),
            "spans": sum(len(document.gold_spans) for document in corpus.documents),
        },
        "engine": child.ops.name,
        "device": child.ops.device,
        "dtype": child.ops.dtype,
        "limit": limit,
        "certified": bool(judged) and all(one["verdict"] == "passed" for one in judged.values()),
        "uncertainty": found["uncertainty"],
        "documents_that_differ": found["documents_that_differ"],
        "exact": {rate: _change(found["metrics"]["exact_span_f1"][rate]) for rate in _RATES},
        "labels": judged,
    }


def _rows(model: TokenClassifier, corpus: Corpus, labels: LabelMap, progress: Progress) -> list[Row]:
    predicted = list(model.predict((document.text for document in corpus.documents), progress))
    scores = evaluate(corpus.documents, predicted, labels, options=Options()).scores
    return [(one.spans, one.semeval, one.coverage, one.critical) for one in scores]


def _change(number: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "parent": number["a"],
        "quantized": number["b"],
        "change": number["difference"],
        "confidence_interval": number["confidence_interval"],
    }


def _label(block: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """Counts, changes and verdict of a label, from its block of `differences`."""
    nothing = (("support", "no gold"), ("predicted_a", "never predicted by the parent"), ("predicted_b", "never predicted"))
    reason = next((why for key, why in nothing if not block[key]), None)
    change = block["exact"]["recall"]["difference"]
    verdict = "not_covered" if reason else "passed"
    if reason is None and -change > limit - _ROUNDING:
        verdict, reason = "failed", f"lost {-change:.4f} of recall"
    return {
        "support": block["support"],
        "predicted": {"parent": block["predicted_a"], "quantized": block["predicted_b"]},
        **{rate: _change(block["exact"][rate]) for rate in _RATES},
        "verdict": verdict,
        "reason": reason,
    }


def verdict_line(record: Mapping[str, Any]) -> str:
    """The certificate in one sentence."""
    asked = f"less than {record['limit']:g} of exact recall"
    wrong = [f"{label} ({one['reason']})" for label, one in record["labels"].items() if one["verdict"] != "passed"]
    if record["certified"]:
        return f"certified: each of {len(record['labels'])} labels lost {asked}"
    why = ", ".join(wrong) if wrong else "there is no label to judge"
    return f"not certified – each label must be seen and lose {asked}: {why}"


def proof_of_certificate(
    corpus: Corpus,
    *,
    label_map: str | None = None,
    required: Sequence[str] | None = None,
    asked: Sequence[str] | None = None,
    threshold: float | None = None,
) -> Callable[..., dict[str, dict[str, Any]]]:
    """`convert --certify`: (source, artifact, progress) → {"certificate": the record}. Both run as `run` would run them.

    asked, threshold: `--gliner-labels` and `--gliner-threshold`.
    """

    def proof(source: Artifact, made: Artifact, progress: Progress = lambda done: None) -> dict[str, dict[str, Any]]:
        from .runtime.loading import load_classifier

        rename = LabelMap.load(label_map).tags if label_map not in (None, "none") else lambda labels: labels
        parent, child = (
            load_classifier(one.directory, artifact=one, rename=rename, gliner_labels=asked, gliner_threshold=threshold)
            for one in (source, made)
        )
        found = certificate(parent, child, corpus, label_map=label_map, required=required, progress=progress)
        return {"certificate": found}

    return proof
