"""The Privacy Filter both ways between this project and openmed 3.1.0, by logits: its pipeline would fetch a tokenizer.

Either runs the other's artifact as the other does. What openmed converts from transformers' checkpoint is another model than
its source – half the window, unscaled positions, weaker sinks – and runs here as it runs there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoints import config_of, write_tokenizer

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.engines import open_engine
from openmed_mlx_eval.runtime.safetensors import open_safetensors

IDS = np.random.default_rng(1).integers(0, 18, 60).astype(np.int32)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("mlx.core", "openmed.mlx.inference"):
        pytest.importorskip(name)
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(5)
    config = transformers.AutoConfig.for_model(**config_of("openai_privacy_filter", initializer_range=0.2))
    model = transformers.AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
    model.save_pretrained(tmp_path / "source")
    write_tokenizer(tmp_path / "source")
    return tmp_path / "source"


def logits_here(folder: Path, engine: str) -> Any:
    artifact, ops = open_artifact(folder), open_engine(engine, "cpu")
    inputs = ops.inputs([IDS], [np.arange(len(IDS), dtype=np.int32)])
    return ops.host(artifact.family.network(ops, artifact.checkpoint, artifact.config)(inputs), inputs)


def logits_there(folder: Path) -> Any:
    import mlx.core as mx
    from openmed.mlx.models import load_model

    with mx.stream(mx.cpu):
        return np.array(load_model(folder)(mx.array(IDS[None])).astype(mx.float32))[0]


@pytest.mark.parametrize("options", [Options(), Options(bits=8, group_size=32), Options(bits=4, group_size=64)], ids=str)
def test_our_artifact_runs_in_openmed(source: Path, tmp_path: Path, options: Options) -> None:
    convert(source, tmp_path / "out", options)
    theirs = logits_there(tmp_path / "out")
    for engine in ("numpy", "mlx"):
        assert np.abs(logits_here(tmp_path / "out", engine) - theirs).max() < 1e-3
    if options.bits is None:
        assert np.abs(logits_here(source, "numpy") - theirs).max() < 1e-3


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_openmeds_artifact_runs_here_as_there(source: Path, tmp_path: Path, bits: int | None) -> None:
    from openmed.mlx.convert import convert as openmed_convert

    openmed_convert(str(source), tmp_path / "theirs", quantize_bits=bits, quantize_group_size=32)
    theirs = logits_there(tmp_path / "theirs")
    for engine in ("numpy", "mlx"):
        assert np.abs(logits_here(tmp_path / "theirs", engine) - theirs).max() < 1e-3
    assert np.abs(logits_here(source, "numpy") - theirs).max() > 0.1


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_tensors_are_openmeds_but_for_routers_and_sinks(source: Path, tmp_path: Path, bits: int | None) -> None:
    from openmed.mlx.convert import convert as openmed_convert

    openmed_convert(str(source), tmp_path / "theirs", quantize_bits=bits, quantize_group_size=32)
    convert(source, tmp_path / "ours", Options(bits=bits, group_size=32))
    ours, theirs = (open_safetensors(tmp_path / who / "weights.safetensors") for who in ("ours", "theirs"))
    assert {name for name in theirs if name not in ours} <= {
        f"block.{i}.mlp.gate.{p}" for i in (0, 1) for p in ("scales", "biases")
    }
    assert set(ours) <= set(theirs)
    for name, tensor in ours.items():
        if name.endswith(".sinks"):  # of base 2 here, as OpenMed's runtime reads them, and of base e there
            assert np.allclose(tensor.array * np.float32(np.log(2)), theirs[name].array, rtol=1e-6)
        elif not (bits and ".gate.weight" in name):
            assert np.array_equal(tensor.array, theirs[name].array), name


def test_viterbi_biases_go_into_the_config(source: Path, tmp_path: Path) -> None:
    biases = {"transition_bias_background_stay": -0.5, "transition_bias_end_to_start": 0.25}
    described = {"operating_points": {"default": {"biases": biases}}}
    (source / "viterbi_calibration.json").write_text(json.dumps(described), "utf-8")
    convert(source, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))["_mlx_viterbi_biases"] == biases
    assert open_artifact(tmp_path / "out").transition_biases == biases


@pytest.mark.parametrize("changes", [{"attention_factor": 1.1}, {"truncate": True}])
def test_scaling_that_openmed_has_no_word_for_is_refused(source: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    config = json.loads((source / "config.json").read_text("utf-8"))
    config["rope_parameters"] |= changes
    (source / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ModelError, match="rotary scaling cannot be said in an artifact"):
        convert(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
