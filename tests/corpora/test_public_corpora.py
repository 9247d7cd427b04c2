"""The public corpora beside the repository: the counts that their README gives, and time in proportion to size."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus_files import load
from exported_corpora import EXPORTS, write

from openmed_mlx_eval.corpora import Corpus, load_corpus
from openmed_mlx_eval.corpora.stats import CorpusStats
from openmed_mlx_eval.corpora.writers import WRITERS

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


def texts_and_spans(corpus: Corpus) -> list[tuple[str, list[tuple[int, int, str]]]]:
    return sorted((d.text, sorted((s.start, s.end, s.label) for s in d.gold_spans)) for d in corpus)


FOLDERS = ("anatem/brat-devel", "ncbi-disease/brat-devel", "meddocan/dev/xml")
SENTENCES = ("anatem/devel.tsv", "ncbi-disease/brat-devel")
ROUND_TRIPS = [
    (writer, path, documents, spans)
    for path, _, documents, spans, _ in COUNTS
    for writer in WRITERS
    if path in {"brat": FOLDERS, "conll": SENTENCES}.get(writer, path)
]


@pytest.mark.parametrize(("writer", "path", "documents", "spans"), ROUND_TRIPS)
def test_counts_after_a_round_trip(shared: SharedPath, writer: str, path: str, documents: int, spans: int) -> None:
    corpus = load_corpus(shared("corpora/" + path), keep_mismatched=True)
    written = WRITERS[writer](corpus.documents)
    again = load(written.files if writer == "brat" else written.files[""], writer)
    assert len(again) == documents
    assert sum(len(document.gold_spans) for document in again) == spans - sum(written.lost.values())
    if writer == "conll":
        assert sum(written.lost.values()) < spans / 50
    else:
        assert (written.lost, texts_and_spans(again)) == ({}, texts_and_spans(corpus))


def test_anatems_sentences_as_rows_of_tokens(shared: SharedPath, tmp_path: Path) -> None:
    through(load_corpus(shared("corpora/anatem/devel.tsv")), "huggingface", tmp_path, 2118, 2139)


@pytest.mark.parametrize("export", ["webanno", "i2b2-2010"])
def test_anatems_first_sentences_as_folders_of_files(shared: SharedPath, tmp_path: Path, export: str) -> None:
    corpus = load_corpus(shared("corpora/anatem/devel.tsv"), limit=200)
    through(corpus, export, tmp_path, 200, sum(len(document.gold_spans) for document in corpus))


HOLDS_OVERLAPS = [name for name, (format, _, _) in EXPORTS.items() if format in ("doccano", "prodigy", "label-studio", "bioc")]


@pytest.mark.parametrize("export", HOLDS_OVERLAPS)
def test_bc5cdr_through_formats_of_offsets(shared: SharedPath, tmp_path: Path, export: str) -> None:
    through(load_corpus(shared("corpora/bc5cdr/devel.pubtator.txt")), export, tmp_path, 500, 9591)


def test_meddocan_through_inline_phi(shared: SharedPath, tmp_path: Path) -> None:
    through(load_corpus(shared("corpora/meddocan/dev/brat")), "i2b2-2006", tmp_path, 250, 5801)


def through(corpus: Corpus, export: str, folder: Path, documents: int, spans: int) -> None:
    entries = [(d.id, d.text, sorted((s.start, s.end, s.label) for s in d.gold_spans)) for d in corpus]
    again = load_corpus(write(folder, export, entries), EXPORTS[export][0])
    assert (len(again), sum(len(d.gold_spans) for d in again)) == (documents, spans)
    assert texts_and_spans(again) == texts_and_spans(corpus)
