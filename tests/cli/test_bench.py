"""`bench` end to end: folders, the table and its front, failures that stop nothing, and the file of a night."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import small_corpora
from jsonschema import Draft202012Validator

from openmed_mlx_eval.bench import model_names
from openmed_mlx_eval.reporting.bench import bench_block
from openmed_mlx_eval.reporting.bench import schema as bench_schema
from openmed_mlx_eval.reporting.report import schema

VALIDATOR = Draft202012Validator(schema())
BENCH = Draft202012Validator(bench_schema())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return small_corpora.write(tmp_path / "Quill", "openmed")


@pytest.fixture
def broken(tiny_model: Path, tmp_path: Path) -> Path:
    """A model directory whose weights are cut in half."""
    folder = shutil.copytree(tiny_model, tmp_path / "models" / "broken")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2000])
    return folder


def test_a_model_that_fails_stops_no_other(program, tiny_model: Path, broken: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    models = (tiny_model, broken, corpus, tiny_model)
    said = program("bench", *models, "--corpus", corpus, "--output", out, "--bootstrap", 0, "--quiet")
    assert said.code == 1
    assert said.err.startswith("error: 2 of 4 runs failed: broken on corpus (")
    assert "Quill" not in said.all
    block = json.loads((out / "bench.json").read_text("utf-8"))
    BENCH.validate(block)
    assert [row["model"] for row in block["runs"]] == ["tiny-1", "tiny-4"]
    assert [one["model"] for one in block["failures"]] == ["broken", "model-3"]
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["tiny-1", "tiny-4"]
    for row in block["runs"]:
        report = json.loads((out / row["folder"] / "report.json").read_text("utf-8"))
        VALIDATOR.validate(report)
        assert row["exact_f1"] == report["metrics"]["exact_span_f1"]["f1"]
        assert row["any_label_leakage"] == report["metrics"]["leakage"]["any_label"]
        assert (row["size_mib"] > 0, row["cold_start_ms"], row["p95_ms"]) == (True, None, None)
    assert any(row["front"] for row in block["runs"])
    page = (out / "bench.md").read_text("utf-8")
    assert ("| tiny-1 |" in page, "## Failed" in page) == (True, True)
    assert program("compare", out / "tiny-1", out / "tiny-4", "--bootstrap", 0).code == 0


def test_json_and_a_single_model(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs.html").write_text("of another night", "utf-8")
    said = program(
        "bench", tiny_model, "--corpus", corpus, "--output", tmp_path / "out", "--json", "--cold-start", 1, "--limit", 2
    )
    assert said.code == 0
    (row,) = said.json()["runs"]
    assert (row["model"], row["folder"], row["front"], row["partial"]) == ("tiny", "tiny", True, True)
    assert row["cold_start_ms"] > 0 < row["p95_ms"]
    assert said.out == (tmp_path / "out" / "bench.json").read_text("utf-8")
    assert not (tmp_path / "out" / "runs.html").exists()


def test_a_night(program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    labels = corpus.parent / "labels.json"
    labels.write_text('{"NAME": "WHO"}', "utf-8")
    night = corpus.parent / "night.toml"
    night.write_text(
        f'models = ["{tiny_model.as_posix()}"]\n'
        f'corpora = ["{corpus.name}", {{path = "{corpus.name}", name = "again", format = "openmed"}}]\n'
        '[options]\nlimit = 3\nskip_bad = true\nlabel-map = "labels.json"\nbootstrap = 0\n',
        "utf-8",
    )
    block = program("bench", night, "--output", tmp_path / "out", "--json", "--quiet").json()
    BENCH.validate(block)
    assert [(row["corpus"], row["folder"]) for row in block["runs"]] == [("corpus-1", "tiny/corpus-1"), ("again", "tiny/again")]
    report = json.loads((tmp_path / "out" / "tiny" / "again" / "report.json").read_text("utf-8"))
    assert (report["config"]["limit"], report["config"]["skip_bad"], report["config"]["bootstrap"]) == (3, True, None)
    assert (report["suite"], report["config"]["labels"]["mapped"]["NAME"]) == ("again", "WHO")
    said = program("bench", night, "--limit", 3, "--output", tmp_path / "out")
    assert (said.code, "under [options]" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modls = 1", "key 1 is unknown – did you mean models?"),
        ('models = ["a"]\ncorpora = ["b"]\n[options]\nlimmit = 3', "options: key 1 is unknown – did you mean limit"),
        ('models = ["a"]\ncorpora = ["b"]\n[options]\noutput = "Quill"', "options: key 1 is unknown"),
        ('models = ["a"]\ncorpora = ["b"]\n[options]\nlimit = "Quill"', "--limit"),
        ('models = ["a"]\ncorpora = ["b"]\n[options]\ndtype = "Quill"', "--dtype"),
        ('models = ["a"]\ncorpora = [{path = "b", nam = "Quill"}]', "corpus 1: key 2 is unknown – did you mean name"),
        ('models = ["a"]\ncorpora = [{path = "b", name = "../Quill"}]', "corpus 1: its name is to be a folder's"),
        ('models = ["a"]\ncorpora = [{path = "b", name = "x"}, {path = "c", name = "X"}]', "two corpora have one name"),
        ('models = ["a"]\ncorpora = [{name = "Quill"}]', "corpus 1: write"),
        ('models = []\ncorpora = ["Quill"]', "bench file: write models"),
        ('models = "Quill"', "bench file: write models"),
        ("Quill", "the file is not TOML"),
    ],
)
def test_a_night_that_cannot_be(program, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "night.toml"
    path.write_text(text, "utf-8")
    done = program("bench", path, "--output", tmp_path / "out")
    assert (done.code, said in done.err, "Quill" in done.all) == (2, True, False), done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", "--corpus", "b"), ("a", "--corpus", "-", "--output", "out")])
def test_calls_that_are_wrong(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    assert program("bench", *arguments).code == 2
    assert not (tmp_path / "out").exists()


def test_the_schema_of_bench_json_refuses_what_no_bench_writes() -> None:
    Draft202012Validator.check_schema(bench_schema())
    (row,) = bench_block([("a", "x", "a", of(0.9, 50))], [])["runs"]
    row["sha256"] = "0" * 64
    good = {"schema": "openmed-mlx-eval/bench", "schema_version": 1, "runs": [row], "failures": []}
    BENCH.validate(good)
    assert BENCH.is_valid({**good, "runs": [], "failures": [{"model": "a", "corpus": "x", "message": "no such folder"}]})
    for key, value in (("exact_f1", 1.1), ("size_mib", -1), ("folder", "../a/b"), ("front", None), ("model", ""), ("path", "x")):
        assert not BENCH.is_valid({**good, "runs": [{**row, key: value}]})
    for key in row:
        assert not BENCH.is_valid({**good, "runs": [{name: value for name, value in row.items() if name != key}]})


def test_names_of_models(tiny_model: Path, tmp_path: Path) -> None:
    assert model_names([str(tiny_model), str(tmp_path), f"{tiny_model}/.", "\0"]) == ["tiny-1", "model-2", "tiny-3", "model-4"]


def of(f1: float | None, cold: float | None = None, rate: float | None = None) -> dict[str, object]:
    metrics = {"exact_span_f1": {"f1": f1}, "relaxed_span_f1": {"f1": f1}, "latency": {"cold_start_ms": cold}}
    corpus = {"sha256": "0"}
    return {"metrics": metrics, "timing": {"documents_per_second": rate}, "model": {}, "corpus": corpus, "partial": False}


def test_the_front_is_of_each_corpus_and_of_all_measures() -> None:
    runs = [("a", "x", of(0.9, 50)), ("b", "x", of(0.8, 40)), ("c", "x", of(0.8, 60)), ("c", "y", of(0.1)), ("d", "x", of(None))]
    rows = bench_block([(model, corpus, "f", report) for model, corpus, report in runs], [])["runs"]
    assert {(row["model"], row["corpus"]): row["front"] for row in rows} == {
        ("a", "x"): True,
        ("b", "x"): True,
        ("c", "x"): False,
        ("d", "x"): True,
        ("c", "y"): True,
    }
