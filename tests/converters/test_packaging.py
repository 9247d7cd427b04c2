"""The list of packages in pyproject.toml is the folders there are: a wheel forgets none, and holds nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_packages_listed_are_the_folders_there_are() -> None:
    tomllib = pytest.importorskip("tomllib")
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "openmed_mlx_eval").rglob("__init__.py")}
    mapped = {f"openmed_mlx_eval.{path.parent.name}" for path in [ROOT / "converters" / "__init__.py"]}
    assert set(setuptools["packages"]) == found | mapped
    assert setuptools["package-dir"] == {"openmed_mlx_eval.converters": "converters"}


def test_every_data_file_is_packaged() -> None:
    tomllib = pytest.importorskip("tomllib")
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    folders = {package: ROOT.joinpath(*package.split(".")) for package in data}
    packaged = {path for package, patterns in data.items() for pattern in patterns for path in folders[package].glob(pattern)}
    files = {path for path in (ROOT / "openmed_mlx_eval").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files if path.suffix != ".py"} == {path for path in packaged if path.is_file()}


def test_converters_import_under_the_package() -> None:
    import openmed_mlx_eval.converters as converters

    assert converters.convert.__module__ == "openmed_mlx_eval.converters.conversion"
