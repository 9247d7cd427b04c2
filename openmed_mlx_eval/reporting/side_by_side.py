"""Several runs beside each other: a table, the Pareto front, and the page that shows both.

A run is on the front where no other is at least as good in everything measured of both – exact F1, leakage, documents
per second, size – and better in something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .html import page
from .plots import BLUE, ORANGE, Drawn, drawn
from .sections import Section, interval, rate

Report = Mapping[str, Any]
Number = Callable[[Report], float | None]

MEASURES: dict[str, tuple[Number, int]] = {
    "Exact F1": (lambda report: report["metrics"]["exact_span_f1"]["f1"], 1),
    "Leakage, any label": (lambda report: report["metrics"].get("leakage", {}).get("any_label"), -1),
    "Documents per second": (lambda report: report["timing"].get("documents_per_second"), 1),
    "Size, MiB": (lambda report: size_mib(report), -1),
}
"""{what is compared: (the number, 1 where more is better and −1 where less is)}."""

_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}


def size_mib(report: Report) -> float | None:
    """The weights as they are stored, MiB, from parameters and dtype; a quantised layer's scales and biases are counted."""
    model = report["model"]
    bits: float | None = _BITS.get(model.get("dtype") or "")
    if model.get("quantization"):
        bits = model["quantization"]["bits"] + 32 / model["quantization"]["group_size"]
    return model["parameters"] * bits / 8 / 2**20 if model.get("parameters") and bits else None


def on_front(reports: Sequence[Report], measures: Mapping[str, tuple[Number, int]] | None = None) -> list[bool]:
    """Which runs no other dominates. measures: as MEASURES, what they are held against each other in."""
    measured = (measures or MEASURES).values()
    signed = [[_signed(number(report), sign) for number, sign in measured] for report in reports]
    return [not any(_dominates(other, one) for other in signed) for one in signed]


def _signed(value: float | None, sign: int) -> float | None:
    return None if value is None else value * sign


def _dominates(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return bool(both) and all(a >= b for a, b in both) and any(a > b for a, b in both)


def names_of(reports: Sequence[Report]) -> list[str]:
    """A name for each run that no other has: the model's, with what it ran in and on where models are the same."""
    plain = [str(report["model"]["name"]) for report in reports]
    names = []
    for number, (name, report) in enumerate(zip(plain, reports, strict=True), start=1):
        quantization = report["model"].get("quantization")
        kind = f"{quantization['bits']} bit" if quantization else report["environment"].get("dtype")
        said = " · ".join(str(part) for part in (name, report["environment"].get("engine"), kind) if part)
        names.append(name if plain.count(name) == 1 else f"{number}: {said}")
    return names


def comparison_section(reports: Sequence[Report]) -> Section:
    """A row a run."""
    columns = (
        "Run",
        "Corpus",
        "Exact F1",
        "Interval",
        "Relaxed F1",
        "Leakage, any label",
        "Documents per second",
        "Size, MiB",
        "Front",
    )
    rows = []
    for name, report, front in zip(names_of(reports), reports, on_front(reports), strict=True):
        metrics, speed, size = report["metrics"], report["timing"].get("documents_per_second"), size_mib(report)
        rows.append(
            [
                name,
                str(report["corpus"]["name"]),
                rate(metrics["exact_span_f1"]["f1"]),
                interval(metrics["exact_span_f1"]),
                rate(metrics["relaxed_span_f1"]["f1"]),
                rate(metrics.get("leakage", {}).get("any_label")),
                "–" if speed is None else f"{speed:,.1f}",
                "–" if size is None else f"{size:,.1f}",
                "yes" if front else "no",
            ]
        )
    return Section("Runs", columns, rows)


def label_section(reports: Sequence[Report]) -> Section:
    """Exact F1 of each label in each run."""
    labels = sorted({label for report in reports for label in report["metrics"]["by_label"]})
    rows = []
    for label in labels:
        blocks = [report["metrics"]["by_label"].get(label) for report in reports]
        support = max(block["support"] for block in blocks if block)
        rows.append([label, f"{support:,}", *("–" if block is None else rate(block["exact"]["f1"]) for block in blocks)])
    return Section("Exact F1 by label", ("Label", "Gold", *names_of(reports)), rows)


def front_picture(reports: Sequence[Report]) -> list[Drawn]:
    """Exact F1 against documents per second; the area of a mark is the model's size."""
    speed, _ = MEASURES["Documents per second"]
    known = [
        (name, speed(report), report["metrics"]["exact_span_f1"]["f1"], size_mib(report), front)
        for name, report, front in zip(names_of(reports), reports, on_front(reports), strict=True)
    ]
    marks = [one for one in known if one[1] is not None and one[2] is not None]

    def draw(axes: Any) -> None:
        largest = max((size or 0 for *_, size, _ in marks), default=0) or 1
        for name, x, y, size, front in marks:
            area = 40 + 400 * (size or 0) / largest
            axes.scatter([x], [y], s=area, color=BLUE if front else ORANGE, alpha=0.7, linewidths=0)
            axes.annotate(name, (x, y), textcoords="offset points", xytext=(8, 4), fontsize=8)
        axes.margins(0.2)
        axes.set_xlabel("documents per second")
        axes.set_ylabel("exact F1")

    described = (
        "Exact F1 against documents per second; the area is the model's size. Blue runs are on the Pareto front of F1, "
        "leakage, speed and size; orange ones are not."
    )
    return [("Pareto front", described, (7, 4), draw)] if marks else []


def comparison_html(reports: Sequence[Report]) -> str:
    """One page for several runs. Raises UsageError where the `report` extra is not installed."""
    corpora = {report["corpus"]["sha256"] for report in reports}
    said = [
        {"code": "different_corpora", "count": len(corpora), "message": "the runs scored different corpora; do not rank them"}
    ] * (len(corpora) > 1)
    return page(
        title=f"{len(reports)} runs",
        facts=[(f"Run {number}", name) for number, name in enumerate(names_of(reports), start=1)],
        cards=[],
        warnings=said,
        pictures=drawn(front_picture(reports)),
        sections=[comparison_section(reports), label_section(reports)],
    )
