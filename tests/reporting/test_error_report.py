"""errors.json and errors.md: their schema, what they hold however odd the labels, and how small they stay."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from openmed_mlx_eval.corpora import Document, load_corpus
from openmed_mlx_eval.error_analysis import analysed
from openmed_mlx_eval.reporting.error_report import ErrorAnalysisReport, errors_schema
from openmed_mlx_eval.scoring.error_examples import ExampleOptions
from openmed_mlx_eval.spans import Span

VALIDATOR = Draft202012Validator(errors_schema())
CORPUS = {"name": "mine", "format": "openmed", "sha256": "0" * 64}
TEXT = "Quill saw Bo on 3 May in ward seven"


def report_of(documents: list[Document], predictions: list[list[Span]], **options: int) -> ErrorAnalysisReport:
    counted = {"documents": len(documents), "documents_scored": len(documents)}
    return analysed(
        documents,
        predictions,
        suite="a suite",
        model_name="tiny",
        corpus={**CORPUS, **counted, "spans": 7},
        options=ExampleOptions(**options),
    )


def of(gold: list[Span], predicted: list[Span]) -> ErrorAnalysisReport:
    return report_of([Document("a", TEXT, tuple(gold))], [predicted])


labels = st.sampled_from(["A", "missed", "spurious", "(missed)", "all", "a|b`<i>\n", "\x1b[31m", "\ud83e", "%"])
places = st.tuples(st.integers(0, 30), st.integers(1, 5))
gold = st.lists(st.builds(lambda place, label: Span(place[0], sum(place), label), places, labels), max_size=5)
predicted = st.lists(st.builds(Span, st.integers(-2, 40), st.integers(-2, 40), labels), max_size=5)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(errors_schema())


@given(st.lists(st.tuples(gold, predicted), max_size=3))
def test_any_report_is_valid_and_adds_up(sides) -> None:
    documents = [Document(str(number), TEXT, tuple(spans)) for number, (spans, _) in enumerate(sides)]
    report = report_of(documents, [spans for _, spans in sides])
    written = report.to_dict()
    VALIDATOR.validate(written)
    assert json.loads(report.to_json()) == written
    matrix, buckets = written["confusion_matrix"], written["buckets"]
    for label, block in written["by_label"].items():
        assert sum(matrix.get(label, {}).values()) == block["support"]
        assert sum(row.get(label, 0) for row in matrix.values()) == block["predicted"]
        assert matrix.get(label, {}).get(label, 0) == block["exact"] + block["boundary"]
        assert matrix.get(label, {}).get(buckets["missed"], 0) == block["missed"]
        assert matrix.get(buckets["spurious"], {}).get(label, 0) == block["spurious"]
    assert not set(buckets.values()) & written["by_label"].keys()
    assert TEXT not in report.to_json() + report.to_markdown()
    assert "\x1b" not in report.to_markdown()


def test_a_cent_of_change_is_noticed() -> None:
    good = of([Span(0, 5, "A")], [Span(0, 4, "A"), Span(10, 12, "B")]).to_dict()
    VALIDATOR.validate(good)
    for path, value in (
        (("text",), "x"),
        (("schema_version",), 2),
        (("corpus", "path"), "x"),
        (("corpus", "sha256"), "x"),
        (("config", "hash_key"), "secret"),
        (("overall", "exact"), -1),
        (("overall", "shifts", "start"), {"1": 1}),
        (("by_label", "A", "cause", "kind"), "luck"),
        (("by_label", "A", "cause"), {}),
        (("buckets", "missed"), "text"),
        (("confusion_matrix", "A", "A"), 0),
        (("examples", "columns", 0), "text"),
        (("examples", "rows", 0, 0), "exact"),
        (("examples", "rows", 0, 8), "0" * 64),
        (("examples", "rows", 0), good["examples"]["rows"][0][:-1]),
        (("examples", "rows", 0), [*good["examples"]["rows"][0], "text"]),
    ):
        changed = json.loads(json.dumps(good))
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert list(VALIDATOR.iter_errors(changed)), path
    for key in good:
        assert list(VALIDATOR.iter_errors({k: v for k, v in good.items() if k != key})), key


def test_the_matrix_has_no_zeros_and_its_buckets_last() -> None:
    report = of([Span(0, 5, "B"), Span(10, 12, "A")], [Span(0, 5, "B"), Span(16, 21, "A"), Span(9, 12, "C")])
    assert report.confusion_matrix == {"A": {"C": 1}, "B": {"B": 1}, "spurious": {"A": 1}}
    assert list(report.confusion_matrix) == ["A", "B", "spurious"]
    assert of([], []).confusion_matrix == {}


def test_a_label_may_be_called_as_a_bucket_is() -> None:
    report = of([Span(0, 5, "missed"), Span(10, 12, "A")], [Span(16, 21, "missed")])
    assert report.buckets == {"missed": "(missed)", "spurious": "spurious"}
    assert report.confusion_matrix == {"A": {"(missed)": 1}, "missed": {"(missed)": 1}, "spurious": {"missed": 1}}


def test_what_openmed_users_look_for() -> None:
    report = of([Span(0, 5, "A"), Span(10, 12, "A"), Span(16, 21, "A")], [Span(0, 5, "B"), Span(16, 20, "A"), Span(25, 29, "C")])
    assert report.fixture_count == 1
    assert [(e.kind, e.start) for e in report.false_negatives["A"]] == [("label_confusion", 0), ("missed", 10)]
    assert [(e.kind, e.start) for e in report.false_positives["C"]] == [("spurious", 25)]


def test_markdown_says_it_in_words() -> None:
    shown = of([Span(0, 5, "A|B"), Span(10, 12, "A|B")], [Span(0, 4, "A|B"), Span(16, 21, "D_E")]).to_markdown()
    assert "# Errors: a suite\n" in shown
    assert "| A\\|B | 2 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 0 |" in shown
    assert "- **A\\|B** – Boundary: 67 % of its errors" in shown
    assert "| D_E | spurious | 1 | 16–21 | – | 5 | Latin | yes | 5 | – |  |" in shown
    empty = of([], []).to_markdown()
    assert "|" in empty and "##" not in empty


def test_write_json_makes_its_folder(tmp_path: Path) -> None:
    report = of([Span(0, 5, "A")], [])
    assert report.write_json(tmp_path / "new" / "e.json").read_text("utf-8") == report.to_json()


def test_rows_of_tables_stand_on_one_line() -> None:
    lines = of([Span(0, 5, "A")], [Span(10, 12, "B")]).to_json().splitlines()
    assert sum(line.strip().startswith('["') for line in lines) == 2
    assert any(line.startswith(' "examples": {') for line in lines)


ANATEM = [
    "MULTI_TISSUE_STRUCTURE", "ANATOMICAL_SYSTEM", "CANCER", "CELL", "CELLULAR_COMPONENT", "DEVELOPING_ANATOMICAL_STRUCTURE",
    "IMMATERIAL_ANATOMICAL_ENTITY", "ORGAN", "ORGANISM_SUBDIVISION", "ORGANISM_SUBSTANCE", "PATHOLOGICAL_FORMATION", "TISSUE",
]  # fmt: skip


@pytest.mark.parametrize("names", [1, 12])
@pytest.mark.parametrize("changes", ["eeeeebclms", "bclms"], ids=["some wrong", "nothing right"])
def test_errors_of_anatem_stay_small(shared, changes: str, names: int) -> None:
    """Errors of every kind, and all examples there may be, also with the twelve labels of the whole corpus: under 64 KB."""
    rng = random.Random(11)
    labels = ANATEM[:names]
    documents, predictions = [], []
    for document in load_corpus(shared("corpora/anatem/devel.tsv"), "conll"):
        gold = tuple(Span(span.start, span.end, rng.choice(labels)) for span in document.gold_spans)
        documents.append(Document(document.id, document.text, gold))
        predictions.append([made for span in gold for made in perturbed(span, rng.choice(changes), rng.choice([*labels, "X"]))])
    report = report_of(documents, predictions)
    VALIDATOR.validate(report.to_dict())
    assert len(report.examples) >= 4 * 5 * names
    assert len(report.to_json().encode()) < 64 * 1024


def perturbed(span: Span, change: str, label: str) -> list[Span]:
    """A prediction with other bounds, another label, no prediction, one over nothing, two pieces; else the span itself."""
    return {
        "b": [Span(max(span.start - 1, 0), span.end, span.label)],
        "c": [Span(span.start, span.end, label)],
        "m": [],
        "l": [Span(span.end, span.end + 1, label)],
        "s": [Span(span.start, span.start + 1, span.label), Span(span.start + 1, span.end, span.label)],
    }.get(change, [span])
