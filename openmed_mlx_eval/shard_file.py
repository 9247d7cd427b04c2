"""Shards: which documents of a corpus one of n runs scores, and shard.jsonl, what `merge` needs beside documents.jsonl.

Every shard reads the whole corpus and takes documents by the hash of their text: neither order nor ids nor the number
of machines that really run decide where a document goes. shard.jsonl holds labels, confidences, languages, scripts and
the values that the report slices by; no text, no id.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .document_scores import FORMAT as DOCUMENTS
from .document_scores import load_document_scores
from .errors import InputError, UsageError
from .evaluation import Observed
from .scoring.bundle import CaseScore
from .scoring.confidence import Confidences, Judged
from .scoring.coverage import NOTHING, Coverage, Covered
from .scoring.critical import CriticalScore, Miss
from .scoring.uncertainty import Row

FORMAT = "shard.jsonl"
_WRITTEN = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)
_REMEDY = "give the folders that `run --shard` of this version wrote"


@dataclass(frozen=True, slots=True)
class Shard:
    """The number-th of `of` parts, from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From I/N. Raises UsageError."""
        match = _WRITTEN.fullmatch(text)
        made = cls(int(match[1]), int(match[2])) if match else None
        if made is None or made.number > made.of:
            raise UsageError("--shard: write I/N with I from 1 to N, as in 1/3")
        return made

    def takes(self, text: str) -> bool:
        """Whether a document is in this part: by the SHA-256 of its text, so that equal texts stay together."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class ShardOrigin:
    """What a shard is a part of. documents: of all shards together. partial: whether --limit left others out. labels: digest of
    the label map."""

    documents: int
    partial: bool
    labels: str


@dataclass(frozen=True, slots=True)
class ShardScores:
    """A shard read back. ordinals: ascending, from 0 in the whole corpus; scores: one each."""

    origin: ShardOrigin
    observed: Observed
    ordinals: list[int]
    scores: list[CaseScore]


def shard_head(observed: Observed, origin: ShardOrigin) -> str:
    """The first line of shard.jsonl: of the whole."""
    told = {"names": dict(observed.names), "unmet": sorted(observed.unmet), "left_out": observed.left_out}
    return _line({**asdict(origin), "observed": told})


def shard_line(ordinal: int, score: CaseScore) -> str:
    """A document's line. ordinal: from 0 in the whole corpus."""
    return _line({"document": ordinal, **_beyond_counts(score)})


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _beyond_counts(score: CaseScore) -> dict[str, Any]:
    (judged,) = score.confidences.documents
    return {
        "keys": dict(sorted(score.keys.items())),
        "scripts": {script: list(covered) for script, covered in sorted(score.coverage.by_script.items())},
        "missed": [[miss.category, miss.start, miss.end, miss.label] for miss in score.critical.missed],
        "language": judged.language,
        "labels": judged.labels,
        "confidences": judged.confidences,
        "right": [int(right) for right in judged.right],
        "unusable": dict(score.confidences.unusable),
    }


def load_shard(folder: str | Path, where: str = "") -> ShardScores:
    """Read shard.jsonl and documents.jsonl of a run folder. where: begins the names of files in messages.

    Raises InputError for files that are not what a shard's run writes, naming the line.
    """
    try:
        head, *lines = (Path(folder) / FORMAT).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
        raise InputError(where + FORMAT, what, remedy=_REMEDY) from None
    except UnicodeDecodeError:
        raise InputError(where + FORMAT, "the file is not UTF-8", remedy=_REMEDY) from None
    origin, observed = _read(head, 1, where, _head)
    values = [_read(line, number, where, _value) for number, line in enumerate(lines, start=2) if line]
    ordinals = [value["document"] for value in values]
    if any(one >= other for one, other in pairwise(ordinals)):
        raise InputError(where + FORMAT, "documents out of order", remedy=_REMEDY)
    rows = load_document_scores(Path(folder) / DOCUMENTS, where + DOCUMENTS, ordinals)
    if len(rows) != len(values):
        raise InputError(where + DOCUMENTS, f"other documents than in {FORMAT}", remedy=_REMEDY)
    pairs = enumerate(zip(rows, values, strict=True), start=2)
    scores = [_read((row, value), number, where, _score) for number, (row, value) in pairs]
    return ShardScores(origin, observed, ordinals, scores)


def _read(given: Any, number: int, where: str, read: Any) -> Any:
    try:
        return read(given)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise InputError(where + FORMAT, "a line that is none of a shard's", line=number, remedy=_REMEDY)


def _head(line: str) -> tuple[ShardOrigin, Observed]:
    value = json.loads(line)
    told = value["observed"]
    gold, predicted = map(_count, told["left_out"])
    names = {raw: _text(name) for raw, name in told["names"].items()}
    origin = ShardOrigin(_count(value["documents"]), value["partial"] is True, _text(value["labels"]))
    return origin, Observed(names, frozenset(map(_text, told["unmet"])), (gold, predicted))


def _value(line: str) -> dict[str, Any]:
    value = json.loads(line)
    _count(value["document"])
    return dict(value)


def _score(given: tuple[Row, Mapping[str, Any]]) -> CaseScore:
    (spans, semeval, coverage, critical), value = given
    scripts = {script: Covered(*map(_count, covered)) for script, covered in value["scripts"].items()}
    missed = tuple(
        Miss(_text(category), value["document"] + 1, _count(start), _count(end), _text(label))
        for category, start, end, label in value["missed"]
    )
    gold = {label: covered for label, covered in coverage.by_label.items() if covered != NOTHING}  # the file has all labels
    numbers = {name: getattr(coverage, name) for name in Coverage.__slots__ if name not in ("by_label", "by_script")}
    columns = [
        tuple(map(_text, value["labels"])),
        tuple(map(_confidence, value["confidences"])),
        tuple(map(bool, value["right"])),
    ]
    if len({len(column) for column in columns}) > 1 or len(columns[0]) != spans.overall.predicted:
        raise ValueError("columns of different lengths")
    unusable = tuple(sorted((reason, _count(count)) for reason, count in value["unusable"].items()))
    judged = Judged(_text(value["language"]), *columns)  # type: ignore[arg-type]
    return CaseScore(
        spans,
        semeval,
        Coverage(gold, scripts, **numbers),
        CriticalScore(critical.by_category, missed),
        Confidences((judged,), spans.overall.support, unusable),
        {key: _text(said) for key, said in value["keys"].items()},
    )


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("no text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("no count")
    return value


def _confidence(value: Any) -> float | None:
    if value is None or (type(value) in (int, float) and 0 <= value <= 1):
        return None if value is None else float(value)
    raise ValueError("no confidence")
