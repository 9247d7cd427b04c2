"""No stream and no file holds what a corpus holds: a canary in texts, ids, names and metadata, in every format, through every
command and its failures. A command without a case here fails the first test."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import exported_corpora
import pytest
import small_corpora
from canary_cases import CANARY, CASES, Arguments, Place
from canary_watch import assert_silent, entries
from runtime.tiny_models import write_model

from openmed_mlx_eval.cli.main import cli

CALLS: Counter[tuple[str, int]] = Counter()
"""(command, exit code): calls that were searched for the canary; tests/conftest.py says how many."""


FINDING = ("corpus check", "models verify")
"""Commands whose result is what they find wrong, on stdout."""


def commands(command: click.Command, path: str = "") -> Iterator[str]:
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path.strip()
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, f"{path} {name}")


def test_every_command_has_a_case() -> None:
    assert sorted(CASES) == sorted(commands(cli))


def corpus_of(folder: Path, format: str) -> Path:
    path = small_corpora.write(folder / CANARY, format, entries(), CANARY)
    if format == "openmed":
        rows = [{**row, "metadata": {CANARY: CANARY}, CANARY: CANARY, "language": "en"} for row in small_corpora.rows(entries())]
        small_corpora.write_rows(path, rows)
    return path


def files_of(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.iterdir())


def replaced(old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(old, new))

    return change


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(CANARY.encode()) + len(CANARY)])


def repeated(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)


CANARY_BYTES = CANARY.encode()
DAMAGE: dict[str, Callable[[Path], None]] = {
    "not UTF-8": replaced(CANARY_BYTES, CANARY_BYTES + b"\xff"),
    "UTF-16": lambda path: path.write_bytes(path.read_bytes().decode().encode("utf-16")) and None,
    "cut": cut,
    "twice": repeated,
    "canary for a digit": replaced(b"1", CANARY_BYTES),
    "canary for 3": replaced(b"3", CANARY_BYTES),
    "moved": replaced(b"dr ", b"dr  "),
    "canary for a tab": replaced(b"\t", CANARY_BYTES),
    "canary for a colon": replaced(b": ", f' "{CANARY}" '.encode()),
    "canary for a bracket": replaced(b"[", f'"{CANARY}"'.encode()),
    "a list for a string": replaced(f'"{CANARY}'.encode(), f'["{CANARY}"], "{CANARY}'.encode()),
    "null": replaced(f'"{CANARY}"'.encode(), b"null"),
    "markup": replaced(b"<", f"<{CANARY}".encode()),
    "NUL": replaced(CANARY_BYTES, CANARY_BYTES + b"\x00"),
    "half a pair": replaced(b"ward", b"\\ud83e"),
    "empty": lambda path: path.write_bytes(b"") and None,
}


@pytest.fixture
def check(program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs the cases of a command and fails where the canary, or a traceback, comes out of one."""
    here = tmp_path / f"cwd-{CANARY}"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME"):
        monkeypatch.setenv(name, CANARY)

    def call(command: str, at: Place, *, foreseen: bool = True, options: Arguments = ()) -> list[int]:  # type: ignore[assignment]
        codes = []
        (at.out / "written").mkdir(parents=True, exist_ok=True)
        for arguments in CASES[command](at):
            said = program(*command.split(), *arguments, *options)
            CALLS[command, said.code] += 1
            assert_silent(said.all, f"{command}: {arguments}")
            assert "Traceback" not in said.err
            assert not foreseen or "internal error" not in said.err, (arguments, said.err)
            assert (said.code == 0) or said.err.startswith("error: ") or command in FINDING, said
            codes.append(said.code)
        for path in at.out.rglob("*"):
            if at.out / "written" not in (path, *path.parents):
                assert_silent(path.relative_to(at.out).as_posix(), command)
                assert_silent(path.read_bytes().decode("utf-8", "replace") if path.is_file() else "", f"{command}: {path.name}")
        assert list(here.iterdir()) == []
        return codes

    return call


