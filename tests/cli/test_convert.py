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
