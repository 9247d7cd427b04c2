"""How fast scoring is, beside its peers in the same run, as a Markdown table.

    python benchmarks/scoring.py [--quick | --full]

Ours is the whole bundle of `score_cases` and `metrics`; peers are openmed's `compute_metrics_bundle`,
nervaluate's `Evaluator` and seqeval's `classification_report`, where they are installed. openmed's cost grows with the square of a document, so its
time for 20,000 spans is extrapolated from two smaller sizes unless `--full` is given (several minutes).
`--quick` uses a tenth of the corpus. Times are the best of some runs by the wall clock, so run it on a machine that does nothing
else.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
import time
from collections.abc import Callable
from typing import Any

from openmed_mlx_eval.corpora.document import Document
from openmed_mlx_eval.error_analysis import CORPUS_KEYS, analysed
from openmed_mlx_eval.scoring import Bootstrap, Case, metrics, score_cases
from openmed_mlx_eval.scoring.bootstrap import intervals
from openmed_mlx_eval.scoring.bundle import CaseScore
from openmed_mlx_eval.scoring.semeval import SemevalScore, semeval_score
from openmed_mlx_eval.scoring.sides import Sides
from openmed_mlx_eval.scoring.tagging import classification_report as report_of_tags
from openmed_mlx_eval.scoring.tagging import tag_scores
from openmed_mlx_eval.scoring.uncertainty import count_matrix, rates
from openmed_mlx_eval.spans import Span

LABELS = ["PERSON", "DATE", "LOCATION", "DISEASE", "MEDICATION", "ANATOMY", "GENE", "CHEMICAL", "SPECIES", "CELL"]
SPANS_PER_DOCUMENT = 50


def document(rng: random.Random, spans: int, labels: list[str]) -> Case:
    """Flat gold; of the predictions 70 % are right, the rest shifted, relabelled, in pieces, or missing."""
    gold, predicted, position = [], [], 0
    for _ in range(spans):
        start = position + rng.randint(2, 12)
        end = position = start + rng.randint(2, 14)
        label, confidence, chance = rng.choice(labels), rng.random(), rng.random()
        gold.append(Span(start, end, label))
        if chance < 0.7:
            predicted.append(Span(start, end, label, confidence))
        elif chance < 0.8:
            predicted.append(Span(start + 1, end + 1, label, confidence))
        elif chance < 0.87:
            predicted.append(Span(start, end, rng.choice(labels), confidence))
        elif chance < 0.92:
            predicted += [Span(start, start + 1, label, confidence), Span(start + 1, end, label, confidence)]
    return Case(gold, predicted, "word " * (position // 5 + 2))


def corpus(documents: int, labels: list[str] | None = None, spans: int = SPANS_PER_DOCUMENT) -> list[Case]:
    rng = random.Random(20_240)
    return [document(rng, spans, labels or LABELS) for _ in range(documents)]


def bundle(cases: list[Case]) -> dict[str, Any]:
    return metrics(score_cases(cases))


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """Best of some runs."""
    best = math.inf
    for _ in range(runs):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time over log size, between the first and the last."""
    return math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])


def row(what: str, ours: float, theirs: float | None = None, peer: str = "", note: str = "") -> str:
    ratio = "" if theirs is None else f"{theirs / ours:,.0f}×"
    return f"| {what} | {ours:.3f} s | {peer} | {'' if theirs is None else f'{theirs:.2f} s'} | {ratio} | {note} |"


def one_document(full: bool) -> list[str]:
    case = corpus(1, spans=20_000)[0]
    ours = seconds(lambda: bundle([case]))
    what = "whole bundle, one document of 20,000 gold spans"
    if importlib.util.find_spec("openmed") is None:
        return [row(what, ours, note="openmed is not installed")]
    if full:
        return [row(what, ours, openmed_seconds(case), "openmed", "measured")]
    cases = [corpus(1, spans=size)[0] for size in (500, 1_500)]
    sizes = [len(smaller.gold) for smaller in cases]
    times = [openmed_seconds(smaller) for smaller in cases]
    slope = exponent(sizes, times)
    theirs = times[-1] * (20_000 / sizes[-1]) ** slope
    small = f"whole bundle, one document of {sizes[-1]:,} gold spans"
    return [
        row(small, seconds(lambda: bundle(cases[-1:])), times[-1], "openmed", "measured"),
        row(what, ours, theirs, "openmed", f"openmed extrapolated, its exponent {slope:.2f}"),
    ]


def openmed_seconds(case: Case) -> float:
    from openmed.eval.metrics import compute_metrics_bundle

    sides = [
        [{"start": span.start, "end": span.end, "label": span.label} for span in side] for side in (case.gold, case.predicted)
    ]
    return seconds(lambda: compute_metrics_bundle(*sides, source_text=case.text), runs=1)


def growth(quick: bool) -> list[str]:
    counts = [200, 2_000] if quick else [200, 2_000, 20_000]
    times = []
    for count in counts:
        cases = corpus(count)
        times.append(seconds(lambda cases=cases: bundle(cases), runs=2))
    spans = [count * SPANS_PER_DOCUMENT for count in counts]
    slope = exponent(spans, times)
    return [
        row(
            f"whole bundle, {spans[-1]:,} gold spans in {counts[-1]:,} documents",
            times[-1],
            note=f"exponent {slope:.2f} from {spans[0]:,}",
        )
    ]


