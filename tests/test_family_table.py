"""The README's table of architectures is what its script prints, and its figures hold."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from openmed_mlx_eval.runtime.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("family_table", ROOT / "scripts" / "family_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_has_the_table_that_the_script_prints(script: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    printed = script.table(json.loads(script.RECORD.read_text("utf-8")))
    assert script.in_readme(readme, printed) == readme, "run python scripts/family_table.py --measure --write"
    assert all(f"| {family.name} |" in printed for family in FAMILIES)


def test_counts_are_those_of_the_manifest(script: ModuleType) -> None:
    totals = json.loads((ROOT / "models_manifest.json").read_text("utf-8"))["totals"]
    run = {row["architecture"] for row in totals if row["family"] is not None}
    known = {name for family in FAMILIES for name in family.model_types}
    counts = script.counted()
    assert sum(counts.values()) == 2254 == sum(row["token_classifiers"] for row in totals)
    assert sum(count for name, count in counts.items() if name in known) == sum(
        row["token_classifiers"] for row in totals if row["architecture"] in run
    )


def test_recorded_parity_is_what_is_measured(script: ModuleType) -> None:
    """Within what another BLAS may round differently, and below what the golden tests allow."""
    pytest.importorskip("mlx.core")
    recorded = json.loads(script.RECORD.read_text("utf-8"))["parity"]
    found = script.measured()
    assert set(found) == set(recorded)
    for name, one in found.items():
        assert {**one, "difference": 0} == {**recorded[name], "difference": 0}
        assert one["difference"] < max(4 * recorded[name]["difference"], 1e-5)
        assert recorded[name]["difference"] < 1e-4
