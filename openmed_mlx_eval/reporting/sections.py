"""What a report shows to people: each part of `metrics` as a table of text. Markdown and terminal print the same tables.

A rate is shown with four digits and a number that does not exist as a dash; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

Metrics = Mapping[str, Any]


class Section(NamedTuple):
    """One table. brief: shown in the terminal too, not in the file alone."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    brief: bool = False


def rate(value: float | None) -> str:
    """A rate for people: four digits, or a dash where there was nothing to measure."""
    return "–" if value is None else f"{value:.4f}"


def count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def milliseconds(value: float | None) -> str:
    """A time, or another amount, to three digits or so; a dash where it was not measured."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


HEADLINES = (
    ("exact", "exact_span_f1"),
    ("relaxed", "relaxed_span_f1"),
    ("relaxed, maximum", "relaxed_maximum"),
    ("relaxed, two-sided", "relaxed_two_sided"),
)
"""(what people call it, its key in metrics), in the order shown."""

_PRF = ("precision", "recall", "f1")


def sections(metrics: Metrics) -> list[Section]:
    """The tables that have something to show, in the order in which they are read."""
    return [section for make in _SECTIONS for section in make(metrics) if section.rows]


def interval(block: Metrics, key: str = "f1") -> str:
    """`0.81–0.86` of a block with intervals; marked with ? where it is degenerate."""
    found = (block.get("confidence_interval") or {}).get(key)
    return "–" if found is None else f"{found['lower']:.3f}–{found['upper']:.3f}{'?' if found['degenerate'] else ''}"


def _with_interval(
    metrics: Metrics, columns: tuple[str, ...], rows: Iterable[tuple[list[str], Metrics]]
) -> tuple[tuple[str, ...], list[list[str]]]:
    """Columns and rows, with a column for the interval of F1 where the report has intervals."""
    if "uncertainty" not in metrics:
        return columns, [row for row, _ in rows]
    return (*columns, f"F1, {percent(metrics['uncertainty']['level'])}"), [[*row, interval(block)] for row, block in rows]


def _scores(metrics: Metrics) -> Iterator[Section]:
    rows = []
    for name, key in HEADLINES:
        block = metrics[key]
        pairs = [block.get(part) for part in ("true_positives", "false_positives", "false_negatives")]
        rows.append(([name, *(rate(block[part]) for part in _PRF), *map(count, pairs)], block))
    columns = ("Rule", "Precision", "Recall", "F1", "Right", "Spurious", "Missed")
    yield Section("Scores", *_with_interval(metrics, columns, rows), True)


def _labels(metrics: Metrics) -> Iterator[Section]:
    """One row a label, the most frequent in gold first."""
    rows = [
        (
            [
                label,
                count(block["support"]),
                count(block["predicted"]),
                *(rate(block["exact"][part]) for part in _PRF),
                rate(block["relaxed"]["f1"]),
            ],
            block["exact"],
        )
        for label, block in sorted(metrics["by_label"].items(), key=lambda item: (-item[1]["support"], item[0]))
    ]
    columns = ("Label", "Gold", "Predicted", "Precision", "Recall", "Exact F1", "Relaxed F1")
    yield Section("Labels (exact)", *_with_interval(metrics, columns, rows), True)


def _tags(metrics: Metrics) -> Iterator[Section]:
    """seqeval's report: types under their own names, the most frequent first, then the averages."""
    block = metrics.get("tags")
    if block is None:
        return
    report = dict(block["report"])
    averages = [(name, report.pop(name)) for name in ("micro avg", "macro avg", "weighted avg")]
    types = sorted(report.items(), key=lambda item: (-item[1]["support"], item[0]))
    rows = [
        [name, *(rate(row[part]) for part in ("precision", "recall", "f1-score")), count(row["support"])]
        for name, row in (*types, *averages)
    ]
    scheme = f", {block['scheme']}" if block["scheme"] else ""
    columns = (f"Type ({block['mode']}{scheme})", "Precision", "Recall", "F1", "Gold")
    yield Section("Tags", columns, rows, brief=True)
    accuracy = [
        ["tokens with the right tag", rate(block["token_accuracy"]), f"{block['correct_tokens']:,} of {block['tokens']:,} tokens"]
    ]
    yield Section("Token accuracy", ("Measure", "Rate", "Of"), accuracy, brief=True)


