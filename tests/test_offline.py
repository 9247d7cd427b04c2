"""No command uses the network but `models pull`, and `generate --endpoint` on loopback: all run where no socket opens."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.cli.main import COMMANDS
from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.demo import corpus_path, model_path
from openmed_mlx_eval.generative.protocol import load_protocol
from openmed_mlx_eval.generative.rendering import gold_answers

WITHOUT_SOCKETS = """
import socket, sys
def refused(*arguments, **options):
    raise SystemExit("a socket was opened")
socket.socket.__init__ = socket.create_connection = socket.getaddrinfo = refused
from openmed_mlx_eval.cli.main import main
main(sys.argv[1:])
"""
CORPUS, MODEL = str(corpus_path()), str(model_path())
CALLS: dict[str, list[str]] = {
    "run": ["--limit", "2", "--bootstrap", "0"],
    "merge": ["{folder}/shard"],
    "score": [CORPUS, CORPUS, "--bootstrap", "0"],
    "generate": ["--answers", "{folder}/answers.jsonl", "--corpus", "{folder}/devel.tsv", "--bootstrap", "0"],
    "errors": ["--limit", "2"],
    "compare": ["{folder}/run", "{folder}/run", "--bootstrap", "20"],
    "gate": ["{folder}/run", "--rules", "{folder}/gates.toml"],
    "report": ["{folder}/run"],
    "latency": ["--processes", "1", "--lengths", "8", "--batches", "1", "--warmups", "0", "--iterations", "1", "--seconds", "0", "--limit", "1"],
    "corpus": ["stats", CORPUS],
    "convert": [MODEL, "{out}", "--quantize", "8"],
    "parity": [MODEL, MODEL],
    "bench": [MODEL, "--corpus", CORPUS, "--limit", "1", "--bootstrap", "0", "--output", "{out}"],
    "models": ["list"],
    "doctor": [],
}  # fmt: skip


def called(words: list[str], folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-c", WITHOUT_SOCKETS, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the calls name: a run, a shard of one, rules, a corpus and answers."""
    import json

    made = tmp_path_factory.mktemp("offline")
    (made / "devel.tsv").write_text("The\tO\nlung\tB-Anatomy\n", "utf-8")
    answers = gold_answers(load_corpus(made / "devel.tsv"), load_protocol("anat_em"))
    (made / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers), "utf-8")
    (made / "gates.toml").write_text('rules = ["exact_f1 >= 0"]', "utf-8")
    for name, more in (("run", []), ("shard", ["--shard", "1/1"])):
        done = called(["run", "--limit", "2", "--bootstrap", "0", "--output", name, *more], made)
        assert done.returncode == 0, done.stderr
    return made


def test_there_is_a_call_of_every_command() -> None:
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("command", CALLS)
def test_every_command_runs_without_sockets(command: str, folder: Path, tmp_path: Path) -> None:
    if command == "report":
        pytest.importorskip("matplotlib")
    words = [word.format(folder=folder, out=tmp_path / "out") for word in CALLS[command]]
    done = called([command, *words], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_block_would_be_seen(tmp_path: Path) -> None:
    script = WITHOUT_SOCKETS.replace("from openmed_mlx_eval.cli.main import main\nmain(sys.argv[1:])", "socket.socket()")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "a socket was opened" in done.stderr


def test_the_main_job_runs_in_a_namespace_without_interfaces(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system gives no network namespace")
    script = [sys.executable, "-m", "openmed_mlx_eval", "run", "--limit", "2", "--quiet"]
    done = subprocess.run([unshare, "-rn", *script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout
