"""A model that does not fit into memory is refused before its weights are laid out, with what would fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime import footprint
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.engines import open_engine
from openmed_mlx_eval.runtime.safetensors import StoredTensor
from runtime.tiny_models import bert_config, bert_tensors, write_model


def sizes(tensors: dict[str, np.ndarray]) -> tuple[int, int]:
    """(values of the tables, values of everything else)."""
    tables = sum(values.size for name, values in tensors.items() if "_embeddings." in name)
    return tables, sum(values.size for values in tensors.values()) - tables


@pytest.mark.parametrize(("stored", "item"), [("F32", 4), ("F16", 2), ("BF16", 2)])
def test_numpy_widens_everything_but_tables(tmp_path: Path, stored: str, item: int) -> None:
    tensors = bert_tensors(bert_config())
    tables, others = sizes(tensors)
    artifact = open_artifact(write_model(tmp_path / "m", tensors=tensors, dtype=stored))
    assert footprint.weight_bytes(artifact, open_engine("numpy", "cpu")) == tables * item + others * 4


@pytest.mark.parametrize(("dtype", "item"), [("float32", 4), ("float16", 2), ("bfloat16", 2)])
def test_mlx_holds_its_own_dtype(tmp_path: Path, dtype: str, item: int) -> None:
    pytest.importorskip("mlx.core")
    tensors = bert_tensors(bert_config())
    artifact = open_artifact(write_model(tmp_path / "m", tensors=tensors, dtype="F16"))
    assert footprint.weight_bytes(artifact, open_engine("mlx", "cpu", dtype)) == sum(sizes(tensors)) * item


def test_packed_weights_stay_packed_in_mlx_alone(tmp_path: Path) -> None:
    pytest.importorskip("mlx.core")
    from openmed_mlx_eval.converters import Options, convert

    source, target = write_model(tmp_path / "m"), tmp_path / "eight"
    convert(source, target, Options(bits=8, group_size=32))
    whole, eight = open_artifact(source), open_artifact(target)
    mlx, numpy = open_engine("mlx", "cpu", "float16"), open_engine("numpy", "cpu")
    assert footprint.weight_bytes(eight, mlx) < 0.7 * footprint.weight_bytes(whole, mlx)
    assert footprint.weight_bytes(eight, numpy) > 1.5 * footprint.weight_bytes(eight, mlx)


@pytest.mark.parametrize(
    ("engine", "share", "said"),
    [
        ("numpy", 0.6, "--engine mlx --dtype float16 would fit"),
        ("mlx", 0.6, "– --dtype float16 would fit"),
        ("mlx", 0.35, "--quantize 8`, with --dtype float16 would fit"),
        ("mlx", 0.2, "--quantize 4`, with --dtype float16 would fit"),
        ("numpy", 0.01, "nothing that this program can do makes them fit here"),
    ],
)
def test_what_would_fit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, share: float, said: str) -> None:
    if engine == "mlx":
        pytest.importorskip("mlx.core")
    model = write_model(tmp_path / "m")
    needed = open_artifact(model).checkpoint.parameters() * 4
    monkeypatch.setattr(footprint, "memory_bytes", lambda ops: int(needed * share))
    with pytest.raises(ModelError, match="the weights need") as refused:
        TokenClassifier.load(model, engine=engine, device="cpu")
    assert said in str(refused.value)


def test_it_is_said_before_a_weight_is_read(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(StoredTensor, "float32", lambda tensor, rows=slice(None): read.append(tensor.name))
    monkeypatch.setattr(footprint, "memory_bytes", lambda ops: 1000)
    with pytest.raises(ModelError, match="the weights need"):
        TokenClassifier.load(tiny_model, engine="numpy", device="cpu")
    assert read == []


def test_a_packed_model_is_offered_half_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlx.core")
    from openmed_mlx_eval.converters import Options, convert

    target = tmp_path / "eight"
    convert(write_model(tmp_path / "m"), target, Options(bits=8, group_size=32))
    monkeypatch.setattr(footprint, "memory_bytes", lambda ops: 40_000)
    with pytest.raises(ModelError, match="--engine mlx --dtype float16 would fit"):
        TokenClassifier.load(target, engine="numpy", device="cpu")


def test_what_fits_is_loaded_and_so_is_what_cannot_be_judged(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ops = open_engine("numpy", "cpu")
    needed = int(footprint.weight_bytes(open_artifact(tiny_model), ops))
    for available in (needed, None):
        monkeypatch.setattr(footprint, "memory_bytes", lambda ops, available=available: available)
        TokenClassifier.load(tiny_model, engine="numpy", device="cpu")
    monkeypatch.setattr(footprint, "memory_bytes", lambda ops: needed - 1)
    with pytest.raises(ModelError):
        TokenClassifier.load(tiny_model, engine="numpy", device="cpu")


def test_the_memory_of_this_machine_is_known_or_not_said() -> None:
    found = footprint.memory_bytes(open_engine("numpy", "cpu"))
    assert found is None or found > 1 << 28


@pytest.mark.parametrize(
    ("said", "files", "least"),
    [
        ("0::/", {"memory.max": "5000\n"}, 5000),
        ("0::/job.slice/step", {"job.slice/memory.max": "4000", "job.slice/step/memory.max": "max"}, 4000),
        ("0::/docker/abc", {"memory.max": "3000"}, 3000),
        ("7:cpu:/x\n4:memory:/box/a\n0::/", {"memory/box/memory.limit_in_bytes": "2000", "memory.max": "max"}, 2000),
        ("4:memory:/", {"memory/memory.limit_in_bytes": "9223372036854771712"}, 9223372036854771712),
        ("0::/", {"memory.max": "max"}, None),
        ("nonsense", {}, None),
        (None, {}, None),
    ],
)
def test_a_container_has_no_more_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, files: dict[str, str], least: int | None
) -> None:
    """A model was laid out by the host's memory and killed by the container's."""
    if said is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(said)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    limits = list(footprint.group_limits(tmp_path))
    assert min(limits, default=None) == least
    engine = open_engine("numpy", "cpu")
    monkeypatch.setattr(footprint, "group_limits", lambda: [])
    machine = footprint.memory_bytes(engine)
    monkeypatch.setattr(footprint, "group_limits", lambda: limits)
    if machine is not None:
        assert footprint.memory_bytes(engine) == min(machine, least or machine)
