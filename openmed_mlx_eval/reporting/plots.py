"""The pictures of report.html: from a report's numbers to inline SVG, drawn by matplotlib (the `report` extra).

Text stays text and black becomes `currentColor`, so a picture follows the page into the dark. It is hidden from a
screen reader, which reads what it shows in its caption. The same numbers give the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..errors import UsageError
from .sections import PHASES

BLUE, ORANGE = "#3b7dd8", "#d9772b"
"""Told apart by people who see no red or green, and at 3:1 on white and on black."""

MOST_LABELS = 50
"""More bars than this are not read; the table has all."""


class Picture(NamedTuple):
    """title: its heading. described: what it shows, in words, for who cannot see it. svg: the element. broad: a row of its own."""

    title: str
    described: str
    svg: str
    broad: bool = False


def pictures(report: Mapping[str, Any], errors: Mapping[str, Any] | None = None) -> list[Picture]:
    """Every picture there are numbers for. errors: an errors.json of the same run."""
    made = [*_of_metrics(report["metrics"]), *(_of_errors(errors) if errors else ())]
    return drawn(made)


def drawn(made: Iterable[Drawn]) -> list[Picture]:
    return [
        Picture(title, described, _svg(draw, size, number), size[0] > 5)
        for number, (title, described, size, draw) in enumerate(made)
    ]


Drawn = tuple[str, str, tuple[float, float], Callable[[Any], None]]


def _of_metrics(metrics: Mapping[str, Any]) -> Iterator[Drawn]:
    labels = sorted(metrics["by_label"].items(), key=lambda item: (-item[1]["support"], item[0]))[:MOST_LABELS]
    if labels:
        described = "F1 of each label, exact and relaxed; the table of labels has the numbers."
        yield "F1 by label", described, (7, 0.9 + 0.34 * len(labels)), lambda axes: _bars(axes, labels)
    yield from _of_calibration(metrics.get("calibration"))
    yield from _of_latency(metrics.get("latency") or {})


def _of_calibration(calibration: Mapping[str, Any] | None) -> Iterator[Drawn]:
    if not calibration:
        return
    bins = [one for one in calibration["reliability_bins"] if one["count"]]
    described = "How often predictions of a confidence are right. On the diagonal confidence and accuracy agree."
    yield "Reliability", described, (4.4, 3.6), lambda axes: _reliability(axes, bins)
    points = calibration["threshold_sweep"]["points"]
    described = "Precision, recall and F1 if only predictions from a confidence on are kept."
    yield "Confidence threshold", described, (4.4, 3.6), lambda axes: _threshold(axes, points)
    risks = calibration["risk_coverage"]["points"]
    described = "Share of wrong predictions among the most confident ones, against the share of predictions kept."
    yield "Risk and coverage", described, (4.4, 3.6), lambda axes: _risk(axes, risks)


def _of_latency(latency: Mapping[str, Any]) -> Iterator[Drawn]:
    """What `run --cold-start` measured."""
    phases = {PHASES[name]: ms for name, ms in (latency.get("phases_ms") or {}).items() if ms}
    if phases:
        described = (
            "Median time of each phase of a fresh process, one after the other; the table of the cold start has the numbers."
        )
        yield "Cold start", described, (7, 0.9 + 0.3 * len(phases)), lambda axes: _phases(axes, phases)
    samples = latency.get("samples_ms") or ()
    if samples:
        described = "Documents handed over one by one, by the time to their spans; the table of latency has the percentiles."
        yield "Latency", described, (7, 3), lambda axes: _histogram(axes, samples, latency)


def _of_errors(errors: Mapping[str, Any]) -> Iterator[Drawn]:
    matrix = errors["confusion_matrix"]
    if matrix:
        buckets = errors["buckets"]
        rows = sorted(matrix, key=lambda name: (name == buckets["spurious"], name))
        columns = sorted({name for row in matrix.values() for name in row}, key=lambda name: (name == buckets["missed"], name))
        described = "Gold labels in rows, predicted labels in columns; a cell's shade is its share of its row."
        size = (2.2 + 0.42 * len(columns), 1.6 + 0.36 * len(rows))
        yield "Confusion", described, size, lambda axes: _heat_map(axes, matrix, rows, columns)
    shifts = errors["overall"]["shifts"]
    if shifts["start"] or shifts["end"]:
        described = "By how many characters the bounds of otherwise right predictions lie before or after the gold's."
        yield "Boundary shifts", described, (7, 3), lambda axes: _shifts(axes, shifts)


def _bars(axes: Any, labels: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    names = [label for label, _ in labels]
    places = range(len(labels))
    for rule, color, shift in (("exact", BLUE, -0.19), ("relaxed", ORANGE, 0.19)):
        blocks = [block[rule] for _, block in labels]
        values = [block["f1"] or 0.0 for block in blocks]
        axes.barh([place + shift for place in places], values, 0.36, color=color, label=rule)
        for place, block in zip(places, blocks, strict=True):
            found = (block.get("confidence_interval") or {}).get("f1")
            if found:
                axes.plot([found["lower"], found["upper"]], [place + shift] * 2, color="black", linewidth=1)
    axes.set_yticks(list(places), [_short(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("F1")
    axes.figure.legend(loc="outside lower center", ncols=2, frameon=False)


def _reliability(axes: Any, bins: Sequence[Mapping[str, Any]]) -> None:
    width = bins[0]["upper_bound"] - bins[0]["lower_bound"]
    axes.bar(
        [one["lower_bound"] for one in bins], [one["accuracy"] for one in bins], width, align="edge", color=BLUE, label="right"
    )
    axes.plot([0, 1], [0, 1], color="black", linewidth=1, linestyle="--", label="confidence = accuracy")
    axes.plot(
        [one["mean_confidence"] for one in bins], [one["accuracy"] for one in bins], "o", color=ORANGE, label="mean confidence"
    )
    _unit(axes, "confidence", "share right")


def _threshold(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:
    for name, color, style in (("precision", BLUE, "-"), ("recall", ORANGE, "--"), ("f1", "black", ":")):
        known = [(point["threshold"], point[name]) for point in points if point[name] is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], style, color=color, label=name.replace("f1", "F1"))
    _unit(axes, "confidence kept from", "score")


def _risk(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:
    axes.plot(
        [point["coverage"] for point in points], [point["risk"] for point in points], color=BLUE, label="wrong among those kept"
    )
    _unit(axes, "share of predictions kept", "share wrong")


def _phases(axes: Any, phases: Mapping[str, float]) -> None:
    """Each phase begins where the one above it ends."""
    starts = [0.0, *accumulate(phases.values())]
    axes.barh(range(len(phases)), list(phases.values()), 0.6, left=starts[:-1], color=BLUE)
    axes.set_yticks(range(len(phases)), list(phases))
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds since the process was started")


def _histogram(axes: Any, samples: Sequence[float], latency: Mapping[str, Any]) -> None:
    axes.hist(samples, bins=min(30, max(5, len(samples) // 5)), color=BLUE)
    for name, style in (("p50", "-"), ("p95", "--")):
        if latency.get(f"{name}_ms") is not None:
            axes.axvline(latency[f"{name}_ms"], color=ORANGE, linestyle=style, label=name)
    axes.set_xlim(left=0)
    axes.set_xlabel("milliseconds")
    axes.set_ylabel("documents")
    axes.legend(frameon=False)


def _heat_map(axes: Any, matrix: Mapping[str, Mapping[str, int]], rows: Sequence[str], columns: Sequence[str]) -> None:
    """Squares whose opacity is the share of the row, on the page's own ground."""
    for y, row in enumerate(rows):
        total = sum(matrix[row].values())
        for x, column in enumerate(columns):
            count = matrix[row].get(column, 0)
            if count:
                right = row == column
                axes.fill(
                    [x, x + 1, x + 1, x],
                    [y, y, y + 1, y + 1],
                    color=BLUE if right else ORANGE,
                    alpha=0.12 + 0.6 * count / total,
                    linewidth=0,
                )
                axes.text(x + 0.5, y + 0.5, f"{count:,}", ha="center", va="center", fontsize=7)
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    axes.set_xticks(
        [x + 0.5 for x in range(len(columns))], [_short(name) for name in columns], rotation=60, ha="right", fontsize=7
    )
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [_short(name) for name in rows], fontsize=7)
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")


