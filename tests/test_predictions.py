"""Predictions files: which rows belong to which documents, and what no row may do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import Document, load_corpus
from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError
from openmed_mlx_eval.evaluation import evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.predictions import Predictions, load_predictions, prediction_lines
from openmed_mlx_eval.spans import Span

CANARY = "QZX-7781"
DOCUMENTS = (Document("a", "Quill saw Bo."), Document("b", "Ada"), Document("c", "no one"))
ONE = {"start": 0, "end": 3, "label": "NAME", "score": 0.5}
SPAN = Span(0, 3, "NAME", 0.5)

Load = Callable[..., Predictions]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def call(content: Any, name: str = "predictions.jsonl", **options: Any) -> Predictions:
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_predictions(path, DOCUMENTS, **options)

    return call


def codes(predictions: Predictions) -> dict[str, int]:
    return {warning.code: warning.count for warning in predictions.warnings}


@pytest.mark.parametrize(
    "rows",
    [
        [{"document": 1, "spans": [ONE]}, {"document": 0, "spans": []}, {"document": 2, "spans": None}],
        [{"id": "b", "predictions": [ONE]}, {"id": "a", "spans": []}, {"id": "c", "spans": []}],
        [{"fixture_id": "b", "id": None, "entities": [ONE]}, {"id": "a", "spans": []}, {"id": "c", "spans": []}],
        [{"spans": []}, {"spans": [ONE]}, {"spans": []}],
        [{"spans": []}, {"spans": [{"start_position": 0, "end_position": 3, "entity_type": "NAME", "confidence": 0.5}]}, {"spans": []}],
    ],
)  # fmt: skip
def test_rows_find_their_documents(load: Load, rows: list) -> None:
    for content, name in (
        (rows, "p.jsonl"),
        (json.dumps(rows), "p.json"),
        (json.dumps(rows, indent=2), "p.json"),
        (json.dumps({"predictions": rows}), "p.json"),
        ("\ufeff" + "\r\n".join(map(json.dumps, rows)), "p.ndjson"),
    ):
        predictions = load(content, name)
        assert (predictions.spans, predictions.warnings) == (((), (SPAN,), ()), ())


def test_a_missing_document_counts_as_missed_and_is_said(load: Load) -> None:
    predictions = load([{"document": 1, "spans": [ONE]}])
    assert (predictions.spans, codes(predictions)) == (((), (SPAN,), ()), {"missing_predictions": 2})


def test_rows_of_documents_that_gold_does_not_have_are_said(load: Load) -> None:
    rows = [{"id": name, "spans": [ONE]} for name in ("a", "b", "c", CANARY)] + [{"document": 3, "spans": []}]
    predictions = load(rows)
    assert codes(predictions) == {"unknown_documents": 2}
    assert CANARY not in str(predictions.warnings)


def test_a_document_twice_is_refused_by_the_row(load: Load) -> None:
    for rows in (
        [{"id": "b", "spans": []}, {"id": "b", "spans": []}],
        [{"document": 1, "spans": []}, {"id": "b", "spans": []}],
    ):
        with pytest.raises(InputError, match="document 2: a second row for one document"):
            load(rows)


def test_rows_without_names_must_be_as_many_as_documents(load: Load) -> None:
    with pytest.raises(InputError, match="2 rows without ids for 3 documents"):
        load([{"spans": []}, {"spans": []}])


def test_the_documents_beyond_a_limit_are_not_missed(load: Load) -> None:
    for rows in ([{"id": "b", "spans": [ONE]}, {"id": "a", "spans": []}], [{"spans": []}, {"spans": [ONE]}]):
        predictions = load(rows, scored=2)
        assert (predictions.spans, predictions.warnings) == (((), (SPAN,)), ())
    rows = [{"id": name, "spans": [{**ONE, "score": 7}]} for name in "abc"]
    assert codes(load(rows, scored=1)) == {"scores_out_of_range": 1}


def test_an_empty_file_has_no_predictions(load: Load) -> None:
    for content in ("", "[]", "\n\n"):
        assert codes(load(content, "p.json")) == {"missing_predictions": 3}


BAD_OFFSETS = [
    ({"start": 0, "end": 99}, "past_end"),
    ({"start": -1, "end": 2}, "negative_offset"),
    ({"start": 3, "end": 1}, "inverted"),
    ({"start": 2, "end": 2}, "empty"),
    ({"start": 0.0, "end": 2.0}, "not_an_offset"),
    ({"start": CANARY, "end": 2}, "not_an_offset"),
    ({"start": None, "end": 2}, "not_an_offset"),
    ({"end": 2}, "not_an_offset"),
    ({"start": [CANARY], "end": {CANARY: 1}}, "not_an_offset"),
    ({"start": True, "end": 2}, "not_an_offset"),
    ({"start": 0, "end": 10**400}, "past_end"),
]


@pytest.mark.parametrize(("offsets", "reason"), BAD_OFFSETS)
def test_a_prediction_that_cannot_stand_is_a_false_positive(load: Load, tmp_path: Path, offsets: dict, reason: str) -> None:
    rows = [{"id": "a", "spans": [{"label": "NAME", **offsets}, ONE]}, {"id": "b", "spans": []}, {"id": "c", "spans": []}]
    made = load(rows)
    evaluation = evaluate(DOCUMENTS, made.spans, LabelMap())
    assert evaluation.metrics["invalid_predictions"] == {reason: 1}
    assert evaluation.metrics["exact_span_f1"]["false_positives"] == 2
    lines = "".join(prediction_lines(evaluation.predictions))
    assert CANARY not in lines
    again = load(lines)
    assert evaluate(DOCUMENTS, again.spans, LabelMap()).metrics == evaluation.metrics


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-1", "1.5", "1e999", '"high"', "true", "1" + "0" * 400])
def test_a_score_that_is_none_is_said_and_written_as_null(load: Load, score: str) -> None:
    row = '{"id": "%s", "spans": [{"start": 0, "end": 3, "label": "NAME", "score": %s}]}\n'
    made = load("".join(row % (name, score) for name in "abc"))
    assert codes(made) == {"scores_out_of_range": 3}
    for line in prediction_lines(made.spans):
        written = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["spans"][0]["score"]
        assert written is None or math.isfinite(written)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"id": "a", "spans": []}, [CANARY]], "document 2: a row that is no object"),
        ([CANARY], "document 1: a row that is no object"),
        ([{"id": CANARY}], "document 1: a row without a list of spans"),
        ([{"id": CANARY, "spans": CANARY}], "document 1: a row without a list of spans"),
        ([{"id": [CANARY], "spans": []}], 'document 1: "id" is no string'),
        ([{"document": CANARY, "spans": []}], 'document 1: "document" is no ordinal'),
        ([{"document": -1, "spans": []}], 'document 1: "document" is no ordinal'),
        ([{"document": True, "spans": []}], 'document 1: "document" is no ordinal'),
        ([{"id": "a", "spans": [ONE, CANARY]}], "document 1, span 2: a span that is no object with a label"),
        ([{"id": "a", "spans": [{"start": 0, "end": 1}]}], "document 1, span 1: a span that is no object with a label"),
        ([{"id": "a", "spans": [{"start": 0, "end": 1, "label": 7}]}], "document 1, span 1: a span"),
        (f'{{"id": "a", "spans": []}}\n{{"id": "{CANARY}', "line 2: not valid JSON"),
        (f'[\n{{"id": "a",\n "spans": "{CANARY}', "line 3: not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (b'{"id": "\xff%s"}' % CANARY.encode(), "not UTF-8 at byte 8"),
        (f'{{"id": "{CANARY}"}}'.encode("utf-16"), "UTF-16, not UTF-8"),
    ],
)
def test_a_file_that_is_none_is_named_by_place_alone(load: Load, content: Any, says: str) -> None:
    with pytest.raises(InputError) as raised:
        load(content, f"{CANARY}.json" if isinstance(content, str) else f"{CANARY}.jsonl")
    assert says in str(raised.value)
    assert CANARY not in str(raised.value)
    assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for name in (f"{CANARY}.jsonl", CANARY):
        with pytest.raises(UsageError, match="no such file") as raised:
            load_predictions(tmp_path / name, DOCUMENTS)
        assert CANARY not in str(raised.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "document", "spans", "predictions", "fixtures", "start", "end", "label", "score"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_text(json.dumps(value))
    try:
        made = load_predictions(path, DOCUMENTS)
    except EvaluationError:
        return
    evaluation = evaluate(DOCUMENTS, made.spans, LabelMap())
    assert "NaN" not in "".join(prediction_lines(evaluation.predictions))


PAIRS = [
    (one, other)
    for one in small_corpora.FORMATS
    for other in small_corpora.FORMATS
    if (one == "conll") == (other == "conll")  # the sentences of a CoNLL file have no ids that another format could repeat
]


@pytest.mark.parametrize(("gold_format", "format"), PAIRS)
def test_any_corpus_format_is_a_predictions_file(tmp_path: Path, gold_format: str, format: str) -> None:
    gold = load_corpus(small_corpora.write(tmp_path / "gold", gold_format))
    predictions = load_predictions(small_corpora.write(tmp_path / "predictions", format), gold.documents)
    assert not predictions.warnings
    assert evaluate(gold.documents, predictions.spans, LabelMap()).metrics["exact_span_f1"]["f1"] == 1.0


def test_predictions_on_another_text_are_said(tmp_path: Path) -> None:
    gold = load_corpus(small_corpora.write(tmp_path / "gold", "brat"))
    changed = [(name, " " + text, ()) for name, text, _ in small_corpora.ENTRIES]
    predictions = load_predictions(small_corpora.write(tmp_path / "other", "brat", changed), gold.documents)
    assert codes(predictions) == {"different_text": 4}


def test_gold_whose_labels_have_two_names_agrees_with_itself(tmp_path: Path) -> None:
    span = {"start": 0, "end": 3, "label": "given name", "canonical_label": "FIRST_NAME"}
    path = small_corpora.write_rows(tmp_path / "gold.jsonl", [{"id": "a", "text": "Ada", "gold_spans": [span]}])
    gold = load_corpus(path)
    metrics = evaluate(gold.documents, load_predictions(path, gold.documents).spans, LabelMap.verbatim()).metrics
    assert metrics["exact_span_f1"]["f1"] == 1.0


def test_any_file_can_be_said_to_hold_predictions(load: Load) -> None:
    rows = json.dumps([{"id": name, "spans": [ONE]} for name in "abc"])
    assert load(rows, "predictions.out", format="predictions").spans == ((SPAN,), (SPAN,), (SPAN,))
