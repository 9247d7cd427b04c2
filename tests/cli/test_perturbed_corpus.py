"""`score` on a real corpus as its own prediction, whole and with a tenth of its spans dropped, shifted or relabelled: every count is
known by hand."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from openmed_mlx_eval.corpora import Document, load_corpus
from openmed_mlx_eval.spans import Span

OTHER = {"Chemical": "Disease", "Disease": "Chemical"}


def alone(document: Document, at: int) -> bool:
    """Whether nothing of the gold comes near a span, so that changing it changes one pair of one label."""
    span = document.gold_spans[at]
    near = (other for number, other in enumerate(document.gold_spans) if number != at)
    free = all(other.end < span.start or other.start > span.end + 1 for other in near)
    return free and span.end - span.start > 2 and span.end + 1 < len(document.text)


def perturbed(documents: tuple[Document, ...], seed: int) -> tuple[list[list[Span]], dict[str, list[Span]]]:
    """Predictions, and the gold spans that were dropped, shifted by one to the right, and relabelled; a tenth in all."""
    rng = Random(seed)
    places = [(d, s) for d, document in enumerate(documents) for s in range(len(document.gold_spans)) if alone(document, s)]
    chosen = rng.sample(places, sum(len(document.gold_spans) for document in documents) // 10)
    kinds = ("dropped", "shifted", "relabelled")
    changed: dict[str, list[Span]] = {kind: [] for kind in kinds}
    fate = {place: kinds[number % 3] for number, place in enumerate(chosen)}
    predictions: list[list[Span]] = []
    for d, document in enumerate(documents):
        predictions.append([])
        for s, span in enumerate(document.gold_spans):
            kind = fate.get((d, s))
            if kind is not None:
                changed[kind].append(span)
            if kind == "shifted":
                predictions[-1].append(Span(span.start + 1, span.end + 1, span.label))
            elif kind == "relabelled":
                predictions[-1].append(Span(span.start, span.end, OTHER[span.label]))
            elif kind is None:
                predictions[-1].append(span)
    return predictions, changed


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tenth_of_bc5cdr_changed_gives_the_counts_of_a_hand(shared, program, tmp_path: Path, seed: int) -> None:
    gold = shared("corpora/bc5cdr/devel.pubtator.txt")
    documents = load_corpus(gold).documents
    predictions, changed = perturbed(documents, seed)
    dropped, shifted, relabelled = (len(changed[kind]) for kind in ("dropped", "shifted", "relabelled"))
    rows = [
        {"id": document.id, "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in spans]}
        for document, spans in zip(documents, predictions, strict=True)
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    metrics = program("score", gold, tmp_path / "p.jsonl", "--json", "--bootstrap", 0).json()["metrics"]
    spans = 9591
    assert dropped + shifted + relabelled == spans // 10
    predicted = spans - dropped
    exact, relaxed = spans - dropped - shifted - relabelled, spans - dropped - relabelled
    for rule, right in (("exact_span_f1", exact), ("relaxed_span_f1", relaxed), ("relaxed_maximum", relaxed)):
        block = metrics[rule]
        counts = block["true_positives"], block["false_positives"], block["false_negatives"]
        assert counts == (right, predicted - right, spans - right), rule
        assert block["f1"] == 2 * right / (spans + predicted)
    for raw, label in (("Chemical", "CHEMICAL"), ("Disease", "DISEASE")):
        gone = {kind: sum(span.label == raw for span in changed[kind]) for kind in changed}
        came = sum(span.label != raw for span in changed["relabelled"])
        support = sum(span.label == raw for document in documents for span in document.gold_spans)
        block = metrics["by_label"][label]
        assert (block["support"], block["predicted"]) == (support, support - gone["dropped"] - gone["relabelled"] + came)
        assert block["exact"]["true_positives"] == support - sum(gone.values())
        assert block["relaxed"]["true_positives"] == support - gone["dropped"] - gone["relabelled"]
    strict, bounds, kind = (metrics["semeval"][scheme] for scheme in ("strict", "exact", "type"))
    assert (strict["correct"], strict["incorrect"], strict["missed"], strict["spurious"]) == (
        exact,
        shifted + relabelled,
        dropped,
        0,
    )
    assert (bounds["correct"], bounds["incorrect"]) == (exact + relabelled, shifted)
    assert (kind["correct"], kind["incorrect"]) == (exact + shifted, relabelled)
    missing = sum(span.end - span.start for span in changed["dropped"]) + shifted
    assert metrics["leakage"]["characters"]["any_label_leaked"] == missing
    wrong = sum(span.end - span.start for span in changed["relabelled"])
    assert metrics["leakage"]["characters"]["leaked"] == missing + wrong
    assert metrics["over_redaction_loss"]["numerator"] == shifted
