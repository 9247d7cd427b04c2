"""The package's manifest is made from the facts, and right; a user's lies beside it and is written whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model_manifest.test_entries import SCHEMA
from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.model_manifest.catalog import (
    VARIABLE,
    catalog_with,
    load_catalog,
    load_manifest,
    shipped_path,
    user_path,
    write_entry,
)
from openmed_mlx_eval.model_manifest.entries import Entry, ManifestError

ROOT = Path(__file__).resolve().parents[2]
HEAD = {"schema": "openmed-mlx-eval/models", "schema_version": 1}


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import make_models_manifest
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return make_models_manifest


def written(path: Path, *rows: Any, **more: Any) -> Path:
    path.write_text(json.dumps({**HEAD, **more, "models": list(rows)}), "utf-8")
    return path


def test_shipped_manifest_follows_its_schema() -> None:
    pytest.importorskip("jsonschema").validate(json.loads(shipped_path().read_text("utf-8")), SCHEMA)


def test_shipped_manifest_is_what_the_script_makes_of_the_facts(script: Any, shared: Callable[[str], Path]) -> None:
    rows = script.read_facts(shared("openmed-models.jsonl"))
    assert shipped_path().read_text("utf-8") == script.manifest_of(rows), "run scripts/make_models_manifest.py again"
    assert script.manifest_of(list(reversed(rows))) == script.manifest_of(rows)


def test_shipped_families_are_those_the_runtime_has_now(script: Any) -> None:
    shipped = load_manifest(shipped_path())
    for entry in shipped.models:
        if entry.repository is not None:
            now = script.family_of(entry.architecture, entry.base_model, entry.task)
            assert entry.family == now, f"{entry.name}: run scripts/make_models_manifest.py again"
    runs = {total["architecture"]: total["family"] for total in shipped.totals}
    for architecture in {entry.architecture for entry in shipped.models if entry.family} & set(runs):
        assert runs[architecture] is not None


def test_shipped_manifest_shows_the_collection(shared: Callable[[str], Path]) -> None:
    facts = {row["repo_id"]: row for row in map(json.loads, shared("openmed-models.jsonl").read_text("utf-8").splitlines())}
    shipped = load_manifest(shipped_path())
    listed = [entry for entry in shipped.models if entry.repository]
    assert len(listed) >= 80
    for of, key in (("architecture", "architecture"), ("task", "task"), ("kind", "family")):
        origins = {row[key] for row in facts.values() if row["base_model"] not in facts and row["formats"] != ["onnx"]}
        assert {getattr(entry, of) for entry in listed} >= origins - {"openmed-pii-clinicallongformer-base-149m-v1"}
    languages = {language for row in facts.values() for language in row["languages"]}
    assert {language for entry in listed for language in entry.languages} == languages
    for entry in listed:
        row = facts[entry.repository or ""]
        assert (entry.architecture, entry.parameters, entry.license) == (row["architecture"], row["param_count"], row["license"])
        assert (
            entry.artifact_repository is None
            or facts[entry.artifact_repository]["base_model"] == entry.repository
            or (entry.artifact_repository == entry.repository)
        )
    totals = shipped.totals
    assert sum(total["repositories"] for total in totals) == len(facts)
    assert sum(total["token_classifiers"] for total in totals) == sum(r["task"] == "token-classification" for r in facts.values())
    assert all(total["run"] <= total["token_classifiers"] and bool(total["run"]) == bool(total["family"]) for total in totals)


def test_every_hash_of_the_embedded_model_is_shipped() -> None:
    from openmed_mlx_eval.demo import model_path
    from openmed_mlx_eval.model_manifest.checking import verify

    checked = verify(model_path(), load_catalog())
    assert (checked.name, checked.untouched) == (model_path().name, True)
    assert checked.files == len(list(model_path().iterdir()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff{}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "must be one object"),
        (b'{"models": []}', "must be one object"),
        (json.dumps({**HEAD, "models": {}}).encode(), "must be one object"),
        (json.dumps({**HEAD, "schema_version": 2, "models": []}).encode(), "schema_version is not 1"),
        (json.dumps({**HEAD, "models": [], "totals": 3}).encode(), "totals is not a list"),
        (json.dumps({**HEAD, "models": [{"name": "a"}, {"name": "b"}, {"name": "A"}]}).encode(), "entries 1 and 3 have one name"),
        (
            json.dumps({**HEAD, "models": [{"name": "a", "family": "QZX"}]}).encode(),
            "entry 1: family is unknown – known are bert",
        ),
    ],
)
def test_a_bad_manifest_is_told_and_not_quoted(program, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "QZX.json"
    path.write_bytes(content)
    with pytest.raises(ManifestError, match=message):
        load_manifest(path)
    for command in (["list"], ["show", "a"], ["verify", tmp_path], ["add", tmp_path], ["pull", "a"]):
        said = program("models", *command, "--manifest", path)
        assert (said.code, said.out) == (1, ""), command
        assert "QZX" not in said.err
    assert path.read_bytes() == content


def test_a_manifest_that_is_not_there_is_a_usage_error(program, tmp_path: Path) -> None:
    assert program("models", "list", "--manifest", tmp_path / "none.json").code == 2
    assert program("models", "list", "--manifest", tmp_path).code == 2
    assert program("models", "list", "--manifest", "").code == 2


def test_the_users_manifest_is_told_by_option_environment_or_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    assert user_path() == tmp_path / "openmed-mlx-eval" / "models_manifest.json"
    assert load_catalog().own is None
    monkeypatch.setenv(VARIABLE, str(tmp_path / "b.json"))
    assert user_path() == tmp_path / "b.json"
    assert user_path("c.json") == Path("c.json")
    with pytest.raises(UsageError, match="no such file"):
        load_catalog()


def test_a_users_entry_hides_the_packages_and_others_stay(tmp_path: Path) -> None:
    shipped = load_manifest(shipped_path()).models
    path = written(tmp_path / "own.json", {"name": shipped[0].name, "license": "mine"}, {"name": "zzz"})
    catalog = load_catalog(str(path))
    assert catalog.find(shipped[0].name).license == "mine"
    assert len(catalog.models) == len(shipped) + 1
    assert catalog.find(shipped[1].repository or "").name == shipped[1].name
    with pytest.raises(EvaluationError, match=f"did you mean {shipped[1].name}"):
        catalog.find(shipped[1].name[:-1])


def test_writing_an_entry_replaces_its_namesake_and_keeps_all_else(tmp_path: Path) -> None:
    path = written(tmp_path / "own.json", {"name": "a", "license": "x"}, {"name": "b"}, note="kept")
    write_entry(path, Entry("b", license="new"))
    write_entry(path, Entry("c"))
    assert json.loads(path.read_text("utf-8"))["note"] == "kept"
    assert [(entry.name, entry.license) for entry in load_manifest(path).models] == [("a", "x"), ("b", "new"), ("c", None)]
    assert [found.name for found in tmp_path.iterdir()] == ["own.json"]


def test_a_write_that_fails_leaves_the_manifest_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "own.json", {"name": "a"})
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EvaluationError, match=r"No space left on device.*as it was"):
        write_entry(path, Entry("b"))
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["own.json"]


def test_the_packages_own_manifest_is_never_written(tmp_path: Path) -> None:
    before = shipped_path().read_bytes()
    with pytest.raises(UsageError, match="the program's own manifest"):
        write_entry(shipped_path(), Entry("a"))
    assert shipped_path().read_bytes() == before


def test_a_manifest_that_is_a_link_stays_one(tmp_path: Path) -> None:
    real = written(tmp_path / "real.json", {"name": "a"})
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_entry(link, Entry("b"))
    assert link.is_symlink() and len(load_manifest(real).models) == 2


def test_an_entry_knows_the_folder_its_path_is_relative_to(tmp_path: Path) -> None:
    own = written(tmp_path / "own.json", {"name": "a", "path": "models/a"})
    catalog = catalog_with(own)
    assert catalog.root_of(catalog.find("a")) == tmp_path
    assert (catalog.root_of(catalog.find("tiny-phi-bert")) / "demo" / "tiny-phi-bert").is_dir()
    assert replace(catalog.find("a"), path=None).path is None


def test_wheel_holds_the_manifest_within_the_package(tmp_path: Path) -> None:
    """build_py alone, into another folder: what a wheel is filled with."""
    pytest.importorskip("setuptools", minversion="77")  # as pyproject.toml asks of whoever builds
    call = [
        sys.executable,
        "setup.py",
        "-q",
        "build",
        "--build-base",
        str(tmp_path / "base"),
        "--build-lib",
        str(tmp_path / "lib"),
    ]
    subprocess.run(call, cwd=ROOT, check=True, capture_output=True)
    assert [path.name for path in (tmp_path / "lib").iterdir()] == ["openmed_mlx_eval"]
    made = tmp_path / "lib" / "openmed_mlx_eval" / "models_manifest.json"
    assert made.read_bytes() == (ROOT / "models_manifest.json").read_bytes()
    code = "from openmed_mlx_eval.model_manifest.catalog import shipped_path as s; print(s())"
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lib")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert said.stdout.strip() == str(made.resolve()), said.stderr
