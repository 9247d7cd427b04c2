"""A killed conversion leaves no artifact; one of a large checkpoint needs little memory. In processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_checkpoints import config_of, random_tensors, write_checkpoint, write_tokenizer

from openmed_mlx_eval.converters import convert
from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.runtime.artifact import open_artifact
from openmed_mlx_eval.runtime.families import family_of

KILLED = """
import os, signal, sys
from openmed_mlx_eval.converters import Options, conversion, staging, convert

at = sys.argv[3]

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def progress(done, total):
    if done == {"first": 1, "middle": total // 2, "last": total}.get(at):
        die()

if at == "config":
    conversion._copy_tokenizer = die
if at == "rename":
    staging._move = die
convert(sys.argv[1], sys.argv[2], Options(bits=8, group_size=32, force=True), progress)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("at", ["first", "middle", "last", "config", "rename"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "replacing"])
def test_a_killed_conversion_leaves_no_artifact_and_the_old_one_whole(tmp_path: Path, at: str, old: bool) -> None:
    source = write_checkpoint(tmp_path / "source")
    out = tmp_path / "out"
    if old:
        convert(source, out)
        before = {path.name: path.read_bytes() for path in out.iterdir()}
    done = subprocess.run([sys.executable, "-c", KILLED, str(source), str(out), at], check=False)
    assert done.returncode == -signal.SIGKILL
    left = [path for path in tmp_path.iterdir() if path.name not in ("source", "out")]
    assert all(path.name.startswith(".converting-") for path in left)
    if old:
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    else:
        assert not out.exists()
    if at != "rename":  # then it is whole, and hidden
        for path in left:
            with pytest.raises(ModelError):
                open_artifact(path)


MEASURED = """
import resource, sys
from pathlib import Path
from openmed_mlx_eval.converters import Options, convert

dtype, bits = (sys.argv[3], None) if not sys.argv[3].isdigit() else (None, int(sys.argv[3]))
convert(sys.argv[1], sys.argv[2], Options(dtype=dtype, bits=bits))
if sys.platform == "linux":  # there ru_maxrss begins with what the parent had used
    lines = Path("/proc/self/status").read_text().splitlines()
    print(int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) >> 10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no getrusage")
@pytest.mark.parametrize("how", ["float16", "4"])
def test_memory_stays_below_twice_the_largest_tensor_and_200_mib(tmp_path: Path, how: str) -> None:
    """A sparse file of 400 MiB, no tensor larger than 16."""
    source = tmp_path / "source"
    source.mkdir()
    config = config_of("bert", hidden=1024, num_hidden_layers=8, num_attention_heads=16, intermediate_size=4096)
    (source / "config.json").write_text(json.dumps(config))
    write_tokenizer(source)
    header, end = {}, 0
    for name, shape in names_and_shapes(config).items():
        size = 4 * shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    described = json.dumps(header).encode()
    with (source / "model.safetensors").open("wb") as file:
        file.write(len(described).to_bytes(8, "little") + described)
        file.truncate(8 + len(described) + end)
    assert end > 380 << 20
    command = [sys.executable, "-c", MEASURED, str(source), str(tmp_path / "out"), how]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert peak < 2 * 16 + 200, peak


def names_and_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Of a small model's names those of the large one, which nobody needs to fill with numbers."""
    small = random_tensors({**config, "num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 32})
    head = [name for name in small if ".layer.0." not in name and "pooler" not in name]
    layers = [name for name in small if ".layer.0." in name]
    names = head + [name.replace(".layer.0.", f".layer.{i}.") for name in layers for i in range(config["num_hidden_layers"])]
    family = family_of(config)
    shapes = family.shapes({**config, "num_labels": len(config["id2label"])})
    return {name: shapes[ours_of(name, family.names)] for name in names}


def ours_of(name: str, table: dict[str, str]) -> str:
    stem, _, part = name.removeprefix("bert.").rpartition(".")
    number = stem.split(".")[2] if stem.startswith("encoder.layer.") else ""
    pattern = stem.replace(f".layer.{number}.", ".layer.{i}.") if number else stem
    return table[pattern].replace("{i}", number) + "." + part
