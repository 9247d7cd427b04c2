"""Cold start: fresh processes, each from before its start to after its end, phase by phase.

The first process is thrown away: it fills the page cache, and Python's cache of compiled modules. What the caches
were asked to be and what is known of them stand beside the samples; nothing is claimed that was not looked at.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import EvaluationError, ModelError, UsageError
from ..request import ModelChoice
from . import page_cache
from .statistics import summary

PHASES = ("start", "import", "weights", "tokenizer", "engine", "first_forward", "first_span", "second_forward", "exit")
"""start: until the interpreter runs our first line. weights: files mapped and checked. engine: opened, and the
weights laid out for it. first_forward: tokenised, computed, and brought to the host. first_span: decoded. exit:
until the process is gone."""

UNTIL_FIRST_SPAN = PHASES[: PHASES.index("first_span") + 1]

PAGE_CACHES = ("warm", "cold")
JIT_CACHES = ("kept", "empty")


@dataclass(frozen=True, slots=True)
class ColdSample:
    """One process. phases: milliseconds by PHASES; they add up to total_ms. cached: the share of the model's files
    in the page cache just before, None where unknown.
    """

    phases: dict[str, float]
    total_ms: float
    spans: int
    engine: str
    device: str
    peak_rss_mib: float | None
    peak_device_mib: float | None
    cached: float | None

    @property
    def first_span_ms(self) -> float:
        """From before the process was started to its first spans: what is called the cold start."""
        return sum(self.phases[phase] for phase in UNTIL_FIRST_SPAN)

    def to_dict(self) -> dict[str, Any]:
        return {
            "cold_start_ms": round(self.first_span_ms, 4),
            "total_ms": round(self.total_ms, 4),
            "phases_ms": {phase: round(self.phases[phase], 4) for phase in PHASES},
            "peak_rss_mib": self.peak_rss_mib,
            "peak_device_mib": self.peak_device_mib,
        }


@dataclass(frozen=True, slots=True)
class ColdStart:
    """How to start: processes measured (one more is thrown away), and what the caches shall be.

    Raises UsageError for a state that is none.
    """

    processes: int = 10
    page_cache: str = "warm"
    jit_cache: str = "kept"

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("--page-cache", self.page_cache, PAGE_CACHES),
            ("--jit-cache", self.jit_cache, JIT_CACHES),
        ):
            if value not in allowed:
                raise UsageError(f"{option}: {value!r} is none of {', '.join(allowed)}")

    def samples(self, model: ModelChoice) -> Iterator[ColdSample]:
        """One sample a process, as each ends. Raises ModelError or UsageError as loading the model here would."""
        if not self.processes:
            return
        files = page_cache.files_of(model.directory)
        self._sample(model, None)
        for _ in range(self.processes):
            if self.page_cache == "cold":
                page_cache.drop(files)
            yield self._sample(model, page_cache.cached_share(files))

    def _sample(self, model: ModelChoice, cached: float | None) -> ColdSample:
        with _environment(empty=self.jit_cache == "empty") as environment:
            started, found, ended = _process(model, environment)
        ends = [("", started), *((phase, end) for phase, end in found["ends"]), ("exit", ended)]
        phases = {phase: (end - before) * 1000 for (_, before), (phase, end) in itertools.pairwise(ends)}
        return ColdSample(
            phases={phase: phases[phase] for phase in PHASES},
            total_ms=(ended - started) * 1000,
            spans=found["spans"],
            engine=found["engine"],
            device=found["device"],
            peak_rss_mib=found["peak_rss_mib"],
            peak_device_mib=found["peak_device_mib"],
            cached=cached,
        )

    def block(self, samples: Sequence[ColdSample]) -> dict[str, Any]:
        """`cold_start` of latency.json."""
        return {
            "processes": len(samples),
            "page_cache": {"asked": self.page_cache, "state": self._page_cache_state(samples)},
            "jit_cache": {"asked": self.jit_cache, "state": self._jit_cache_state(samples)},
            "cold_start_ms": summary([sample.first_span_ms for sample in samples]),
            "total_ms": summary([sample.total_ms for sample in samples]),
            "phases_ms": {phase: summary([sample.phases[phase] for sample in samples]) for phase in PHASES},
            "peak_rss_mib": max((sample.peak_rss_mib for sample in samples if sample.peak_rss_mib is not None), default=None),
            "spans": samples[0].spans if samples else None,
            "samples": [sample.to_dict() for sample in samples],
        }

    def _page_cache_state(self, samples: Sequence[ColdSample]) -> str:
        """warm or cold as it was found to be; unknown where it could not be looked at, or is neither."""
        shares = [sample.cached for sample in samples if sample.cached is not None]
        if not shares or len(shares) < len(samples):
            return "warm" if self.page_cache == "warm" and samples else "unknown"  # the process before read the files
        if self.page_cache == "cold":
            return "cold" if max(shares) <= page_cache.EMPTY else "unknown"
        return "warm"

    def _jit_cache_state(self, samples: Sequence[ColdSample]) -> str:
        """none where nothing is compiled; unknown on Metal, whose shader cache is the system's own."""
        if not samples:
            return "unknown"
        engine, device = samples[0].engine, samples[0].device
        if engine != "mlx":
            return "none"
        return "unknown" if device == "metal" and self.jit_cache == "empty" else self.jit_cache


@contextmanager
def _environment(*, empty: bool) -> Iterator[dict[str, str]]:
    """Environment variables for a process; empty: mlx finds no kernel that an earlier one compiled.

    mlx keeps those of its CPU and CUDA backends under the system's folder for temporary files.
    """
    variables = dict(os.environ)
    if not empty:
        yield variables
        return
    with tempfile.TemporaryDirectory() as folder:
        yield variables | {"TMPDIR": folder, "MLX_PTX_CACHE_DIR": folder}


def _process(model: ModelChoice, environment: dict[str, str]) -> tuple[float, dict[str, Any], float]:
    """(time before its start, what it said, time after its end). It imports from where this process does."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from openmed_mlx_eval.latency.probe import main; main()"
    command = [sys.executable, "-c", code, json.dumps(asdict(model))]
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    ended = time.perf_counter()
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):  # what it said on stderr may hold anything, and is not shown
        raise EvaluationError(
            f"a fresh process ended with exit code {done.returncode} and no result – does `run` with this model work?"
        ) from None
    if "error" in found:
        raise (UsageError if found["exit_code"] == 2 else ModelError)(found["error"])
    return started, found, ended
