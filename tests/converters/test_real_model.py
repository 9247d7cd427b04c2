"""A trained model, quantised: it still finds what its parent finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.runtime.classifier import TokenClassifier


@pytest.mark.parametrize(("bits", "least"), [(8, 0.98), (4, 0.80)])
def test_quantised_model_finds_its_parents_spans(shared: Callable[[str], Path], tmp_path: Path, bits: int, least: float) -> None:
    source = shared("models/anatem-minilm")
    texts = [document.text for document in islice(load_corpus(shared("corpora/anatem/devel.tsv")).documents, 400)]
    convert(source, tmp_path / "out", Options(bits=bits))
    found = []
    for folder in (source, tmp_path / "out"):
        spans = TokenClassifier.load(folder, engine="numpy").predict(texts)
        found.append({(number, s.start, s.end, s.label) for number, row in enumerate(spans) for s in row})
    parent, child = found
    assert len(parent) > 100
    agreement = 2 * len(parent & child) / (len(parent) + len(child))
    assert agreement >= least
