"""`mlx.launch -n 2 … run`: two processes on loopback make the report of one; a rank that fails ends both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_corpora

pytest.importorskip("mlx.core")
LAUNCH = shutil.which("mlx.launch") or shutil.which("mlx.launch", path=str(Path(sys.executable).parent))
pytestmark = pytest.mark.skipif(LAUNCH is None, reason="mlx.launch is not installed")


def launch(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    script = folder / "evaluate.py"
    script.write_text("from openmed_mlx_eval.cli.main import main\nmain()\n", "utf-8")
    # fmt: off
    words = [LAUNCH, "-n", "2", "--backend", "ring", "--starting-port", "34567", "--", sys.executable, script, *arguments]
    # fmt: on
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=180, check=False)


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "timing": None}


def test_two_ranks_make_the_report_of_one_run(program, tiny_model: Path, tmp_path: Path) -> None:
    corpus = small_corpora.write(tmp_path, "openmed")
    options = ("run", "--model", tiny_model, "--corpus", corpus, "--engine", "numpy", "--batch-tokens", 1, "--quiet")
    done = launch(tmp_path, *options, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    whole = program(*options, "--json").json()
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert timeless(report) == timeless(whole)
    assert (report["config"]["shard"], report["corpus"]["documents_scored"]) == (None, 4)
    assert done.stdout.count("Model ") == 1  # rank 1 prints nothing
