"""`score`: predictions made elsewhere against gold, as spans or tag by tag. No model is opened, and no text is read but for its length.

So gold whose own surface is not the text at its offsets is scored by its offsets, with a warning, where `run` refuses it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..corpora import FORMATS
from .gate import gate_options, gates_of, hold
from .options import choice, corpus_options, deliver, output_options, run_folder, scoring_of, scoring_options
from .tag_options import load_tags, tag_options

if TYPE_CHECKING:
    from ..corpora import Corpus
    from ..predictions import Predictions


@click.command(help="Score PREDICTIONS against GOLD, both a file or a folder; either may be - for stdin.")
@click.argument("gold")
@click.argument("predictions", required=False)
@corpus_options
@click.option(
    "--predictions-format",
    type=choice(["predictions", *FORMATS, "conlleval"]),
    help="The format of PREDICTIONS; told by the path if not given. conlleval: GOLD alone, lines of token, gold tag, predicted tag.",
)
@tag_options
@scoring_options
@gate_options
@output_options
def command(
    gold: str,
    predictions: str | None,
    predictions_format: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    from ..benchmark import scoring_config
    from ..corpora.source import STDIN
    from ..errors import UsageError
    from ..evaluation import corpus_warnings, evaluate
    from ..labels import LabelMap
    from ..overlap import checked_overlap
    from ..reporting.environment import environment
    from ..reporting.report import build_report, now
    from ..run_lines import OF_EVERY_RUN
    from ..tag_evaluation import with_tags

    started, gates = time.perf_counter(), gates_of(options)
    if gold == predictions == STDIN:
        raise UsageError("only one of GOLD and PREDICTIONS can be -")
    with run_folder(output) as folder:
        scoring = scoring_of(options)
        labels = LabelMap.load(options["label_map"])
        corpus, made, tags = _read(gold, predictions, predictions_format, options)
        documents = corpus.documents[: options["limit"]]
        if tags is not None and tags["unit"] == "token" and options["training_manifest"] is not None:
            raise UsageError("--training-manifest compares texts, and arrays of tags have none – leave it out")
        overlap = checked_overlap(documents, options["training_manifest"], forbid=options["forbid_overlap"])
        evaluation = evaluate(documents, made.spans, labels, options=scoring, layers=options["layers"])
        if tags is not None:
            evaluation = replace(evaluation, metrics=with_tags(evaluation.metrics, tags))
        report = build_report(
            suite=options["suite"],
            model={"name": "predictions", "family": None, "parameters": None, "dtype": None, "quantization": None, "files": {}},
            corpus=corpus,
            evaluation=evaluation,
            environment=environment(),
            config={
                "label_map": options["label_map"] if options["label_map"] in (None, "none") else "file",
                "limit": options["limit"],
                "skip_bad": options["skip_bad"],
                "discontinuous": options["discontinuous"],
                "layers": options["layers"],
                "training_manifest": options["training_manifest"] is not None,
                "forbid_overlap": options["forbid_overlap"],
                **({} if tags is None else {"tags": tags["mode"], "scheme": options["scheme"]}),
                **scoring_config(scoring),
            },
            timing={"generated_at": now(), "total_s": round(time.perf_counter() - started, 6)},
            warnings=(*corpus_warnings(corpus), *made.warnings),
            partial=len(documents) < len(corpus.documents),
            overlap=overlap,
        )
        lines = {name: map(line, evaluation.rows) for name, line in OF_EVERY_RUN.items()}
        deliver(report, folder, lines, as_json=as_json, quiet=quiet)
    hold(report, gates)


def _read(
    gold: str, predictions: str | None, predictions_format: str | None, options: Mapping[str, Any]
) -> tuple[Corpus, Predictions, dict[str, Any] | None]:
    """The corpus, what was predicted for its first --limit documents, and the tags block where tags are scored."""
    from ..corpora import load_corpus
    from ..predictions import load_predictions
    from ..tag_evaluation import evaluate_tags

    tags = load_tags(gold, predictions, predictions_format, options)
    if tags is not None:
        how = options["tags"] or "lenient", options["scheme"]
        scored = evaluate_tags(tags, *how, name=options["suite"], limit=options["limit"])
        return scored.corpus, scored.predictions, scored.block
    corpus = load_corpus(
        gold,
        options["format"],
        name=options["suite"],
        skip_bad=options["skip_bad"],
        discontinuous=options["discontinuous"],
        keep_mismatched=True,
    )
    made = load_predictions(
        str(predictions),
        corpus.documents,
        predictions_format,
        scored=len(corpus.documents[: options["limit"]]),
        skipped=corpus.left_out,
        discontinuous=options["discontinuous"],
    )
    return corpus, made, None
