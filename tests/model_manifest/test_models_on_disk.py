"""add and verify: what a folder holds goes into an entry, and what changes afterwards is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import click
import pytest
import small_corpora
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runtime.tiny_gliner import GOLDEN

from openmed_mlx_eval.converters import Options, convert
from openmed_mlx_eval.errors import EvaluationError, ModelError, UsageError
from openmed_mlx_eval.model_manifest.adding import described
from openmed_mlx_eval.model_manifest.catalog import Catalog, Manifest, catalog_with, load_manifest
from openmed_mlx_eval.model_manifest.checking import verify
from openmed_mlx_eval.model_manifest.entries import Entry, FileFact
from openmed_mlx_eval.model_manifest.hashing import differences, hashed
from openmed_mlx_eval.model_manifest.locating import cache_folder, located, model_directory, repository_of

COMMIT = "0123456789" * 4
NOBODY = Catalog(Manifest(Path("/nowhere")))


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    return copytree(tiny_model, tmp_path / "tiny")


def knowing(*entries: Entry, root: Path = Path("/nowhere")) -> Catalog:
    return Catalog(Manifest(root, entries))


def snapshot_in(cache: Path, model: Path, repository: str = "Owner/tiny-tagger", commit: str = COMMIT) -> Path:
    """As huggingface_hub leaves one: links from the snapshot to blobs."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (folder / "blobs").mkdir()
    for number, path in enumerate(sorted(model.iterdir())):
        (folder / "blobs" / str(number)).write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(folder / "blobs" / str(number))
    return snapshot


def test_an_entry_says_what_the_checkpoint_says(model: Path) -> None:
    entry = described(model, NOBODY)
    assert (entry.name, entry.family, entry.window, entry.dtype, entry.tag_scheme) == ("tiny", "bert", 40, "float32", "IOB")
    assert (entry.labels, entry.formats, entry.repository) == (("ANATOMY", "NAME"), ("safetensors",), None)
    assert entry.files == hashed(model) and set(entry.files) == {path.name for path in model.iterdir()}


def test_an_entry_of_a_model_that_is_given_its_labels_has_none(tmp_path: Path) -> None:
    snapshot = snapshot_in(tmp_path / "hub", GOLDEN / "bert")
    entry = described(snapshot, NOBODY)
    assert (entry.family, entry.task, entry.labels, entry.tag_scheme) == ("gliner-uni-encoder-span", "zero-shot-ner", None, None)
    assert located(Entry("a", repository="Owner/tiny-tagger"), NOBODY, tmp_path / "hub") == snapshot


def test_an_entry_of_an_artifact_has_its_bits_and_its_source(model: Path, tmp_path: Path) -> None:
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "_name_or_path": "Owner/tiny-tagger"}), "utf-8")
    convert(model, tmp_path / "artifact", Options(None, 8, 32, (), False))
    manifest = tmp_path / "artifact" / "openmed-mlx.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text("utf-8")), "parity": {"logits": 0.01}}), "utf-8")
    known = Entry("known", repository="Owner/tiny-tagger", license="mit", languages=("de",), architecture="said so")
    entry = described(tmp_path / "artifact", knowing(known))
    assert (entry.name, entry.formats, entry.parity) == ("known", ("mlx-8bit",), {"logits": 0.01})
    assert (entry.license, entry.languages, entry.architecture) == ("mit", ("de",), "said so")
    assert entry.parameters == described(model, NOBODY).parameters


def test_an_entry_of_a_snapshot_is_pinned_to_its_commit(model: Path, tmp_path: Path) -> None:
    snapshot = snapshot_in(tmp_path / "hub", model)
    assert repository_of(snapshot) == ("Owner/tiny-tagger", COMMIT)
    entry = described(snapshot, NOBODY)
    assert (entry.name, entry.repository, entry.revision) == ("tiny-tagger", "Owner/tiny-tagger", COMMIT)
    assert entry.files == hashed(model)
    other = knowing(Entry("known", repository="Owner/tiny-tagger", artifact_repository="Owner/tiny-tagger-mlx"))
    assert described(snapshot, other).pull_from == "Owner/tiny-tagger"
    assert verify(snapshot, knowing(entry)).untouched
    assert located(entry, NOBODY, tmp_path / "hub") == snapshot


