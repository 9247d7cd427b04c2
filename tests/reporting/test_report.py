"""report.json: its schema, and what it holds however little there was to score."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from openmed_mlx_eval.corpora import FORMATS, Corpus, Document
from openmed_mlx_eval.document_scores import document_lines, load_document_scores
from openmed_mlx_eval.errors import InputError
from openmed_mlx_eval.evaluation import Warning, evaluate
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.reporting.environment import environment
from openmed_mlx_eval.reporting.error_report import errors_schema
from openmed_mlx_eval.reporting.report import build_report, now, schema, to_json
from openmed_mlx_eval.reporting.sections import rate, sections
from openmed_mlx_eval.scoring.bootstrap import Bootstrap
from openmed_mlx_eval.scoring.bundle import Case, Options, metrics, score_case
from openmed_mlx_eval.scoring.uncertainty import count_matrix
from openmed_mlx_eval.spans import Span

VALIDATOR = Draft202012Validator(schema())
MODEL = {"name": "predictions", "family": None, "parameters": None, "dtype": None, "quantization": None, "files": {}}
CONFIG = {"label_map": None, "limit": None, "skip_bad": False, "discontinuous": "hull"}


def report_of(documents: list[Document], predictions: list[list[Span]], **more) -> dict:
    return build_report(
        suite=None,
        model=MODEL,
        corpus=Corpus("mine", "openmed", tuple(documents), "0" * 64),
        evaluation=evaluate(documents, predictions, LabelMap.verbatim()),
        environment=environment(),
        config=CONFIG,
        timing={"generated_at": now(), "total_s": 0.5},
        **more,
    )


ONE = report_of([Document("a", "Quill", (Span(0, 5, "NAME"),))], [[Span(0, 5, "NAME", 0.5), Span(1, 2, "DATE")]])

spans = st.lists(
    st.builds(
        Span, st.integers(-2, 9), st.integers(-2, 9), st.sampled_from(["NAME", "DATE", "odd one"]), st.none() | st.floats()
    ),
    max_size=4,
)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


@given(st.lists(spans, max_size=3))
def test_any_report_is_valid_and_json(predictions: list[list[Span]]) -> None:
    gold = (Span(0, 2, "NAME"), Span(3, 8, "DATE"))
    documents = [Document(str(number), "x" * 8, gold[: number % 3]) for number in range(len(predictions))]
    report = report_of(documents, predictions, warnings=[Warning("a_code", 1, "words")])
    VALIDATOR.validate(report)
    assert json.loads(to_json(report)) == json.loads(json.dumps(report))
    assert report["corpus"]["spans"] == sum(report["corpus"]["labels"].values()) == report["metrics"]["support"]


@given(spans, spans)
def test_every_block_of_the_bundle_is_valid(one: list[Span], other: list[Span]) -> None:
    gold = (Span(0, 2, "NAME"), Span(3, 8, "DATE"))
    scores = [score_case(Case(gold, predicted, text="x" * 8), number) for number, predicted in enumerate((one, other), start=1)]
    block = metrics(scores, Options(bootstrap=Bootstrap(10)))
    VALIDATOR.validate({**ONE, "metrics": json.loads(json.dumps(block))})


def test_a_cent_of_change_is_noticed() -> None:
    """The schema refuses what it is there to refuse."""
    for path, value in (
        (("text",), "x"),
        (("schema_version",), 2),
        (("corpus", "path"), "x"),
        (("corpus", "sha256"), "x"),
        (("corpus", "labels", "NAME"), -1),
        (("metrics", "exact_span_f1", "f1"), 1.5),
        (("metrics", "exact_span_f1", "true_positives"), 0.5),
        (("metrics", "by_label", "NAME", "exact"), {}),
        (("metrics", "invalid_predictions", "odd"), 1),
        (("metrics", "macro", "exact", "labels"), None),
        (("metrics", "leakage"), {"overall": 0.5}),
        (("config", "label_map"), "a/path.json"),
        (("config", "labels", "met"), {"A": ["a"]}),
        (("environment", "device"), "auto"),
        (("timing", "total_s"), -1),
        (("warnings",), [{"code": "a", "count": 1, "message": "m", "text": "x"}]),
        (("warnings",), [{"code": "a", "count": 0, "message": "m"}]),
        (("model", "files"), {"config.json": "00"}),
    ):
        changed = json.loads(json.dumps(ONE))
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert list(VALIDATOR.iter_errors(changed)), path
    for key in ONE:
        assert list(VALIDATOR.iter_errors({k: v for k, v in ONE.items() if k != key})), key


def test_nan_is_a_fault_and_no_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"a": float("nan")})


def test_rows_for_people() -> None:
    assert rate(None) == "–"
    shown = {section.title: section for section in sections(ONE["metrics"])}
    assert shown["Scores"].rows[0] == ["exact", "0.5000", "1.0000", "0.6667", "1", "1", "0"]
    assert shown["Labels (exact)"].rows == [
        ["NAME", "1", "1", "1.0000", "1.0000", "1.0000", "1.0000"],
        ["DATE", "0", "1", "0.0000", "–", "0.0000", "0.0000"],
    ]
    assert shown["Coverage"].rows[3] == ["documents with a leak", "0.0000", "0 of 1 documents with gold"]
    assert not [title for title in shown if title.startswith("By ")]  # one language, one script: nothing to compare


def test_intervals_and_slices_are_shown_where_they_were_made() -> None:
    documents = [Document(str(n), "Quill saw Bo", (Span(0, 5, "NAME"),), metadata={"ward": "ab"[n % 2]}) for n in range(4)]
    predictions = [[Span(0, 5, "NAME", 0.9)], [], [Span(0, 5, "NAME", 0.2)], [Span(0, 5, "NAME", 0.7)]]
    options = Options(slice_by=("ward",), bootstrap=Bootstrap(50), thresholds={"*": 0.5})
    metrics = evaluate(documents, predictions, LabelMap(), options=options).metrics
    shown = {section.title: section for section in sections(metrics)}
    assert shown["Scores"].columns[-1] == "F1, 95 %"
    low, high = shown["Scores"].rows[0][-1].rstrip("?").split("–")
    assert float(low) <= 6 / 7 <= float(high)
    assert [row[:4] for row in shown["By ward"].rows] == [["a", "2", "2", "1.0000"], ["b (worst)", "2", "2", "0.6667"]]
    assert shown["Abstention"].rows[0] == ["declined", "0.3333", "1"]
    assert all(len(row) == len(section.columns) for section in shown.values() for row in section.rows)


def test_the_file_of_document_scores_holds_every_number_of_the_report(tmp_path) -> None:
    """Read back, it gives the same intervals, so the same count of everything in each document."""
    documents = [Document(str(n), "Quill saw Bo", (Span(0, 5, "NAME"), Span(10, 12, "DATE"))) for n in range(5)]
    predictions = [[Span(0, n + 1, "NAME", 0.9), Span(3, 90, "DATE")] for n in range(5)]
    scores = evaluate(documents, predictions, LabelMap()).scores
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(document_lines(scores)), "utf-8")
    rows, labels = load_document_scores(path), ["DATE", "PERSON"]
    written = [(score.spans, score.semeval, score.coverage, score.critical) for score in scores]
    assert (count_matrix(rows, labels) == count_matrix(written, labels)).all()
    assert [row[0] for row in rows] == [score.spans for score in scores]


@given(
    st.binary(max_size=60)
    | st.sampled_from([b'{"document":0,"length":1,"labels":{"A":{"support":-1}}}', b'{"document":1,"length":1}'])
)
def test_a_file_that_is_no_document_scores_is_refused_without_quoting_it(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("scores") / "documents.jsonl"
    path.write_bytes(data + b"}")
    with pytest.raises(InputError, match=r"^documents\.jsonl"):
        load_document_scores(path)


def test_the_environment_names_no_one() -> None:
    import getpass
    import platform

    found = environment("numpy", "cpu", "float32")
    assert (found["engine"], found["device"], found["dtype"]) == ("numpy", "cpu", "float32")
    values = {str(value) for value in found.values()}
    assert not values & {platform.node(), getpass.getuser()}
    assert not any("/" in value and value.startswith("/") for value in values)


@pytest.mark.parametrize("of_file", [schema, errors_schema])
def test_the_schemas_of_reports_know_every_format(of_file: Callable[[], dict[str, Any]]) -> None:
    """They knew the first five alone, so that a report of any other corpus did not keep to its schema."""
    whole = of_file()
    corpus = whole["$defs"].get("corpus") or whole["properties"]["corpus"]
    assert set(FORMATS) <= set(corpus["properties"]["format"]["enum"])
