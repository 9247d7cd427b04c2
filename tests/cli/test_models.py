"""models list and show: what is shown, in which order, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.model_manifest.catalog import load_manifest, shipped_path
from openmed_mlx_eval.model_manifest.entries import Entry
from openmed_mlx_eval.model_manifest.selecting import ORDERS, Selection, chosen, parsed_size, shown_size

SHIPPED = load_manifest(shipped_path()).models


def test_list_shows_every_model_once(program) -> None:
    said = program("models", "list")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == sorted((e.name for e in SHIPPED), key=str.casefold)
    assert said.err == f"{len(SHIPPED)} models\n"
    listed = program("models", "list", "--json").json()
    assert listed["count"] == len(SHIPPED) == len(listed["models"])


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        (["--language", "DE"], lambda e: "de" in e.languages),
        (["--architecture", "xlm-roberta"], lambda e: e.architecture == "xlm-roberta"),
        (["--architecture", "roberta"], lambda e: "roberta" in (e.architecture, e.family)),
        (["--task", "text-generation"], lambda e: e.task == "text-generation"),
        (["--kind", "zeroshot", "--max-size", "0.3B"], lambda e: e.kind == "ZeroShot" and e.parameters <= 300e6),
        (["--min-size", "400m", "--runnable"], lambda e: (e.parameters or 0) >= 400e6 and e.family is not None),
    ],
)
def test_list_keeps_what_is_asked_for(program, options: list[str], holds) -> None:
    names = {model["name"] for model in program("models", "list", "--json", *options).json()["models"]}
    assert names == {entry.name for entry in SHIPPED if holds(entry)} != set()


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_is_total_and_puts_the_unknown_last(order: str) -> None:
    unknown = Entry("0")
    listed = chosen([unknown, *reversed(SHIPPED)], Selection(), order)
    assert listed == chosen([*SHIPPED, unknown], Selection(), order)
    assert len(listed) == len(SHIPPED) + 1
    if order == "size":
        sizes = [entry.parameters for entry in listed if entry.parameters is not None]
        assert sizes == sorted(sizes) and listed[len(sizes)] == unknown
    elif order == "task":
        assert listed[-1] == unknown


@pytest.mark.parametrize(
    ("said", "size"), [("33M", 33_000_000), ("0.6b", 600_000_000), ("1G", 10**9), ("12", 12), (" 2 k", 2000)]
)
def test_sizes_are_read_as_they_are_written(said: str, size: int) -> None:
    assert parsed_size(said, "--min-size") == size


@pytest.mark.parametrize("said", ["", "M", "-1", "1T", "1e9", "33 million"])
def test_a_size_that_is_none_is_a_usage_error(said: str) -> None:
    with pytest.raises(UsageError, match="--min-size: give a number"):
        parsed_size(said, "--min-size")


def test_shown_sizes_are_short() -> None:
    shown = [shown_size(n) for n in (None, 7, 740_000, 33_000_000, 600_000_000, 1_500_000_000)]
    assert shown == ["", "7", "740k", "33M", "600M", "1.5B"]


def test_totals_add_up(program) -> None:
    totals = program("models", "list", "--totals", "--json").json()["totals"]
    table = program("models", "list", "--totals").out.splitlines()
    assert len(table) == len(totals) + 2
    assert [int(n) for n in table[-1].split()[1:]] == [
        sum(t[k] for t in totals) for k in ("repositories", "token_classifiers", "run")
    ]


def test_show_by_name_and_by_repository_is_one_entry(program) -> None:
    entry = next(entry for entry in SHIPPED if entry.artifact_repository)
    shown = program("models", "show", entry.name, "--json").json()
    assert shown == {**entry.to_json(), "on_this_machine": False}
    for repository in (entry.repository, entry.artifact_repository):
        assert program("models", "show", repository, "--json").json() == shown
    text = program("models", "show", entry.name).out
    assert entry.artifact_repository in text and "None" not in text


def test_show_of_what_is_none_says_what_is_near_and_exits_1(program) -> None:
    said = program("models", "show", "tiny-phi-brt")
    assert (said.code, said.out) == (1, "")
    assert "did you mean tiny-phi-bert?" in said.err


def test_names_of_a_manifest_cannot_move_the_cursor(program, tmp_path: Path) -> None:
    head = {"schema": "openmed-mlx-eval/models", "schema_version": 1}
    own = tmp_path / "own.json"
    own.write_text(json.dumps({**head, "models": [{"name": "a", "license": "\x1b[2J"}]}), "utf-8")
    assert "\x1b" not in program("models", "show", "a", "--manifest", own).out
    assert program("models", "show", "a", "--manifest", own, "--json").json()["license"] == "\x1b[2J"