def errors(quick: bool) -> list[str]:
    cases = corpus(2_000 if quick else 20_000)
    documents = [Document(str(number), case.text or "", tuple(case.gold)) for number, case in enumerate(cases)]
    predictions = [case.predicted for case in cases]
    source = dict.fromkeys(CORPUS_KEYS, len(documents))
    took = seconds(lambda: analysed(documents, predictions, suite="-", model_name="-", corpus=source), runs=1)
    return [row(f"error report, {sum(len(case.gold) for case in cases):,} gold spans in {len(cases):,} documents", took)]


def resampling(quick: bool) -> list[str]:
    documents = 1_000 if quick else 10_000
    labels = [f"LABEL_{number:02d}" for number in range(50)]
    scores: list[CaseScore] = score_cases(corpus(documents, labels, spans=20))
    rows = [(score.spans, score.semeval, score.coverage, score.critical) for score in scores]
    lines = []
    for method in ("percentile", "bca"):
        how = Bootstrap(resamples=1_000, method=method)
        took = seconds(lambda how=how: intervals(count_matrix(rows, labels), lambda sums: rates(sums, labels), how), runs=2)
        lines.append(row(f"bootstrap ({method}), 1,000 resamples, {documents:,} documents, 50 labels", took))
    return lines


def semeval(quick: bool) -> list[str]:
    if importlib.util.find_spec("nervaluate") is None:
        return ["| SemEval, four schemes | | nervaluate | | | not installed |"]
    from nervaluate import Evaluator

    lines = []
    for documents, spans in ((20 if quick else 100, SPANS_PER_DOCUMENT), (1, 1_000)):
        cases = corpus(documents, spans=spans)
        sides = [
            [[{"label": span.label, "start": span.start, "end": span.end - 1} for span in side] for side in column]
            for column in zip(*((case.gold, case.predicted) for case in cases), strict=True)
        ]

        def ours(cases: list[Case] = cases) -> list[SemevalScore]:
            sorted_sides = (
                [sorted((span.start, span.end, span.label) for span in side) for side in (case.gold, case.predicted)]
                for case in cases
            )
            return [semeval_score(Sides.of(gold, predicted)) for gold, predicted in sorted_sides]

        def theirs(sides: list[Any] = sides) -> object:
            return Evaluator(*sides, tags=LABELS, loader="dict").evaluate()

        what = f"SemEval, four schemes, {documents:,} × {spans:,} gold spans"
        lines.append(row(what, seconds(ours), seconds(theirs, runs=1), "nervaluate", "measured"))
    return lines


def tags(quick: bool) -> list[str]:
    """Token accuracy and the report of both modes; of the predicted tags 90 % are right."""
    if importlib.util.find_spec("seqeval") is None:
        return ["| tags | | seqeval | | | not installed |"]
    from seqeval.metrics import accuracy_score, classification_report
    from seqeval.scheme import IOB2

    rng, names = random.Random(20_240), ["O"] * 40 + [f"{prefix}-{label}" for label in LABELS for prefix in "BII"]
    gold = [rng.choices(names, k=25) for _ in range(2_000 if quick else 20_000)]
    predicted = [[tag if rng.random() < 0.9 else rng.choice(names) for tag in sentence] for sentence in gold]

    def ours(mode: str, scheme: str | None) -> object:
        score = tag_scores(gold, predicted, mode, scheme)
        return score.token_accuracy, report_of_tags(score, 0)

    def theirs(mode: str | None, scheme: Any) -> object:
        how = {"mode": mode, "scheme": scheme, "output_dict": True, "zero_division": 0}
        return accuracy_score(gold, predicted), classification_report(gold, predicted, **how)

    assert ours("lenient", None) == theirs(None, None)
    assert ours("strict", "IOB2") == theirs("strict", IOB2)
    what = f"tags, {sum(map(len, gold)):,} tokens"
    return [
        row(
            f"{what}, lenient",
            seconds(lambda: ours("lenient", None)),
            seconds(lambda: theirs(None, None), 1),
            "seqeval",
            "measured",
        ),
        row(
            f"{what}, strict",
            seconds(lambda: ours("strict", "IOB2")),
            seconds(lambda: theirs("strict", IOB2), 1),
            "seqeval",
            "measured",
        ),
    ]


def piled_up() -> list[str]:
    n = 20_000
    nested = [Span(at, 4 * n - at, "PERSON") for at in range(n)]
    flat = [Span(4 * at, 4 * at + 3, "PERSON") for at in range(n)]
    shapes = {
        "nested, predictions shifted by one": (nested, [Span(one.start + 1, one.end + 1, "PERSON") for one in nested]),
        "nested gold over flat predictions": (nested, flat),
        "one prediction over all": (flat, [Span(0, 4 * n, "PERSON")]),
    }
    return [
        row(
            f"whole bundle, one document of 20,000 gold spans: {name}",
            seconds(lambda gold=gold, predicted=predicted: bundle([Case(gold, predicted, length=4 * n + 1)]), runs=1),
        )
        for name, (gold, predicted) in shapes.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a tenth of the corpus")
    size.add_argument("--full", action="store_true", help="run openmed on 20,000 spans instead of extrapolating")
    options = parser.parse_args()
    print("| what | ours | peer | peer's time | ratio | |\n|---|---|---|---|---|---|")
    for lines in (
        lambda: one_document(options.full),
        lambda: growth(options.quick),
        lambda: errors(options.quick),
        lambda: resampling(options.quick),
        lambda: semeval(options.quick),
        lambda: tags(options.quick),
        piled_up,
    ):
        print("\n".join(lines()), flush=True)


if __name__ == "__main__":
    main()
