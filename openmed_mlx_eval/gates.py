"""gate: rules such as `by_label.DISEASE.exact.recall >= 0.9`, held against a report's metrics.

A rule names a number by its keys in `metrics`, joined by dots, or by a short name of SHORT; `.lower` and `.upper` after it
are the ends of its interval. What is absent, null, or rests on fewer gold spans than `min_support` does not meet a rule.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .errors import UsageError
from .reporting.report import schema
from .scoring.validity import REASONS
from .toml_file import check_keys, load_toml, near

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}

SHORT = {
    **{f"exact_{rate}": f"exact_span_f1.{rate}" for rate in ("precision", "recall", "f1")},
    **{f"relaxed_{rate}": f"relaxed_span_f1.{rate}" for rate in ("precision", "recall", "f1")},
    "macro_f1": "macro.exact.f1",
    "weighted_f1": "weighted.exact.f1",
    "leakage": "leakage.overall",
    "any_label_leakage": "leakage.any_label",
    "character_recall": "character_recall.rate",
    "over_redaction": "over_redaction_loss.rate",
    "critical_recall": "critical_finding_recall.overall",
    **{name: f"latency.{name}" for name in ("cold_start_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")},
    **{name: f"latency.{name}" for name in ("tokens_per_second", "documents_per_second")},
    **{name: f"resources.{name}" for name in ("peak_rss_mib", "peak_device_mib", "model_mib")},
}
"""{short name: keys in metrics}."""

_RULE = re.compile(
    r"\s*(?P<path>\S.*?)(?<![=<>!])\s*(?P<operator><=|>=|==|<|>)\s*(?P<limit>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", re.DOTALL
)
_BOUND = re.compile(r"\.(lower|upper)$")
_WITHOUT_GOLD = ("latency", "resources")
_LESS_IS_BETTER = re.compile(r"leak|over_redaction|invalid|false_|missed|spurious|error|brier|_ms$|_mib$")


@dataclass(frozen=True, slots=True)
class Rule:
    """path: as it was written, without spaces around it. operator: a key of OPERATORS."""

    path: str
    operator: str
    limit: float

    def __str__(self) -> str:
        return f"{self.path} {self.operator} {self.limit:.12g}"


@dataclass(frozen=True, slots=True)
class Gates:
    """rules: at least one. min_support: gold spans that the number of a rule must rest on."""

    rules: tuple[Rule, ...]
    min_support: int = 1

    def __add__(self, other: Gates) -> Gates:
        return Gates(self.rules + other.rules, max(self.min_support, other.min_support))


@dataclass(frozen=True, slots=True)
class Outcome:
    """value: the number found, if any. reason: why the rule is not met; None where it is."""

    rule: Rule
    value: float | None
    reason: str | None

    @property
    def passed(self) -> bool:
        return self.reason is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": str(self.rule),
            "value": self.value,
            "limit": self.rule.limit,
            "passed": self.passed,
            "reason": self.reason,
        }


def load_gates(path: str | Path) -> Gates:
    """Read a gates file: TOML with `rules`, a list of strings, and `min_support`. Raises UsageError."""
    table: Any = load_toml(path, "--rules", 'rules = ["exact_f1 >= 0.85"]')
    check_keys(table, _KEYS, "--rules")
    rules, min_support = table.get("rules"), table.get("min_support", 1)
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, str) for rule in rules):
        raise UsageError('--rules: rules must be a list of one or more strings – write rules = ["exact_f1 >= 0.85"]')
    if type(min_support) is not int or min_support < 0:
        raise UsageError("--rules: min_support must be a whole number of at least 0")
    return Gates(tuple(parsed_rule(rule, f"--rules: rule {number}") for number, rule in enumerate(rules, start=1)), min_support)


_KEYS = ("rules", "min_support")


def parsed_rule(text: str, where: str = "rule") -> Rule:
    """`KEYS <= NUMBER` with an operator of OPERATORS. where: begins messages. Raises UsageError."""
    match = _RULE.fullmatch(text)
    limit = _number(match["limit"]) if match else None
    if match is None or limit is None:
        raise UsageError(f"{where}: write KEY OPERATOR NUMBER with one of {' '.join(OPERATORS)}, as in exact_f1 >= 0.85")
    return Rule(_checked(match["path"], where), match["operator"], limit)


def limits(values: Iterable[str], operator: str, option: str) -> tuple[Rule, ...]:
    """The rules of `--fail-under KEY=NUMBER` (operator >=) and `--fail-over KEY=NUMBER` (<=). Raises UsageError."""
    rules = []
    for value in values:
        path, _, number = value.rpartition("=")
        limit = _number(number)
        if not path.strip() or limit is None:
            raise UsageError(f"{option}: write KEY=NUMBER, as in exact_f1=0.85")
        path = _checked(path.strip(), option)
        keys = _BOUND.sub("", path).split(".")
        if operator == ">=" and any(_LESS_IS_BETTER.search(key) for key in (keys[0], keys[-1])):
            raise UsageError(f"{option}: less is better of that number – give it to --fail-over")
        rules.append(Rule(path, operator, limit))
    return tuple(rules)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None  # neither NaN nor infinity


def _checked(path: str, where: str) -> str:
    """The path, whose first key a report can have. What was written is not repeated: it may be anything."""
    known = _known()
    first = _BOUND.sub("", path).partition(".")[0]
    if first not in known:
        hint = near(first, known, "its keys are those of metrics in report.json")
        raise UsageError(f"{where}: a report has no such key – {hint}")
    return path


def _known() -> list[str]:
    return sorted({*schema()["$defs"]["metrics"]["properties"], *SHORT})


_REASONS = {("invalid_predictions", reason) for reason in REASONS}


def check(metrics: Mapping[str, Any], gates: Gates) -> list[Outcome]:
    """Hold each rule against the `metrics` of a report."""
    return [_outcome(metrics, rule, gates.min_support) for rule in gates.rules]


def _outcome(metrics: Mapping[str, Any], rule: Rule, min_support: int) -> Outcome:
    keys = _trail(metrics, _long(rule.path))
    if keys is None and rule.path.partition(".")[::2] in _REASONS:
        return Outcome(
            rule, 0, None if OPERATORS[rule.operator](0, rule.limit) else "not met"
        )  # the report names those that occurred
    if keys is None:
        return Outcome(rule, None, "absent")
    *owners, value = _walk(metrics, keys)
    if value is None:
        return Outcome(rule, None, "nothing to measure")
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return Outcome(rule, None, "not a number")
    support = _support(metrics, keys, owners)
    if support is not None and support < min_support:
        return Outcome(rule, value, f"rests on {support:,} gold spans, fewer than {min_support:,}")
    return Outcome(rule, value, None if OPERATORS[rule.operator](value, rule.limit) else "not met")


def _long(path: str) -> str:
    """A short name's keys, with the end of an interval if one was named."""
    bound = _BOUND.search(path)
    name, end = (path[: bound.start()], bound[0]) if bound else (path, "")
    return SHORT.get(name, name) + end


