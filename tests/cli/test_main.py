"""The command line itself: exit codes, help, and what is said of a failure nobody foresaw."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import small_corpora
from click.testing import CliRunner

from openmed_mlx_eval import __version__
from openmed_mlx_eval.cli.main import COMMANDS, cli
from openmed_mlx_eval.errors import EvaluationError, InputError, ModelError, UsageError

CANARY = "QZX-7781"


def tree(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path, command
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(click.Context(command)):
        found = command.get_command(click.Context(command), name)
        assert found is not None
        yield from tree(found, (*path, name))


ALL = dict(tree(cli))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_and_option_is_explained(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"])
    assert result.exit_code == 0
    assert ALL[path].help
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_help_lists_every_command_with_its_own_words() -> None:
    said = CliRunner().invoke(cli, ["--help"]).output
    for name, words in COMMANDS.items():
        assert f"  {name} " in said
        assert words.split()[0] in said


FOR_EYES = ("errors", "show")
"""It prints document text; as JSON that would only be for a file."""


@pytest.mark.parametrize("path", [path for path in ALL if path != FOR_EYES], ids=" ".join)
def test_every_command_can_print_json(path: tuple[str, ...]) -> None:
    assert "--json" in {name for parameter in ALL[path].params for name in parameter.opts}


def test_version(program) -> None:
    assert program("--version").out == f"openmed-mlx-eval, version {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["corpus"]])
def test_a_group_alone_shows_its_help(program, arguments: list[str]) -> None:
    assert "Usage: openmed-mlx-eval" in program(*arguments).all


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([CANARY], "no such command – choose one of run, merge"),
        (["corpus", CANARY], "no such command – choose one of agreement, check"),
        (["run", CANARY], "more arguments than the command takes – see openmed-mlx-eval run --help"),
        (["score", "a", "b", CANARY], "more arguments"),
        (["score"], "Missing argument 'GOLD'"),
        (["corpus", "convert", "x", "-o", "y"], "Missing option '--to'"),
        (["run", f"--{CANARY}"], "no such option"),
        (["run", "--corpsu", CANARY], "no such option – did you mean --corpus"),
        (["run", "--format", CANARY], "'--format': give one of openmed, conll"),
        (["run", "--limit", CANARY], "'--limit': give a number of at least 1"),
        (["run", "--limit"], "'--limit' requires an argument"),
        (["run", f"--quiet={CANARY}"], "'--quiet' does not take a value"),
    ],
)
def test_usage_errors_say_what_is_allowed_and_not_what_was_typed(program, arguments: list[str], says: str) -> None:
    said = program(*arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert says in said.err
    assert CANARY not in said.err


class _Wicked(Exception):
    def __str__(self) -> str:
        raise RuntimeError(CANARY)

    __repr__ = __str__


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """A command whose work raises what it is given."""

    def fail_with(error: BaseException) -> None:
        def work() -> Any:
            raise error

        monkeypatch.setattr("openmed_mlx_eval.cli.doctor.examine", work)

    return fail_with


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (EvaluationError("words"), 1, "error: words\n"),
        (ModelError("words"), 1, "error: words\n"),
        (UsageError("words"), 2, "error: words\n"),
        (InputError("brat", "words", file=2, offsets=(3, 4)), 1, "error: brat, file 2, offsets 3–4: words\n"),
        (KeyboardInterrupt(CANARY), 130, "error: stopped; nothing half-written was left\n"),
        (ValueError(CANARY), 1, "error: internal error: ValueError at openmed_mlx_eval.cli.doctor:"),
        (KeyError(CANARY), 1, "error: internal error: KeyError at "),
        (UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY), 1, "error: internal error: UnicodeDecodeError at "),
        (_Wicked(), 1, "error: internal error: _Wicked at "),
        (MemoryError(CANARY), 1, "error: internal error: MemoryError at "),
        (RecursionError(CANARY), 1, "error: internal error: RecursionError at "),
        (
            OSError(28, "No space left on device", f"/{CANARY}"),
            1,
            "the system refused to read or write (No space left on device)",
        ),
        (FileNotFoundError(2, "No such file or directory", CANARY), 1, "the system refused to read or write"),
    ],
)
def test_what_is_said_of_a_failure(program, failing, error: BaseException, code: int, says: str) -> None:
    failing(error)
    said = program("doctor")
    assert (said.code, said.out) == (code, "")
    assert says in said.err
    assert CANARY not in said.err
    assert "Traceback" not in said.err


def test_debug_alone_shows_more(failing) -> None:
    failing(ValueError("words"))
    with pytest.raises(ValueError, match="words"):
        from openmed_mlx_eval.cli.main import main

        main(["--debug", "doctor"])


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "openmed_mlx_eval", *map(str, arguments)]
    return subprocess.run(command, check=False, stderr=subprocess.PIPE, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_a_full_stdout_is_a_failure_without_noise(tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path, "openmed")
    for arguments in (("doctor",), ("score", gold, gold, "--json")):
        with open("/dev/full", "wb") as full:  # noqa: PTH123 – a device, for its handle
            made = process(*arguments, stdout=full)
        said = made.stderr.decode("utf-8")
        assert made.returncode == 1
        assert said.startswith("error: the system refused to read or write (No space left on device)")
        assert len(said.splitlines()) == 1
        assert str(tmp_path) not in said


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_reader_who_has_gone_is_no_noise(tmp_path: Path) -> None:
    gold = small_corpora.write(tmp_path, "openmed")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        made = process("score", gold, gold, "--json", stdout=writing)
    finally:
        os.close(writing)
    assert (made.returncode, made.stderr) == (1, b"")


def test_help_and_import_load_no_engine() -> None:
    code = (
        "import sys; from openmed_mlx_eval.cli.main import _exit_code; _exit_code(['--help'], False); "
        "sys.exit(bool({'numpy', 'mlx', 'tokenizers', 'transformers', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_control_c_while_the_command_line_is_imported_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first tenth of a second, in which a traceback was shown."""
    from openmed_mlx_eval import __main__ as program

    class Interrupted:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "openmed_mlx_eval.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "openmed_mlx_eval.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 130
