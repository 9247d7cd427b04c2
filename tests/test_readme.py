"""The README is true: each of its commands runs, and its tour shows what is really printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.demo import corpus_path, model_path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MACHINE = re.compile(r"^(Ran on|Speed) .*$", re.MULTILINE)  # lines that differ from machine to machine


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def call(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-m", "openmed_mlx_eval", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", env=None, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in MACHINE.sub("", text).splitlines() if line.strip())


def test_readme_tour_prints_what_it_shows(tmp_path: Path) -> None:
    (block,) = blocks("console")
    command, _, shown = block.partition("\n")
    assert command.startswith("$ openmed-mlx-eval ")
    assert squeezed(call(shlex.split(command)[2:], tmp_path)) == squeezed(shown)
    assert sorted(path.name for path in (tmp_path / "demo-run").iterdir()) == [
        "documents.jsonl",
        "predictions.jsonl",
        "report.json",
        "report.md",
    ]


@pytest.fixture(scope="module")
def saved_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the demo's gold against itself."""
    folder = tmp_path_factory.mktemp("runs")
    call(["score", str(corpus_path()), str(corpus_path()), "--output", "run"], folder)
    return folder / "run"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two shards of a run of the demo."""
    folder = tmp_path_factory.mktemp("shards")
    for number in (1, 2):
        call(["run", "--limit", "4", "--shard", f"{number}/2", "--output", str(number)], folder)
    return {f"SHARD_{number}": folder / str(number) for number in (1, 2)}


@pytest.mark.parametrize("line", "".join(blocks("text")[:1]).splitlines())
def test_readme_command_runs(line: str, saved_run: Path, shards: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text('rules = ["leakage.any_label <= 0.005"]', encoding="utf-8")
    (tmp_path / "labels.json").write_text('{"DATE": "WHEN"}', encoding="utf-8")
    for name in ("GOLD.conll", "PREDICTED.conll"):
        (tmp_path / name).write_text("Amy B-NAME\nsmiles O\n", encoding="utf-8")
    names = {"MODEL": model_path(), "CORPUS": corpus_path(), "GOLD": corpus_path(), "PREDICTIONS": corpus_path()}
    names["GLINER"] = ROOT / "tests" / "data" / "gliner" / "bert"
    names |= dict.fromkeys(("A", "B", "TRAIN"), corpus_path()) | dict.fromkeys(("MODEL_A", "MODEL_B"), model_path())
    names |= dict.fromkeys(("RUN", "RUN_A", "RUN_B"), saved_run) | shards
    program, *words = shlex.split(line)
    assert program == "openmed-mlx-eval"
    words = ["31" if word == "128" else word for word in words]  # the demo's window is 126 tokens
    call([str(names.get(word, word)) for word in words], tmp_path)


def test_readme_python_runs() -> None:
    (block,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
    assert "'DATE'" in done.stdout


def test_readme_install_commands_name_real_extras() -> None:
    extras = set(re.findall(r"\.\[([\w-]+)\]", README))
    section = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.optional-dependencies]")[2]
    defined = set(re.findall(r"^([\w-]+) = \[", section.partition("\n[")[0], re.MULTILINE))
    assert {"test", "parity"} <= extras <= defined
