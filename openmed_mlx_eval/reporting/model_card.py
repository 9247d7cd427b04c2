"""What a model's repository may say of a run: `model-index` metadata, `.eval_results/` entries, and a Markdown section.

`model-index` and `.eval_results` are formats of the Hugging Face Hub (model card metadata; hub-docs' eval_results.yaml).
YAML is written by hand: every string is a JSON string, which YAML reads the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import UsageError
from .sections import interval, rate, sections
from .text import facts, markdown_table

Report = Mapping[str, Any]


class Dataset(NamedTuple):
    """The data set as the Hub knows it. id: `owner/name`; name: for people; task: a task of the benchmark; split."""

    id: str
    name: str
    task: str = "token-classification"
    split: str = "test"


class Figure(NamedTuple):
    """One number: type and name as the Hub lists metrics, and where it stands in `metrics`."""

    type: str
    name: str
    block: str
    key: str


FIGURES = (
    Figure("f1", "Exact span F1", "exact_span_f1", "f1"),
    Figure("precision", "Exact span precision", "exact_span_f1", "precision"),
    Figure("recall", "Exact span recall", "exact_span_f1", "recall"),
    Figure("f1", "Relaxed span F1", "relaxed_span_f1", "f1"),
    Figure("leakage", "Leakage under any label", "leakage", "any_label"),
)


_ON_THE_CARD = ("Scores", "Labels (exact)", "Coverage")


def dataset_of(report: Report, id: str | None, name: str | None, task: str | None, split: str | None) -> Dataset:
    """Raises UsageError for an id that is no `owner/name`."""
    id = id or f"local/{re.sub(r'[^A-Za-z0-9._-]+', '-', str(report['corpus']['name'])).lstrip('._-') or 'corpus'}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*", id):
        raise UsageError("--dataset-id: give the data set's name on the Hub, owner/name")
    default = Dataset(id, str(report["corpus"]["name"]))
    return Dataset(id, name or default.name, task or default.task, split or default.split)


def _measured(report: Report) -> Iterator[tuple[Figure, float]]:
    for figure in FIGURES:
        value = report["metrics"].get(figure.block, {}).get(figure.key)
        if value is not None:
            yield figure, value


def model_index(report: Report, dataset: Dataset) -> str:
    """The YAML front matter of a model card, between its two lines of dashes."""
    lines = ["---", "model-index:", f"- name: {_quoted(report['model']['name'])}", "  results:"]
    lines += ["  - task:", "      type: token-classification", "    dataset:", f"      name: {_quoted(dataset.name)}"]
    lines += [f"      type: {_quoted(dataset.id)}", f"      split: {_quoted(dataset.split)}", "    metrics:"]
    for figure, value in _measured(report):
        lines += [f"    - type: {figure.type}", f"      name: {_quoted(figure.name)}", f"      value: {value!r}"]
    return "\n".join([*lines, "---"]) + "\n"


def eval_results(report: Report, dataset: Dataset) -> str:
    """A file for `.eval_results/`: the exact F1 as the benchmark's value, the other numbers in its notes."""
    notes = "; ".join(f"{figure.name} {rate(value)}" for figure, value in _measured(report))
    value = report["metrics"]["exact_span_f1"]["f1"]
    if value is None:
        raise UsageError("the run has no exact F1: there was no gold to score")
    lines = ["- dataset:", f"    id: {_quoted(dataset.id)}", f"    task_id: {_quoted(dataset.task)}", f"  value: {value!r}"]
    lines += [f"  date: {_quoted(report['timing']['generated_at'])}", f"  notes: {_quoted(notes)}"]
    return "\n".join(lines) + "\n"


def quantitative_analysis(report: Report) -> str:
    """A section for a model card: what was run on what, three tables, and the warnings' codes."""
    parts = ["## Quantitative analysis", markdown_table(("", ""), facts(report))]
    for section in sections(report["metrics"]):
        if section.title in _ON_THE_CARD:  # slices are by a corpus's own metadata, and a card is public
            parts += [f"### {section.title}", markdown_table(section.columns, section.rows)]
    found = interval(report["metrics"]["exact_span_f1"])
    if found != "–":
        level = report["metrics"]["uncertainty"]["level"]
        parts.append(f"Exact F1 lies in {found} with {level:.0%} confidence (bootstrap over documents).")
    parts += [f"- {warning['code']} ({warning['count']:,})" for warning in report["warnings"]]
    return "\n\n".join(parts) + "\n"


def _quoted(text: object) -> str:
    """A JSON string in ASCII: YAML's double-quoted form."""
    return json.dumps(str(text))
