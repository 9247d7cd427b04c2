"""Gates: a rule is met by a number that is there, is one, and rests on gold enough; all else fails, with a reason."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.gates import SHORT, Gates, Rule, check, limits, load_gates, parsed_rule
from openmed_mlx_eval.reporting.report import schema

METRICS: dict[str, Any] = {
    "documents": 9,
    "support": 50,
    "predicted": 40,
    "exact_span_f1": {
        "f1": 0.85,
        "recall": None,
        "confidence_interval": {"f1": {"lower": 0.8, "upper": 0.9, "degenerate": False}},
    },
    "macro": {"exact": {"f1": 0.7}},
    "by_label": {
        "DATE": {"support": 40, "predicted": 40, "exact": {"recall": 1, "precision": 0.5}},
        "DATE.exact": {"support": 30, "exact": {"recall": 0.25}},
        "a.b c": {"support": 10, "exact": {"recall": 0.75}},
        "GHOST": {"support": 0, "exact": {"recall": None, "precision": 0.0}},
    },
    "leakage": {
        "overall": 0.01,
        "any_label": 0.004,
        "by_label": {"DATE": 0.0, "a.b c": 0.2, "GHOST": None},
        "any_label_by_label": {"a.b c": 0.1},
        "unit": "grapheme_cluster",
        "confidence_interval": {"overall": {"lower": 0.005, "upper": 0.02, "degenerate": False}, "by_label": {"DATE": None}},
    },
    "slices": {"language": {"values": {"de": {"support": 3, "exact": {"f1": 1.0}}}}},
    "abstention": None,
    "latency": {"p95_ms": 31.5, "cold_start_ms": 10**400},
}


def reason(rule: str, min_support: int = 1) -> str | None:
    (outcome,) = check(METRICS, Gates((parsed_rule(rule),), min_support))
    assert outcome.passed is (outcome.reason is None)
    return outcome.reason


@pytest.mark.parametrize(
    "rule",
    [
        "leakage.any_label <= 0.005",
        "leakage.any_label<=.005",
        "  leakage.any_label  <  4.1e-3 ",
        "leakage <= 0.01",
        "leakage == 0.01",
        "leakage.upper <= 0.02",
        "exact_f1 >= 0.85",
        "exact_f1.lower >= 0.8",
        "exact_span_f1.f1.lower < 0.81",
        "macro_f1 > 0.6",
        "by_label.DATE.exact.recall >= 1",
        "by_label.DATE.exact.exact.recall == 0.25",
        "by_label.a.b c.exact.recall >= 0.7",
        "leakage.by_label.a.b c <= 0.2",
        "slices.language.values.de.exact.f1 >= 1",
        "p95_ms <= 40",
        "documents >= 9",
        "leakage >= -1",
    ],
)
def test_rules_that_are_met(rule: str) -> None:
    assert reason(rule) is None


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("exact_f1 >= 0.8501", "not met"),
        ("exact_f1 > 0.85", "not met"),
        ("leakage.any_label < 0.004", "not met"),
        ("by_label.DISEASE.exact.recall >= 0", "absent"),
        ("by_label.DATE.relaxed.recall >= 0", "absent"),
        ("by_label.DATE.exact.recall.lower >= 0", "absent"),
        ("leakage.by_label.DATE.lower >= 0", "absent"),
        ("exact_f1.middle >= 0", "absent"),
        ("abstention.abstention_rate.overall <= 1", "absent"),
        ("p50_ms <= 40", "absent"),
        ("peak_rss_mib <= 1e9", "absent"),
        ("exact_recall >= 0", "nothing to measure"),
        ("leakage.by_label.GHOST <= 1", "nothing to measure"),
        ("abstention <= 1", "nothing to measure"),
        ("by_label.GHOST.exact.precision >= 0", "rests on 0 gold spans, fewer than 1"),
        ("by_label >= 0", "not a number"),
        ("leakage.unit >= 0", "not a number"),
        ("exact_span_f1.confidence_interval.f1.degenerate == 0", "not a number"),
        ("cold_start_ms >= 0", "not a number"),
    ],
)
def test_rules_that_are_not(rule: str, why: str) -> None:
    assert reason(rule) == why


@pytest.mark.parametrize(
    ("rule", "support"),
    [
        ("by_label.a.b c.exact.recall >= 0", 10),
        ("leakage.by_label.a.b c >= 0", 10),
        ("leakage.any_label_by_label.a.b c >= 0", 10),
        ("slices.language.values.de.exact.f1 >= 0", 3),
        ("exact_f1 >= 0", 50),
        ("macro_f1 >= 0", 50),
        ("leakage.upper >= 0", 50),
        ("p95_ms >= 0", None),
    ],
)
def test_min_support_is_of_the_label_the_slice_or_the_corpus(rule: str, support: int | None) -> None:
    assert reason(rule, support or 10**9) is None
    if support is not None:
        assert reason(rule, support + 1) == f"rests on {support} gold spans, fewer than {support + 1}"


def test_with_no_min_support_a_label_without_gold_has_its_precision() -> None:
    assert reason("by_label.GHOST.exact.precision >= 0", 0) is None


def test_every_short_name_is_of_a_key_a_report_can_have() -> None:
    properties = schema()["$defs"]["metrics"]["properties"]
    assert {path.partition(".")[0] for path in SHORT.values()} <= properties.keys()


@pytest.mark.parametrize(
    ("word", "near"),
    [("exat_f1", "exact_f1"), ("by_lable.DATE.exact.f1", "by_label"), ("Leakage", "leakage"), ("p59_ms", "p95_ms")],
)
def test_an_unknown_key_lists_the_near_ones(word: str, near: str) -> None:
    with pytest.raises(UsageError, match=rf"did you mean .*\b{near}\b.*\?"):
        parsed_rule(f"{word} >= 0.5")
    with pytest.raises(UsageError, match=rf"did you mean .*\b{near}\b.*\?"):
        limits([f"{word}=0.5"], ">=", "--fail-under")


def test_what_was_written_is_not_repeated() -> None:
    for rule in ("Quill 1970 >= 3", "Quill-1970", "exact_f1 >= Quill-1970"):
        with pytest.raises(UsageError) as error:
            parsed_rule(rule)
        assert "Quill" not in str(error.value)


@pytest.mark.parametrize(
    "rule", ["", "exact_f1", "exact_f1 0.5", "exact_f1 >= ", ">= 0.5", "exact_f1 => 0.5", "exact_f1 >= 1.2.3", "exact_f1 >= nan"]
)
def test_what_is_no_rule_is_a_usage_error(rule: str) -> None:
    with pytest.raises(UsageError, match="write KEY OPERATOR NUMBER"):
        parsed_rule(rule)


@given(
    st.sampled_from(["exact_f1", "by_label.a<b >= 1.exact.f1", "leakage.by_label.DATE"]),
    st.sampled_from(["<=", "<", ">=", ">", "=="]),
    st.floats(-10, 10).map(lambda value: round(value, 6)),
)
def test_a_rule_is_read_as_it_is_written(path: str, operator: str, limit: float) -> None:
    rule = Rule(path, operator, limit)
    if "<b" not in path:
        assert parsed_rule(str(rule)) == rule
    assert math.isfinite(parsed_rule(str(rule)).limit)


def test_limits_of_the_options() -> None:
    assert limits(["exact_f1=0.85", "by_label.a=b.exact.f1 = 1"], ">=", "--fail-under") == (
        Rule("exact_f1", ">=", 0.85),
        Rule("by_label.a=b.exact.f1", ">=", 1.0),
    )
    for value in ("exact_f1", "=0.5", "exact_f1=", "exact_f1=much", "exact_f1=inf", "exact_f1=nan"):
        with pytest.raises(UsageError, match="write KEY=NUMBER"):
            limits([value], ">=", "--fail-under")


@pytest.mark.parametrize(
    "key", ["leakage", "leakage.any_label", "over_redaction", "p95_ms", "peak_rss_mib", "exact_span_f1.false_positives"]
)
def test_less_of_what_should_be_little_is_no_failure(key: str) -> None:
    with pytest.raises(UsageError, match="--fail-over"):
        limits([f"{key}=0.5"], ">=", "--fail-under")
    assert limits([f"{key}=0.5"], "<=", "--fail-over") == (Rule(key, "<=", 0.5),)


def gates_file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "gates.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_gates_file(tmp_path: Path) -> None:
    content = '# of the ward\nmin_support = 30\nrules = [\n  "leakage.any_label <= 0.005",\n  "exact_f1 >= 0.85",\n]\n'
    made = load_gates(gates_file(tmp_path, content))
    assert made == Gates((Rule("leakage.any_label", "<=", 0.005), Rule("exact_f1", ">=", 0.85)), 30)
    assert made + Gates((Rule("support", ">", 1.0),)) == Gates((*made.rules, Rule("support", ">", 1.0)), 30)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('min_suport = 3\nrules = ["exact_f1 > 0"]', "key 1 is unknown – did you mean min_support?"),
        ('rules = ["exact_f1 > 0"]\n[Quill]\n', "key 2 is unknown – the keys are rules, min_support"),
        ('rules = ["exact_f1 > 0", "exct_f1 > 0"]', "rule 2: a report has no such key – did you mean exact_f1"),
        ("rules = []", "rules must be a list of one or more strings"),
        ("rules = [1]", "rules must be a list of one or more strings"),
        ('rules = "exact_f1 > 0"', "rules must be a list of one or more strings"),
        ("min_support = 3", "rules must be a list of one or more strings"),
        ("", "rules must be a list of one or more strings"),
        ('rules = ["exact_f1 > 0"]\nmin_support = true', "min_support must be a whole number"),
        ('rules = ["exact_f1 > 0"]\nmin_support = -1', "min_support must be a whole number"),
        ("rules = [Quill", "the file is not TOML"),
        (b"\xff", "the file is not TOML"),
        ("rules = " + "[" * 10_000, "the file is not TOML"),
    ],
)
def test_a_wrong_gates_file_is_a_usage_error(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(UsageError) as error:
        load_gates(gates_file(tmp_path, content))
    assert str(error.value).startswith("--rules: ")
    assert said in str(error.value)
    assert "Quill" not in str(error.value)


def test_a_missing_gates_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--rules: the file cannot be read \(No such file or directory\)$"):
        load_gates(tmp_path / "Quill.toml")


def test_a_reason_that_did_not_occur_counts_nought() -> None:
    """A report names the reasons that occurred; a gate on another was once `absent` and could never be met."""
    metrics = {"invalid_predictions": {"empty": 2}}
    reasons = [
        outcome.reason
        for outcome in check(
            metrics,
            Gates(tuple(parsed_rule(f"invalid_predictions.{name} <= 0") for name in ("past_end", "empty", "odd")), 1),
        )
    ]
    assert (reasons[0], reasons[2]) == (None, "absent") and reasons[1] is not None