def _trail(block: Any, path: str) -> tuple[str, ...] | None:
    """The keys to a path's value. A label may hold dots, so the longest key that leads on is taken.

    `f1.lower` is found at `confidence_interval.f1.lower` of the block that holds `f1`.
    """
    if not isinstance(block, Mapping):
        return None
    for key in sorted(block, key=len, reverse=True):
        if path == key:
            return (key,)
        if path.startswith(key + "."):
            rest = _trail(block[key], path[len(key) + 1 :])
            if rest is not None:
                return (key, *rest)
    rest = _trail(block.get("confidence_interval"), path)
    return None if rest is None else ("confidence_interval", *rest)


def _walk(block: Any, keys: Iterable[str]) -> Iterator[Any]:
    yield block
    for key in keys:
        block = block[key]
        yield block


def _support(metrics: Mapping[str, Any], keys: Sequence[str], owners: Sequence[Mapping[str, Any]]) -> int | None:
    """Gold spans behind a number: of the label that its keys name, else of the innermost block that says; None: it needs none."""
    if keys[0] in _WITHOUT_GOLD:
        return None
    for key, label in pairwise(keys):
        if key.endswith("by_label"):
            return _support_of(metrics, "by_label", label)
    return next((_support_of(owner) for owner in reversed(owners) if "support" in owner), 0)


def _support_of(block: Any, *keys: str) -> int:
    for key in (*keys, "support"):
        block = block.get(key) if isinstance(block, Mapping) else None
    return block if type(block) is int else 0
