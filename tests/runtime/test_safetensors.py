"""The safetensors reader: whatever the bytes, it reads them rightly or says ModelError; never anything else."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.safetensors import DTYPES, MAX_HEADER_BYTES, open_safetensors, widened

from .tiny_models import as_safetensors, safetensors_bytes

WHOLE = as_safetensors({"a": np.arange(6.0).reshape(2, 3), "b.c": np.ones(4)})


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("safetensors")


def opened(folder: Path, content: bytes) -> dict[str, Any]:
    # A name of its own for each: a mapped file cannot be written over on every system.
    path = folder / f"{len(list(folder.iterdir()))}.safetensors"
    path.write_bytes(content)
    return open_safetensors(path)


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_reads_what_was_written(tmp_path: Path) -> None:
    tensors = opened(tmp_path, WHOLE)
    assert tensors["a"].float32().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["b.c"].shape == (4,)


@settings(max_examples=300)
@given(content=st.binary(max_size=64))
def test_random_bytes(scratch: Path, content: bytes) -> None:
    try:
        opened(scratch, content)
    except ModelError:
        return
    assert json.loads(content[8:]) is not None  # only a true header is read without complaint


@settings(max_examples=300)
@given(position=st.integers(0, len(WHOLE) - 1), value=st.integers(0, 255))
def test_one_changed_byte(scratch: Path, position: int, value: int) -> None:
    changed = bytearray(WHOLE)
    changed[position] = value
    try:
        tensors = opened(scratch, bytes(changed))
    except ModelError:
        return
    for tensor in tensors.values():
        assert tensor.array.size == math.prod(tensor.shape)


@settings(max_examples=200)
@given(size=st.integers(0, len(WHOLE) - 1))
def test_every_truncation_is_an_error(scratch: Path, size: int) -> None:
    with pytest.raises(ModelError):
        opened(scratch, WHOLE[:size])


ODD_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SIZES = st.lists(st.integers(-2, 2**66) | st.integers(0, 4), max_size=4)
ODD_ENTRIES = ODD_VALUES | st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(sorted(DTYPES)) | ODD_VALUES,
        "shape": SIZES | ODD_VALUES,
        "data_offsets": SIZES | st.tuples(st.integers(0, 16), st.integers(0, 16)).map(list) | ODD_VALUES,
    },
)


@settings(max_examples=400)
@given(header=ODD_VALUES | st.dictionaries(st.text(max_size=4) | st.just("__metadata__"), ODD_ENTRIES, max_size=3))
def test_any_header(scratch: Path, header: Any) -> None:
    try:
        tensors = opened(scratch, safetensors_bytes(header, bytes(16)))
    except ModelError:
        return
    for tensor in tensors.values():
        tensor.float32()


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"a": entry(), "b": entry(offsets=(4, 12))}, "overlaps"),
        ({"a": entry(), "b": entry()}, "overlaps"),
        ({"a": entry(dtype="F16")}, "its shape and its bytes disagree"),
        ({"a": entry(dtype="F64")}, "its shape and its bytes disagree"),
        ({"a": entry(dtype="F8_E4M3", shape=(8,))}, "dtype is not one of"),
        ({"a": entry(dtype=["F32"])}, "dtype is not one of"),
        ({"a": entry(shape=(3,))}, "its shape and its bytes disagree"),
        ({"a": entry(shape=(-2, -1))}, "no natural numbers"),
        ({"a": entry(shape=(True, 2))}, "no natural numbers"),
        ({"a": entry(shape=(2**40,))}, "its shape and its bytes disagree"),
        ({"a": entry(shape=(2**40, 2**40, 0), offsets=(0, 0))}, "shape is none"),
        ({"a": entry(shape=(2**70, 0), offsets=(0, 0))}, "shape is none"),
        ({"a": entry(shape=[1] * 70, offsets=(0, 4))}, "shape is none"),
        ({"a": entry(), "b": entry(offsets=(8, 15), shape=(7,), dtype="U8")}, "1 bytes belong to no tensor"),
        ({"a": entry(offsets=(8, 16))}, "8 bytes belong to no tensor"),
        ({}, "16 bytes belong to no tensor"),
        ({"a": entry(offsets=(8, 0))}, "outside the file"),
        ({"a": entry(offsets=(16, 24))}, "outside the file"),
        ({"a": entry(offsets=(0,))}, "no natural numbers"),
        ({"a": None}, "no description"),
        ([], "not an object"),
        ("a", "not an object"),
    ],
)
def test_lies_of_the_header(tmp_path: Path, header: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        opened(tmp_path, safetensors_bytes(header, bytes(16)))


@settings(max_examples=200)
@given(header=st.dictionaries(st.sampled_from("abc"), ODD_ENTRIES, max_size=3))
def test_as_strict_as_the_reference_implementation(scratch: Path, header: Any) -> None:
    reference = pytest.importorskip("safetensors")
    content = safetensors_bytes(header, bytes(8))
    try:
        opened(scratch, content)
    except ModelError:
        return
    assert {name for name, _ in reference.deserialize(content)} == header.keys()


@pytest.mark.parametrize("size", [0, 1, len(WHOLE), MAX_HEADER_BYTES + 1, 2**63, 2**64 - 1])
def test_lies_about_the_header_length(tmp_path: Path, size: int) -> None:
    start = time.perf_counter()
    with pytest.raises(ModelError, match="safetensors file"):
        opened(tmp_path, size.to_bytes(8, "little") + WHOLE[8:])
    assert time.perf_counter() - start < 30  # no hang; speed is for benchmarks


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    once = json.dumps(entry())
    header = f'{{"a":{once},"a":{json.dumps(entry(offsets=(8, 16)))}}}'.encode()
    with pytest.raises(ModelError, match="header is not JSON"):
        opened(tmp_path, len(header).to_bytes(8, "little") + header + bytes(16))


def test_deep_header_is_an_error_and_no_crash(tmp_path: Path) -> None:
    header = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    with pytest.raises(ModelError):
        opened(tmp_path, len(header).to_bytes(8, "little") + header)


def test_empty_file_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="empty"):
        opened(tmp_path, b"")
    with pytest.raises(ModelError, match="cannot be read"):
        open_safetensors(tmp_path / "absent.safetensors")
    with pytest.raises(ModelError, match="cannot be read"):
        open_safetensors(tmp_path)


def test_a_message_never_holds_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "QZX-7781"
    folder.mkdir()
    with pytest.raises(ModelError) as caught:
        opened(folder, WHOLE[:40])
    assert "QZX-7781" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_tensors_are_mapped_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.safetensors"
    path.write_bytes(as_safetensors({"w": np.zeros((2048, 1024), dtype=np.float32)}))
    tracemalloc.start()
    tensors = open_safetensors(path)
    row = tensors["w"].float32(np.array([5]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert row.shape == (1, 1024)
    assert peak < 1 << 20  # of 8 MiB
    assert not tensors["w"].array.flags.writeable


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_stored_types_widen_to_float32(tmp_path: Path, dtype: str) -> None:
    values = np.array([0.0, -1.5, 3.0, 65504.0 if dtype != "BF16" else 65280.0, np.inf], dtype=np.float32)
    found = opened(tmp_path, as_safetensors({"w": values}, dtype))["w"].float32()
    assert found.dtype == np.float32
    assert np.array_equal(found, values)


def test_every_float16_widens_bit_for_bit(tmp_path: Path) -> None:
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)  # a block of each sign; the last of each hold infinity and NaN
    content = np.concatenate([values, values[:700]]).reshape(-1, 4)
    found = widened(content, "F16")
    assert found.shape == content.shape
    assert np.array_equal(found.view(np.uint32), content.astype(np.float32).view(np.uint32))
    finite = values[np.isfinite(values)]
    assert np.array_equal(widened(finite, "F16").view(np.uint32), finite.astype(np.float32).view(np.uint32))


NUMPY_KINDS = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")


@given(
    kinds=st.lists(st.sampled_from(NUMPY_KINDS), min_size=1, max_size=4),
    shape=st.lists(st.integers(0, 3), max_size=3),
    seed=st.integers(0, 9),
)
def test_parity_with_the_reference_implementation(scratch: Path, kinds: list[str], shape: list[int], seed: int) -> None:
    reference = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(seed)
    written = {f"t{i}": rng.integers(0, 2, shape).astype(kind) for i, kind in enumerate(kinds)}
    found = opened(scratch, reference.save(written, metadata={"format": "np"}))
    assert found.keys() == written.keys()
    for name, values in written.items():
        assert found[name].array.dtype == values.dtype
        assert found[name].shape == values.shape
        assert np.array_equal(found[name].array, values)


def test_bfloat16_as_torch_writes_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("safetensors.torch")
    values = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    found = opened(tmp_path, reference.save({"w": values}))["w"]
    assert np.array_equal(found.float32(), values.float().numpy())