def _shifts(axes: Any, shifts: Mapping[str, Mapping[str, int]]) -> None:
    names = ["< -10", *(f"{n:+d}" if n else "0" for n in range(-10, 11)), "> 10"]
    shown = [name for name in names if any(name in shifts[side] for side in ("start", "end"))]
    for side, color, shift in (("start", BLUE, -0.2), ("end", ORANGE, 0.2)):
        axes.bar(
            [place + shift for place in range(len(shown))],
            [shifts[side].get(name, 0) for name in shown],
            0.4,
            color=color,
            label=side,
        )
    axes.set_xticks(range(len(shown)), shown, rotation=60, fontsize=8)
    axes.set_xlabel("characters after the gold's bound")
    axes.set_ylabel("predictions")
    axes.legend(frameon=False)


def _unit(axes: Any, x: str, y: str) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(frameon=False, fontsize=8)


def _short(name: str, most: int = 28) -> str:
    """A label that fits beside an axis."""
    return name if len(name) <= most else name[: most - 1] + "…"


def figure_class() -> Any:
    """matplotlib's Figure, without pyplot and its windows. Raises UsageError where the extra is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError('report.html needs the extra `report` – pip install "openmed-mlx-eval[report]"') from None
    return Figure


def _svg(draw: Callable[[Any], None], size: tuple[float, float], number: int) -> str:
    figure_of = figure_class()
    from matplotlib import rc_context

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "report",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.parse_math": False,
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a sign of some label that the font for measuring lacks: the reader's has it
        figure = figure_of(figsize=size, layout="constrained")
        axes = figure.subplots()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        draw(axes)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _inlined(out.getvalue(), f"p{number}-")


def _inlined(svg: str, prefix: str) -> str:
    """The <svg> element alone, with ids of its own, the page's colour for black, and a width that shrinks."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(xlink:href|href)="#', rf'\1="#{prefix}', svg)
    svg = svg.replace("url(#", f"url(#{prefix}").replace("#000000", "currentColor")
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    return re.sub(
        r'<svg ([^>]*?)width="([0-9.]+)pt"', r'<svg \1style="max-width:\2pt" aria-hidden="true" focusable="false"', svg, count=1
    )
