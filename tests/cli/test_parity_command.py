"""`parity` end to end: pairs of options, tolerances, exit code 3, and files that hold no text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import small_corpora

from openmed_mlx_eval.reporting.parity import schema

Program = Callable[..., Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    entries = [("a", "biopsy of the left kidney", ((14, 25, "ANATOMY"),)), ("b", "Quill, ward 7", ((0, 5, "NAME"),))]
    return small_corpora.write(tmp_path / "corpus", "openmed", entries)


def test_a_model_beside_itself(program: Program, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    done = program("parity", tiny_model, tiny_model, "--corpus", corpus, "--engine", "numpy", "--output", tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    assert "built-in" in done.out and "the same" in done.out
    record = json.loads((tmp_path / "out" / "parity.json").read_text("utf-8"))
    jsonschema.validate(record, schema())
    assert record["texts"]["corpus"]["documents"] == record["corpus"]["documents"] == 2
    assert "| built-in" in (tmp_path / "out" / "parity.md").read_text("utf-8")
    assert not any(word in path.read_text("utf-8") for path in (tmp_path / "out").iterdir() for word in ("Quill", "kidney"))


def test_two_engines_of_one_model(program: Program, tiny_model: Path) -> None:
    pytest.importorskip("mlx.core")
    done = program("parity", tiny_model, "--engine", "numpy,mlx", "--device", "cpu", "--json")
    assert done.code == 0
    models = done.json()["models"]
    assert [models[side]["engine"] for side in "ab"] == ["numpy", "mlx"]


def test_two_dtypes_of_one_model_have_another_tolerance(program: Program, tiny_model: Path) -> None:
    pytest.importorskip("mlx.core")
    arguments = ("parity", tiny_model, "--engine", "mlx", "--device", "cpu", "--dtype", "float32,bfloat16", "--json")
    assert program(*arguments).json()["tolerance"] == {"difference": None, "labels": 0.98, "spans": 0.9}
    strict = program(*arguments, "--max-difference", "0.0001")
    assert strict.code == 3 and "a logit differs by" in strict.err
    assert strict.json()["passed"] is False


def test_a_limit_that_is_not_met_exits_3_after_writing(program: Program, tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlx.core")
    arguments = ("--engine", "numpy,mlx", "--device", "cpu", "--max-difference", "0", "--output", tmp_path / "out")
    done = program("parity", tiny_model, *arguments)
    assert done.code == 3
    assert "do not compute the same – built_in: a logit differs by" in done.err and "not the same" in done.out
    assert json.loads((tmp_path / "out" / "parity.json").read_text("utf-8"))["passed"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "B is missing"),
        (["--engine", "numpy,mlx,numpy"], "--engine: give one of auto, mlx, numpy, or two"),
        (["--engine", "numpy,mlx", "--max-difference", "nan"], "--max-difference: give a number"),
        (["--engine", "numpy,mlx", "--min-spans", "nan"], "--min-spans: give a number"),
        (["--dtype", "int8"], "--dtype: give one of"),
        (["--engine", "numpy", "--dtype", "float32,float16"], "--engine numpy computes in float32"),
    ],
)
def test_wrong_options_are_usage_errors(program: Program, tiny_model: Path, arguments: list[str], words: str) -> None:
    done = program("parity", tiny_model, *arguments)
    assert done.code == 2 and words in done.err and done.out == ""


def test_a_failed_comparison_leaves_no_folder(program: Program, tiny_model: Path, tmp_path: Path) -> None:
    done = program("parity", tiny_model, tmp_path / "none", "--output", tmp_path / "out")
    assert done.code == 1 and not (tmp_path / "out").exists()
