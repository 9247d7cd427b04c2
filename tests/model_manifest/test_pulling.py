"""pull, against a Hub on loopback: pinned, resumed, compared, and quiet where all is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from model_manifest.hub_stub import COMMIT, Hub, hub_of, serving
from openmed_mlx_eval.errors import EvaluationError, UsageError
from openmed_mlx_eval.model_manifest.catalog import load_catalog, load_manifest
from openmed_mlx_eval.model_manifest.entries import Entry, FileFact
from openmed_mlx_eval.model_manifest.locating import cache_folder, model_directory, repository_of, snapshot_of
from openmed_mlx_eval.model_manifest.pulling import Pulled, pull

pytest.importorskip("huggingface_hub")

REPOSITORY = "Some-Owner/tiny-tagger"
ENTRY = Entry("tiny-tagger", repository=REPOSITORY, family="bert", languages=("en",))
OTHER_COMMIT = COMMIT[::-1]


@pytest.fixture
def hub(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = hub_of(tiny_model, REPOSITORY)
    made.files |= {"pytorch_model.bin": b"pickle", "modeling.py": b"code", "onnx/config.json": b"{}", "README.md": b"text"}
    with serving(made):
        monkeypatch.setenv("HF_ENDPOINT", made.address)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        yield made


def pinned(got: Pulled, entry: Entry = ENTRY) -> Entry:
    return replace(entry, revision=got.revision, files=got.files)


def test_pull_fetches_what_a_model_needs_at_the_commit_main_stands_at(hub: Hub, tiny_model: Path) -> None:
    announced: list[tuple[str, int | None]] = []
    got = pull(ENTRY, cache_folder(), announce=lambda *file: announced.append(file))
    own = {path.name: path.read_bytes() for path in tiny_model.iterdir()}
    assert {path.name: path.read_bytes() for path in got.directory.iterdir()} == own
    assert (got.repository, got.revision, got.downloaded) == (REPOSITORY, COMMIT, True)
    assert {name: fact.bytes for name, fact in got.files.items()} == dict(announced) == {n: len(data) for n, data in own.items()}
    assert repository_of(got.directory) == (REPOSITORY, COMMIT)
    assert "pytorch_model.bin" not in hub.contents()


def test_pull_goes_on_where_a_transfer_was_cut(
    hub: Hub, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    hub.cut = {"model.safetensors": 1}
    got = pull(ENTRY, cache_folder())
    assert (got.directory / "model.safetensors").read_bytes() == (tiny_model / "model.safetensors").read_bytes()
    ranges = [asked for method, path, asked in hub.asked if method == "GET" and path.endswith("model.safetensors")]
    half = len(hub.files["model.safetensors"]) // 2
    assert ranges[0] is None
    assert ranges[-1] is not None and 0 < int(ranges[-1][6:-1]) <= half
    assert "127.0.0.1" not in capfd.readouterr().err


def test_pull_fetches_no_file_twice_that_an_earlier_pull_left(hub: Hub) -> None:
    got = pull(ENTRY, cache_folder())
    (got.directory / "config.json").resolve().unlink()
    (got.directory / "config.json").unlink()
    hub.asked.clear()
    again = pull(pinned(got), cache_folder())
    assert again.downloaded and again.files == got.files
    assert hub.contents() == ["config.json"]


def test_pull_of_what_is_there_and_untouched_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    got = pull(ENTRY, cache_folder())
    hub.asked.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    again = pull(pinned(got), cache_folder())
    assert (again.downloaded, again.directory, hub.asked) == (False, got.directory, [])


def test_pull_offline_of_what_is_not_whole_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    got = pull(ENTRY, cache_folder())
    hub.asked.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "yes")
    with pytest.raises(EvaluationError, match="HF_HUB_OFFLINE is set"):
        pull(ENTRY, cache_folder())
    (got.directory / "config.json").unlink()
    with pytest.raises(EvaluationError, match="HF_HUB_OFFLINE is set"):
        pull(pinned(got), cache_folder())
    assert hub.asked == []


def test_pull_without_huggingface_hub_says_what_to_install(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match="pip install huggingface_hub"):
        pull(ENTRY, cache_folder())
    assert hub.asked == []


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_pull_of_another_content_than_the_hub_lists_is_taken_away_and_fetched_anew(hub: Hub, name: str) -> None:
    hub.altered = {name}
    with pytest.raises(EvaluationError, match=f"{name} is not the file that the Hub describes") as caught:
        pull(ENTRY, cache_folder())
    assert REPOSITORY not in str(caught.value)
    hub.altered = set()
    assert pull(ENTRY, cache_folder()).downloaded


def test_pull_of_another_file_than_the_manifest_has_fails(hub: Hub) -> None:
    got = pull(ENTRY, cache_folder())
    files = {**got.files, "config.json": FileFact("0" * 64, got.files["config.json"].bytes)}
    with pytest.raises(EvaluationError, match=r"config\.json is not the file that the manifest describes"):
        pull(replace(pinned(got), files=files), cache_folder())
    assert not (got.directory / "config.json").exists()


def test_pull_heals_a_file_that_was_changed_in_the_cache(hub: Hub) -> None:
    got = pull(ENTRY, cache_folder())
    whole = (got.directory / "config.json").read_bytes()
    (got.directory / "config.json").resolve().write_bytes(whole + b" ")
    with pytest.raises(EvaluationError, match="it was taken away"):
        pull(pinned(got), cache_folder())
    assert pull(pinned(got), cache_folder()).files == got.files
    assert (got.directory / "config.json").read_bytes() == whole


def test_pull_keeps_to_a_pinned_commit(hub: Hub) -> None:
    with pytest.raises(EvaluationError, match="Hub has no such repository"):
        pull(replace(ENTRY, revision=OTHER_COMMIT), cache_folder())
    hub.answered_commit = OTHER_COMMIT
    with pytest.raises(EvaluationError, match="did not answer with the commit"):
        pull(replace(ENTRY, revision=COMMIT), cache_folder())
    with pytest.raises(UsageError, match="not a branch"):
        pull(ENTRY, cache_folder(), revision="main")


def test_pull_of_another_revision_than_the_pinned_does_not_hold_it_to_the_old_hashes(hub: Hub) -> None:
    old = {"config.json": FileFact("0" * 64, 1)}
    got = pull(replace(ENTRY, revision=OTHER_COMMIT, files=old), cache_folder(), revision=COMMIT)
    assert got.revision == COMMIT and set(got.files) > set(old)


def test_pull_goes_to_the_artifact_where_there_is_one(hub: Hub) -> None:
    entry = replace(ENTRY, repository="Some-Owner/other", artifact_repository=REPOSITORY)
    got = pull(entry, cache_folder())
    assert got.repository == REPOSITORY
    assert snapshot_of(pinned(got, entry), cache_folder()) == got.directory


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: files.pop("model.safetensors"), "no safetensors"),
        (lambda files: files.__setitem__("../outside.json", b"{}"), "leads out of its folder"),
        (lambda files: files.__setitem__("/etc/outside.json", b"{}"), "leads out of its folder"),
    ],
)
def test_pull_refuses_a_repository_that_is_no_model(hub: Hub, change: Callable[[dict[str, bytes]], object], message: str) -> None:
    change(hub.files)
    with pytest.raises(EvaluationError, match=message):
        pull(ENTRY, cache_folder())
    assert hub.contents() == []


def test_pull_says_how_many_listed_files_the_repository_lacks(hub: Hub) -> None:
    got = pull(ENTRY, cache_folder())
    (got.directory / "config.json").unlink()
    del hub.files["tokenizer.json"]
    with pytest.raises(EvaluationError, match=f"lacks 1 of the {len(got.files)} files"):
        pull(pinned(got), cache_folder())


def test_pull_of_an_entry_without_a_repository_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no repository"):
        pull(Entry("mine"), tmp_path)


def test_pull_where_nobody_listens_says_so_without_the_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(EvaluationError, match=r"the transfer failed \(\w+\)") as caught:
        pull(ENTRY, tmp_path)
    assert "127.0.0.1" not in str(caught.value) and caught.value.__suppress_context__


def test_pulled_model_is_pinned_and_found_by_run(program, hub: Hub, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    head = {"schema": "openmed-mlx-eval/models", "schema_version": 1}
    own.write_text(json.dumps({**head, "models": [{"name": "tiny-tagger", "repository": REPOSITORY, "license": "mit"}]}), "utf-8")
    said = program("models", "pull", "tiny-tagger", "--manifest", own)
    assert said.code == 0, said.err
    assert f"{REPOSITORY} at {COMMIT}" in said.out
    (entry,) = load_manifest(own).models
    assert (entry.revision, entry.license, entry.family, entry.window, entry.dtype) == (COMMIT, "mit", "bert", 40, "float32")
    assert entry.labels == ("ANATOMY", "NAME") and entry.parameters and entry.files

    hub.asked.clear()
    assert program("models", "verify", "tiny-tagger", "--manifest", own).code == 0
    assert program("models", "show", "tiny-tagger", "--manifest", own, "--json").json()["on_this_machine"] is True
    assert program("models", "pull", "tiny-tagger", "--manifest", own, "--json").json()["downloaded"] is False
    assert hub.asked == []


def test_run_finds_a_pulled_model_by_name_and_calls_it_so(
    program, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, corpus = tmp_path / "own.json", tmp_path / "notes.jsonl"
    head = {"schema": "openmed-mlx-eval/models", "schema_version": 1}
    own.write_text(json.dumps({**head, "models": [{"name": "mine", "repository": REPOSITORY}]}), "utf-8")
    corpus.write_text('{"id": "1", "text": "left kidney", "gold_spans": []}\n', "utf-8")
    monkeypatch.setenv("OPENMED_MLX_EVAL_MANIFEST", str(own))
    call = ("run", "--model", "mine", "--corpus", corpus, "--bootstrap", 0, "--json")
    said = program(*call)
    assert said.code == 1
    assert "not on this machine – `openmed-mlx-eval models pull mine`" in said.err
    assert hub.asked == []
    pull(load_catalog().find("mine"), cache_folder())
    assert repository_of(Path(model_directory("mine"))) == (REPOSITORY, COMMIT)
    hub.asked.clear()
    report = program(*call).json()
    assert report["model"]["name"] == "tiny-tagger"
    assert hub.asked == []