@pytest.mark.parametrize("name", ["", "a b", "../a", "-a", "a/b", "é", "a\n"])
def test_a_name_that_cannot_be_one_is_a_usage_error(model: Path, name: str) -> None:
    if name:
        with pytest.raises(UsageError, match="give --name"):
            described(model, NOBODY, name=name)
    else:
        assert described(model, NOBODY, name=name).name == "tiny"


CHANGES = st.dictionaries(
    st.sampled_from(["config.json", "model.safetensors", "sub/tokenizer.json", "vocab.txt"]),
    st.sampled_from(["missing", "changed", "longer", "extra"]),
)


@given(CHANGES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_difference_is_found_and_no_other(tmp_path_factory: pytest.TempPathFactory, changes: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("model")
    (folder / "sub").mkdir()
    names = ["config.json", "model.safetensors", "sub/tokenizer.json", "vocab.txt"]
    for name in names:
        if changes.get(name) != "extra":
            (folder / name).write_bytes(name.encode())
    expected = hashed(folder)
    for name, change in changes.items():
        if change == "missing":
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(name.encode().swapcase() + b"+" * (change == "longer"))
    (folder / ".hidden").write_bytes(b"not looked at")
    shown = {"missing": "missing", "changed": "changed", "longer": "changed", "extra": "extra"}
    found = differences(folder, expected)
    wanted = [
        (shown[change], None if name.startswith("sub/") and change == "extra" else name) for name, change in changes.items()
    ]
    assert sorted(map(str, ((one.problem, one.file) for one in found))) == sorted(map(str, wanted))


def test_a_changed_byte_is_told_from_a_file_cut_short(model: Path) -> None:
    catalog = knowing(described(model, NOBODY))
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert [str(one) for one in verify(model, catalog).findings] == ["changed  model.safetensors – its SHA-256 differs"]
    weights.write_bytes(whole[:-4])
    assert f"{len(whole) - 4:,} bytes, not {len(whole):,}" in str(verify(model, catalog).findings[0])
    weights.write_bytes(whole)
    assert verify(model, catalog).untouched


def test_an_extra_file_is_named_only_if_its_name_is_a_models(model: Path) -> None:
    catalog = knowing(described(model, NOBODY))
    for name in ("Smith, John.txt", "model-00001-of-00002.safetensors", "vocab.txt", "Smith.safetensors"):
        (model / name).write_bytes(b"")
    found = verify(model, catalog).findings
    assert sorted(one.file or "" for one in found) == ["", "", "model-00001-of-00002.safetensors", "vocab.txt"]
    assert "Smith" not in "".join(map(str, found))


def test_a_link_that_leads_out_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"x")
    (model / "vocab.txt").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="leads out of the model directory"):
        described(model, NOBODY)
    with pytest.raises(ModelError, match="leads out of the model directory"):
        differences(model, {"../elsewhere": FileFact("0" * 64, 1)})


def test_a_folder_of_far_too_many_files_is_not_hashed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmed_mlx_eval.model_manifest.hashing.MOST_FILES", 2)
    with pytest.raises(ModelError, match="more than 2 files"):
        hashed(model)


def test_an_artifact_no_manifest_knows_is_held_to_its_own_hashes(model: Path, tmp_path: Path) -> None:
    artifact = tmp_path / "artifact"
    convert(model, artifact, Options(None, None, 64, (), False))
    assert (verify(artifact, NOBODY).name, verify(artifact, NOBODY).untouched) == (None, True)
    (artifact / "tokenizer.json").write_bytes(b"{}")
    assert [(one.problem, one.file) for one in verify(artifact, NOBODY).findings] == [("changed", "tokenizer.json")]
    with pytest.raises(EvaluationError, match="has no hashes of this model"):
        verify(artifact, knowing(Entry("artifact")), name="artifact")
    (artifact / "openmed-mlx.json").write_text('{"sha256": {"config.json": "QZX"}}', "utf-8")
    with pytest.raises(ModelError, match="not an object of SHA-256"):
        verify(artifact, NOBODY)


