"""`report`: a run folder as a page to look at, several side by side, and what a model card may say of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import InputError, UsageError
from .options import run_folder


@click.command(help="Write report.html into a run folder; with several RUNs, runs.html beside each other, into --output.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--output", metavar="DIR", help="Write there.  [default: the run's own folder]")
@click.option("--model-card", is_flag=True, help="Also model-card.md and .eval_results/: what the model's repository may say.")
@click.option("--dataset-id", metavar="OWNER/NAME", help="The data set on the Hub, for the model card.")
@click.option("--dataset-name", metavar="NAME", help="Its name for people.  [default: the corpus's]")
@click.option("--task-id", metavar="TASK", help="The benchmark's task.  [default: token-classification]")
@click.option("--split", metavar="SPLIT", help="The split that was scored.  [default: test]")
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as JSON.")
def command(runs: Sequence[str], output: str | None, model_card: bool, as_json: bool, **dataset: str | None) -> None:
    from ..reporting.html import to_html
    from ..reporting.side_by_side import comparison_html
    from ..saved_runs import load_report, made_from_report

    if len(runs) > 1 and output is None:
        raise UsageError("--output is missing – several runs have no folder in common")
    if len(runs) > 1 and model_card:
        raise UsageError("--model-card is about one run – give one")
    reports = [load_report(run) for run in runs]
    place = Path(runs[0]) if output is None else Path(output)
    if output is None and not place.is_dir():
        raise UsageError("--output is missing – RUN is no folder")
    files: dict[str, list[str]]
    if len(runs) > 1:
        files = {"runs.html": [made_from_report(lambda: comparison_html(reports))]}
    else:
        errors = _errors_beside(Path(runs[0]), reports[0])
        files = {"report.html": [made_from_report(lambda: to_html(reports[0], errors))]}
    if model_card:
        files |= made_from_report(lambda: _model_card(reports[0], dataset))
    with run_folder(str(place)) as folder:
        assert folder is not None  # a place was given
        folder.write(files)
    if as_json:
        import json

        click.echo(json.dumps({"files": sorted(files)}))
    else:
        click.echo("wrote " + ", ".join(sorted(files)))


def _errors_beside(run: Path, report: Mapping[str, Any]) -> dict[str, Any] | None:
    """The errors.json in a run's folder, where it is of the same corpus; None where there is none."""
    import json

    from ..saved_runs import made_from_report

    try:
        errors = json.loads((run / "errors.json").read_bytes())
    except OSError:
        return None
    except (ValueError, RecursionError):
        raise InputError("errors.json", "the file is not JSON, or not whole", remedy="make it again with `errors`") from None
    same = isinstance(errors, dict) and made_from_report(lambda: errors["corpus"]["sha256"] == report["corpus"]["sha256"])
    if not same:
        raise InputError("errors.json", "it is not of this run's corpus", remedy="make it again with `errors`")
    return dict(errors)


def _model_card(report: Mapping[str, Any], dataset: Mapping[str, str | None]) -> dict[str, list[str]]:
    from ..reporting.model_card import dataset_of, eval_results, model_index, quantitative_analysis

    known = dataset_of(report, dataset["dataset_id"], dataset["dataset_name"], dataset["task_id"], dataset["split"])
    card = [model_index(report, known), "\n", quantitative_analysis(report)]
    return {"model-card.md": card, f".eval_results/{known.id.partition('/')[2]}.yaml": [eval_results(report, known)]}
