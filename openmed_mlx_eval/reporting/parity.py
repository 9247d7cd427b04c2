"""A parity record for people: parity.md and the terminal's table, from the dict that parity.py makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .sections import Section, count
from .text import escaped, markdown_table, print_tables

_COLUMNS = (
    "Texts",
    "Documents",
    "Tokens",
    "Max |Δ logit|",
    "Mean |Δ logit|",
    "Same label",
    "Same spans",
    "Spans A",
    "Spans B",
    "",
)


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of parity.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("parity.schema.json").read_text(encoding="utf-8"))
    return loaded


def facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    tolerance = record["tolerance"]
    limit = "any" if tolerance["difference"] is None else f"{tolerance['difference']:g}"
    allowed = f"logits {limit}, labels {tolerance['labels']:g}, spans {tolerance['spans']:g}"
    return [*((name.upper(), _model(model)) for name, model in record["models"].items()), ("Allowed", allowed)]


def _model(model: Mapping[str, Any]) -> str:
    stored = f"{model['quantization']['bits']} bits" if model["quantization"] else model["stored"]
    return f"{model['name']} ({model['family']}, stored as {stored}; {model['engine']} · {model['device']} · {model['dtype']})"


def section(record: Mapping[str, Any]) -> Section:
    """A row a set of texts."""
    rows = [
        [
            name.replace("_", "-"),
            count(one["documents"]),
            count(one["tokens"]),
            _small(one["max_absolute_difference"]),
            _small(one["mean_absolute_difference"]),
            _share(one["label_agreement"]),
            _share(one["span_agreement"]),
            count(one["spans"]["a"]),
            count(one["spans"]["b"]),
            "the same" if one["passed"] else "not the same",
        ]
        for name, one in record["texts"].items()
    ]
    return Section("Parity", _COLUMNS, rows, brief=True)


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _share(value: float | None) -> str:
    """Six digits: of many tokens few may differ."""
    return "–" if value is None else f"{value:.6f}"


def to_markdown(record: Mapping[str, Any]) -> str:
    """parity.md."""
    table = section(record)
    parts = ["# Parity of A and B", markdown_table(("", ""), facts(record)), f"## {escaped(table.title)}"]
    return "\n\n".join([*parts, markdown_table(table.columns, table.rows)]) + "\n"


def print_parity(record: Mapping[str, Any]) -> None:
    """A table on stdout."""
    print_tables(facts(record), [section(record)])
