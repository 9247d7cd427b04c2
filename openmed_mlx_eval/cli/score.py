"""`score`: predictions made elsewhere against gold. No model is opened, and no text is read but for its length.

So gold whose own surface is not the text at its offsets is scored by its offsets, with a warning, where `run` refuses it.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import click

from ..corpora import FORMATS
from .options import choice, corpus_options, deliver, output_options, run_folder, scoring_of, scoring_options


@click.command(help="Score PREDICTIONS against GOLD, both a file or a folder; either may be - for stdin.")
@click.argument("gold")
@click.argument("predictions")
@corpus_options
@click.option(
    "--predictions-format",
    type=choice(["predictions", *FORMATS]),
    help="The format of PREDICTIONS; told by the path if not given.",
)
@scoring_options
@output_options
def command(
    gold: str,
    predictions: str,
    predictions_format: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    from ..benchmark import scoring_config
    from ..corpora import load_corpus
    from ..corpora.source import STDIN
    from ..document_scores import document_lines
    from ..errors import UsageError
    from ..evaluation import corpus_warnings, evaluate
    from ..labels import LabelMap
    from ..predictions import load_predictions, prediction_lines
    from ..reporting.environment import environment
    from ..reporting.report import build_report, now

    started = time.perf_counter()
    if gold == predictions == STDIN:
        raise UsageError("only one of GOLD and PREDICTIONS can be -")
    with run_folder(output) as folder:
        scoring = scoring_of(options)
        labels = LabelMap.load(options["label_map"])
        corpus = load_corpus(
            gold,
            options["format"],
            name=options["suite"],
            skip_bad=options["skip_bad"],
            discontinuous=options["discontinuous"],
            keep_mismatched=True,
        )
        documents = tuple(islice(corpus.documents, options["limit"]))
        made = load_predictions(
            predictions,
            corpus.documents,
            predictions_format,
            scored=len(documents),
            discontinuous=options["discontinuous"],
        )
        evaluation = evaluate(documents, made.spans, labels, options=scoring)
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
                **scoring_config(scoring),
            },
            timing={"generated_at": now(), "total_s": round(time.perf_counter() - started, 6)},
            warnings=(*corpus_warnings(corpus), *made.warnings),
            partial=len(documents) < len(corpus.documents),
        )
        files = prediction_lines(evaluation.predictions), document_lines(evaluation.scores)
        deliver(report, folder, *files, as_json=as_json, quiet=quiet)
