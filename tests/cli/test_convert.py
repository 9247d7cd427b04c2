"""`convert` end to end: streams, exit codes, and no path of the machine in either."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from openmed_mlx_eval.cli.main import main
from openmed_mlx_eval.runtime.artifact import MANIFEST, open_artifact

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "converters"))
from tiny_checkpoints import write_checkpoint


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "QZX-7781", hidden=96)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["convert", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_summary_says_what_was_written(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, source, tmp_path / "out", "--quantize", "8", "--dtype", "float16")
    assert (code, err) == (0, "")
    assert "8 bits, groups of 64" in out and "encoder.layers.0.linear1" in out and "float16" in out
    artifact = open_artifact(tmp_path / "out")
    assert artifact.checkpoint.quantized() == ["encoder.layers.0.linear2", "encoder.layers.1.linear2"]


def test_json_is_the_manifest(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    arguments = ("--quantize", "4", "--group-size", "32", "--keep", "classifier, embeddings", "--json")
    code, out, _ = run(capsys, source, tmp_path / "out", *arguments)
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "out" / MANIFEST).read_text("utf-8"))
    plain = ["classifier", *(f"embeddings.{name}_embeddings" for name in ("position", "token_type", "word"))]
    assert json.loads(out)["quantization"]["unquantized"] == plain


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--group-size", "64"], "give --quantize too"),
        (["--keep", "classifier"], "give --quantize too"),
        (["--quantize", "8", "--keep", "pooler"], "'pooler' is none of"),
        (["--quantize", "3"], "give one of 8, 4"),
        (["--dtype", "int8"], "give one of float32"),
    ],
)
def test_wrong_options_are_usage_errors(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, source, tmp_path / "out", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not (tmp_path / "out").exists()


def test_failures_say_what_to_do_and_no_path(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    assert run(capsys, source, tmp_path / "out", "--quiet")[0] == 0
    for code, arguments in (
        (2, (source, tmp_path / "out")),
        (2, (source, source, "--force")),
        (1, (tmp_path / "QZX-7782", tmp_path / "new")),
        (1, (tmp_path, tmp_path / "new")),
    ):
        found, out, err = run(capsys, *arguments)
        assert (found, out) == (code, "")
        assert "–" in err and str(tmp_path) not in err and "QZX" not in err
    assert run(capsys, source, tmp_path / "out", "--force")[0] == 0


def test_help_documents_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    from openmed_mlx_eval.cli.convert import command

    _, out, _ = run(capsys, "--help")
    for option in command.params:
        if option.param_type_name == "option":
            assert option.opts[-1] in out and getattr(option, "help", None)


def test_verify_writes_its_record_into_the_manifest(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, source, tmp_path / "out", "--verify")
    assert (code, err) == (0, "")
    assert "logits within 0 of SRC's, 1.0000 of labels" in out
    record = json.loads((tmp_path / "out" / MANIFEST).read_text("utf-8"))["parity"]
    assert record["passed"] and record["texts"]["built_in"]["max_absolute_difference"] == 0
    assert record["dtype"] == "float32" and record["texts"]["built_in"]["tokens"] > 1000
    assert "QZX" not in json.dumps(record)
    open_artifact(tmp_path / "out")
    assert run(capsys, source, tmp_path / "out", "--verify", "--force", "--dtype", "float16", "--json")[0] == 0


def test_a_conversion_that_changes_what_is_computed_fails_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openmed_mlx_eval.converters import planning

    monkeypatch.setattr(planning, "checked", lambda values, dtype, name: values * 1.01)
    code, out, err = run(capsys, source, tmp_path / "out", "--verify")
    assert (code, out) == (3, "")
    assert "was not kept – built_in: a logit differs by" in err
    assert {path.name for path in tmp_path.iterdir()} == {source.name}


def test_verify_of_a_pickle_compares_with_the_pickle(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tiny_checkpoints import config_of, random_tensors

    (source / "model.safetensors").unlink()
    tensors = random_tensors(config_of("bert", hidden=96))
    torch.save({name: torch.from_numpy(values) for name, values in tensors.items()}, source / "pytorch_model.bin")
    code, out, _ = run(capsys, source, tmp_path / "out", "--verify", "--json")
    assert code == 0
    assert (
        json.loads(out)["parity"]["texts"]["built_in"]["max_absolute_difference"] < 1e-4
    )  # mapped elsewhere, BLAS adds otherwise


def test_verify_needs_no_names_of_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    labels = {str(number): f"LABEL_{number}" for number in range(5)}
    source = write_checkpoint(tmp_path / "nameless", id2label=labels)
    assert run(capsys, source, tmp_path / "out", "--verify", "--quiet")[0] == 0
    assert open_artifact(tmp_path / "out").labels == tuple(labels.values())


@pytest.fixture(scope="module")
def demo_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's first notes."""
    from openmed_mlx_eval.demo import corpus_path

    path = tmp_path_factory.mktemp("corpus") / "QZX-notes.jsonl"
    path.write_text("".join(corpus_path().read_text("utf-8").splitlines(keepends=True)[:4]), "utf-8")
    return path


def test_certify_writes_its_record_and_exits_3_where_a_label_is_unseen(
    capsys: pytest.CaptureFixture[str], demo_corpus: Path, tmp_path: Path
) -> None:
    from openmed_mlx_eval.demo import model_path

    arguments = (model_path(), tmp_path / "out", "--quantize", "8", "--group-size", "32", "--certify", demo_corpus)
    code, out, err = run(capsys, *arguments, "--certify-labels", "PERSON,DATE,NOWHERE")
    assert code == 3
    assert "the artifact was written" in err and "NOWHERE (no gold)" in err and "QZX" not in out + err
    record = json.loads((tmp_path / "out" / MANIFEST).read_text("utf-8"))["certificate"]
    assert record["certified"] is False and record["limit"] == 0.005
    assert {label: one["verdict"] for label, one in record["labels"].items()}["NOWHERE"] == "not_covered"
    assert record["labels"]["PERSON"]["support"] > 0 and record["labels"]["PERSON"]["recall"]["confidence_interval"]
    assert open_artifact(tmp_path / "out").quantization is not None

    code, out, err = run(capsys, *arguments, "--certify-labels", "DATE", "--force", "--json")
    record = json.loads(out)["certificate"]
    assert record["certified"] is (record["labels"]["DATE"]["verdict"] == "passed") is (code == 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--certify", "c.jsonl"], "give --quantize too"),
        (["--certify-labels", "DATE"], "give --certify CORPUS too"),
        (["--label-map", "none"], "give --certify CORPUS too"),
        (["--quantize", "8", "--certify", "absent.jsonl"], "absent"),
    ],
)
def test_wrong_proofs_are_usage_errors(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, source, tmp_path / "out", *arguments)
    assert (code, out) == (2, "")
    assert words in err or words == "absent"
    assert not (tmp_path / "out").exists()
