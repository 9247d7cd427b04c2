"""Certificates: given only for what was seen, and refused for each reason there is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from openmed_mlx_eval.certificate import certificate, verdict_line
from openmed_mlx_eval.corpora.document import Corpus, Document
from openmed_mlx_eval.scoring.bootstrap import Bootstrap
from openmed_mlx_eval.spans import Span

HOW = Bootstrap(50)


def corpus(labels: str, each: int = 200) -> Corpus:
    """`each` documents, all of them with one span of every label."""
    gold = tuple(Span(3 * at, 3 * at + 2, label) for at, label in enumerate(labels))
    text = "ab " * len(labels)
    return Corpus("c", "openmed", tuple(Document(str(n), text, gold) for n in range(each)), "0" * 64)


def model(labels: str, found: Any, bits: int | None = None) -> Any:
    """found: (document's ordinal, its gold) → spans."""

    def predict(texts: Any, progress: Any) -> Any:
        for ordinal, text in enumerate(texts):
            gold = [Span(3 * at, 3 * at + 2, label) for at, label in enumerate(labels[: len(text) // 3])]
            yield found(ordinal, gold)

    return SimpleNamespace(
        predict=predict,
        entity_labels=tuple(labels),
        artifact=SimpleNamespace(quantization=bits and SimpleNamespace(bits=bits)),
        ops=SimpleNamespace(name="numpy", device="cpu", dtype="float32"),
    )


def everything(ordinal: int, gold: list[Span]) -> list[Span]:
    return gold


def nothing(ordinal: int, gold: list[Span]) -> list[Span]:
    return []


def without(label: str, documents: int) -> Any:
    return lambda ordinal, gold: [span for span in gold if ordinal >= documents or span.label != label]


def certified(child: Any, *, parent: Any = everything, bits: int = 8, labels: str = "XY", each: int = 200, **options: Any) -> Any:
    return certificate(
        model(labels, parent), model(labels, child, bits), corpus(labels, each), how=HOW, label_map="none", **options
    )


def test_a_model_that_loses_nothing_is_certified() -> None:
    found = certified(everything)
    assert found["certified"] and found["limit"] == 0.005
    assert "each of 2 labels" in verdict_line(found)
    assert found["labels"]["X"]["recall"]["change"] == 0 and found["labels"]["X"]["support"] == 200
    assert found["documents_that_differ"] == 0


@pytest.mark.parametrize(
    ("bits", "missed", "each", "passes"),
    [(8, 0, 200, True), (8, 1, 201, True), (8, 1, 200, False), (8, 2, 200, False), (4, 1, 101, True), (4, 1, 100, False)],
)
def test_a_label_must_lose_less_than_its_limit(bits: int, missed: int, each: int, passes: bool) -> None:
    found = certified(without("Y", missed), bits=bits, each=each)
    assert found["certified"] is passes
    assert found["labels"]["X"]["verdict"] == "passed"
    one = found["labels"]["Y"]
    assert one["verdict"] == ("passed" if passes else "failed")
    assert one["recall"]["change"] == pytest.approx(-missed / each)
    if not passes:
        assert f"Y (lost {missed / each:.4f} of recall)" in verdict_line(found)
        interval = one["recall"]["confidence_interval"]
        assert interval["lower"] <= one["recall"]["change"] <= interval["upper"]


def test_a_model_that_finds_nothing_is_not_certified() -> None:
    """OpenMed 3.1.0 passes it: nothing found before, nothing lost."""
    found = certified(nothing, parent=nothing)
    assert not found["certified"]
    assert {one["reason"] for one in found["labels"].values()} == {"never predicted by the parent"}
    assert {one["reason"] for one in certified(nothing)["labels"].values()} == {"never predicted"}


def test_a_label_without_gold_is_not_covered() -> None:
    child, parent = model("XYZ", everything, 8), model("XYZ", everything)
    found = certificate(parent, child, corpus("XY"), how=HOW, label_map="none")
    assert not found["certified"]
    assert found["labels"]["Z"]["verdict"] == "not_covered" and "Z (no gold)" in verdict_line(found)
    named = certificate(parent, child, corpus("XY"), how=HOW, label_map="none", required=["X", "Y"])
    assert named["certified"] and list(named["labels"]) == ["X", "Y"]


def test_without_labels_or_documents_nothing_is_certified() -> None:
    assert "there is no label" in verdict_line(certified(everything, required=[]))
    assert not certified(everything, required=[])["certified"]
    assert not certified(everything, each=0)["certified"]
