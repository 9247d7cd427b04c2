"""What a machine says of itself, and when its times are not to be trusted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openmed_mlx_eval.latency import machine
from openmed_mlx_eval.latency.machine import PRESSURES, State, machine_block, state, unrest

QUIET = State(load=0.1, power="mains", pressure="nominal", stolen=10, elapsed=1000, throttled=None)
LATER = replace(QUIET, elapsed=3000)


def test_a_state_holds_what_this_system_gives() -> None:
    now = state()
    block = machine_block(now, state())
    assert block["power_source"] in ("mains", "battery", None)
    assert block["thermal_pressure"] in (*PRESSURES, None)
    assert block["stolen_share"] is None or 0 <= block["stolen_share"] <= 1
    assert block["load_average"]["before"] == now.load


def test_a_quiet_machine_is_not_warned_of() -> None:
    assert list(unrest(QUIET, LATER, 2)) == []
    nothing = State(None, None, None, None, None, None)
    assert list(unrest(nothing, nothing, 2)) == []
    assert machine_block(nothing, nothing) == {
        "power_source": None,
        "thermal_pressure": None,
        "load_average": {"before": None, "after": None},
        "stolen_share": None,
    }


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"load": 1.5}, {}, "the load average was 1.50 on 2 cores"),
        ({}, {"stolen": 210}, "10 % of the processors' time"),
        ({}, {"pressure": "heavy"}, "slowed down for heat"),
        ({"pressure": "moderate"}, {}, "slowed down for heat"),
        ({"pressure": None, "throttled": 3}, {"pressure": None, "throttled": 4}, "slowed down for heat"),
        ({}, {"power": "battery"}, "battery"),
    ],
)
def test_unrest_is_said_in_words(before: dict, after: dict, said: str) -> None:
    (reason,) = unrest(replace(QUIET, **before), replace(LATER, **after), 2)
    assert said in reason


def test_throttling_before_the_measurement_is_none_of_it() -> None:
    before, after = replace(QUIET, pressure=None, throttled=3), replace(LATER, pressure=None, throttled=3)
    assert list(unrest(before, after, 2)) == []
    assert machine_block(before, after)["thermal_pressure"] == "nominal"


@pytest.mark.parametrize(
    ("said", "power"),
    [("Now drawing from 'AC Power'\n", "mains"), ("Now drawing from 'Battery Power'\n -Internal", "battery"), ("", None)],
)
def test_macos_says_its_power_source(monkeypatch: pytest.MonkeyPatch, said: str, power: str | None) -> None:
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(machine, "_said", lambda *command: said)
    assert machine._power() == power


@pytest.mark.parametrize(("level", "pressure"), [("0", "nominal"), ("2", "heavy"), ("9", None), ("", None), ("failed", None)])
def test_macos_says_its_thermal_pressure(monkeypatch: pytest.MonkeyPatch, level: str, pressure: str | None) -> None:
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(machine, "_said", lambda *command: f"{command[-1]} {level}\n")
    assert machine._pressure() == pressure


@pytest.mark.parametrize(
    ("supplies", "power"),
    [([("Mains", "1", "")], "mains"), ([("Mains", "0", ""), ("Battery", "", "Discharging")], "battery"),
     ([("Battery", "", "Full")], None), ([], None), ([("USB", "1", ""), ("Battery", "", "Charging")], "mains")],
)  # fmt: skip
def test_linux_says_its_power_source(monkeypatch: pytest.MonkeyPatch, supplies: list, power: str | None) -> None:
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(machine, "_supplies", lambda: supplies)
    assert machine._power() == power


@pytest.mark.parametrize(
    ("line", "times"), [("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1", (8, 36)), ("cpu 1 2", (None, None)), ("", (None, None))]
)
def test_stolen_time_is_the_eighth_of_the_fields(monkeypatch: pytest.MonkeyPatch, line: str, times: tuple) -> None:
    monkeypatch.setattr(machine, "_read", lambda path: line)
    assert machine._processor_time() == times


def test_a_command_that_is_not_there_says_nothing() -> None:
    assert machine._said("/no/such/command") == ""
    assert machine._read(Path("/no/such/file")) == ""
