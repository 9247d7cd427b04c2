"""`models list|show|verify|add|pull`: which models there are, and whether those on this machine are untouched."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import ModelError
from ..model_manifest.selecting import ORDERS, Selection, chosen, parsed_size, shown_size
from .options import all_of, choice, manifest_option

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(help="List models, verify their files, and pull them.")
def command() -> None:
    pass


_selection = all_of(
    click.option("--architecture", metavar="NAME", help="Only this architecture or family."),
    click.option("--language", metavar="CODE", help="Only models of this language, such as de."),
    click.option("--task", metavar="NAME", help="Only this task, such as token-classification."),
    click.option("--kind", metavar="NAME", help="Only NER, PII, ZeroShot …"),
    click.option("--min-size", metavar="N", help="At least so many parameters, such as 33M."),
    click.option("--max-size", metavar="N", help="At most so many parameters, such as 0.6B."),
    click.option("--runnable", is_flag=True, help="Only architectures that this program runs."),
    click.option("--sort", type=choice(list(ORDERS)), default="name", show_default=True, help="What to order them by."),
)


@command.command("list")
@manifest_option
@_selection
@click.option("--totals", is_flag=True, help="The whole collection by architecture, and what of it this program runs, instead.")
@_json
def list_(manifest: str | None, sort: str, totals: bool, as_json: bool, **options: Any) -> None:
    """List the models of the manifest, and of yours."""
    from ..model_manifest.catalog import load_catalog

    least, most = (parsed_size(options.pop(name), f"--{name.replace('_', '-')}") for name in ("min_size", "max_size"))
    catalog = load_catalog(manifest)
    if totals:
        _print_totals(catalog.shipped.totals, as_json)
        return
    models = chosen(catalog.models, Selection(**options, least=least, most=most), sort)
    if as_json:
        _print_json({"count": len(models), "models": [entry.to_json() for entry in models]})
        return
    heads = ("name", "architecture", "family here", "size", "languages", "kind", "task")
    rows = [
        (
            entry.name,
            entry.architecture or "",
            entry.family or "–",
            shown_size(entry.parameters),
            ",".join(entry.languages[:3]) + (f" +{len(entry.languages) - 3}" if len(entry.languages) > 3 else ""),
            entry.kind or "",
            entry.task or "",
        )
        for entry in models
    ]
    _print_columns([heads, *rows])
    click.echo(f"{len(models):,} models", err=True)


@command.command()
@click.argument("name")
@manifest_option
@_json
def show(name: str, manifest: str | None, as_json: bool) -> None:
    """Print what is known of one model.

    Whether it is on this machine comes last. NAME is a model's name, or its repository.
    """
    from ..model_manifest.catalog import load_catalog
    from ..model_manifest.locating import located

    catalog = load_catalog(manifest)
    entry = catalog.find(name)
    here = located(entry, catalog) is not None
    if as_json:
        _print_json({**entry.to_json(), "on_this_machine": here})
        return
    rows = {**entry.to_json(), "on this machine": "yes" if here else "no"}
    _print_columns([(key.replace("_", " "), _as_text(key, value)) for key, value in rows.items() if value not in (None, [])])


@command.command()
@click.argument("directory", metavar="DIR")
@manifest_option
@click.option("--name", help="Which model of the manifest the folder is. [default: told by its place, repository or name]")
@_json
def verify(directory: str, manifest: str | None, name: str | None, as_json: bool) -> int:
    """Compare a model's files with their hashes.

    Exit 1 if one is missing, changed or extra. DIR is a model's folder, or the name of one in the manifest.
    """
    from ..model_manifest.catalog import load_catalog
    from ..model_manifest.checking import verify
    from ..model_manifest.locating import model_directory

    catalog = load_catalog(manifest)
    checked = verify(Path(model_directory(directory, manifest)), catalog, name=name)
    if as_json:
        _print_json(checked.to_json())
    else:
        for finding in checked.findings:
            click.echo(str(finding))
        against = checked.name or "its own openmed-mlx.json"
        said = "untouched" if checked.untouched else f"{len(checked.findings):,} not as they should be"
        click.echo(f"{checked.files:,} files compared with {against}: {said}")
    return 0 if checked.untouched else 1


@command.command()
@click.argument("directory", metavar="DIR")
@manifest_option
@click.option("--name", help="What to call it. [default: as its entry, repository or folder is called]")
@_json
def add(directory: str, manifest: str | None, name: str | None, as_json: bool) -> None:
    """Write a model's entry, with hashes, into yours.

    DIR is a Hugging Face directory or an artifact. An entry of the same name is replaced. Your manifest is made if it is
    not there.
    """
    from ..model_manifest.adding import described
    from ..model_manifest.catalog import catalog_with, user_path, write_entry

    path = user_path(manifest)
    if not Path(directory).is_dir():
        raise ModelError("the model is not a directory – give a folder with config.json, *.safetensors and tokenizer.json")
    entry = described(Path(directory), catalog_with(path), name=name, root=path.absolute().parent)
    write_entry(path, entry)
    if entry.path is None and entry.revision is None:
        click.echo("note: the folder is not below the manifest's, so --model takes its path and not this name", err=True)
    if as_json:
        _print_json(entry.to_json())
    else:
        click.echo(
            f"{entry.name}: {entry.family}, {entry.parameters:,} parameters, {entry.dtype}, {len(entry.files or ()):,} files"
        )


@command.command()
@click.argument("name")
@manifest_option
@click.option("--revision", metavar="COMMIT", help="A commit, instead of the manifest's or the newest.")
@click.option("--cache", metavar="DIR", help="The Hugging Face cache. [default: as huggingface_hub has it]")
@_json
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def pull(name: str, manifest: str | None, revision: str | None, cache: str | None, as_json: bool, quiet: bool) -> None:
    """Fetch a model at one commit and compare it.

    The only command that uses the network. NAME is a model's name, or its repository. The commit and the hashes are written into your manifest, and hold the next
    time. HF_ENDPOINT and HF_HUB_OFFLINE are heeded.
    """
    from ..model_manifest.adding import pinned
    from ..model_manifest.catalog import catalog_with, user_path, write_entry
    from ..model_manifest.locating import cache_folder
    from ..model_manifest.pulling import pull

    path = user_path(manifest)
    catalog = catalog_with(path)
    if quiet or not sys.stderr.isatty():
        _silence_bars()

    def announce(file: str, size: int | None) -> None:
        if not quiet:
            click.echo(f"{file}{'' if size is None else f' ({size:,} bytes)'}", err=True)

    got = pull(catalog.find(name), cache_folder(cache), revision=revision, announce=announce)
    entry = pinned(catalog.find(name), got)
    if got.downloaded:
        write_entry(path, entry)
    if entry.family is None and not quiet:
        click.echo("warning: this program does not run that model's architecture", err=True)
    if as_json:
        _print_json({**entry.to_json(), "downloaded": got.downloaded})
        return
    done = "pulled and compared" if got.downloaded else "there already, and untouched"
    click.echo(f"{entry.name}: {got.repository} at {got.revision}, {len(got.files):,} files {done}")


def _silence_bars() -> None:
    """huggingface_hub draws bars wherever stderr is."""
    import os

    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def _print_totals(totals: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        _print_json({"totals": [dict(total) for total in totals]})
        return
    heads = ("architecture", "family here", "repositories", "token classifiers", "run here")
    keys = ("architecture", "family", "repositories", "token_classifiers", "run")
    rows = [[str(total[key]) if total[key] is not None else "–" for key in keys] for total in totals]
    sums = [f"{sum(total[key] for total in totals)}" for key in keys[2:]]
    _print_columns([heads, *rows, ("all", "", *sums)])


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Lines that a pipe can cut: columns two spaces apart, nothing wrapped, nothing cut."""
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _as_text(key: str, value: Any) -> str:
    if key == "files":
        return f"{len(value):,}, {sum(fact['bytes'] for fact in value.values()):,} bytes"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else json.dumps(value)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _print_json(value: Mapping[str, Any] | Iterable[Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
