"""merge: shards put together are the whole, to the byte; and what is not one whole run is refused."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.benchmark import Part, RunResult, scoring_config
from openmed_mlx_eval.corpora.document import Corpus, Document
from openmed_mlx_eval.errors import EvaluationError, InputError, UsageError
from openmed_mlx_eval.evaluation import Scoring, SliceValues
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.merging import merge
from openmed_mlx_eval.reporting.environment import environment
from openmed_mlx_eval.reporting.report import build_report, now, to_json
from openmed_mlx_eval.scoring.bootstrap import Bootstrap
from openmed_mlx_eval.scoring.bundle import Options
from openmed_mlx_eval.shard_file import FORMAT, Shard, ShardOrigin
from openmed_mlx_eval.spans import Span

OPTIONS = Options(slice_by=("kind",), thresholds={"*": 0.4}, bootstrap=Bootstrap(20))
TABLE = {"NAME": "PERSON", "WARD": "PLACE", "NEVER": "SEEN"}
MODEL_LABELS = ["NAME", "DATE", "WARD"]
MODEL = {"name": "m", "family": "bert", "parameters": 3, "dtype": "float32", "quantization": None, "labels": MODEL_LABELS}

LABELS = st.sampled_from(["NAME", "PERSON", "DATE", "WARD", "Ωmega"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Document, tuple[Span, ...]]:
    text = draw(st.text("ab é\U0001f642", min_size=1, max_size=9))
    offsets = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda pair: pair[0] < pair[1])
    gold = [Span(*pair, draw(LABELS)) for pair in draw(st.lists(offsets, max_size=3))]
    anywhere = st.tuples(st.integers(-1, 12), st.integers(-1, 12))
    scores = st.none() | st.floats(0, 1) | st.just(1.5)
    predicted = [Span(*pair, draw(LABELS), draw(scores)) for pair in draw(st.lists(offsets | anywhere, max_size=3))]
    categories = draw(st.lists(st.sampled_from([None, "drug_allergy"]), min_size=len(gold), max_size=len(gold)))
    kinds = draw(st.sampled_from([{"kind": "note"}, {"kind": "letter"}, {"kind": 7}, {}]))
    language = draw(st.sampled_from(["en", "de"]))
    found = tuple(categories) if any(categories) else ()
    return Document("?", text, tuple(gold), language, kinds, found), tuple(predicted)


def written(folder: Path, corpus: Sequence[tuple[Document, tuple[Span, ...]]], shard: Shard | None, **changed: Any) -> Path:
    """A run folder as benchmark.run and the command make it, for predictions that are known."""
    documents = tuple(document for document, _ in corpus)
    labels = LabelMap(changed.get("table", TABLE))
    part = Part(shard, None, SliceValues(OPTIONS.slice_by))
    for ordinal, document in enumerate(documents):
        part.see(ordinal, document)
    scoring = Scoring(labels, OPTIONS, "outermost", part.slices)
    rows = [scoring.score(at, document, corpus[at][1]) for at, document in part.of(documents)]
    done = scoring.evaluation(MODEL_LABELS, rows)
    shown = None if shard is None else str(shard)
    config = {"label_map": "file", "limit": None, "shard": shown, "skip_bad": False, "discontinuous": "hull"}
    report = build_report(
        suite="s",
        model={**MODEL, "files": {"config.json": changed.get("model", "0") * 64}},
        corpus=Corpus("s", "openmed", documents, changed.get("sha256", "0" * 64)),
        evaluation=done,
        environment={**environment("numpy", "cpu", "float32"), **changed.get("environment", {})},
        config={**config, "layers": "outermost", **scoring_config(OPTIONS), **changed.get("config", {})},
        timing={"generated_at": now(), "predict_s": 2.0, "total_s": 3.0, "documents_per_second": 1.0},
        partial=shard is not None and len(rows) < len(documents),
    )
    folder.mkdir(parents=True)
    origin = None if shard is None else ShardOrigin(len(documents), partial=False, labels=labels.digest())
    files = {"report.json": [to_json(report)], **RunResult(report, done, shard=origin).files()}
    for name, lines in files.items():
        (folder / name).write_text("".join(lines), "utf-8")
    return folder


def timeless(report: dict[str, Any]) -> str:
    return to_json({key: value for key, value in report.items() if key != "timing"})


@settings(max_examples=40)
@given(st.lists(cases(), max_size=7), st.integers(1, 4), st.randoms(use_true_random=False))
def test_merged_shards_are_the_whole_run(corpus: list[Any], of: int, order: Any) -> None:
    if not any("kind" in document.metadata for document, _ in corpus):
        corpus = [*corpus, (Document("?", "a", (), metadata={"kind": "note"}), ())]
    with tempfile.TemporaryDirectory() as place:
        whole = written(Path(place) / "whole", corpus, None)
        shards = [written(Path(place) / str(number), corpus, Shard(number, of)) for number in range(1, of + 1)]
        order.shuffle(shards)
        merged = merge(shards)
        assert timeless(merged.report) == timeless(json.loads((whole / "report.json").read_text("utf-8")))
        assert "".join(merged.files()["predictions.jsonl"]) == (whole / "predictions.jsonl").read_text("utf-8")
        assert "".join(merged.files()["documents.jsonl"]) == (whole / "documents.jsonl").read_text("utf-8")
        rate = round(len(corpus) / (2.0 * of), 3)
        assert (merged.report["timing"]["total_s"], merged.report["timing"]["documents_per_second"]) == (3.0 * of, rate)


@given(st.lists(st.text(), max_size=20), st.integers(1, 5))
def test_every_document_is_in_one_shard_whatever_stands_around_it(texts: list[str], of: int) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    assert all([shard.takes(text) for shard in shards].count(True) == 1 for text in texts)


def test_the_division_is_fixed() -> None:
    """Shards made by two versions, or on two machines, fit: the numbers below may never change."""
    texts = ("", "a", "fever", "Ødegård", "\ud83e")
    assert [next(n for n in range(1, 8) if Shard(n, 7).takes(text)) for text in texts] == [2, 5, 7, 5, 6]


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "１/３", "01/3", "1/9999999"])
def test_shard_options_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--shard: write I/N with I from 1 to N, as in 1/3$"):
        Shard.parse(text)


CORPUS = [
    (Document("?", f"note {number} of dr quill", (Span(0, 4, "NAME"),), metadata={"kind": "note"}), (Span(0, 4, "NAME", 0.5),))
    for number in range(12)
]


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [written(tmp_path / str(number), CORPUS, Shard(number, 3)) for number in (1, 2, 3)]


def refused(folders: Sequence[Path]) -> str:
    with pytest.raises(InputError) as error:
        merge(folders)
    return str(error.value)


def test_a_missing_shard(shards: list[Path]) -> None:
    assert refused(shards[1:]).startswith("merge: shard 1/3 missing – ")
    assert refused(shards[:1]).startswith("merge: shards 2/3, 3/3 missing – ")
    assert refused([]).startswith("merge: no run was given")


def test_the_same_shard_twice(shards: list[Path]) -> None:
    assert refused([*shards, shards[1]]).startswith("run 2 and run 4: both are shard 2/3 – ")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sha256": "1" * 64}, "the corpus"),
        ({"model": "1"}, "the model's files"),
        ({"config": {"aggregation": "max", "stride": 3}}, "options (aggregation, stride)"),
        ({"config": {"Quill": "Quill"}}, "options (an unknown one)"),
        ({"table": {"NAME": "OTHER"}}, "options (label_map)"),
        ({"environment": {"package": "9"}}, "the version of the program"),
    ],
)
def test_shards_of_different_keys(tmp_path: Path, shards: list[Path], changed: dict[str, Any], said: str) -> None:
    other = written(tmp_path / "other", CORPUS, Shard(3, 3), **changed)
    assert refused([*shards[:2], other]).startswith(f"run 3: not of the run that run 1 is of; different: {said} – ")


def test_shards_of_different_divisions(tmp_path: Path, shards: list[Path]) -> None:
    other = written(tmp_path / "other", CORPUS, Shard(2, 2))
    assert refused([shards[0], other]).startswith("run 2: shard 2/2, where run 1 is shard 1/3 – ")


def test_a_run_that_is_no_shard(tmp_path: Path, shards: list[Path]) -> None:
    whole = written(tmp_path / "whole", CORPUS, None)
    assert refused([*shards[:2], whole]).startswith("run 3, report.json: no shard of a run – ")


def test_machines_that_differ_are_said(tmp_path: Path, shards: list[Path]) -> None:
    other = written(tmp_path / "other", CORPUS, Shard(3, 3), environment={"chip": "abacus", "memory": 7})
    report = merge([*shards[:2], other]).report
    assert "abacus" in report["environment"]["chip"].split("; ")
    assert report["environment"]["memory"] is None
    warning = next(warning for warning in report["warnings"] if warning["code"] == "different_machines")
    assert (warning["count"], "(chip, memory differ)" in warning["message"]) == (1, True)


@pytest.mark.parametrize("name", ["report.json", "predictions.jsonl", "documents.jsonl", FORMAT])
def test_a_shard_whose_files_are_not_one_run(tmp_path: Path, shards: list[Path], name: str) -> None:
    shutil.copy(shards[1] / name, shards[0] / name)
    assert "run" in refused(shards)
    (shards[0] / name).unlink()
    with pytest.raises(EvaluationError):
        merge(shards)


@settings(max_examples=50)
@given(st.data())
def test_a_damaged_shard_is_refused_or_read_and_never_quoted(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = written(Path(place) / "one", CORPUS[:2], Shard(1, 1))
        path = folder / data.draw(st.sampled_from(["report.json", "predictions.jsonl", "documents.jsonl", FORMAT]))
        content = path.read_text("utf-8")
        at = data.draw(st.integers(0, len(content) - 1))
        put = data.draw(st.sampled_from(["", "Quill", "[", "}", "-1", "null", '"', "\n", "1e999", "NaN"]))
        path.write_text(content[:at] + put + content[at + data.draw(st.integers(0, 3)) :], "utf-8")
        try:
            merge([folder])
        except EvaluationError as error:
            assert "Quill" not in str(error)
