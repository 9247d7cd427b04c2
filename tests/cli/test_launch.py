"""`mlx.launch -n 2 … run`: two processes on loopback make the report of one; a rank that fails ends both."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_corpora

pytest.importorskip("mlx.core")
LAUNCH = shutil.which("mlx.launch") or shutil.which("mlx.launch", path=str(Path(sys.executable).parent))
pytestmark = pytest.mark.skipif(LAUNCH is None, reason="mlx.launch is not installed")


def launch(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Two processes of the program. Ports of its own, so that nothing else on the machine is met."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1] % 20_000 + 20_000
    program = [sys.executable, "-m", "openmed_mlx_eval", *arguments]
    words = [LAUNCH, "-n", "2", "--backend", "ring", "--starting-port", port, "--", *program]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=500, check=False)


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "timing": None}


def test_two_ranks_make_the_report_of_one_run(program, tiny_model: Path, tmp_path: Path) -> None:
    corpus = small_corpora.write(tmp_path, "openmed")
    options = ("run", "--model", tiny_model, "--corpus", corpus, "--engine", "numpy", "--batch-tokens", 1, "--quiet")
    done = launch(*options, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    whole = program(*options, "--json").json()
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert timeless(report) == timeless(whole)
    assert (report["config"]["shard"], report["corpus"]["documents_scored"]) == (None, 4)
    assert done.stdout.count("Model ") == 1  # rank 1 prints nothing


def test_a_rank_that_fails_ends_both_and_says_why_without_a_path(tiny_model: Path, tmp_path: Path) -> None:
    done = launch("run", "--model", tiny_model, "--corpus", tmp_path / "Quill-1970", "--output", tmp_path / "out")
    assert done.returncode != 0 or "exited with code 2" in done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "error: rank 0: no such file or folder" in said
    assert "Quill-1970" not in said
    assert not (tmp_path / "out").exists()
