"""The benchmarks' command lines: each says what it is, and a wrong call ends with a line about it and not with a trace.

What they measure is nothing a test can say.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
NEEDS = {"graph": "mlx.core"}
COMMANDS = ("alignment", "cold_start", "families", "graph", "memory", "scale", "scoring", "throughput")


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    command = [sys.executable, str(FOLDER / f"{name}.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_every_command_is_tested() -> None:
    assert sorted(COMMANDS) == sorted(path.stem for path in FOLDER.glob("*.py") if "argparse." in path.read_text("utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_measures_nothing(name: str) -> None:
    said = run(name, "--help")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"usage: {name}.py")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("alignment", ["--no"], "unrecognized arguments"),
        ("cold_start", ["no-such-folder"], "argument model: no such file or folder"),
        ("cold_start", [".", "--rounds", "0"], "--rounds: give a whole number of at least 1"),
        ("families", ["no-family"], "no family is called no-family – there are bert"),
        ("families", ["bert", "--batches", "8"], "--batches: give texts x tokens"),
        ("families", ["bert", "--batches", "0x9"], "--batches: give texts x tokens"),
        ("graph", ["--layers", "0"], "--layers: give a whole number of at least 1"),
        ("memory", [".", "no-such-file"], "argument corpus: no such file or folder"),
        ("scale", [".", ".", "--documents", "3"], "--documents: give a whole number of at least 4"),
        ("throughput", [".", ".", "--limit", "-1"], "--limit: give a whole number of at least 0"),
    ],
)
def test_a_wrong_call_is_said_to_be(name: str, arguments: list[str], message: str) -> None:
    said = run(name, *arguments)
    assert (said.returncode, said.stdout) == (2, "")
    assert message in said.stderr
    assert "Traceback" not in said.stderr
