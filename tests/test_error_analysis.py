"""error_report from Python: any runner, any suite, one load of the model, hashes that a key opens and nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import small_corpora

import openmed_mlx_eval
from openmed_mlx_eval import BenchmarkFixture, ErrorAnalysisReport, ErrorSpanExample, Span, error_report, load_fixtures
from openmed_mlx_eval.error_analysis import load_hash_key
from openmed_mlx_eval.errors import InputError, UsageError
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.runtime.classifier import TokenClassifier

KEY = b"sixteen bytes or more"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "corpora", "openmed")


def first_word(document: BenchmarkFixture, name: str, device: str) -> list[dict[str, Any]]:
    return [{"start": 0, "end": document.text.index(" "), "label": "B-Patient", "score": 0.5, "text": "never shown"}]


def test_a_runner_on_a_path(corpus: Path) -> None:
    report = error_report(first_word, corpus, suite_name="mine")
    assert isinstance(report, ErrorAnalysisReport)
    assert (report.suite, report.model_name, report.fixture_count) == ("mine", "first_word", 4)
    assert report.confusion_matrix == {
        "ANATOMY": {"PERSON": 1, "missed": 2},
        "PERSON": {"missed": 2},
        "spurious": {"PERSON": 3},
    }
    assert all(isinstance(example, ErrorSpanExample) for example in report.examples)
    assert len(report.to_dict()["corpus"]["sha256"]) == 64


def test_a_runner_on_fixtures_beside_a_name(corpus: Path) -> None:
    fixtures = load_fixtures(corpus)
    report = error_report("a name", fixtures, runner=first_word)
    assert report.model_name == "a name"
    assert (report.corpus["format"], report.corpus["sha256"]) == (None, None)  # an unkeyed hash of a text would be a leak
    assert report.confusion_matrix == error_report(first_word, corpus).confusion_matrix


def test_a_model_is_opened_once_and_knows_its_seams(tiny_model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load = TokenClassifier.load.__func__
    monkeypatch.setattr(TokenClassifier, "load", classmethod(lambda cls, *a, **k: loads.append(1) or load(cls, *a, **k)))
    report = error_report(tiny_model, str(corpus), example_cap=1000)
    assert (len(loads), report.model_name) == (1, "tiny")
    assert report.counts.overall().support == 5
    long = [example.seam_distance for example in report.examples if example.document == 2]
    assert long and all(distance is not None for distance in long)
    assert all(example.seam_distance is None for example in report.examples if example.document != 2)
    classifier = TokenClassifier.load(tiny_model)
    text = small_corpora.ENTRIES[2][1]
    seams = classifier.seams(text)
    assert seams[0] > 0 and list(seams) == sorted(set(seams)) and seams[-1] < len(text)
    assert all(text[seam - 1] == " " for seam in seams)  # every word of this text is one token
    assert classifier.seams("dr quill") == classifier.seams("") == ()


def test_labels_go_through_the_map(corpus: Path) -> None:
    report = error_report(first_word, corpus, label_map=LabelMap.verbatim())
    assert set(report.counts.by_label()) == {"ANATOMY", "NAME", "B-Patient"}


def hashes(report: ErrorAnalysisReport) -> list[tuple[str, str, str | None]]:
    return [(example.document_hash, example.text_hash, example.matched_text_hash) for example in report.examples]


def test_hashes_are_joined_by_a_key_and_by_nothing_else(corpus: Path) -> None:
    one, other, joined, again = (error_report(first_word, corpus, hash_key=key) for key in (None, None, KEY, KEY))
    assert hashes(joined) == hashes(again)
    assert not set(hashes(one)) & set(hashes(other))
    assert [dataclasses.replace(e, document_hash="", text_hash="", matched_text_hash=None) for e in one.examples] == [
        dataclasses.replace(e, document_hash="", text_hash="", matched_text_hash=None) for e in joined.examples
    ]
    assert (one.config["hash_key"], joined.config["hash_key"]) == ("random", "given")
    assert KEY.decode() not in joined.to_json()
    backwards = error_report(first_word, load_fixtures(corpus)[::-1], hash_key=KEY)
    assert sorted(hashes(joined), key=str) == sorted(hashes(backwards), key=str)


def test_what_cannot_be_is_refused(corpus: Path, tmp_path: Path) -> None:
    for options in ({"example_cap": -1}, {"context_window": -1}, {"hash_key": b"short"}):
        with pytest.raises(UsageError):
            error_report(first_word, corpus, **options)
    with pytest.raises(UsageError, match="BenchmarkFixture"):
        error_report(first_word, [{"id": "a", "text": "b", "gold_spans": []}])  # type: ignore[list-item]
    with pytest.raises(InputError, match="document 1, span 1, offsets 0–9"):
        error_report(first_word, [BenchmarkFixture("a", "b c", (Span(0, 9, "A"),))])
    with pytest.raises(InputError) as caught:
        error_report(lambda document, name, device: [{"start": "QZX", "end": 3, "label": "A"}], corpus)
    assert "QZX" not in str(caught.value)


def test_predictions_that_cannot_stand_are_counted_and_no_examples(corpus: Path) -> None:
    report = error_report(lambda document, name, device: [Span(5, 2, "DATE"), Span(0, 9999, "DATE")], corpus)
    assert report.counts.by_label()["DATE"].invalid == report.counts.by_label()["DATE"].spurious == 8
    assert all(example.label != "DATE" for example in report.examples)


def test_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "QZX-key"
    path.write_bytes(KEY + b"\r\n")
    assert load_hash_key(path) == KEY
    for content in (b"", b"\n" * 20, b"fifteen bytes!!\n"):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="at least 16 bytes"):
            load_hash_key(path)
    for missing in (tmp_path, tmp_path / "QZX-none"):
        with pytest.raises(UsageError) as caught:
            load_hash_key(missing)
        assert "QZX" not in str(caught.value)


def test_the_names_openmed_users_know_are_public() -> None:
    assert {"error_report", "ErrorAnalysisReport", "ErrorSpanExample"} <= set(openmed_mlx_eval.__all__)