@pytest.mark.parametrize("format", small_corpora.FORMATS)
@pytest.mark.parametrize("command", CASES)
def test_nothing_of_a_good_corpus_comes_out(check, tiny_model: Path, tmp_path: Path, command: str, format: str) -> None:
    codes = check(command, Place(corpus_of(tmp_path, format), tiny_model, tmp_path / "out"))
    assert codes[0] == (2 if command == "errors show" else 0)
    assert {1, 2} & set(codes) or command in ("corpus check", "corpus stats")


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", [command for command in CASES if command not in ("doctor", "convert")])
def test_nothing_of_a_bad_corpus_comes_out(check, tiny_model: Path, tmp_path: Path, command: str, damage: str) -> None:
    for format in small_corpora.FORMATS:
        folder = tmp_path / format
        corpus = corpus_of(folder, format)
        for path in files_of(corpus):
            DAMAGE[damage](path)
        check(command, Place(corpus, tiny_model, folder / "out"))


@pytest.mark.parametrize("export", exported_corpora.EXPORTS)
def test_nothing_of_an_export_comes_out(program, tmp_path: Path, export: str) -> None:
    """The readers differ, what is done with documents does not: so the commands that read, on every damage."""
    format = exported_corpora.EXPORTS[export][0]
    for damage, change in {"none": lambda path: None, **DAMAGE}.items():
        corpus = exported_corpora.write(tmp_path / damage / CANARY, export, entries(), CANARY)
        for path in files_of(corpus):
            change(path)
        for arguments in (
            ["corpus", "check", corpus, "--format", format],
            ["corpus", "stats", corpus, "--json", "--skip-bad"],
            ["corpus", "convert", corpus, "--format", format, "--to", "doccano", "-o", tmp_path / damage / "written"],
            ["score", corpus, corpus, "--format", format, "--predictions-format", format, "--skip-bad", "--bootstrap", 0],
        ):
            said = program(*arguments)
            CALLS[" ".join(map(str, arguments[: 1 + (arguments[0] == "corpus")])), said.code] += 1
            assert said.code == 0 or damage != "none", said
            assert_silent(said.all, f"{damage}: {arguments[:2]}")
            assert "Traceback" not in said.err
            assert "internal error" not in said.err


@pytest.mark.parametrize("command", ["run", "score", "corpus check", "corpus stats"])
def test_nothing_of_stdin_comes_out(program, tiny_model: Path, tmp_path: Path, command: str) -> None:
    path = corpus_of(tmp_path, "openmed")
    arguments = {"run": ["--model", tiny_model, "--corpus", "-"], "score": ["-", path]}.get(command, ["-"])
    for data in (path.read_bytes(), path.read_bytes()[:-40], path.read_bytes() + CANARY_BYTES, b"\xff" + path.read_bytes()):
        said = program(*command.split(), *arguments, stdin=data)
        assert_silent(said.all, command)
        assert "internal error" not in said.err


def rows_of_predictions() -> list[Any]:
    span = {"start": 0, "end": 3, "label": "NAME", "text": CANARY, "word": CANARY}
    good = [{"id": name, "text": text, CANARY: CANARY, "spans": [span]} for name, text, _ in entries()]
    return [
        good,
        [*good, {"id": CANARY, "spans": []}],
        [{**good[0], "spans": [{**span, "start": CANARY, "end": [CANARY]}]}],
        [{**good[0], "spans": [{**span, "score": CANARY}]}],
        [{**good[0], "spans": [CANARY]}],
        [{**good[0], "spans": {CANARY: CANARY}}],
        [{**good[0], "id": {CANARY: CANARY}}],
        [{**good[0], "document": CANARY}],
        [good[0], good[0]],
        [CANARY],
        {CANARY: CANARY},
        CANARY,
    ]


@pytest.mark.parametrize("number", range(len(rows_of_predictions())))
def test_nothing_of_a_predictions_file_comes_out(program, tmp_path: Path, number: int) -> None:
    gold = corpus_of(tmp_path, "openmed")
    content = json.dumps(rows_of_predictions()[number], indent=1)
    path, out = tmp_path / f"{CANARY}.json", tmp_path / "out"
    for data in (content.encode(), content.encode()[:-3], content.encode() + b"\xff", content.encode("utf-16")):
        path.write_bytes(data)
        said = program("score", gold, path, "--output", out)
        assert_silent(said.all, content)
        assert "internal error" not in said.err
        for written in out.iterdir() if out.exists() else ():
            assert_silent(written.read_text("utf-8"), written.name)


NAMES = json.dumps(["O", f"B-{CANARY[4:]}", "B-NAME"])
ROWS = ("w O O\n", f"{CANARY} B-NAME O\n", f"{CANARY} O {CANARY}\n", f"{CANARY} {CANARY} O\n", f"{CANARY} B-NAME\n", "0 0 0\n")


