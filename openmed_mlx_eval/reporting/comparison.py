"""A comparison for people: comparison.md and the terminal's tables, from the dict that comparison.py makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .sections import Section, count, percent, rate
from .text import escaped, markdown_table, print_tables

Comparison = Mapping[str, Any]

_SCORES = (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))
_OVERALL = (
    *((f"exact {said}", ("exact_span_f1", key)) for key, said in _SCORES),
    *((f"relaxed {said}", ("relaxed_span_f1", key)) for key, said in _SCORES),
    ("exact F1, mean over labels", ("macro", "exact", "f1")),
    ("character recall, right label", ("character_recall", "rate")),
    ("leakage, right label", ("leakage", "overall")),
    ("leakage, any label", ("leakage", "any_label")),
    ("over-redaction", ("over_redaction_loss", "rate")),
)
"""(what people call a number, its keys in the comparison's metrics)."""
_BY_LABEL = (
    *((f"Exact {said}", ("exact", key)) for key, said in _SCORES),
    *((f"Relaxed {said}", ("relaxed", key)) for key, said in _SCORES),
    ("Leakage", ("leakage",)),
)
"""The same, of a label's block."""


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of comparison.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("comparison.schema.json").read_text(encoding="utf-8"))
    return loaded


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What was compared, and how the intervals and p-values were made."""
    corpus, how = comparison["corpus"], comparison["uncertainty"]
    scored = corpus["documents_scored"]
    rows = [
        ("A", _run(comparison["runs"]["a"])),
        ("B", _run(comparison["runs"]["b"])),
        (
            "Corpus",
            f"{corpus['name']} ({corpus['format']}): {scored:,} documents, {comparison['documents_that_differ']:,} differ",
        ),
    ]
    if how is not None:
        made = f"{percent(how['level'])} intervals ({how['method']}) and p-values from {how['resamples']:,} resamples"
        rows.append(("Chance", f"{made} of the documents; adjusted over labels after Benjamini and Hochberg"))
    if comparison["verdict"] is not None:
        rows.append(("Verdict", verdict_line(comparison)))
    return rows


def _run(run: Mapping[str, Any]) -> str:
    model, environment = run["model"], run["environment"]
    bits = (model["quantization"] or {}).get("bits")
    stored = f"{bits} bits" if bits else model["dtype"]
    parts = [model["family"], stored, *(environment[key] for key in ("engine", "device", "dtype"))]
    return f"{model['name']} ({', '.join(str(part) for part in parts if part)})".replace(" ()", "")


def sections(comparison: Comparison) -> list[Section]:
    """The overall numbers, then a table of labels for each number; of these the comparison's metric is brief."""
    how = comparison["uncertainty"]
    columns = ("A", "B", "B − A", *((percent(how["level"]), "p") if how else ()))
    overall = [[name, *_cells(_at(comparison["metrics"], keys), how)] for name, keys in _OVERALL]
    by_label = [section for section in _label_sections(comparison, columns) if section.rows]
    return [Section("All labels", ("Measure", *columns), overall, True), *by_label]


def _label_sections(comparison: Comparison, columns: Iterable[str]) -> Iterator[Section]:
    """A label in each row, the most frequent in gold first."""
    how, verdict = comparison["uncertainty"], comparison["verdict"]
    order = sorted(comparison["by_label"].items(), key=lambda item: (-item[1]["support"], item[0]))
    for said, keys in _BY_LABEL:
        is_judged = "_".join(keys) == comparison["metric"]
        more: dict[str, Callable[[str, Mapping[str, Any]], str]] = {}
        if how is not None:
            more["p, adjusted"] = lambda label, number: _p(number["p_adjusted"])
        if verdict is not None and is_judged:
            more["Verdict"] = lambda label, number: _judgement(verdict["labels"][label])
        rows = []
        for label, block in order:
            number = _at(block, keys)
            rows.append([label, count(block["support"]), *_cells(number, how), *(cell(label, number) for cell in more.values())])
        yield Section(f"{said} by label", (f"{said} of", "Gold", *columns, *more), rows, is_judged)


def _at(block: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        block = block[key]
    return block


def _cells(number: Mapping[str, Any], how: Any) -> list[str]:
    cells = [rate(number["a"]), rate(number["b"]), _signed(number["difference"])]
    return cells + ([_interval(number["confidence_interval"]), _p(number["p_value"])] if how else [])


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _interval(found: Mapping[str, Any] | None) -> str:
    """`-0.0109 to +0.0063`; marked with ? where it is degenerate."""
    if found is None:
        return "–"
    return f"{_signed(found['lower'])} to {_signed(found['upper'])}{'?' if found['degenerate'] else ''}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _judgement(one: Mapping[str, Any]) -> str:
    said = str(one["verdict"]).replace("_", " ")
    return f"{said}: {one['reason']}" if one["reason"] else said


def verdict_line(comparison: Comparison) -> str:
    """The verdict in one sentence. The comparison must have one."""
    verdict = comparison["verdict"]
    asked = f"lost more than {verdict['max_loss']:g} of {comparison['metric']}"
    if verdict["passed"]:
        return f"no label {asked}"
    wrong = [f"{label} ({_wrong(one)})" for label, one in verdict["labels"].items() if one["verdict"] != "passed"]
    return f"labels that {asked}, or show nothing: {', '.join(wrong)}" if wrong else "there is no label to judge"


def _wrong(one: Mapping[str, Any]) -> str:
    return one["reason"] or f"lost {one['loss']:.4f}"


def to_markdown(comparison: Comparison) -> str:
    """comparison.md."""
    parts = ["# A and B", markdown_table(("", ""), facts(comparison))]
    for section in sections(comparison):
        parts += [f"## {escaped(section.title)}", markdown_table(section.columns, section.rows)]
    return "\n\n".join(parts) + "\n"


def print_comparison(comparison: Comparison) -> None:
    """Tables on stdout."""
    print_tables(facts(comparison), sections(comparison))
