"""The mlx engine's graph: compiled or not the same numbers, a bounded number of shapes, one wait a batch, few primitives."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.runtime.classifier import TokenClassifier
from openmed_mlx_eval.runtime.engines import open_engine

from .tiny_models import WORDS, bert_config, network_logits, write_model

pytest.importorskip("mlx.core")
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "data" / "golden"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="mlx's CPU device compiles with g++")
needs_openmed = pytest.mark.skipif(find_spec("openmed") is None, reason="openmed is not installed")
WHOLE_WORDS = [word for word in WORDS if not word.startswith("##")]


@pytest.fixture(scope="module")
def graph() -> Iterator[Any]:
    """benchmarks/graph.py, whose counts are the ones that are published."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import graph

        yield graph
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"), bert_config(max_position_embeddings=128))


def documents(count: int = 30) -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WHOLE_WORDS, size)) for size in rng.integers(0, 300, count)]


def load(folder: Path, engine: str = "mlx", **options: Any) -> TokenClassifier:
    return TokenClassifier.load(folder, engine=engine, device="cpu", **options)


@needs_compiler
@pytest.mark.parametrize("family", ["bert", "deberta-v3", "modernbert", "privacy-filter", "longformer"])
def test_compiled_is_uncompiled(family: str) -> None:
    rng = np.random.default_rng(2)
    lengths = (33, 40, 40, 31, 7, 1, 38, 40, 12)  # nine: one more sequence fills the batch up
    ids = [rng.integers(4, 20, length).astype(np.int32) for length in lengths]
    plain = network_logits(GOLDEN / family, "mlx", ids)
    runs = [network_logits(GOLDEN / family, "mlx", ids, compile=True) for _ in range(2)]
    for expected, first, second in zip(plain, *runs, strict=True):
        assert np.abs(first - expected).max() < 1e-6 * max(1, np.abs(expected).max())
        assert np.array_equal(first, second)


@needs_compiler
def test_compiled_spans_are_those_of_numpy(folder: Path) -> None:
    texts = documents()
    compiled, numpy = (
        list(classifier.predict(texts)) for classifier in (load(folder, compile=True), load(folder, engine="numpy"))
    )
    assert load(folder, compile=True).ops.compiles
    for found, expected in zip(compiled, numpy, strict=True):
        assert [(s.start, s.end, s.label) for s in found] == [(s.start, s.end, s.label) for s in expected]
        assert [s.score for s in found] == pytest.approx([s.score for s in expected], abs=1e-5)