def test_a_model_nobody_has_hashes_of_is_no_success(model: Path) -> None:
    with pytest.raises(EvaluationError, match="does not know this folder's model"):
        verify(model, NOBODY)
    with pytest.raises(EvaluationError, match="has no hashes of this model"):
        verify(model, knowing(Entry("tiny")))


def test_add_then_verify_then_run_by_name(program, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "models.json"
    said = program("models", "add", model, "--manifest", own, "--name", "ours")
    assert said.code == 0 and said.out.startswith("ours: bert, ")
    assert str(tmp_path) not in own.read_text("utf-8")
    assert load_manifest(own).models[0].path == "tiny"
    said = program("models", "verify", model, "--manifest", own, "--json")
    assert (said.code, said.json()["untouched"], said.json()["name"]) == (0, True, "ours")
    monkeypatch.setenv("OPENMED_MLX_EVAL_MANIFEST", str(own))
    assert Path(model_directory("ours")) == model
    (tmp_path / "notes.jsonl").write_text('{"id": "1", "text": "left kidney", "gold_spans": []}\n', "utf-8")
    assert program("run", "--model", "ours", "--corpus", tmp_path / "notes.jsonl", "--bootstrap", 0, "--json").code == 0
    (model / "config.json").unlink()
    said = program("models", "verify", "ours")
    assert (said.code, said.out.splitlines()[0]) == (1, "missing  config.json – copy or pull the model again")
    assert program("models", "add", model).code == 1
    assert len(load_manifest(own).models) == 1


def test_add_of_a_real_model_verifies(program, shared: Callable[[str], Path], tmp_path: Path) -> None:
    model, own = shared("models/anatem-minilm"), tmp_path / "deep" / "own.json"
    assert program("models", "add", model, "--manifest", own).code == 0
    said = program("models", "verify", model, "--manifest", own)
    assert (said.code, said.out) == (0, "4 files compared with anatem-minilm: untouched\n")
    entry = catalog_with(own).find("anatem-minilm")
    assert (entry.labels, entry.parameters, entry.dtype, entry.path) == (("Anatomy",), 22_566_531, "float16", None)


def test_a_folder_goes_before_a_name_and_an_unknown_name_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny-phi-bert").mkdir()
    assert model_directory("tiny-phi-bert") == "tiny-phi-bert"
    assert model_directory("no-such-model") == "no-such-model"
    (tmp_path / "tiny-phi-bert").rmdir()
    assert (Path(model_directory("tiny-phi-bert")) / "config.json").is_file()


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/c", "HF_HOME": "/b"}, "/c"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/d"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/d"}, "/d/huggingface/hub"),
    ],
)
def test_the_cache_is_where_huggingface_hub_has_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
    assert cache_folder("/e") == Path("/e")


def test_mains_last_commit_is_found_among_several_and_none_is_guessed(model: Path, tmp_path: Path) -> None:
    entry, hub = Entry("a", repository="Owner/tiny-tagger"), tmp_path / "hub"
    first = snapshot_in(hub, model)
    assert located(entry, NOBODY, hub) == first
    second = first.parent / ("f" * 40)
    second.mkdir()
    (second / "config.json").write_bytes(b"{}")
    assert located(entry, NOBODY, hub) is None
    refs = first.parents[1] / "refs"
    refs.mkdir()
    (refs / "main").write_text("f" * 40, "ascii")
    assert located(entry, NOBODY, hub) == second
    (refs / "main").write_text("../../../..", "ascii")
    assert located(entry, NOBODY, hub) is None


