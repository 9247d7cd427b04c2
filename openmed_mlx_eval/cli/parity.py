"""`parity`: two forms of one model on the same texts; exit code 3 where they differ by more than they may."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from ..corpora import FORMATS
from ..errors import GateError, UsageError
from ..runtime.options import AGGREGATIONS, DEVICES, DTYPES, ENGINES
from .options import choice, gliner_options, manifest_option, run_folder

_PAIRS = {"engine": ENGINES, "device": DEVICES, "dtype": DTYPES}
"""{option: its values}: one for both models, or A's and B's with a comma between."""
_LIMITS = {"max_difference": "difference", "min_labels": "labels", "min_spans": "spans"}


def _pair(context: click.Context, option: click.Parameter, value: str) -> tuple[str, str]:
    name, values = str(option.name), value.split(",")
    allowed = _PAIRS[name]
    if len(values) > 2 or any(one not in allowed for one in values):
        raise UsageError(f"--{name}: give one of {', '.join(allowed)}, or two with a comma between, A's and B's")
    return values[0], values[-1]


@click.command(
    help="Compare what models A and B compute of the same texts; each a folder, or a name of `models list`. Without B: A with itself."
)
@click.argument("a")
@click.argument("b", required=False)
@click.option("--engine", default="auto", show_default=True, metavar="NAME[,NAME]", callback=_pair,
              help="What computes, for both or as A,B: auto, mlx, numpy.")  # fmt: skip
@click.option("--device", default="auto", show_default=True, metavar="NAME[,NAME]", callback=_pair,
              help="What it computes on, likewise: auto, metal, cuda, cpu.")  # fmt: skip
@click.option("--dtype", default="auto", show_default=True, metavar="NAME[,NAME]", callback=_pair,
              help="What it computes in, likewise: auto, float32, float16, bfloat16.")  # fmt: skip
@click.option("--corpus", metavar="PATH", help="Compare on its texts too, beside the built-in ones.")
@click.option("--format", type=choice(list(FORMATS)), help="The corpus format; told by the path if not given.")
@click.option("--skip-bad", is_flag=True, help="Leave bad documents out, instead of stopping.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The corpus's first N documents only.")
@click.option("--aggregation", type=choice(AGGREGATIONS), default="simple", show_default=True, help="How tokens become spans.")
@gliner_options
@click.option("--max-difference", type=click.FloatRange(min=0), metavar="NUMBER",
              help="What a logit may differ by. [default: by the coarser of the two]")  # fmt: skip
@click.option("--min-labels", type=click.FloatRange(0, 1), metavar="NUMBER", help="Least share of tokens with the same label.")
@click.option("--min-spans", type=click.FloatRange(0, 1), metavar="NUMBER", help="Least F1 of the spans of one in the other's.")
@manifest_option
@click.option("--no-verify", "verify", is_flag=True, flag_value=False, default=True,
              help="Do not compare the models' files with the SHA-256 in their openmed-mlx.json or the manifest.")  # fmt: skip
@click.option("--output", metavar="DIR", help="Write parity.json and parity.md there.")
@click.option("--json", "as_json", is_flag=True, help="Print parity.json instead of tables.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def command(a: str, b: str | None, output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    from ..parity import failure_line

    for name in ("max_difference", "min_labels", "min_spans"):
        if options[name] is not None and math.isnan(options[name]):
            raise UsageError(f"--{name.replace('_', '-')}: give a number")
    from ..reporting.parity import print_parity, to_markdown

    with run_folder(output) as folder:
        record = _record(a, b, options, quiet)
        written = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if folder is not None:
            folder.write({"parity.json": [written], "parity.md": [to_markdown(record)]})
    if as_json:
        click.echo(written, nl=False)
    else:
        print_parity(record)
    if not record["passed"]:
        raise GateError(f"A and B do not compute the same – {failure_line(record)}")


def _record(a: str, b: str | None, options: Mapping[str, Any], quiet: bool) -> dict[str, Any]:
    from ..model_manifest.locating import model_directory
    from ..parity import built_in_texts, labels_for, parity, tolerance_for
    from ..runtime.artifact import open_artifact
    from ..runtime.loading import load_classifier
    from .run import progress_bar

    texts, corpus = {"built_in": built_in_texts()}, None
    if options["corpus"] is not None:
        from ..corpora import load_corpus

        corpus = load_corpus(options["corpus"], options["format"], skip_bad=options["skip_bad"])
        texts["corpus"] = [document.text for document in corpus.documents[: options["limit"]]]
    if b is None and all(options[name][0] == options[name][1] for name in _PAIRS):
        raise UsageError("B is missing – give a second model, or two values as in --engine numpy,mlx")
    folders = [model_directory(model, options["manifest"], verify=options["verify"]) for model in (a, b) if model is not None]
    artifacts = [open_artifact(folder, verify=options["verify"]) for folder in (folders[0], folders[-1])]
    one, other = (
        load_classifier(
            artifact.directory,
            artifact=artifact,
            engine=options["engine"][at],
            device=options["device"][at],
            dtype=options["dtype"][at],
            aggregation=options["aggregation"],
            gliner_labels=labels_for(artifact, options["gliner_labels"]),
            gliner_threshold=options["gliner_threshold"],
        )
        for at, artifact in enumerate(artifacts)
    )
    asked = {name: options[option] for option, name in _LIMITS.items() if options[option] is not None}
    tolerance = replace(tolerance_for(one, other), **asked)
    total = sum(map(len, texts.values()))
    if quiet:
        record = parity(one, other, texts, tolerance)
    else:
        with progress_bar(total) as advance:
            record = parity(one, other, texts, tolerance, advance)
    if corpus is not None:
        record["corpus"] = {"format": corpus.format, "sha256": corpus.sha256, "documents": len(corpus.documents)}
    return record
