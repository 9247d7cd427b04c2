"""`gate`: rules held against a report that was written; and `--fail-under`, the same for the report being made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..errors import GateError, UsageError
from ..gates import Gates, Outcome, check, limits, load_gates
from ..reporting.sections import Section
from ..reporting.text import print_tables, printable
from .options import all_of

gate_options = all_of(
    click.option("--fail-under", multiple=True, metavar="KEY=NUMBER",
                 help="Exit 3 if this number of the report is less, as in exact_f1=0.85; may be given again."),
    click.option("--fail-over", multiple=True, metavar="KEY=NUMBER",
                 help="Exit 3 if this number of the report is more, as in leakage=0.005; may be given again."),
)  # fmt: skip


@click.command(help="Hold the report of RUN – a run folder, a report.json, or - for stdin – against rules.")
@click.argument("run")
@click.option("--rules", metavar="FILE", help='TOML: rules = ["by_label.DATE.exact.recall >= 0.9"] and min_support = 30.')
@gate_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
def command(run: str, rules: str | None, as_json: bool, **options: Any) -> None:
    from ..saved_runs import load_report, refuse_shard

    given = [gates for gates in (load_gates(rules) if rules is not None else None, gates_of(options)) if gates is not None]
    if not given:
        raise UsageError("no rule was given – give --rules FILE, --fail-under KEY=NUMBER or --fail-over KEY=NUMBER")
    report = load_report(run)
    refuse_shard(report)
    outcomes = check(report["metrics"], sum(given[1:], given[0]))
    if as_json:
        block = {"passed": all(one.passed for one in outcomes), "rules": [one.to_dict() for one in outcomes]}
        click.echo(json.dumps(block, indent=2, ensure_ascii=False))
    else:
        rows = [[str(one.rule), _value(one), one.reason or "met"] for one in outcomes]
        print_tables([], [Section("Rules", ("Rule", "Value", ""), rows, brief=True)])
    _raise_for(outcomes)


def gates_of(options: dict[str, Any]) -> Gates | None:
    """The values of `gate_options`, taken out of a command's options; None without any. Raises UsageError."""
    under, over = limits(options.pop("fail_under"), ">=", "--fail-under"), limits(options.pop("fail_over"), "<=", "--fail-over")
    return Gates(under + over) if under or over else None


def hold(report: Mapping[str, Any], gates: Gates | None) -> None:
    """Raise GateError, which names every rule that the report does not meet."""
    _raise_for(check(report["metrics"], gates) if gates else [])


def _raise_for(outcomes: Sequence[Outcome]) -> None:
    unmet = [f"{one.rule} ({_why(one)})" for one in outcomes if not one.passed]
    if unmet:
        raise GateError(printable(f"{len(unmet)} of {len(outcomes)} rules not met: {'; '.join(unmet)}"))


def _why(one: Outcome) -> str:
    return f"is {_value(one)}" if one.reason == "not met" else str(one.reason)


def _value(one: Outcome) -> str:
    return "–" if one.value is None else f"{one.value:.6g}"
