"""What all tests share: the public corpora and models that lie beside the repository, where they are, a tiny model made on
the spot, and the program itself."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from runtime.tiny_models import bert_config, bert_tensors, write_model

from openmed_mlx_eval.cli.main import main

SHARED = Path(__file__).resolve().parents[2] / "shared"

# A shared runner's clock says nothing about the code; the speed tests measure on purpose, and elsewhere.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """`shared("corpora/anatem/devel.tsv")`: that path, or the test is skipped."""

    def find(relative: str) -> Path:
        path = SHARED / relative
        if not path.exists():
            pytest.skip("the folder of public corpora and models is not beside the repository")
        return path

    return find


@pytest.fixture(scope="session", autouse=True)
def nobodys_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the manifest or the Hugging Face cache of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("HF_HUB_CACHE", str(tmp_path_factory.mktemp("hub")))
        patch.delenv("OPENMED_MLX_EVAL_MANIFEST", raising=False)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face directory of a random BERT with a window of 40 tokens, not to be written to."""
    config = bert_config()
    return write_model(tmp_path_factory.mktemp("models") / "tiny", config, bert_tensors(config, seed=4))


@dataclass(frozen=True)
class Said:
    """What one call of the program left: its exit code and its streams."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        """stdout as the one JSON document that it must be."""
        return json.loads(self.out)


@pytest.fixture
def program(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """`program("score", gold, "-", stdin=b"…")`: the command line in this process, and all that it, or a library below
    Python, writes to file handles 1 and 2."""

    def call(*arguments: object, stdin: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        streams = capfd.readouterr()
        return Said(left.value.code, streams.out, streams.err)  # type: ignore[arg-type]

    return call


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much the canary was sent through, so that a run shows what its silence rests on."""
    calls = getattr(sys.modules.get("test_privacy"), "CALLS", None)
    if calls:
        failed = sum(count for (_, code), count in calls.items() if code)
        commands = len({command for command, _ in calls})
        terminalreporter.write_line(f"canary: {commands} commands, {calls.total():,} calls, {failed:,} of them failures")