def _averages(metrics: Metrics) -> Iterator[Section]:
    rows = [
        [f"{average}, {rule}", *(rate(metrics[average][rule][part]) for part in _PRF)]
        for average in ("macro", "weighted")
        for rule in ("exact", "relaxed")
    ]
    yield Section("Averages over labels", ("Average", "Precision", "Recall", "F1"), rows)


def _semeval(metrics: Metrics) -> Iterator[Section]:
    parts = ("correct", "incorrect", "partial", "missed", "spurious")
    rows = [
        [scheme, *(count(block[part]) for part in parts), *(rate(block[part]) for part in _PRF)]
        for scheme, block in metrics.get("semeval", {}).items()
    ]
    yield Section("SemEval-2013", ("Scheme", *map(str.capitalize, parts), "Precision", "Recall", "F1"), rows)


def _coverage(metrics: Metrics) -> Iterator[Section]:
    if "leakage" not in metrics:
        return
    recall, leakage, excess = (metrics[key] for key in ("character_recall", "leakage", "over_redaction_loss"))
    critical = metrics["critical_finding_recall"]
    unit = leakage["unit"].replace("_", " ") + "s"
    total = leakage["total_graphemes"]
    rows = [
        ["character recall, right label", rate(recall["rate"]), f"{recall['numerator']:,} of {recall['denominator']:,} {unit}"],
        ["leakage, right label", rate(leakage["overall"]), f"{leakage['leaked_graphemes']:,} of {total:,} {unit}"],
        ["leakage, any label", rate(leakage["any_label"]), f"{leakage['any_label_leaked_graphemes']:,} of {total:,} {unit}"],
        [
            "documents with a leak",
            rate(leakage["documents_with_leak_rate"]),
            f"{leakage['documents_with_leak']:,} of {leakage['documents_with_gold']:,} documents with gold",
        ],
        [
            "over-redaction",
            rate(excess["rate"]),
            f"{excess['numerator']:,} of {excess['denominator']:,} {'tokens' if unit == 'tokens' else 'characters'} that are not gold",
        ],
    ]
    if critical["total"]:
        found = f"{critical['covered']:,} of {critical['total']:,} findings"
        rows.append(["critical findings found", rate(critical["overall"]), found])
    yield Section("Coverage", ("Measure", "Rate", "Of"), rows, brief=True)


def _slices(metrics: Metrics) -> Iterator[Section]:
    """A table for each key with more than one value: a single one says what the headline says."""
    columns = ("Documents", "Gold", "Exact F1", "Relaxed F1", "Recall of characters", "Leakage, any label")
    for key, block in metrics.get("slices", {}).items():
        worst = block["worst"]["value"] if block["spread"]["exact_f1"] else None  # none is worse than all others alike
        rows = [
            [
                value + (" (worst)" if value == worst else ""),
                count(one["documents"]),
                count(one["support"]),
                rate(one["exact"]["f1"]),
                rate(one["relaxed"]["f1"]),
                rate(one["character_recall"]),
                rate(one["any_label_leakage"]),
            ]
            for value, one in block["values"].items()
        ]
        if len(rows) > 1:
            yield Section(f"By {key}", (key, *columns), rows, brief=True)


def _documents(metrics: Metrics) -> Iterator[Section]:
    block = metrics.get("per_document")
    if block is None:
        return
    parts = ("mean", "minimum", "p5", "p25", "p50", "p75", "p95", "maximum")
    rows = [[f"{rule} F1", *(rate(block[f"{rule}_f1"][part]) for part in parts)] for rule in ("exact", "relaxed")]
    yield Section("Documents' own scores", ("Score", *map(str.capitalize, parts)), rows)


def _confidence(metrics: Metrics) -> Iterator[Section]:
    block = metrics.get("calibration")
    if block is None:
        return
    sweep = block["threshold_sweep"]
    rows = [
        ["expected calibration error", rate(block["expected_calibration_error"])],
        ["maximum calibration error", rate(block["maximum_calibration_error"])],
        ["Brier score", rate(block["brier_score"])],
        ["area under risk–coverage", rate(block["risk_coverage"]["aurc"])],
    ]
    best = sweep["best_f1"]
    if best is not None:
        rows.append([f"best exact F1, at threshold {rate(best['threshold'])}", rate(best["f1"])])
    yield Section("Confidence", ("Measure", "Value"), rows)


