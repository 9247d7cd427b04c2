"""`convert`: a Hugging Face checkpoint to an artifact, with proof of what it computes and what quantisation cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from ..corpora import FORMATS
from ..errors import GateError, UsageError
from ..reporting.text import printable
from ..runtime.options import DTYPES
from .options import choice, gliner_options, manifest_option


@click.command(
    help="Convert the Hugging Face token classifier, or the GLiNER model, in folder SRC, or of that name in `models list`, to an "
    "artifact in the new folder OUT."
)
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
@click.option("--verify", is_flag=True, help="Compare what OUT computes with SRC; if it differs, exit 3 and leave nothing.")
@click.option(
    "--certify", metavar="CORPUS", help="With --quantize: score SRC and OUT; exit 3 if a label lost too much or is unseen."
)
@click.option("--certify-labels", metavar="A,B", help="Certify these labels only. [default: all that the model can give]")
@click.option("--format", type=choice(list(FORMATS)), help="The format of --certify's corpus; told by the path if not given.")
@click.option("--label-map", metavar="FILE|none", help="Names to score --certify's labels by, as in `run`.")
@gliner_options
@manifest_option
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
    manifest: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **proofs: Any,
) -> None:
    from ..converters import Options, convert
    from ..model_manifest.locating import model_directory

    if group_size and not quantize:
        raise UsageError("--group-size says how values are quantised – give --quantize too")
    if proofs["certify"] is not None and not quantize:
        raise UsageError("--certify says what quantisation cost – give --quantize too")
    bits = int(quantize) if quantize else None
    kept = tuple(filter(None, (name.strip() for name in (keep or "").split(","))))
    options = Options(dtype, bits, int(group_size or 64), kept, force)
    asked = _proofs(**proofs)
    source = model_directory(source, manifest, verify=True)
    with _progress(quiet) as (tensors, texts):
        made = convert(source, target, options, tensors, [partial(proof, progress=texts) for proof in asked])
    if as_json:
        click.echo(json.dumps(made.manifest, indent=2, ensure_ascii=False))
    else:
        _print(made.manifest, made.source_bytes, made.bytes)
    certificate = made.manifest.get("certificate")
    if certificate is not None and not certificate["certified"]:
        from ..certificate import verdict_line

        raise GateError(f"the artifact was written, and is {printable(verdict_line(certificate))}")


def _proofs(
    *,
    verify: bool,
    certify: str | None,
    certify_labels: str | None,
    format: str | None,
    label_map: str | None,
    gliner_labels: Sequence[str] | None,
    gliner_threshold: float | None,
) -> list[Any]:
    """What the artifact must show, the cheaper first. The corpus is read at once: a bad one costs no conversion."""
    asked: list[Any] = []
    if certify is None and (certify_labels, format, label_map) != (None, None, None):
        raise UsageError("--certify-labels, --format and --label-map are about a corpus – give --certify CORPUS too")
    if not verify and certify is None and (gliner_labels, gliner_threshold) != (None, None):
        raise UsageError("--gliner-labels and --gliner-threshold are about what is found – give --verify or --certify too")
    if verify:
        from ..parity import proof_of_parity

        asked.append(partial(proof_of_parity, labels=gliner_labels) if gliner_labels else proof_of_parity)
    if certify is not None:
        from ..certificate import proof_of_certificate
        from ..corpora import load_corpus

        wanted = None if certify_labels is None else [label.strip() for label in certify_labels.split(",") if label.strip()]
        corpus = load_corpus(certify, format)
        found = partial(proof_of_certificate, asked=gliner_labels, threshold=gliner_threshold)
        asked.append(found(corpus, label_map=label_map, required=wanted))
    return asked


def _print(manifest: Mapping[str, Any], before: int, after: int) -> None:
    from ..reporting.text import print_tables

    for name, value in _summary(manifest, before, after):
        click.echo(f"{name:<14}{value}")
    if "certificate" in manifest:
        from ..reporting.certificate import section

        print_tables([], [section(manifest["certificate"])])


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
    yield "tags", manifest["tag_scheme"] or "none: labels are given with the text"
    if "parity" in manifest:
        found = manifest["parity"]["texts"]["built_in"]
        apart = found["max_absolute_difference"] or 0.0
        same = f"{_share(found['label_agreement'])} of labels, {_share(found['span_agreement'])} of spans the same"
        yield "parity", f"logits within {apart:.2g} of SRC's, {same}"
    if "certificate" in manifest:
        from ..certificate import verdict_line

        yield "certificate", printable(verdict_line(manifest["certificate"]))
    yield "weights", f"{before / 2**20:.1f} MiB → {after / 2**20:.1f} MiB"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


@contextmanager
def _progress(quiet: bool) -> Iterator[tuple[Callable[[int, int], Any], Callable[[int], Any]]]:
    """Bars on stderr, where stderr is a terminal: (tensors done, in all) → …, texts just run → …."""
    if quiet or not sys.stderr.isatty():
        yield (lambda done, total: None), (lambda done: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        tensors, texts = bar.add_task("tensors", total=None), bar.add_task("texts", total=None, visible=False)
        yield (
            lambda done, total: bar.update(tensors, completed=done, total=total),
            lambda done: bar.update(texts, advance=done, visible=True),
        )