def test_no_models_command_but_a_pull_of_what_is_not_there_opens_a_socket(
    program, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, own = snapshot_in(tmp_path / "hub", model), tmp_path / "own.json"
    opened: list[object] = []

    def refuse(*arguments: object, **_: object) -> None:
        opened.append(arguments)
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    calls = (
        ["add", snapshot],
        ["list"],
        ["show", "tiny-tagger"],
        ["verify", snapshot],
        ["pull", "tiny-tagger", "--cache", tmp_path / "hub"],
    )
    for call in calls:
        said = program("models", *call, "--manifest", own)
        assert said.code == 0, said.err
    assert opened == []
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    said = program("models", "pull", "tiny-tagger", "--cache", tmp_path / "empty", "--manifest", own)
    assert (said.code, said.out) == (1, "") and opened
    assert "models pull` again" in said.err


@pytest.fixture
def ours(program, model: Path, tmp_path: Path) -> Path:
    """A manifest that knows the model as `ours`; notes.jsonl lies beside it."""
    own = tmp_path / "models.json"
    assert program("models", "add", model, "--manifest", own, "--name", "ours").code == 0
    small_corpora.write(tmp_path, "openmed")
    return own


def test_a_named_model_runs_only_if_it_is_what_the_manifest_says(program, ours: Path, model: Path, tmp_path: Path) -> None:
    call = ("run", "--model", "ours", "--manifest", ours, "--corpus", tmp_path / "notes.jsonl", "--bootstrap", 0, "--json")
    said = program(*call)
    assert said.code == 0 and str(tmp_path) not in said.all
    assert program(*call[:3], "--corpus", tmp_path / "notes.jsonl").code == 1  # no manifest says where it lies
    (model / "README.md").write_text("read by nobody", "utf-8")
    assert program(*call).code == 0
    config = model / "config.json"
    config.write_bytes(config.read_bytes() + b"\n")
    says = "error: the model ours is not what the manifest says: changed config.json ("
    for command in (
        call,
        ("parity", "ours", "ours", "--manifest", ours),
        ("convert", "ours", tmp_path / "out", "--manifest", ours),
    ):
        said = program(*command)
        assert (said.code, said.out) == (1, "") and said.err.startswith(says)
        assert said.err.endswith("`models verify ours` lists them; copy or pull it anew, or give its folder\n")
    assert program(*call, "--no-verify").code == 0
    assert program(*call[:2], model, *call[3:]).code == 0  # a folder needs no manifest


def test_weights_that_the_manifest_does_not_list_make_another_model(ours: Path, model: Path) -> None:
    (model / "openmed-mlx.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match=r"the manifest says: extra openmed-mlx\.json"):
        model_directory("ours", str(ours), verify=True)
    (model / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"the manifest says: missing model\.safetensors \(.*\) and 1 more"):
        model_directory("ours", str(ours), verify=True)


def test_parity_convert_and_bench_take_names(program, ours: Path, model: Path, tmp_path: Path) -> None:
    assert program("parity", "ours", model, "--manifest", ours, "--json").json()["passed"]
    assert program("convert", "ours", tmp_path / "made", "--manifest", ours).code == 0
    corpus = tmp_path / "notes.jsonl"
    options = ("--bootstrap", 0, "--json", "--quiet")
    said = program("bench", "ours", model, "--corpus", corpus, "--manifest", ours, "--output", tmp_path / "a", *options)
    assert [row["model"] for row in said.json()["runs"]] == ["ours", model.name]
    assert (tmp_path / "a" / "ours" / "report.json").is_file()
    night = tmp_path / "night.toml"
    night.write_text(
        f'models = ["ours", "{model.name}"]\ncorpora = ["notes.jsonl"]\n[options]\nmanifest = "models.json"\nbootstrap = 0\n',
        "utf-8",
    )
    said = program("bench", night, "--output", tmp_path / "b", "--json", "--quiet")
    assert [row["model"] for row in said.json()["runs"]] == ["ours", model.name]


def test_every_command_with_a_model_takes_a_manifest() -> None:
    from openmed_mlx_eval.cli.main import COMMANDS, cli

    context = click.Context(cli)
    options = {name: {part for one in cli.get_command(context, name).params for part in one.opts} for name in COMMANDS}
    by_name = {name for name, opts in options.items() if "--model" in opts} - {"generate"}  # whose models are mlx-lm's
    assert by_name == {"run", "errors", "latency"}
    assert {name for name, opts in options.items() if "--manifest" in opts} == {*by_name, "bench", "parity", "convert"}
