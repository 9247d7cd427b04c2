"""parity: do two models – a source and its artifact, two engines, two dtypes – compute the same?

Both read the same texts, and their logits, the labels these give and the spans they find are compared, token by token.
The texts are a built-in set of many languages and scripts, and a corpus if one is given. No gold is needed, and nothing
of a text is kept: what comes out are counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import GateError, ModelError

if TYPE_CHECKING:
    from .runtime.artifact import Artifact
    from .runtime.classifier import TokenClassifier

SCHEMA = "openmed-mlx-eval/parity"
SCHEMA_VERSION = 1
CHARACTERS = 1 << 16
"""Of text computed together, a document always whole: enough to fill batches, little enough to hold its logits twice."""


ASKED = ("person", "date", "location", "organization", "disease", "medication", "body part")
"""What a GLiNER model is asked to find where nothing else is said: parity is of numbers, whatever is asked."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What two models may differ by. difference: of any logit, absolute; None for any. labels, spans: least agreement."""

    difference: float | None
    labels: float
    spans: float


TOLERANCES = {
    "float32": Tolerance(2e-4, 0.9999, 0.999),
    "float16": Tolerance(0.5, 0.995, 0.95),
    "bfloat16": Tolerance(None, 0.98, 0.9),
    "8-bit": Tolerance(None, 0.98, 0.85),
    "4-bit": Tolerance(None, 0.85, 0.3),
}
"""{arithmetic or storage: what it may cost}, coarser ones further down.

They tell rounding from a fault, not a good model from a bad one: that is the certificate's word. A float32 logit is within
2e-4 on any engine. What coarser kinds cost was measured on three small trained models and a random one: bfloat16 at most
0.011 of labels and 0.05 of span agreement, 8 bits 0.010 and 0.09, 4 bits 0.085 and 0.53.
"""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of what two models made of the same texts; they add up.

    tokens: content tokens. logits: numbers compared. difference: the largest absolute difference; total: the sum of all.
    labels: tokens whose most probable label is the same. spans_a, spans_b: spans of each; spans: those of both.
    """

    documents: int = 0
    tokens: int = 0
    logits: int = 0
    difference: float = 0.0
    total: float = 0.0
    labels: int = 0
    spans_a: int = 0
    spans_b: int = 0
    spans: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        added = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Agreement(**{**added, "difference": max(self.difference, other.difference)})

    @property
    def label_agreement(self) -> float | None:
        """Share of tokens with the same label; None without a token."""
        return self.labels / self.tokens if self.tokens else None

    @property
    def span_agreement(self) -> float | None:
        """Exact F1 of either model's spans against the other's; None where neither finds one."""
        found = self.spans_a + self.spans_b
        return 2 * self.spans / found if found else None

    def failures(self, tolerance: Tolerance) -> list[str]:
        """What is out of tolerance, in words; nothing where all is within, or there was nothing to compare."""
        labels, spans, limit = self.label_agreement, self.span_agreement, tolerance.difference
        found = []
        if limit is not None and self.difference > limit:
            found.append(f"a logit differs by {self.difference:.2g}, more than {limit:g}")
        if labels is not None and labels < tolerance.labels:
            found.append(f"label agreement is {labels:.6f}, less than {tolerance.labels:g}")
        if spans is not None and spans < tolerance.spans:
            found.append(f"span agreement is {spans:.6f}, less than {tolerance.spans:g}")
        return found

    def to_dict(self, tolerance: Tolerance) -> dict[str, Any]:
        failures = self.failures(tolerance)
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "max_absolute_difference": self.difference if self.logits else None,
            "mean_absolute_difference": self.total / self.logits if self.logits else None,
            "label_agreement": self.label_agreement,
            "labels_that_differ": self.tokens - self.labels,
            "span_agreement": self.span_agreement,
            "spans": {"a": self.spans_a, "b": self.spans_b, "both": self.spans},
            "passed": not failures,
            "failures": failures,
        }


def agreement(
    a: Any,
    b: Any,
    spans_a: Iterable[Any],
    spans_b: Iterable[Any],
    chosen: Callable[[Any], Any] = lambda rows: rows.argmax(axis=-1),
) -> Agreement:
    """Of one document. a, b: logits, (tokens, labels), of the same tokens – or, of GLiNER, spans – and labels.

    spans: with start, end and label. chosen: rows of logits → the label each says.
    """
    import numpy as np

    apart = np.abs(a.astype(np.float64) - b)
    of_a, of_b = ({(span.start, span.end, span.label) for span in spans} for spans in (spans_a, spans_b))
    return Agreement(
        documents=1,
        tokens=len(a),
        logits=int(apart.size),
        difference=float(apart.max(initial=0.0)),
        total=float(apart.sum()),
        labels=int((chosen(a) == chosen(b)).sum()) if a.size else 0,
        spans_a=len(of_a),
        spans_b=len(of_b),
        spans=len(of_a & of_b),
    )


def built_in_texts() -> list[str]:
    """Clinical-looking sentences, all invented, in many languages and scripts; the last is longer than a window of 512."""
    rows = json.loads(Path(__file__).with_name("parity_texts.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in rows]
    return [*texts, "\n".join(texts * 2)]


def compared(
    a: TokenClassifier, b: TokenClassifier, texts: Iterable[str], progress: Callable[[int], Any] = lambda done: None
) -> Agreement:
    """Run both on the texts, which are taken CHARACTERS or so at a time. progress: called with the number of documents just done.

    Raises ModelError for models with other labels, or with tokenizers that cut a text in another way.
    """
    if a.decoder.labels != b.decoder.labels:
        raise ModelError("A and B do not have the same labels in the same order – parity is of two forms of one model")
    found = Agreement()
    for chunk in _chunks(texts):
        encoded = a.encoder.encode(chunk), b.encoder.encode(chunk)
        for ordinal, (one, other) in enumerate(zip(*encoded, strict=True), start=found.documents + 1):
            if one.ids.tolist() != other.ids.tolist() or list(one.offsets) != list(other.offsets):
                raise ModelError(f"text {ordinal}: the tokenizers of A and B cut it differently – give two forms of one model")
        logits = a.forward(encoded[0]), b.forward(encoded[1])
        for of_a, of_b, rows_a, rows_b in zip(*encoded, *logits, strict=True):
            spans = a.decoder.spans(of_a, rows_a, a.encoder), b.decoder.spans(of_b, rows_b, b.encoder)
            found += agreement(rows_a, rows_b, *spans, a.decoder.chosen)
        progress(len(chunk))
    return found


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def tolerance_for(a: TokenClassifier, b: TokenClassifier) -> Tolerance:
    """The row of TOLERANCES for the coarsest arithmetic of the two and, where they are not stored alike, the coarsest storage."""
    kinds = list(TOLERANCES)
    stored = {_stored(a), _stored(b)}
    found = {a.ops.dtype, b.ops.dtype, *(stored if len(stored) > 1 else ())}
    return TOLERANCES[max((kind for kind in found if kind in kinds), key=kinds.index, default="float32")]


def _stored(model: TokenClassifier) -> str:
    quantization = model.artifact.quantization
    if quantization is None:
        return model.artifact.dtype
    return "8-bit" if quantization.bits > 4 else "4-bit"


def parity(
    a: TokenClassifier,
    b: TokenClassifier,
    texts: Mapping[str, Sequence[str]],
    tolerance: Tolerance | None = None,
    progress: Callable[[int], Any] = lambda done: None,
) -> dict[str, Any]:
    """The record of a comparison, as `parity --json` prints it; its schema is reporting/parity.schema.json.

    texts: {name of a set: its texts}. tolerance: None for `tolerance_for`. Raises as `compared` does.
    """
    tolerance = tolerance or tolerance_for(a, b)
    found = {name: compared(a, b, some, progress).to_dict(tolerance) for name, some in texts.items()}
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "models": {"a": _model(a), "b": _model(b)},
        "tolerance": asdict(tolerance),
        "texts": found,
        "passed": all(one["passed"] for one in found.values()),
    }


def _model(model: TokenClassifier) -> dict[str, Any]:
    artifact, ops = model.artifact, model.ops
    quantization = None if artifact.quantization is None else asdict(artifact.quantization)
    return {
        "name": artifact.name,
        "family": artifact.family.name,
        "stored": artifact.dtype,
        "quantization": quantization,
        "engine": ops.name,
        "device": ops.device,
        "dtype": ops.dtype,
    }


def failure_line(record: Mapping[str, Any]) -> str:
    """What is out of tolerance in a record that did not pass, in one sentence."""
    return "; ".join(f"{name}: {', '.join(one['failures'])}" for name, one in record["texts"].items() if one["failures"])


def labels_for(artifact: Artifact, labels: Sequence[str] | None = None) -> Sequence[str] | None:
    """What a model is asked to find: the labels given, else ASKED where it has none of its own."""
    return labels or (None if artifact.labels else ASKED)


def proof_of_parity(
    source: Artifact,
    made: Artifact,
    progress: Callable[[int], Any] = lambda done: None,
    labels: Sequence[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """`convert --verify`: {"parity": the record for an artifact's manifest}, of the built-in texts, both in float32.

    So what differs is the conversion: what rounding or quantisation took, and nothing else. A checkpoint that names no label
    is given names for the purpose. labels: what a GLiNER model is to find; None for ASKED. Raises GateError where that
    is more than the tolerance, ModelError as `compared` does.
    """
    from .runtime.decoding import nameless
    from .runtime.loading import load_classifier

    def named(labels: tuple[str, ...]) -> tuple[str, ...]:
        return ("O", *(f"B-{label}" for label in labels[1:])) if nameless(labels) else labels

    a, b = (
        load_classifier(one.directory, dtype="float32", artifact=one, rename=named, gliner_labels=labels_for(one, labels))
        for one in (source, made)
    )
    record = parity(a, b, {"built_in": built_in_texts()}, progress=progress)
    if not record["passed"]:
        raise GateError(f"the artifact does not compute what SRC computes, and was not kept – {failure_line(record)}")
    ran = {"engine": a.ops.name, "device": a.ops.device, "dtype": a.ops.dtype}
    return {"parity": {"against": "source", **ran, **{key: record[key] for key in ("tolerance", "texts", "passed")}}}