@pytest.mark.parametrize("rows", [ROWS[:2], ROWS[2:3], ROWS[1:3], ROWS[3:4], ROWS[4:5], ROWS, (*ROWS[:2], "\n", ROWS[4])])
def test_nothing_of_a_file_of_tags_comes_out(program, tmp_path: Path, rows: tuple[str, ...]) -> None:
    path, out = tmp_path / f"{CANARY}.txt", tmp_path / "out"
    content = "".join(rows).encode()
    for data in (content, content.replace(b" ", b"\t"), content[:-4], content + b"\xff", content.decode().encode("utf-16")):
        path.write_bytes(data)
        for more in ([], ["--tags", "strict"], ["--scheme", "IOB2", "--skip-bad"]):
            said = program("score", path, "--predictions-format", "conlleval", "--bootstrap", 0, "--output", out, *more)
            assert_silent(said.all, str(more))
            assert "internal error" not in said.err
            for written in out.iterdir() if out.exists() else ():
                assert_silent(written.read_text("utf-8"), written.name)


def test_nothing_of_an_archive_of_tags_comes_out(program, tmp_path: Path) -> None:
    import numpy as np

    path, names = tmp_path / f"{CANARY}.npz", tmp_path / f"{CANARY}.json"
    np.savez(path, gold=np.array([[0, 2]]), predicted=np.array([[0, 7781]]), **{CANARY: np.array([CANARY])})
    for data in (path.read_bytes(), path.read_bytes()[:-20], CANARY_BYTES):
        path.write_bytes(data)
        for content in (NAMES, f'["{CANARY}"]', f'{{"{CANARY}": 0', CANARY):
            names.write_text(content, "utf-8")
            said = program("score", path, "--tag-names", names, "--output", tmp_path / "out")
            assert (said.code, said.out) == (1, "")
            assert_silent(said.err, content)
            assert "internal error" not in said.err
            assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", range(len(rows_of_predictions())))
def test_nothing_of_a_training_manifest_comes_out(program, tmp_path: Path, number: int) -> None:
    gold, out = corpus_of(tmp_path, "openmed"), tmp_path / "out"
    content = json.dumps(rows_of_predictions()[number], indent=1)
    for name in (f"{CANARY}.json", f"{CANARY}.jsonl", CANARY):
        path = tmp_path / "train" / name
        path.parent.mkdir(exist_ok=True)
        for data in (content.encode(), content.encode()[:-3], content.encode() + b"\xff", content.encode("utf-16"), b""):
            path.write_bytes(data)
            for options in ([], ["--forbid-overlap"]):
                said = program("score", gold, gold, "--training-manifest", path, "--output", out, *options)
                assert_silent(said.all, content)
                assert "internal error" not in said.err
                for written in out.iterdir() if out.exists() else ():
                    assert_silent(written.read_text("utf-8"), written.name)


