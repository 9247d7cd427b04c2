"""`convert`: a Hugging Face checkpoint to an artifact."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from ..errors import UsageError
from ..runtime.options import DTYPES


@click.command(help="Convert the Hugging Face token classifier in folder SRC to an artifact in the new folder OUT.")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="OUT")
@click.option(
    "--dtype",
    type=click.Choice([dtype for dtype in DTYPES if dtype != "auto"]),
    help="Type of the values that are not quantised. [default: as stored]",
)
@click.option("--quantize", type=click.Choice(["8", "4"]), help="Bits of linear and embedding layers. [default: not quantised]")
@click.option("--group-size", type=click.Choice(["32", "64", "128"]), help="Inputs that share a scale. [default: 64]")
@click.option("--keep", metavar="classifier,embeddings", help="What is not quantised, by commas.")
@click.option("--force", is_flag=True, help="Replace the artifact in OUT.")
@click.option("--json", "as_json", is_flag=True, help="Print the artifact's manifest instead of a summary.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def command(
    source: str,
    target: str,
    dtype: str | None,
    quantize: str | None,
    group_size: str | None,
    keep: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from ..converters import Options, convert

    if group_size and not quantize:
        raise UsageError("--group-size says how values are quantised – give --quantize too")
    bits = int(quantize) if quantize else None
    kept = tuple(filter(None, (name.strip() for name in (keep or "").split(","))))
    options = Options(dtype, bits, int(group_size or 64), kept, force)
    with _progress(quiet) as progress:
        made = convert(source, target, options, progress)
    if as_json:
        click.echo(json.dumps(made.manifest, indent=2, ensure_ascii=False))
        return
    for name, value in _summary(made.manifest, made.source_bytes, made.bytes):
        click.echo(f"{name:<14}{value}")


def _summary(manifest: Mapping[str, Any], before: int, after: int) -> Iterator[tuple[str, str]]:
    quantization = manifest["quantization"]
    yield "source", manifest["source"]["name"]
    yield "family", manifest["family"]
    yield "parameters", f"{manifest['parameters']:,}"
    yield "dtype", manifest["dtype"]
    if quantization:
        yield "quantised", f"{quantization['bits']} bits, groups of {quantization['group_size']}"
        plain = quantization["unquantized"]
        yield "kept plain", ", ".join(plain) if plain else "no layer"
    yield "window", f"{manifest['window']} tokens"
    yield "tags", manifest["tag_scheme"]
    yield "weights", f"{before / 2**20:.1f} MiB → {after / 2**20:.1f} MiB"


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], Any]]:
    """A bar of tensors on stderr, where stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tensors", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
