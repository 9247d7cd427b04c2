"""`doctor`: facts of this machine, as text and as one JSON document, and no one's name among them."""

from __future__ import annotations

import getpass
import platform
import re
from pathlib import Path

import pytest

from openmed_mlx_eval.cli import doctor


def test_json_and_text_say_the_same(program) -> None:
    found = program("doctor", "--json").json()
    assert list(found) == ["machine", "engines", "software", "advice"]
    said = program("doctor")
    assert (said.code, said.err) == (0, "")
    for section in ("machine", "engines", "software"):
        for name, value in found[section].items():
            assert re.search(
                rf"^  {re.escape(name)}\s*{'not installed' if value is None else re.escape(str(value))}$", said.out, re.M
            )
    for line in found["advice"]:
        assert line in said.out


def test_the_engine_it_names_is_the_one_that_runs(program, tiny_model: Path, tmp_path: Path) -> None:
    import small_corpora

    chosen = program("doctor", "--json").json()["engines"]["auto chooses"]
    environment = program("run", "--model", tiny_model, "--corpus", small_corpora.write(tmp_path, "openmed"), "--json").json()[
        "environment"
    ]
    assert chosen == f"{environment['engine']} on {environment['device']}"


def test_it_names_no_one_and_no_place(program) -> None:
    said = program("doctor").out
    for name in (getpass.getuser(), platform.node()):
        assert not re.search(rf"\b{re.escape(name)}\b", said)
    assert str(Path.cwd()) not in said


@pytest.mark.parametrize(
    ("system", "machine", "mlx", "found", "says"),
    [
        ("darwin", "x86_64", None, None, "arm64 Python"),
        ("darwin", "arm64", "0.30", None, "update macOS"),
        ("linux", "x86_64", None, None, "mlx-cpu"),
        ("darwin", "arm64", "0.30", "metal", None),
        ("linux", "x86_64", "0.30", None, None),
        ("win32", "AMD64", None, None, None),
    ],
)
def test_advice_of_other_machines(
    monkeypatch, system: str, machine: str, mlx: str | None, found: str | None, says: str | None
) -> None:
    monkeypatch.setattr(doctor.sys, "platform", system)
    advice = doctor._advice(system == "darwin" and machine == "arm64", mlx, found)
    assert any(says in line for line in advice) if says else not advice
