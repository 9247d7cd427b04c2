"""report.html: one self-contained file that needs no network and no script. Templates by Jinja2, pictures by matplotlib
(the `report` extra).

Everything of a report that came from a corpus (a label, a slice's value) is escaped by the template; only the pictures
go in as they are, and in them matplotlib has escaped it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .plots import pictures
from .sections import Section, interval, rate, sections
from .text import facts, printable

TEMPLATE = "report.html.j2"


def to_html(report: Mapping[str, Any], errors: Mapping[str, Any] | None = None) -> str:
    """report.html of one run. errors: its errors.json. Raises UsageError where the `report` extra is not installed."""
    shown = [*sections(report["metrics"]), *(_confusions(errors) if errors else ()), *_provenance(report)]
    return page(
        title=str(report["suite"]),
        facts=facts(report),
        cards=list(_cards(report["metrics"])),
        warnings=[{**warning, "message": printable(warning["message"])} for warning in report["warnings"]],
        pictures=pictures(report, errors),
        sections=shown,
    )


def page(*, title: str, sections: Iterable[Section], pictures: Iterable[Any] = (), warnings: Any = (), **parts: Any) -> str:
    """The template filled: what is empty is left out, of the contents too."""
    named = [("Warnings", warnings), ("Pictures", pictures)]
    sections = [_printable(section) for section in sections]
    contents = [name for name, part in named if part] + [section.title for section in sections]
    values = {"title": printable(title), "pictures": pictures, "warnings": warnings, "sections": sections, "contents": contents}
    return str(_template().render(**values, **parts))


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise UsageError('report.html needs the extra `report` – pip install "openmed-mlx-eval[report]"') from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["anchor"] = anchor
    return environment.from_string(Path(__file__).with_name(TEMPLATE).read_text(encoding="utf-8"))


def anchor(title: str) -> str:
    """A heading as an id: letters and digits, the rest as dashes."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split()) or "section"


def _printable(section: Section) -> Section:
    rows = [[printable(cell) for cell in row] for row in section.rows]
    return section._replace(title=printable(section.title), columns=tuple(map(printable, section.columns)), rows=rows)


def _cards(metrics: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The numbers that are looked at first, each with its interval."""
    leakage = metrics.get("leakage", {})
    wanted = [
        ("Exact F1", metrics["exact_span_f1"], "f1"),
        ("Exact recall", metrics["exact_span_f1"], "recall"),
        ("Relaxed F1", metrics["relaxed_span_f1"], "f1"),
        ("Leakage, any label", leakage, "any_label"),
        ("Over-redaction", metrics.get("over_redaction_loss", {}), "rate"),
    ]
    for name, block, key in wanted:
        if key in block:
            found = interval(block, key)
            share = metrics.get("uncertainty", {}).get("level")
            note = "" if found == "–" or share is None else f"{found} ({share:.0%} interval)"
            yield {"name": name, "value": rate(block[key]), "note": note}


MOST_CONFUSIONS = 100


def _confusions(errors: Mapping[str, Any]) -> Iterator[Section]:
    """The heat map off its diagonal, in words: what a screen reader reads of it, and what sorts it by weight."""
    cells = [
        (count, gold, predicted)
        for gold, row in errors["confusion_matrix"].items()
        for predicted, count in row.items()
        if gold != predicted
    ]
    cells.sort(key=lambda cell: (-cell[0], cell[1:]))
    title = (
        "Confusions" if len(cells) <= MOST_CONFUSIONS else f"Confusions, the {MOST_CONFUSIONS} most frequent of {len(cells):,}"
    )
    rows = [[gold, predicted, f"{count:,}"] for count, gold, predicted in cells[:MOST_CONFUSIONS]]
    if rows:
        yield Section(title, ("Gold", "Predicted", "Spans"), rows)


def _provenance(report: Mapping[str, Any]) -> Iterator[Section]:
    versions = [[key, str(value)] for key, value in report["environment"].items() if value is not None]
    yield Section("Environment", ("", "Value"), versions)
    config = [[key, _said(value)] for key, value in report["config"].items() if key != "labels"]
    yield Section("Options in force", ("Option", "Value"), config)
    mapped = report["config"]["labels"]["mapped"]
    if mapped:
        yield Section("Label names", ("In the data", "Scored as"), [[raw, name] for raw, name in sorted(mapped.items())])
    hashes = [*sorted((report["model"].get("files") or {}).items()), ("corpus", report["corpus"]["sha256"])]
    yield Section("Files", ("File", "SHA-256"), [list(row) for row in hashes])


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value)) or "–"
    if value is None:
        return "–"
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"