def _abstention(metrics: Metrics) -> Iterator[Section]:
    block = metrics.get("abstention")
    if block is None:
        return
    risk, route = block["residual_risk"], block["route_counts"]
    rows = [
        ["declined", rate(block["abstention_rate"]["overall"]), count(block["abstention_rate"]["abstained"])],
        ["wrong among accepted", rate(risk["overall"]), count(risk["residual_errors"])],
        ["wrong among accepted identifiers", rate(risk["critical"]), count(risk["critical_residual_errors"])],
        ["exact F1 of the accepted", rate(block["accepted_span_f1"]["f1"]), count(route["accept"])],
    ]
    yield Section("Abstention", ("Measure", "Rate", "Predictions"), rows, brief=True)


def _answers(metrics: Metrics) -> Iterator[Section]:
    """What became of a language model's answers and their tags, and what they cost."""
    block = metrics.get("generative")
    if block is None:
        return
    lost = [[f"lost tags: {reason}", count(number), "tags"] for reason, number in block["lost_tags_by_reason"].items()]
    states = [[f"answers: {state}", count(number), "answers"] for state, number in block["states"].items() if number]
    changed = block["documents_changed_by_alignment"]
    differ = [] if changed is None else [["not as aligned faithfully", count(changed), "documents"]]
    yield Section("Answers", ("Answers and tags", "Count", "Of"), [*states, *lost, *differ], True)
    scores, cost = block["token_level"], block["cost"]
    waits = cost["time_to_first_token_s"]
    numbers = [
        ["usable answers", rate(block["usable_answer_rate"])],
        *([f"{name}, over tokens", rate(scores[name])] for name in (*_PRF, "accuracy")),
        *(
            [name, f"{value:,.2f}"]
            for name, value in (
                ("tokens of an answer", cost["answer_tokens_per_document"]),
                ("seconds a document", cost["seconds_per_document"]),
                ("tokens a second", cost["answer_tokens_per_second"]),
                ("seconds to the first token, median", waits["p50"]),
                ("seconds to the first token, 95 %", waits["p95"]),
                ("cold start, seconds", cost["cold_start_s"]),
            )
            if value is not None
        ),
    ]
    yield Section(f"Protocol {block['protocol']}, {block['alignment']} alignment", ("Measure", "Value"), numbers, True)


PHASES = {
    "start": "interpreter started",
    "import": "package imported",
    "weights": "weights opened",
    "tokenizer": "tokenizer loaded",
    "engine": "engine opened, weights laid out",
    "first_forward": "first forward",
    "first_span": "first spans",
    "second_forward": "second forward",
    "exit": "process ended",
}
"""What each phase of a cold start is called before people."""


def _latency(metrics: Metrics) -> Iterator[Section]:
    """`run --cold-start` alone measures these."""
    block = metrics.get("latency")
    if block is None:
        return
    said = {"cold_start_ms": "cold start", **{f"{name}_ms": f"{name}, one document" for name in ("p50", "p90", "p95", "p99")}}
    rows = [[name, f"{milliseconds(block[key])} ms"] for key, name in said.items() if block.get(key) is not None]
    phases = [[f"cold start: {PHASES[key]}", f"{milliseconds(value)} ms"] for key, value in block.get("phases_ms", {}).items()]
    rows += [
        [name, f"{block[key]:,.1f}"]
        for key, name in (("documents_per_second", "documents per second"), ("tokens_per_second", "tokens per second"))
        if block.get(key) is not None
    ]
    yield Section("Latency", (f"Latency, {count(block['count'])} documents one by one", "Measured"), rows, brief=True)
    yield Section("Cold start", ("Phase of the cold start, median", "Measured"), phases)


def _resources(metrics: Metrics) -> Iterator[Section]:
    said = {"peak_rss_mib": "peak resident memory", "peak_device_mib": "peak device memory", "model_mib": "model"}
    block = metrics.get("resources", {})
    rows = [[name, f"{block[key]:,.1f} MiB"] for key, name in said.items() if block.get(key) is not None]
    yield Section("Resources", ("Resource", "Size"), rows, brief=True)


_SECTIONS: tuple[Callable[[Metrics], Iterator[Section]], ...] = (
    _scores,
    _labels,
    _tags,
    _answers,
    _coverage,
    _slices,
    _abstention,
    _averages,
    _semeval,
    _documents,
    _confidence,
    _latency,
    _resources,
)
