"""A run folder read back: as it was scored, beside its own corpus alone, and never quoted."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import small_corpora
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError
from openmed_mlx_eval.recorded import load_recorded
from openmed_mlx_eval.scoring.scorecard import score_document, scorecard, total

SECRET = "QZX-7781"


def scored_again(folder: Path, corpus: Path) -> dict[str, Any]:
    run = load_recorded(folder, corpus)
    sides = zip(run.documents, run.predictions, strict=True)
    return scorecard(total(score_document(document.gold_spans, spans, len(document.text)) for document, spans in sides))


@pytest.fixture
def run(program, tiny_model: Path, tmp_path: Path):
    """`run("run" | "score", *options)`: a folder that this program wrote, and its corpus."""

    def make(command: str = "run", *options: object, format: str = "openmed") -> tuple[Path, Path]:
        corpus = small_corpora.write(tmp_path / "corpora", format)
        out = tmp_path / "out"
        where = ["--model", tiny_model, "--corpus", corpus] if command == "run" else [corpus, corpus]
        assert program(command, *where, "--output", out, *options).code == 0
        return out, corpus

    return make


@pytest.mark.parametrize("format", small_corpora.FORMATS)
def test_every_format_gives_the_same_numbers_again(run, format: str) -> None:
    out, corpus = run(format=format)
    metrics = json.loads((out / "report.json").read_text("utf-8"))["metrics"]
    again = scored_again(out, corpus)
    assert again["documents"] == 4
    assert {key: metrics[key]["f1"] for key in ("exact_span_f1", "relaxed_span_f1")} == {
        key: again[key]["f1"] for key in ("exact_span_f1", "relaxed_span_f1")
    }


def test_options_need_not_be_repeated(run, tmp_path: Path) -> None:
    """A map that moves labels on from name to name is applied to gold alone: predictions have been through it."""
    table = tmp_path / "labels.json"
    table.write_text(json.dumps({"NAME": "ANATOMY", "ANATOMY": "PLACE"}), "utf-8")
    out, corpus = run("run", "--label-map", table, "--limit", "3")
    again = scored_again(out, corpus)
    metrics = json.loads((out / "report.json").read_text("utf-8"))["metrics"]
    assert again["documents"] == 3
    assert {label: block["support"] for label, block in again["by_label"].items()} == {"ANATOMY": 2, "PLACE": 2}
    assert {label: block["support"] for label, block in metrics["by_label"].items()} == {"ANATOMY": 2, "PLACE": 2}
    assert again["relaxed_span_f1"]["true_positives"] == metrics["relaxed_span_f1"]["true_positives"]


def test_bad_documents_are_left_out_again(program, tmp_path: Path) -> None:
    rows = small_corpora.rows()
    rows[0]["gold_spans"] = [{"start": 0, "end": 999, "label": "NAME"}]
    rows[2]["gold_spans"][0]["text"] = "elsewhere"
    corpus = small_corpora.write_rows(tmp_path / "bad.jsonl", rows)
    out = tmp_path / "out"
    predictions = small_corpora.write_rows(tmp_path / "p.jsonl", [{"document": n, "spans": []} for n in range(3)])
    assert program("score", corpus, predictions, "--skip-bad", "--output", out).code == 0
    again = load_recorded(out, corpus)
    assert [document.fixture_id for document in again.documents] == ["n2", "n3", "n4"]


def test_another_corpus_is_refused(run, tmp_path: Path) -> None:
    out, _ = run()
    other = small_corpora.write(tmp_path / "other", "openmed", small_corpora.ENTRIES[::-1])
    with pytest.raises(InputError, match="not those of the run"):
        load_recorded(out, other)


def test_files_of_two_runs_are_refused(run) -> None:
    out, corpus = run()
    lines = (out / "predictions.jsonl").read_text("utf-8").splitlines()
    for changed in (lines[:2], [*lines[:-1], '{"document":3,"spans":[]}']):
        (out / "predictions.jsonl").write_text("\n".join(changed), "utf-8")
        with pytest.raises(InputError, match=r"run folder: 5 gold spans and \d+ predictions, where report\.json counts 5 and"):
            load_recorded(out, corpus)


def test_no_run_folder_is_a_wrong_call(run, tmp_path: Path) -> None:
    out, corpus = run()
    for folder in (tmp_path / SECRET, corpus, tmp_path):
        with pytest.raises(UsageError) as caught:
            load_recorded(folder, corpus)
        assert SECRET not in str(caught.value)
    (out / "predictions.jsonl").unlink()
    with pytest.raises(EvaluationError):
        load_recorded(out, corpus)


@pytest.fixture
def folder(run, tmp_path: Path) -> tuple[Path, Path, dict[str, Any]]:
    out, corpus = run()
    return out, corpus, json.loads((out / "report.json").read_text("utf-8"))


values = st.none() | st.booleans() | st.integers() | st.just(SECRET) | st.just([SECRET]) | st.just({SECRET: SECRET})
places = st.sampled_from(
    [
        "schema",
        "schema_version",
        "suite",
        "model",
        "model.name",
        "corpus",
        "corpus.name",
        "corpus.format",
        "corpus.sha256",
        "corpus.documents",
        "corpus.spans",
        "config",
        "config.skip_bad",
        "config.discontinuous",
        "config.limit",
        "config.layers",
        "config.tags",
        "config.labels",
        "config.labels.mapped",
        "metrics",
        "metrics.predicted",
        "warnings",
    ]
)


@given(places, values)
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_report_with_a_wrong_value_is_refused_or_harmless(folder, place: str, value: Any) -> None:
    out, corpus, report = folder
    changed = copy.deepcopy(report)
    *path, last = place.split(".")
    target = changed
    for key in path:
        target = target[key]
    target[last] = value
    (out / "report.json").write_text(json.dumps(changed), "utf-8")
    try:
        load_recorded(out, corpus)
    except EvaluationError as error:
        assert SECRET not in str(error)


def test_layers_are_taken_again(program, tmp_path: Path) -> None:
    nested = [{"start": 0, "end": 11, "label": "A"}, {"start": 5, "end": 11, "label": "B"}]
    corpus = small_corpora.write_rows(tmp_path / "nested.jsonl", [{"id": "a", "text": "left kidney", "gold_spans": nested}])
    for layers, kept in (("outermost", ["A"]), ("innermost", ["B"]), ("all", ["A", "B"])):
        out = tmp_path / layers
        assert program("score", corpus, corpus, "--layers", layers, "--output", out).code == 0
        run = load_recorded(out, corpus)
        assert [span.label for span in run.documents[0].gold_spans] == [span.label for span in run.predictions[0]] == kept


def test_a_language_models_run_is_read_too(program, tmp_path: Path) -> None:
    corpus = small_corpora.write_rows(tmp_path / "c.jsonl", small_corpora.rows()[:1])
    answer = {"document": 0, "answer": "<response>left <anatomy>kidney</anatomy> biopsy of dr quill .</response>"}
    answers = small_corpora.write_rows(tmp_path / "a.jsonl", [answer])
    assert program("generate", "--answers", answers, "--corpus", corpus, "--output", tmp_path / "out").code == 0
    run = load_recorded(tmp_path / "out", corpus)
    assert [(span.start, span.label) for span in run.predictions[0]] == [(5, "ANATOMY")]
    assert scored_again(tmp_path / "out", corpus)["relaxed_span_f1"]["true_positives"] == 1


def test_a_run_scored_tag_by_tag_has_no_documents(program, tmp_path: Path) -> None:
    corpus = small_corpora.write(tmp_path, "conll")
    assert program("score", corpus, corpus, "--tags", "strict", "--output", tmp_path / "out").code == 0
    with pytest.raises(InputError, match="scored tag by tag"):
        load_recorded(tmp_path / "out", corpus)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff" + SECRET.encode(), b"[" * 100_000, SECRET.encode(), b"{}"])
def test_a_file_that_is_no_report_is_refused(folder, content: bytes) -> None:
    out, corpus, _ = folder
    (out / "report.json").write_bytes(content)
    with pytest.raises(InputError, match=r"^report\.json: ") as caught:
        load_recorded(out, corpus)
    assert SECRET not in str(caught.value)
    shutil.rmtree(out)
