"""Conversion: open a checkpoint, plan its tensors, write the artifact, open what was written, give it its name.

The source is checked as a run would check it before a byte is written, and so is the result before it gets its
name. Nothing is downloaded, and no code of the checkpoint is run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openmed_mlx_eval.errors import ModelError, UsageError
from openmed_mlx_eval.runtime.artifact import DTYPE_NAMES, MANIFEST, Artifact, inside, open_artifact, sha256
from openmed_mlx_eval.runtime.tokenization import TextEncoder
from openmed_mlx_eval.runtime.weights import Quantization

from .dtypes import STORED
from .manifest import LABELS, WEIGHTS, artifact_config, artifact_manifest, label_table
from .pickles import open_pickle
from .planning import PlannedTensor, plan, unquantized
from .safetensors_writer import write_safetensors
from .staging import staged

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt",
    "spm.model", "spiece.model", "sentencepiece.bpe.model", "added_tokens.json",
)  # fmt: skip
"""Copied where the source has them: this project reads the first alone, transformers and OpenMed the others."""


@dataclass(frozen=True, slots=True)
class Options:
    """What becomes of the weights. dtype: None for as stored. bits: 8, 4 or None for not quantised.

    group_size: 32, 64 or 128 inputs that share a scale. keep: of `classifier`, `embeddings`, what stays plain.
    force: replace an artifact that stands at the target.
    """

    dtype: str | None = None
    bits: int | None = None
    group_size: int = 64
    keep: tuple[str, ...] = ()
    force: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for a value that is none of the above."""
        if self.dtype is not None and self.dtype not in STORED:
            raise UsageError(f"--dtype: {self.dtype!r} is none of {', '.join(STORED)}")
        if self.bits not in (None, 4, 8):
            raise UsageError("--quantize must be 8 or 4")
        if self.group_size not in (32, 64, 128):
            raise UsageError("--group-size must be 32, 64 or 128")
        if self.keep and self.bits is None:
            raise UsageError("--keep says what is not quantised – give --quantize too")

    @property
    def quantization(self) -> Quantization | None:
        return Quantization(self.bits, self.group_size) if self.bits else None


@dataclass(frozen=True, slots=True)
class Conversion:
    """An artifact that was written. manifest: its openmed-mlx.json. bytes: of its weights; source_bytes: of the source's."""

    directory: Path
    manifest: Mapping[str, Any]
    bytes: int
    source_bytes: int


Proof = Callable[[Artifact, Artifact], Mapping[str, Any]]
"""(source, what was written) → keys for the manifest. What it raises fails the conversion."""


def convert(
    source: str | Path,
    target: str | Path,
    options: Options | None = None,
    progress: Callable[[int, int], Any] = lambda done, total: None,
    proofs: Sequence[Proof] = (),
) -> Conversion:
    """Write the token classifier, or GLiNER model, in `source` as an artifact in the new folder `target`.

    progress: called with (tensors written, tensors in all). proofs: called in order, before the artifact gets its name,
    for what they find to stand in its manifest. Memory, without them: a few blocks of BLOCK_VALUES values; a
    pytorch_model.bin is mapped by torch, and its pages are the system's to take back. Raises ModelError for a
    checkpoint that cannot be converted, UsageError for a target that may not be written, EvaluationError where the
    disk does not let; then nothing is left at `target`, and what was there is untouched.
    """
    options = options or Options()
    artifact = open_artifact(source, pickles=open_pickle)
    if artifact.quantization is not None:
        raise ModelError("SRC is quantised already, and what rounding took cannot be had back – convert its original")
    rows = artifact.checkpoint.matrix("embeddings.word_embeddings").shape[0]
    TextEncoder.load(artifact.tokenizer).check_vocabulary(rows)
    planned = plan(artifact.checkpoint.tensors, artifact.family, options.dtype, options.quantization, options.keep)

    target = Path(target)
    with staged(target, Path(source), options.force) as folder:
        manifest = _write(folder, artifact, planned, options.quantization, progress)
        size = (folder / WEIGHTS).stat().st_size
        manifest |= _proved(artifact, folder, proofs)
        if proofs:
            _replace_json(folder / MANIFEST, manifest)
    source_bytes = sum(path.stat().st_size for path in artifact.files if path.suffix in (".safetensors", ".bin"))
    return Conversion(target, manifest, size, source_bytes)


def _write(
    folder: Path,
    artifact: Artifact,
    planned: list[PlannedTensor],
    quantization: Quantization | None,
    progress: Callable[[int, int], Any],
) -> dict[str, Any]:
    """All files into the folder, the manifest last; returns it."""
    slots = {name: slot for item in planned for name, slot in item.slots().items()}

    def pieces() -> Any:
        for done, item in enumerate(planned, start=1):
            yield from item.pieces()
            progress(done, len(planned))

    write_safetensors(folder / WEIGHTS, slots, pieces(), {"format": "mlx", "openmed_task": artifact.family.task})
    dtype = _dtype(planned)
    _write_json(folder / "config.json", artifact_config(artifact, dtype, quantization))
    if artifact.labels:
        _write_json(folder / LABELS, label_table(artifact))
    tokenizer_files = _copy_tokenizer(artifact.tokenizer.parent, folder)
    manifest = artifact_manifest(
        artifact,
        dtype=dtype,
        quantization=quantization,
        unquantized=unquantized(planned),
        tokenizer_files=tokenizer_files,
        hashes={path.name: sha256(path) for path in folder.iterdir()},
    )
    _write_json(folder / MANIFEST, manifest)
    return manifest


def _proved(artifact: Artifact, folder: Path, proofs: Sequence[Proof]) -> dict[str, Any]:
    """What the proofs find. Nothing written is held open when it returns, so that the folder can be renamed anywhere."""
    made = open_artifact(folder, verify=False)
    return {key: value for proof in proofs for key, value in proof(artifact, made).items()}


def _dtype(planned: list[PlannedTensor]) -> str:
    """The type most values, or their scales, are stored in."""
    sizes: dict[str, int] = {}
    for item in planned:
        sizes[item.dtype] = sizes.get(item.dtype, 0) + item.source.array.size
    return DTYPE_NAMES[max(sizes, key=lambda dtype: sizes[dtype])]


def _copy_tokenizer(source: Path, folder: Path) -> list[str]:
    """Names of the files copied. A symbolic link that leads out of the source is refused: its target would be published."""
    names = [name for name in TOKENIZER_FILES if (source / name).is_file()]
    for name in names:
        shutil.copyfile(inside(source, name), folder / name)
    return names


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _replace_json(path: Path, value: Mapping[str, Any]) -> None:
    whole = path.with_suffix(".new")
    _write_json(whole, value)
    whole.replace(path)
