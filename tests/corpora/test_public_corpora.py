"""The public corpora beside the repository: the counts that their README gives, and time in proportion to size."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.corpora.stats import CorpusStats

COUNTS = [
    ("anatem/devel.tsv", "conll", 2118, 2139, 1),
    ("anatem/train-first5.tsv", "conll", 5, 4, 1),
    ("anatem/brat-devel", "brat", 202, 2139, 12),
    ("bc5cdr/devel.pubtator.txt", "pubtator", 500, 9591, 2),
    ("ncbi-disease/brat-devel", "brat", 100, 787, 4),
    ("meddocan/dev/brat", "brat", 250, 5801, 22),
    ("meddocan/dev/xml", "i2b2", 250, 5801, 22),
    ("presidio/generated_small.json", "openmed", 100, 173, 13),
]
SharedPath = Callable[[str], Path]


@pytest.mark.parametrize(("path", "format", "documents", "spans", "labels"), COUNTS)
def test_counts(shared: SharedPath, path: str, format: str, documents: int, spans: int, labels: int) -> None:
    stats = CorpusStats.of(load_corpus(shared("corpora/" + path), keep_mismatched=True))
    assert (stats.format, stats.documents, stats.spans, len(stats.labels)) == (format, documents, spans, labels)
    assert stats.skipped == 0


@pytest.mark.parametrize("path", [row[0] for row in COUNTS if "presidio" not in row[0]])
def test_gold_stands_where_it_says(shared: SharedPath, path: str) -> None:
    corpus = load_corpus(shared("corpora/" + path))
    assert not corpus.mismatched
    edges = [document.text[p] for document in corpus for s in document.gold_spans for p in (s.start, s.end - 1)]
    assert not any(character.isspace() for character in edges)


def test_the_one_presidio_span_whose_offsets_are_off_by_one_is_found(shared: SharedPath) -> None:
    corpus = load_corpus(shared("corpora/presidio/generated_small.json"), skip_bad=True)
    (error,) = corpus.skipped
    assert error.where == "openmed, file 1, document 57, span 1, offsets 21–26"
    assert "count from 1" in error.remedy


def test_two_formats_of_meddocan_are_one_corpus(shared: SharedPath) -> None:
    brat, xml = (load_corpus(shared("corpora/meddocan/dev/" + name)) for name in ("brat", "xml"))
    for one, other in zip(brat, xml, strict=True):
        assert (one.id, one.text, sorted(one.gold_spans)) == (other.id, other.text, sorted(other.gold_spans))


def test_bc5cdr_is_read_in_well_under_a_second(shared: SharedPath) -> None:
    path = shared("corpora/bc5cdr/devel.pubtator.txt")
    begun = time.perf_counter()
    load_corpus(path)
    assert time.perf_counter() - begun < 60  # no hang; speed is for benchmarks
