"""errors.json and errors.md: which label fails, how and where, in a file that may leave the ward.

Nothing here is text of a document, an id or a name. Everything adds up to what report.json says of the same run: rows
of the matrix to the support, columns to the predictions, the diagonal to the relaxed true positives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..scoring.causes import cause_of, shares_of, shift_name
from ..scoring.error_examples import COLUMNS, ErrorSpanExample
from ..scoring.errors import ErrorCounts, LabelErrors
from .files import RunFolder
from .sections import Section, count
from .text import escaped, markdown_table, printable, rich_table, stdout

SCHEMA = "openmed-mlx-eval/errors"
SCHEMA_VERSION = 1
MISSED, SPURIOUS = "missed", "spurious"
_SHOWN = ("support", "predicted", "exact", "boundary", "label_confusion", "missed", "spurious", "fragmented", "merged")
MOST_CONFUSIONS = 50
"""Rows of errors.md's table of confusions; errors.json has all."""


@lru_cache(maxsize=1)
def errors_schema() -> dict[str, Any]:
    """The JSON Schema of errors.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("errors.schema.json").read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True, slots=True)
class ErrorAnalysisReport:
    """The errors of one model on one corpus.

    corpus: name, format, sha256, documents and documents_scored, as in report.json; format and sha256 None where the
    documents came from no file. config: the options in force. examples: by label, kind and place.
    """

    suite: str
    model_name: str
    corpus: Mapping[str, Any]
    counts: ErrorCounts
    examples: tuple[ErrorSpanExample, ...]
    generated_at: str
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fixture_count(self) -> int:
        return self.counts.documents

    @property
    def buckets(self) -> dict[str, str]:
        """{"missed", "spurious": their names in the matrix}: in parentheses where a label is called that."""
        labels = {label for cell in self.counts.matrix for label in cell}
        names = {}
        for bucket in (MISSED, SPURIOUS):
            name = bucket
            while name in labels:
                name = f"({name})"
            names[bucket] = name
        return names

    @property
    def confusion_matrix(self) -> dict[str, dict[str, int]]:
        """{gold label or spurious: {predicted label or missed: spans}}, without zeros, sorted; the buckets last."""
        names = self.buckets
        rows: dict[str, dict[str, int]] = {}
        cells = self.counts.matrix.items()
        for (gold, predicted), number in sorted(cells, key=lambda item: [(part is None, part or "") for part in item[0]]):
            row = rows.setdefault(names[SPURIOUS] if gold is None else gold, {})
            row[names[MISSED] if predicted is None else predicted] = number
        return rows

    @property
    def false_negatives(self) -> dict[str, list[ErrorSpanExample]]:
        """{gold label: examples of spans missed or under another label}; boundary errors are found spans."""
        return self._examples_of("missed", "label_confusion")

    @property
    def false_positives(self) -> dict[str, list[ErrorSpanExample]]:
        """{predicted label: examples of predictions over no gold span}."""
        return self._examples_of("spurious")

    def _examples_of(self, *kinds: str) -> dict[str, list[ErrorSpanExample]]:
        groups: dict[str, list[ErrorSpanExample]] = {}
        for example in self.examples:
            if example.kind in kinds:
                groups.setdefault(example.label, []).append(example)
        return groups

    def to_dict(self) -> dict[str, Any]:
        """errors.json. `examples` is a table, `pandas.DataFrame(rows, columns=columns)`: names once, not in each row."""
        labels = self.counts.by_label()
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "suite": self.suite,
            "model": {"name": self.model_name},
            "corpus": dict(self.corpus),
            "config": dict(self.config),
            "generated_at": self.generated_at,
            "overall": {**self.counts.overall()._asdict(), "shifts": self._shifts(None)},
            "by_label": {
                label: {
                    **errors._asdict(),
                    "shifts": self._shifts(label),
                    "cause": cause_of(label, self.counts, errors)._asdict(),
                }
                for label, errors in labels.items()
            },
            "buckets": self.buckets,
            "confusion_matrix": self.confusion_matrix,
            "examples": {"columns": list(COLUMNS), "rows": [list(example.to_dict().values()) for example in self.examples]},
        }

    def _shifts(self, label: str | None) -> dict[str, dict[str, int]]:
        return {
            side: {shift_name(shift): number for shift, number in self.counts.shift_of(side, label).items()}
            for side in ("start", "end")
        }

    def to_json(self) -> str:
        return _lines(self.to_dict()) + "\n"

    def write_json(self, path: str | Path) -> Path:
        """Write errors.json, whole or not at all; makes the folder. Raises UsageError, EvaluationError."""
        target = Path(path)
        RunFolder(target.parent).write({target.name: [self.to_json()]})
        return target

    def facts(self) -> list[tuple[str, str]]:
        """What was run on what, in words."""
        scored, documents = self.corpus["documents_scored"], self.corpus["documents"]
        said = f"{scored:,} of {documents:,} documents" if scored != documents else f"{documents:,} documents"
        return [("Model", self.model_name), ("Corpus", f"{self.corpus['name']}: {said}")]

    def sections(self) -> list[Section]:
        """The tables that have something to show. brief: those of the terminal."""
        made = (self._kinds(), self._confusions(), self._boundaries(), self._examples())
        return [section for section in made if section.rows]

    def causes(self) -> list[tuple[str, str]]:
        """(label, its sentence) of the labels with errors, the one with most first."""
        labels = {label: errors for label, errors in self.counts.by_label().items() if any(shares_of(errors).values())}
        ordered = sorted(labels, key=lambda label: (-sum(shares_of(labels[label]).values()), label))
        return [(label, cause_of(label, self.counts, labels[label]).sentence) for label in ordered]

    def to_markdown(self) -> str:
        """errors.md."""
        parts = [f"# Errors: {escaped(self.suite)}", markdown_table(("", ""), [*self.facts(), ("Made", self.generated_at)])]
        causes = [f"- **{escaped(label)}** – {escaped(sentence)}" for label, sentence in self.causes()]
        if causes:
            parts += ["## What is behind most errors of a label", "\n".join(causes)]
        for section in self.sections():
            parts += [f"## {section.title}", markdown_table(section.columns, section.rows)]
        return "\n\n".join(parts) + "\n"

    def _kinds(self) -> Section:
        columns = (
            "Label", "Gold", "Predicted", "Exact", "Boundary", "Other label", "Missed", "Spurious", "In pieces", "Merged",
        )  # fmt: skip
        parts = itemgetter(*map(LabelErrors._fields.index, _SHOWN))
        labels = sorted(self.counts.by_label().items(), key=lambda item: (-item[1].support, item[0]))
        if len(labels) > 1:
            labels.append(("all", self.counts.overall()))
        return Section("Errors by label", columns, [[label, *map(count, parts(errors))] for label, errors in labels], brief=True)

    def _confusions(self) -> Section:
        cells = [(g, p, n) for (g, p), n in self.counts.matrix.items() if g is not None and p is not None and g != p]
        ordered = sorted(cells, key=lambda cell: (-cell[2], cell[:2]))[:MOST_CONFUSIONS]
        return Section("Confusions", ("Gold", "Predicted", "Spans"), [[g, p, count(n)] for g, p, n in ordered], brief=True)

    def _boundaries(self) -> Section:
        starts, ends = (self.counts.shift_of(side) for side in ("start", "end"))
        rows = [[shift_name(by), count(starts.get(by, 0)), count(ends.get(by, 0))] for by in sorted(starts.keys() | ends.keys())]
        columns = ("Predicted minus gold, characters", "Start", "End")
        return Section("Shifted bounds", columns, rows, brief=True)

    def _examples(self) -> Section:
        columns = ("Label", "Kind", "Document", "Span", "Predicted", "Length", "Script", "Digits", "Tenth", "Seam", "Notes")
        return Section("Examples", columns, [_row(example) for example in self.examples])


def _row(example: ErrorSpanExample) -> list[str]:
    matched = "–"
    if example.matched_label is not None:
        other = "" if example.matched_label == example.label else f" {example.matched_label}"
        matched = f"{example.matched_start}–{example.matched_end}{other}"
    notes = {"in pieces": example.fragmented, "merged": example.merged, "line edge": example.at_line_edge}
    return [
        example.label,
        example.kind.replace("_", " "),
        str(example.document + 1),  # from 1, as in messages; from 0 in JSON
        f"{example.start}–{example.end}",
        matched,
        str(example.length),
        example.script,
        "yes" if example.has_digits else "no",
        str(example.decile + 1),
        count(example.seam_distance),
        ", ".join(note for note, holds in notes.items() if holds),
    ]


def _lines(value: Any, indent: str = "") -> str:
    """JSON with a list or object of plain values on one line: a row of a table is read as a row."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(one and isinstance(one, dict | list) for one in inner):
        separators = (",", ":") if isinstance(value, list) else None
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators)
    deeper = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_lines(one, deeper)}" for key, one in value.items()]
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _lines(one, deeper) for one in value) + f"\n{indent}]"


def print_errors(report: ErrorAnalysisReport) -> None:
    """Tables on stdout."""
    from rich.text import Text

    out = stdout()
    for name, value in report.facts():
        out.print(Text.assemble((f"{name:<8}", "bold"), printable(value)))
    out.print()
    tables = [rich_table(section.columns, section.rows) for section in report.sections() if section.brief]
    for table in tables[:1]:
        out.print(table)
    for label, sentence in report.causes():
        out.print(Text.assemble((printable(label), "bold"), f" – {printable(sentence)}"))
    out.print()
    for table in tables[1:]:
        out.print(table)
