"""Completion by click's protocol: what bash, zsh and fish are given, and what they ask for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from openmed_mlx_eval.cli.completion import OFFERS, VARIABLE
from openmed_mlx_eval.cli.main import COMMANDS, cli
from openmed_mlx_eval.corpora import FORMATS

Ask = Callable[..., list[str]]


@pytest.fixture
def ask(program, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """`ask("run", "--format", "")`: the words that bash gets for the last of these, each as `type,value`."""

    def call(*words: object) -> list[str]:
        line = ["openmed-mlx-eval", *map(str, words)]
        monkeypatch.setenv(VARIABLE, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        # A command's parameters are changed for as long as a process lives, which is here that of the tests.
        kept = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}
        types = [(one, one.type) for command in kept.values() for one in parameters(command)]
        said = program()
        for one, type in types:
            one.type = type
        assert (said.code, said.err) == (0, "")
        return said.out.splitlines()

    return call


def parameters(command: click.Command | None) -> Iterator[click.Parameter]:
    assert command is not None
    yield from command.params
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        yield from parameters(child)


@pytest.mark.parametrize(
    ("shell", "calls"), [("bash", "COMP_WORDS="), ("zsh", "#compdef openmed-mlx-eval"), ("fish", "--command openmed-mlx-eval")]
)
def test_each_shell_gets_its_script(program, monkeypatch: pytest.MonkeyPatch, shell: str, calls: str) -> None:
    if shutil.which("bash") is None and shell == "bash":
        pytest.skip("click asks bash for its version")
    monkeypatch.setenv(VARIABLE, f"{shell}_source")
    said = program()
    assert said.code == 0 and calls in said.out and f"{VARIABLE}={shell}_complete" in said.out


def test_commands_options_and_formats(ask: Ask) -> None:
    assert ask("ru") == ["plain,run"]
    assert ask("corpus", "c") == ["plain,check", "plain,convert"]
    assert "plain,--corpus" in ask("run", "--co")
    assert ask("run", "--format", "") == [f"plain,{name}" for name in FORMATS]


def test_paths(ask: Ask) -> None:
    for words in (("run", "--corpus", "no"), ("score", "no"), ("corpus", "check", "no"), ("errors", "show", "RUN", "--corpus", "no"),
                  ("run", "--label-map", "no"), ("models", "list", "--manifest", "no"), ("corpus", "convert", "a", "-o", "no")):  # fmt: skip
        assert ask(*words) == ["file,no"]
    for words in (("run", "--output", "no"), ("compare", "no"), ("gate", "no"), ("errors", "from", "no"), ("convert", "a", "no")):
        assert ask(*words) == ["dir,no"]


def test_names_of_models_from_the_manifest_that_stands_before(ask: Ask, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    models = [{"name": "zz-notes", "languages": [], "formats": []}]
    own.write_text(json.dumps({"schema": "openmed-mlx-eval/models", "schema_version": 1, "models": models}), "utf-8")
    assert ask("run", "--manifest", own, "--model", "zz") == ["dir,zz", "plain,zz-notes"]
    assert ask("run", "--model", "zz") == ["dir,zz"]
    assert ask("run", "--model", "tiny-phi") == ["dir,tiny-phi", "plain,tiny-phi-bert"]
    for words in (("bench",), ("parity",), ("parity", "A"), ("convert",), ("models", "verify")):
        assert ask(*words, "tiny-phi") == ["dir,tiny-phi", "plain,tiny-phi-bert"]
    for words in (("models", "show"), ("models", "pull")):
        assert ask(*words, "tiny-phi") == ["plain,tiny-phi-bert"]
    own.write_text("{", "utf-8")
    assert ask("run", "--manifest", own, "--model", "zz") == ["dir,zz"]


OF_NO_PATH = {"CODE", "COMMIT", "I/N", "KEY", "KEY=NUMBER", "LABEL", "A,B", "N", "N,N,…", "NAME", "NAME=N,…", "NAME[,NAME]",
              "OWNER/NAME", "SPLIT", "TAG[=DESCRIPTION]", "TASK", "URL", "classifier,embeddings"}  # fmt: skip


def test_every_metavar_is_offered_something_or_is_no_path() -> None:
    shown = {
        one.metavar or (one.name or "").upper()
        for name in COMMANDS
        for one in parameters(cli.get_command(click.Context(cli), name))
        if isinstance(one.type, click.types.StringParamType)
    }
    offered = {
        key.rpartition(" ")[2] if key.split()[0] in ("compare", "parity", "verify", "show", "pull") else key for key in OFFERS
    }
    assert shown - offered - OF_NO_PATH == set()
    assert offered - shown == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_the_installed_program() -> None:
    folder = Path(sys.executable).parent
    if not (folder / "openmed-mlx-eval").exists():
        pytest.skip("the program is not installed beside this interpreter")
    script = (
        f'eval "$({VARIABLE}=bash_source openmed-mlx-eval)"; COMP_WORDS=(openmed-mlx-eval ru); COMP_CWORD=1; '
        'complete -p openmed-mlx-eval >&2; _openmed_mlx_eval_completion openmed-mlx-eval; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    if "version is not supported" in done.stderr:
        pytest.skip("bash is older than 4.4")
    assert done.stdout == "run\n", done.stderr
    assert "_openmed_mlx_eval_completion openmed-mlx-eval" in done.stderr