def damaged_models(folder: Path) -> Iterator[Path]:
    """Model directories that cannot be run, with the canary in the damaged file."""

    def model(name: str, file: str, change: Callable[[bytes], bytes]) -> Path:
        made = write_model(folder / name)
        (made / file).write_bytes(change((made / file).read_bytes()))
        return made

    yield model("half", "model.safetensors", lambda data: data[: len(data) // 2])
    yield model("few", "model.safetensors", lambda data: data[:5])
    yield model("header", "model.safetensors", lambda data: data[:8] + CANARY_BYTES + data[16:])
    yield model("config", "config.json", lambda data: data + CANARY_BYTES)
    yield model("bytes", "config.json", lambda data: b"\xff" + CANARY_BYTES + data)
    yield model("list", "config.json", lambda data: f'["{CANARY}"]'.encode())
    yield model("labels", "config.json", lambda data: data.replace(b'"0": "O"', f'"{CANARY}": "O"'.encode()))
    yield model("type", "config.json", lambda data: data.replace(b'"hidden_size": 32', f'"hidden_size": "{CANARY}"'.encode()))
    yield model("tokenizer", "tokenizer.json", lambda data: data[: len(data) // 2] + CANARY_BYTES)
    yield model("merges", "tokenizer.json", lambda data: data.replace(b'"WordPiece"', f'"{CANARY}"'.encode()))


def test_nothing_of_a_damaged_model_comes_out(program, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "openmed")
    for model in damaged_models(tmp_path):
        for arguments in (
            ["run", "--model", model, "--corpus", corpus, "--output", tmp_path / "out"],
            ["convert", model, tmp_path / "out"],
        ):
            said = program(*arguments)
            assert (said.code, said.out) == (1, ""), arguments
            assert_silent(said.err, f"{arguments[0]} {model.name}")
            assert "internal error" not in said.err, f"{arguments[0]} {model.name}: {said.err}"
            assert not (tmp_path / "out").exists()


class Panic(BaseException):
    """As pyo3 raises one: no Exception, with a message that quotes its input."""


@pytest.mark.parametrize(
    "error", [ValueError(CANARY), KeyError(CANARY), RuntimeError(CANARY), MemoryError(CANARY), Panic(CANARY)]
)
@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("run", "openmed_mlx_eval.runtime.classifier.TokenClassifier._begin"),
        ("run", "openmed_mlx_eval.runtime.tokenization.TextEncoder._encoded"),
        ("run", "openmed_mlx_eval.runtime.decoding.Decoder.spans"),
        ("run", "openmed_mlx_eval.evaluation.score_case"),
        ("run", "openmed_mlx_eval.cli.options.to_markdown"),
        ("generate", "openmed_mlx_eval.generative.running.align"),
        ("generate", "openmed_mlx_eval.generative.journal._object"),
        ("errors", "openmed_mlx_eval.error_analysis.document_errors"),
        ("errors", "openmed_mlx_eval.error_analysis.example_of"),
        ("errors", "openmed_mlx_eval.runtime.classifier.TokenClassifier.seams"),
        ("errors from", "openmed_mlx_eval.recorded._as_scored"),
        ("score", "openmed_mlx_eval.predictions._matched"),
        ("corpus agreement", "openmed_mlx_eval.cli.corpus_agreement.annotator_agreement"),
        ("score", "openmed_mlx_eval.corpora.loading.gold_of"),
        ("compare", "openmed_mlx_eval.saved_runs.load_document_scores"),
        ("compare", "openmed_mlx_eval.reporting.comparison.to_markdown"),
        ("gate", "openmed_mlx_eval.cli.gate.check"),
        ("corpus check", "openmed_mlx_eval.corpora.loading.gold_of"),
        ("corpus stats", "openmed_mlx_eval.cli.corpus.CorpusStats.of"),
        ("corpus convert", "openmed_mlx_eval.cli.corpus.save"),
    ],
)
def test_an_unforeseen_failure_says_type_and_place_alone(
    check, program, monkeypatch, tiny_model: Path, tmp_path: Path, command: str, target: str, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(target, fail)
    at = Place(corpus_of(tmp_path, "openmed"), tiny_model, tmp_path / "out")
    assert check(command, at, foreseen=False)[0] == 1
    said = program(*command.split(), *CASES[command](at)[0])
    assert f"error: internal error: {type(error).__name__} at openmed_mlx_eval." in said.err


def test_a_failing_write_does_not_say_where(program, monkeypatch, tiny_model: Path, tmp_path: Path) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", f"/home/{CANARY}/x")

    corpus = corpus_of(tmp_path, "openmed")
    monkeypatch.setattr("tempfile.mkstemp", denied)
    for arguments in (["run", "--model", tiny_model, "--corpus", corpus], ["score", corpus, corpus]):
        said = program(*arguments, "--output", tmp_path / "out")
        assert said.code == 1
        assert "Permission denied" in said.err
        assert_silent(said.all, str(arguments[0]))


@pytest.mark.skipif(os.name == "nt", reason="names of bytes are POSIX's")
def test_a_name_that_is_no_text_is_no_noise(program, tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    for suffix, data in ((b".txt", CANARY_BYTES), (b".ann", b"T1\tNAME 0 8\t" + CANARY_BYTES)):
        with io.FileIO(os.fsencode(folder) + b"/" + CANARY_BYTES + b"\xff" + suffix, "w") as file:
            file.write(data)
    for arguments in (["corpus", "check", folder], ["corpus", "stats", folder], ["score", folder, folder]):
        said = program(*arguments)
        assert_silent(said.all, str(arguments[0]))
        assert "internal error" not in said.err


def test_the_watch_sees_half_a_canary_and_no_chance_digits() -> None:
    assert_silent('"total_s": 0.017781, "sha256": "a77810"', "chance")
    for leak in ("at offset 7781", "7781", "QZX", hashlib.sha256(CANARY.encode()).hexdigest()[:32]):
        with pytest.raises(AssertionError):
            assert_silent(leak, "a leak")
