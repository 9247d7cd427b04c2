"""Fresh processes: their phases add up, their errors are the program's own, and what is said of caches was looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from runtime.tiny_models import write_model

from openmed_mlx_eval.errors import EvaluationError, ModelError, UsageError
from openmed_mlx_eval.latency import cold, page_cache
from openmed_mlx_eval.latency.cold import PHASES, ColdSample, ColdStart
from openmed_mlx_eval.latency.memory import peak_rss_mib, rss_mib
from openmed_mlx_eval.request import ModelChoice


def sample(**changes: object) -> ColdSample:
    given = {"engine": "numpy", "device": "cpu", "peak_rss_mib": 1.0, "peak_device_mib": None, "cached": 1.0, **changes}
    return ColdSample(phases=dict.fromkeys(PHASES, 1.0), total_ms=float(len(PHASES)), spans=0, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def samples(tiny_model: Path) -> list[ColdSample]:
    return list(ColdStart(2).samples(ModelChoice(str(tiny_model), engine="numpy", device="cpu")))


def test_phases_add_up_to_what_the_parent_measured(samples: list[ColdSample]) -> None:
    assert len(samples) == 2
    for one in samples:
        assert list(one.phases) == list(PHASES)
        assert all(ms > 0 for ms in one.phases.values())
        assert sum(one.phases.values()) == pytest.approx(one.total_ms, rel=0.05)
        assert one.first_span_ms < one.total_ms


def test_a_block_holds_every_sample(samples: list[ColdSample]) -> None:
    block = ColdStart(2).block(samples)
    assert block["processes"] == len(block["samples"]) == block["total_ms"]["count"] == 2
    assert block["spans"] == samples[0].spans == samples[1].spans
    assert block["peak_rss_mib"] == max(one["peak_rss_mib"] for one in block["samples"])
    assert block["page_cache"] == {"asked": "warm", "state": "warm"}
    assert block["jit_cache"] == {"asked": "kept", "state": "none"}


def test_no_process_is_no_number() -> None:
    assert list(ColdStart(0).samples(ModelChoice("nowhere"))) == []
    block = ColdStart(0).block([])
    assert block["cold_start_ms"]["median"] is block["peak_rss_mib"] is block["spans"] is None
    assert block["page_cache"]["state"] == block["jit_cache"]["state"] == "unknown"


def test_a_model_that_cannot_be_run_is_said_as_here(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(ModelError, match="no such folder: the model"):
        list(ColdStart(1).samples(ModelChoice(str(tmp_path / "nowhere"))))
    with pytest.raises(UsageError, match="--engine numpy computes in float32"):
        list(ColdStart(1).samples(ModelChoice(str(tiny_model), engine="numpy", dtype="float16")))


def test_a_process_that_dies_is_an_error(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold.sys, "path", ["/nowhere"])
    with pytest.raises(EvaluationError, match="exit code 1 and no result"):
        list(ColdStart(1).samples(ModelChoice(str(tiny_model))))


@pytest.mark.parametrize("changes", [{"page_cache": "tepid"}, {"jit_cache": "full"}])
def test_a_state_that_is_none_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="is none of"):
        ColdStart(1, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "cached", "state"),
    [("warm", 1.0, "warm"), ("warm", None, "warm"), ("cold", 0.0, "cold"), ("cold", 0.4, "unknown"), ("cold", None, "unknown")],
)
def test_the_page_cache_is_what_it_was_found_to_be(asked: str, cached: float | None, state: str) -> None:
    block = ColdStart(1, page_cache=asked).block([sample(cached=cached)])
    assert block["page_cache"] == {"asked": asked, "state": state}


@pytest.mark.parametrize(
    ("engine", "device", "asked", "state"),
    [("numpy", "cpu", "empty", "none"), ("mlx", "cpu", "empty", "empty"), ("mlx", "metal", "empty", "unknown"),
     ("mlx", "metal", "kept", "kept"), ("mlx", "cuda", "empty", "empty")],
)  # fmt: skip
def test_the_cache_of_kernels_is_what_can_be_known(engine: str, device: str, asked: str, state: str) -> None:
    block = ColdStart(1, jit_cache=asked).block([sample(engine=engine, device=device)])
    assert block["jit_cache"] == {"asked": asked, "state": state}


def test_the_mlx_engine_starts_with_an_empty_cache_too(tiny_model: Path) -> None:
    pytest.importorskip("mlx.core")
    how = ColdStart(1, jit_cache="empty")
    found = list(how.samples(ModelChoice(str(tiny_model), engine="mlx", device="cpu")))
    assert found[0].peak_device_mib is not None
    assert found[0].peak_device_mib > 0
    assert sum(found[0].phases.values()) == pytest.approx(found[0].total_ms, rel=0.05)


def test_a_label_map_names_the_labels_of_a_checkpoint_without_names(tmp_path: Path) -> None:
    from runtime.tiny_models import bert_config

    config = bert_config(id2label={"0": "LABEL_0", "1": "LABEL_1"})
    model = write_model(tmp_path / "nameless", config)
    table = tmp_path / "map.json"
    table.write_text('{"LABEL_0": "O", "LABEL_1": "B-NAME"}')
    assert len(list(ColdStart(1).samples(ModelChoice(str(model), label_map=str(table))))) == 1
    with pytest.raises(ModelError, match="have no names"):
        list(ColdStart(1).samples(ModelChoice(str(model))))


@pytest.mark.skipif(not page_cache.can_drop(), reason="the system takes no such advice")
def test_a_file_leaves_the_page_cache_or_it_is_not_said_to(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"x" * (1 << 20))
    with path.open("rb") as file:
        import os

        os.fsync(file.fileno())  # a page not yet written cannot leave
    path.read_bytes()
    assert page_cache.cached_share([path]) == 1.0
    page_cache.drop([path])
    share = page_cache.cached_share([path])
    assert share is not None
    assert share in (0.0, 1.0) or 0 < share < 1  # 1.0 in memory-backed storage
    path.read_bytes()
    assert page_cache.cached_share([path]) == 1.0
    assert page_cache.cached_share([]) is None


def test_every_file_of_a_model_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "tokenizer").mkdir()
    for name in ("config.json", "tokenizer/tokenizer.json"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in page_cache.files_of(tmp_path)] == ["config.json", "tokenizer.json"]
    page_cache.drop(page_cache.files_of(tmp_path))
    assert page_cache.files_of(tmp_path / "nowhere") == []


def test_a_small_process_does_not_inherit_the_peak_of_a_big_one() -> None:
    """ru_maxrss is handed on at fork and exec."""
    code = (
        "import subprocess, sys; held = bytearray(300 << 20);"
        "print(subprocess.run([sys.executable, '-c', 'from openmed_mlx_eval.latency.memory import peak_rss_mib as p;"
        " print(p())'], capture_output=True, text=True, check=True).stdout)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    if sys.platform == "win32":
        assert said.strip() == "None"
    else:
        assert 1 < float(said) < 300


@pytest.mark.skipif(sys.platform == "win32", reason="not measured there")
def test_memory_held_is_memory_counted() -> None:
    before = peak_rss_mib()
    now = rss_mib()
    assert before is not None
    assert now is not None
    held = bytearray(b"x") * (int(before - min(now, before) + 64) << 20)
    after = peak_rss_mib()
    del held
    assert after is not None
    assert after >= before + 32


def test_the_probe_says_one_line_of_json(tiny_model: Path) -> None:
    command = [sys.executable, "-m", "openmed_mlx_eval.latency.probe", json.dumps({"directory": str(tiny_model)})]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [phase for phase, _ in found["ends"]] == list(PHASES[:-1])
    assert done.stderr == ""


def test_a_file_that_cannot_be_read_leaves_the_page_cache_unknown(tmp_path: Path) -> None:
    """It ended `latency` with an internal error, though the model never needs it."""
    unreadable = [tmp_path / "gone", tmp_path]
    page_cache.drop(unreadable)
    assert page_cache.cached_share(unreadable) is None