@pytest.mark.parametrize("family", ["longformer-global", "bilstm-crf"])
def test_what_is_no_one_graph_is_not_compiled(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where compiling is the default, as on a GPU; said by name where it is asked for."""
    from openmed_mlx_eval.runtime.engines import mlx_ops

    monkeypatch.setattr(mlx_ops, "compiles", lambda device, asked: asked is not False)
    assert load(GOLDEN / "longformer").ops.compiles
    assert not load(GOLDEN / family).ops.compiles
    with pytest.raises(UsageError, match="--compile: the network of this model is not one graph"):
        load(GOLDEN / family, compile=True)


def test_buckets_are_few_and_near() -> None:
    from openmed_mlx_eval.runtime.engines.mlx_layout import bucket

    sizes = range(1, 8193)
    assert all(size <= bucket(size) < size + 8 or bucket(size) <= 1.25 * size for size in sizes)
    assert len({bucket(size) for size in sizes if size <= 512}) == 20
    assert len({bucket(size) for size in sizes}) == 36
    assert [bucket(size, 1) for size in range(1, 18)] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 12, 14, 14, 16, 16, 20]


@needs_compiler
def test_a_ragged_corpus_is_traced_in_few_shapes() -> None:
    ops: Any = open_engine("mlx", "cpu", compile=True)
    traced: list[Any] = []

    def network(inputs: Any) -> Any:
        traced.append(inputs.layout[:2])
        return inputs.ids.reshape(-1, 1)

    run = ops.started(network)
    for length in range(1, 301):
        ids = [np.full(length, 7, dtype=np.int32), np.full(max(1, length - 3), 7, dtype=np.int32)]
        batch = ops.inputs(ids, ids)
        assert (ops.host(run(batch), batch) == 7).all()
    assert len(set(traced)) == 16 + 1  # those up to 256, and 320
    assert len(traced) <= 2 * len(set(traced))  # once with padding, once without


def test_without_compiling_nothing_is_padded_beyond_the_longest() -> None:
    ops = open_engine("mlx", "cpu")
    assert not ops.compiles
    batch = ops.inputs([np.arange(37, dtype=np.int32)] * 9, [np.arange(37, dtype=np.int32)] * 9)
    assert batch.layout == (9, 37, None)


@pytest.mark.parametrize("batch_tokens", [64, 300])
def test_the_host_waits_once_a_batch(folder: Path, graph: Any, batch_tokens: int) -> None:
    classifier = load(folder, batch_tokens=batch_tokens)
    encoded = classifier.encoder.encode(documents())
    begun: list[int] = []

    def network(inputs: Any) -> Any:
        begun.append(len(inputs.lengths))
        return classifier._network(inputs)

    with graph.counted_waits() as waits:
        dataclasses.replace(classifier, _network=network).forward(encoded)
    assert len(begun) > 5
    assert len(waits) == len(begun)


def test_the_next_batch_is_begun_before_one_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = load(folder, batch_tokens=200)
    events: list[str] = []
    host = type(classifier.ops).host

    def network(inputs: Any) -> Any:
        events.append("begin")
        return classifier._network(inputs)

    def waiting(ops: Any, logits: Any, inputs: Any) -> Any:
        events.append("wait")
        return host(ops, logits, inputs)

    monkeypatch.setattr(type(classifier.ops), "host", waiting)
    dataclasses.replace(classifier, _network=network).forward(classifier.encoder.encode(documents(12)))
    batches = len(events) // 2
    assert batches > 3
    assert events == ["begin", *["begin", "wait"] * (batches - 1), "wait"]


def test_no_batch_is_mostly_padding(folder: Path) -> None:
    classifier = load(folder, batch_tokens=4096)
    batches: list[Any] = []

    def network(inputs: Any) -> Any:
        batches.append(inputs.lengths)
        return classifier._network(inputs)

    dataclasses.replace(classifier, _network=network).forward(classifier.encoder.encode(documents(60)))
    assert any(len(lengths) > 3 for lengths in batches)
    assert all(min(lengths) >= 0.9 * max(lengths) for lengths in batches)


@needs_compiler
@pytest.mark.parametrize("model_type", ["bert", "roberta", "distilbert"])
def test_six_layers_are_at_most_150_primitives(graph: Any, model_type: str) -> None:
    """Compiled, and each call of mx.fast one primitive, as on a GPU."""
    assert graph.counts("ours, compiled", model_type, 6, as_one=True) <= 150


@needs_openmed
@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra", "roberta", "xlm-roberta", "deberta-v2", "modernbert"])
def test_fewer_primitives_and_waits_than_openmed(graph: Any, model_type: str) -> None:
    for as_one in (False, True):
        ours, theirs = (graph.counts(program, model_type, 6, as_one=as_one) for program in ("ours", "openmed"))
        assert ours < theirs
    assert graph.waits("ours", model_type) == 1
    assert graph.waits("openmed", model_type) == 3 * len(graph.LENGTHS)


def test_memory_is_limited_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from openmed_mlx_eval.runtime.engines import mlx_device

    said: dict[str, int] = {}
    fake = SimpleNamespace(
        device_info=lambda: {"max_recommended_working_set_size": 12 << 30, "memory_size": 16 << 30},
        set_wired_limit=lambda size: said.update(wired=size),
        set_cache_limit=lambda size: said.update(cached=size),
    )
    monkeypatch.setattr(mlx_device, "mx", fake)
    mlx_device.limit_memory("cpu")
    assert said == {}
    mlx_device.limit_memory("metal")
    assert said == {"wired": 12 << 30, "cached": 2 << 30}
    said.clear()
    mlx_device.limit_memory("cuda")
    assert said == {"cached": 2 << 30}


def test_compiling_with_numpy_is_refused() -> None:
    with pytest.raises(UsageError, match="--engine numpy compiles nothing"):
        open_engine("numpy", "cpu", compile=True)
    assert not open_engine("numpy", "cpu", compile=False).compiles


def test_without_a_compiler_compiling_is_refused_by_name(folder: Path) -> None:
    """mlx itself would run uncompiled without a word."""
    script = (
        "from openmed_mlx_eval.runtime.engines import open_engine\n"
        "from openmed_mlx_eval.errors import UsageError\n"
        "assert not open_engine('mlx', 'cpu').compiles\n"
        "try:\n    open_engine('mlx', 'cpu', compile=True)\n"
        "except UsageError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("--compile: on its CPU device mlx compiles with the system's C++ compiler")
