"""The command line: a lazy group of commands, and the one place where an exception becomes an exit code.

A command's module is imported when that command is called, so that `--help` and `doctor` start fast and a
missing extra breaks only the command that needs it. No traceback is printed without `--debug`: a traceback
shows values, and a value may be a document.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..errors import EvaluationError
from .completion import is_asked, with_offers

COMMANDS: dict[str, str] = {
    "run": "Score a model on a corpus.",
    "merge": "Put the shards of a run together.",
    "score": "Score a predictions file against gold.",
    "generate": "Score a language model's tagging of a corpus.",
    "errors": "Say which errors a model makes, without text.",
    "compare": "Compare two runs of one corpus, with intervals and p-values.",
    "gate": "Hold a report against rules; exit 3 if one is not met.",
    "report": "Make a page of a run, or of several, and what a model card may say.",
    "bench": "Score several models in turn, with a table of them.",
    "latency": "Measure cold start, single documents and steady state.",
    "corpus": "Check, count, convert and compare corpora.",
    "convert": "Convert a Hugging Face checkpoint to an artifact.",
    "parity": "Compare what two forms of one model compute of the same texts.",
    "models": "List models, verify their files, and pull them.",
    "doctor": "Say what this machine can run, and what to install for more.",
}


class LazyGroup(click.Group):
    """Each command lives in `cli/<name>.py` as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{name}", __package__).command
        return with_offers(command, name) if is_asked() else command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="openmed-mlx-eval")
@click.option("--debug", is_flag=True, help="Show a traceback when the program itself fails. It may hold document text.")
def cli(debug: bool) -> None:
    """Score clinical NER and PHI de-identification models on the machine that will run them."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with 0 fine, 1 failed, 2 usage, 3 a gate not met, 130 Ctrl-C."""
    debug = "--debug" in (arguments if arguments is not None else sys.argv[1:])
    sys.exit(_exit_code(arguments, debug))


def _exit_code(arguments: list[str] | None, debug: bool) -> int:
    _write_any_label(sys.stdout, sys.stderr)
    try:
        result: Any = cli.main(args=arguments, prog_name="openmed-mlx-eval", standalone_mode=False)
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except EvaluationError as error:
        return _say(str(error), error.exit_code)
    except getattr(click.exceptions, "NoArgsIsHelpError", ()) as error:  # click 8.1 exits instead
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _say(_usage(error), 2)
    except (click.Abort, KeyboardInterrupt):
        return _say("stopped; nothing half-written was left", 130)
    except BrokenPipeError:
        _close_stdout()
        return 1
    except OSError as error:
        if debug:
            raise
        _close_stdout()
        return _say(f"the system refused to read or write ({error.strerror}) at {_place_of(error)}", 1)
    except SystemExit:
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception, and its message quotes its input
        if debug:
            raise
        return _say(f"internal error: {_place_of(error)} – please report it; --debug before the command shows more", 1)


def _say(message: str, code: int) -> int:
    click.echo(f"error: {message}", err=True)
    return code


def _write_any_label(*streams: Any) -> None:
    """A pipe is UTF-8 whatever the locale, as JSON is; a character that cannot be written is escaped, not an error."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _close_stdout() -> None:
    """Let stdout go nowhere, so that the interpreter's own flush at its end is quiet."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    """click's message without what was typed: a shell's `*` puts the names of corpus files among the arguments."""
    context = getattr(error, "ctx", None)
    help_hint = f" – see {context.command_path} --help" if context is not None else ""
    if isinstance(error, _QUOTES_NOTHING) or not isinstance(error, click.UsageError):
        return " ".join(error.format_message().split()).rstrip(".") + help_hint
    if isinstance(error, click.BadParameter):
        name = error.param.get_error_hint(context) if error.param is not None else "a value"
        choices = getattr(getattr(error.param, "type", None), "choices", None)
        allowed = f"one of {', '.join(choices)}" if choices else _range(error.param)
        return f"{name}: give {allowed}{help_hint}"
    if isinstance(error, click.NoSuchOption):
        near = f" – did you mean {', '.join(error.possibilities)}?" if error.possibilities else ""
        return f"no such option{near or help_hint}"
    if isinstance(context and context.command, click.Group):
        near = ", ".join(context.command.list_commands(context)) if context is not None else ""
        return f"no such command – choose one of {near}"
    return f"more arguments than the command takes{help_hint}"


_QUOTES_NOTHING = (click.MissingParameter, click.BadOptionUsage)


def _range(parameter: click.Parameter | None) -> str:
    kind = parameter.type if parameter is not None else None
    if isinstance(kind, click.IntRange | click.FloatRange):
        at_most = "" if kind.max is None else f" and at most {kind.max}"
        return f"a number of at least {kind.min}{at_most}"
    return f"a value of type {kind.name}" if kind is not None else "another one"


def _place_of(error: BaseException) -> str:
    """Type and line of an unforeseen exception: never its message, which may quote a document."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        if module.startswith("openmed_mlx_eval"):
            place = f" at {module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return type(error).__name__ + place
