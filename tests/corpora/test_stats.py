"""Counts: the sweep against the definition, and the numbers that add up."""

from __future__ import annotations

import json
import time

from corpus_files import documents
from hypothesis import given

from openmed_mlx_eval.corpora import Corpus, Document
from openmed_mlx_eval.corpora.stats import CorpusStats, overlaps_of
from openmed_mlx_eval.spans import Span


def corpus(made: list[Document]) -> Corpus:
    return Corpus("demo", "openmed", tuple(made), "0" * 64)


@given(documents())
def test_overlaps_are_those_of_the_definition(made: list[Document]) -> None:
    for document in made:
        spans = list(document.gold_spans)
        others = [[other for j, other in enumerate(spans) if i != j] for i in range(len(spans))]
        overlapping = sum(any(span.overlap(other) for other in rest) for span, rest in zip(spans, others, strict=True))
        unique = {(span.start, span.end) for span in spans}
        inside = sum(
            any((a, b) != (span.start, span.end) and a <= span.start and span.end <= b for a, b in unique) for span in spans
        )
        # Of equal spans that lie in no larger one, all but one are nested.
        tops = [(s.start, s.end) for s in spans if not any((a, b) != (s.start, s.end) and a <= s.start and s.end <= b
                                                            for a, b in unique)]  # fmt: skip
        assert overlaps_of(spans) == (overlapping, inside + len(tops) - len(set(tops)))


@given(documents())
def test_counts_add_up_and_do_not_depend_on_order(made: list[Document]) -> None:
    stats = CorpusStats.of(corpus(made))
    assert stats.spans == sum(stats.labels.values())
    assert stats.documents == sum(stats.languages.values()) == len(made)
    assert stats.characters == sum(len(document.text) for document in made)
    assert CorpusStats.of(corpus(made[::-1])) == stats
    assert json.loads(json.dumps(stats.to_json())) == stats.to_json()
    assert not any(document.text in json.dumps(stats.to_json()) for document in made if len(document.text) > 8)


def test_percentiles_are_nearest_ranks() -> None:
    stats = CorpusStats.of(corpus([Document(str(n), "x" * n) for n in range(1, 201)]))
    assert stats.document_characters == {"p50": 100, "p90": 180, "p99": 198, "max": 200}
    assert stats.span_characters == {}


def test_overlaps_of_many_spans_take_no_quadratic_time() -> None:
    spans = [Span(n, n + 50_000, "X") for n in range(50_000)]
    begun = time.perf_counter()
    assert overlaps_of(spans) == (50_000, 0)
    assert time.perf_counter() - begun < 60  # no hang; speed is for benchmarks
