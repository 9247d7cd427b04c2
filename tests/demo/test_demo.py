"""The embedded demo: small, whole, made by the script in the repository, and scored as the README says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.benchmark import RunOptions, run
from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.demo import corpus_path, model_path
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.tokenization import TextEncoder

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def make_demo():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import make_demo

        return make_demo
    finally:
        sys.path.remove(str(SCRIPTS))


def test_demo_is_small_and_half_precision() -> None:
    files = [*model_path().iterdir(), corpus_path()]
    assert sum(path.stat().st_size for path in files) <= 3_000_000
    assert open_artifact(model_path()).dtype == "float16"


def test_demo_notes_are_many_and_some_longer_than_the_window() -> None:
    corpus = load_corpus(corpus_path())
    artifact = open_artifact(model_path())
    encoder = TextEncoder.load(artifact.tokenizer)
    lengths = [len(encoded.ids) for encoded in encoder.encode([document.text for document in corpus])]
    assert len(corpus) >= 40
    assert sum(length > artifact.window - encoder.special_tokens for length in lengths) >= 3


def test_demo_notes_are_what_the_script_writes(make_demo) -> None:
    written = make_demo.fixtures(make_demo.notes("gold", make_demo.GOLD_NOTES))
    assert written.encode() == corpus_path().read_bytes()


def test_demo_splits_share_no_template_and_no_value(make_demo) -> None:
    make_demo.check_disjoint()
    shared = {"train": make_demo.KINDS["gold"], "gold": make_demo.KINDS["gold"]}
    assert make_demo.shared_units(shared), "the check must be able to fail"


def test_demo_scores_as_the_readme_says() -> None:
    metrics = run(RunOptions()).report["metrics"]
    assert metrics["exact_span_f1"]["f1"] == pytest.approx(0.9035, abs=0.002)
