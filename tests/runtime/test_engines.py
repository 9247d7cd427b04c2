"""Which engine and dtype run where nothing is asked for; Metal is made to seem present, and computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openmed_mlx_eval.errors import ModelError, UsageError
from openmed_mlx_eval.runtime import engines
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.families import FAMILIES
from openmed_mlx_eval.runtime.options import DTYPES

from .tiny_models import bert_config, bert_tensors, write_model

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"


@pytest.fixture
def metal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Metal device that the engine is told of; arithmetic stays on the CPU."""
    pytest.importorskip("mlx.core")
    from openmed_mlx_eval.runtime.engines.mlx_ops import MlxOps

    made = MlxOps.__init__

    def on_cpu(self: Any, device: str, dtype: str, compile: bool | None) -> None:
        made(self, "cpu", dtype, compile)
        self.device = device

    monkeypatch.setattr(engines, "accelerator", lambda: "metal")
    monkeypatch.setattr(MlxOps, "__init__", on_cpu)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_names_a_half_precision(family: Any) -> None:
    assert family.half in DTYPES[2:]


@pytest.mark.parametrize(("folder", "dtype"), [("bert", "float16"), ("deberta-v3", "bfloat16"), ("qwen3", "bfloat16")])
def test_on_metal_a_family_runs_in_the_half_precision_it_survives(metal: None, folder: str, dtype: str) -> None:
    model = TokenClassifier.load(GOLDEN / folder)
    assert (model.ops.device, model.ops.dtype) == ("metal", dtype)
    assert len(model.logits("left kidney")[1])
    assert TokenClassifier.load(GOLDEN / folder, dtype="float32").ops.dtype == "float32"


def test_on_metal_what_is_stored_as_bfloat16_stays_so(metal: None, tmp_path: Path) -> None:
    """Its values may lie beyond float16."""
    assert TokenClassifier.load(write_model(tmp_path / "m", dtype="BF16")).ops.dtype == "bfloat16"


@pytest.mark.parametrize("folder", ["bert", "deberta-v3"])
def test_on_the_cpu_nothing_asked_for_is_float32(metal: None, folder: str) -> None:
    for options in ({"engine": "numpy"}, {"device": "cpu"}, {"engine": "mlx", "device": "cpu"}):
        assert TokenClassifier.load(GOLDEN / folder, **options).ops.dtype == "float32"


def test_numpy_says_that_it_computes_in_float32() -> None:
    with pytest.raises(UsageError, match="computes in float32"):
        engines.open_engine("numpy", "cpu", "float16")


def test_each_model_computes_on_its_own_device_whatever_was_opened_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mx = pytest.importorskip("mlx.core")
    ops = engines.open_engine("mlx", "cpu")
    chosen: list[Any] = []
    monkeypatch.setattr(mx, "set_default_device", chosen.append)
    ids = [np.array([1, 2], dtype=np.int32)]
    ops.inputs(ids, ids)
    assert chosen == [mx.cpu]


def test_overflow_on_metal_names_the_remedy(metal: None, tmp_path: Path) -> None:
    tensors = bert_tensors(bert_config())
    tensors["classifier.weight"] *= 1e6
    model = TokenClassifier.load(write_model(tmp_path / "m", bert_config(), tensors))
    assert model.ops.dtype == "float16"
    with pytest.raises(ModelError, match="--dtype float32"):
        model.logits("left kidney")
