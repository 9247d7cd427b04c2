"""`merge`: the run folders of `run --shard 1/n` … `n/n` as one run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from .gate import gate_options, gates_of, hold
from .options import deliver, output_options, run_folder


@click.command(help="Put run folders that `run --shard` wrote, all shards in any order, together as one run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@gate_options
@output_options
def command(runs: Sequence[str], output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    from ..merging import merge

    gates = gates_of(options)
    if output is not None and Path(output).resolve() in {Path(run).resolve() for run in runs}:
        raise UsageError("--output: that is one of the shards, which would be overwritten – give another folder")
    with run_folder(output) as folder:
        merged = merge(runs)
        deliver(merged.report, folder, merged.files(), as_json=as_json, quiet=quiet)
    hold(merged.report, gates)
