"""A quantisation's certificate for people: the tables that `convert --certify` prints, from the dict of certificate.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .sections import Section, count, percent, rate

_SAID = {"recall": "Recall", "precision": "Precision", "f1": "F1"}


def section(record: Mapping[str, Any]) -> Section:
    """A row a label, then one of all labels; changes are quantised − parent."""
    level = percent(record["uncertainty"]["level"])
    changes = [name for said in _SAID.values() for name in (f"Δ {said}", level)]
    rows = [
        [label, count(one["support"]), rate(one["recall"]["parent"]), *_changes(one), _verdict(one)]
        for label, one in sorted(record["labels"].items(), key=lambda item: (-item[1]["support"], item[0]))
    ]
    exact = record["exact"]
    rows.append(["all labels", count(record["corpus"]["spans"]), rate(exact["recall"]["parent"]), *_changes(exact), ""])
    return Section("Certificate", ("Label", "Gold", "Recall", *changes, ""), rows, brief=True)


def _changes(block: Mapping[str, Any]) -> list[str]:
    cells = []
    for key in _SAID:
        found = block[key]["confidence_interval"]
        ends = "–" if found is None else f"{found['lower']:+.4f} to {found['upper']:+.4f}{'?' if found['degenerate'] else ''}"
        cells += [_signed(block[key]["change"]), ends]
    return cells


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _verdict(one: Mapping[str, Any]) -> str:
    said = str(one["verdict"]).replace("_", " ")
    return f"{said}: {one['reason']}" if one["reason"] else said
