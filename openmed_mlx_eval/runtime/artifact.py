"""Artifact: a model directory, read and checked – config, labels, tensors, tokenizer, window.

Either a Hugging Face directory (config.json, safetensors whole or in shards, tokenizer.json) or one with an
openmed-mlx.json manifest, format version 2, as OpenMed's converter and this project's write it. Nothing is
computed and no code of the directory is run; a pickle is refused, and so is a path that leaves the directory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ModelError
from .calibration import CALIBRATION, CONFIG_KEY, biases, calibrated
from .families.base import Config, Family, natural
from .safetensors import StoredTensor, open_safetensors
from .tasks import task_of
from .tokenizer_settings import NAME as SETTINGS
from .weights import Checkpoint, Quantization, renamed

MANIFEST = "openmed-mlx.json"
DTYPE_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}

MAX_LABELS = 1 << 16
"""Beyond any model; a hostile num_labels would otherwise have billions of names made."""

PICKLE_COMMAND = "openmed-mlx-eval convert DIR OUT"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A checked model directory. Tensors are mapped, not read.

    name: the directory's own name, or the repository's of a snapshot in the Hugging Face cache. labels: id → label as in
    the files; none where they are given with the text. window: tokens a sequence may have, special tokens included. files: those that were opened.
    transition_biases: for Viterbi, by the keys of viterbi.BIASES.
    """

    directory: Path
    name: str
    config: Config
    labels: tuple[str, ...]
    family: Family
    checkpoint: Checkpoint
    quantization: Quantization | None
    window: int
    tokenizer: Path
    files: tuple[Path, ...]
    transition_biases: Mapping[str, float]

    @property
    def dtype(self) -> str:
        """The stored floating type, by its common name."""
        stored = self.checkpoint.dtypes()
        return DTYPE_NAMES.get(stored[0], stored[0].lower()) if stored else "none"

    def hashes(self) -> dict[str, str]:
        """{file name: sha256 in hex} of every file that was opened."""
        return {path.relative_to(self.directory).as_posix(): sha256(path) for path in sorted(self.files)}


def sha256(path: Path) -> str:
    """In hex. By large blocks: between two of them it has to wait for whatever else Python is doing beside it."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(4 << 20))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


ReadTensors = Callable[[Path], Mapping[str, StoredTensor]]


def open_artifact(directory: str | Path, *, verify: bool = True, pickles: ReadTensors | None = None) -> Artifact:
    """Read and check a model directory. Raises ModelError that says which file is wrong, how, and what to do.

    verify: compare every file with the SHA-256 the manifest has for it, where it has any (ours do, OpenMed's do
    not). pickles: what reads a pytorch_model.bin, for the converter; without it such a file is refused.
    """
    with opening(directory, verify=verify, pickles=pickles) as artifact:
        return artifact


@contextmanager
def opening(directory: str | Path, *, verify: bool = True, pickles: ReadTensors | None = None) -> Iterator[Artifact]:
    """`open_artifact` for one who has something to do while the files are compared with their hashes, in a thread.

    The artifact is checked once the block is left. What is wrong with a file is raised there, instead of what the block
    may have raised over it.
    """
    root = Path(directory)
    if not root.is_dir():
        what = "the model is not a directory" if root.exists() else "no such folder: the model"
        raise ModelError(f"{what} – give a folder with config.json, *.safetensors and tokenizer.json, or a name of `models list`")
    manifest_path = root / MANIFEST
    manifest = _manifest(manifest_path) if manifest_path.exists() else None
    task = task_of(root, manifest)
    config_path = inside(root, (manifest or {}).get("config_path") or task.config_name)
    config = task.plain(read_object(config_path))
    weights = _weight_files(root, manifest, pickles is not None)
    tokenizer = _tokenizer(root, manifest)
    described = task.labelled and manifest and manifest.get("label_map_path")
    labels_path = inside(root, described) if described else None
    labels = _labels(read_object(labels_path) if labels_path else _id2label(config)) if task.labelled else ()
    config = {**config, "num_labels": len(labels)}
    family = task.family_of(config)
    beside = tokenizer.with_name(SETTINGS)
    settings = inside(root, beside.relative_to(root).as_posix()) if beside.is_file() else None
    opened = (config_path, tokenizer, *weights, *filter(None, [labels_path, settings]))
    with ExitStack() as stack:
        if verify and manifest and "sha256" in manifest:
            stack.enter_context(_meanwhile(partial(_check_hashes, root, manifest["sha256"], opened)))
        tensors = _tensors(weights, pickles)
        quantization = _quantization(manifest, config)
        shapes = family.shapes(config)
        known = renamed(tensors, {**family.names, **family.layout.names}, family.prefixes, family.ignored)
        checkpoint = Checkpoint(family.layout.taken_apart(known, shapes), quantization)
        _check_head(checkpoint, labels)
        checkpoint.check(shapes)
        calibration = inside(root, CALIBRATION) if manifest is None and (root / CALIBRATION).exists() else None
        optional = (manifest_path if manifest else None, labels_path, settings, calibration)
        yield Artifact(
            directory=root,
            name=_name_of(root.resolve()),
            config=config,
            labels=labels,
            family=family,
            checkpoint=checkpoint,
            quantization=quantization,
            window=family.window(config),
            tokenizer=tokenizer,
            files=(config_path, tokenizer, *weights, *(path for path in optional if path)),
            transition_biases=(
                calibrated(read_object(calibration)) if calibration else biases(config.get(CONFIG_KEY), config_path.name)
            ),
        )


def _tensors(weights: Sequence[Path], pickles: ReadTensors | None) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for path in weights:
        read = pickles if pickles and path.suffix == ".bin" else open_safetensors
        for name, tensor in read(path).items():
            if name in tensors:
                raise ModelError(f"tensor {name!r} stands in two weight files – keep the files of one checkpoint only")
            tensors[name] = tensor
    return tensors


@contextmanager
def _meanwhile(check: Callable[[], None]) -> Iterator[None]:
    """The check in a thread beside the block; what it raises goes before what the block raises."""
    with ThreadPoolExecutor(1) as pool:
        checked = pool.submit(check)
        try:
            yield
        finally:
            checked.result()


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that must hold one object. Raises ModelError naming the file."""
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ModelError(f"{path.name} is missing – a model directory needs it") from None
    except OSError as error:
        raise ModelError(f"{path.name}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise ModelError(f"{path.name}: not valid JSON – copy the file again") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path.name}: must be one JSON object")
    return value


def _manifest(path: Path) -> dict[str, Any]:
    manifest = read_object(path)
    if manifest.get("format") not in (None, "openmed-mlx") or manifest.get("format_version") not in (1, 2):
        raise ModelError(f"{MANIFEST}: not format openmed-mlx, version 1 or 2 – convert the model again")
    return manifest


def inside(root: Path, name: Any) -> Path:
    """root/name for a name that stays below root, symbolic links followed. Raises ModelError otherwise."""
    if not isinstance(name, str) or not name:
        raise ModelError("the manifest names a file by something that is no file name")
    plain = PurePosixPath(name.replace("\\", "/"))
    path = root / plain
    try:
        outside = plain.is_absolute() or ".." in plain.parts or any(":" in part for part in plain.parts[:1])
        outside = outside or not any(path.resolve().is_relative_to(folder) for folder in _own_folders(root.resolve()))
    except (OSError, RuntimeError, ValueError):  # a loop of symbolic links, a NUL in the name
        outside = True
    if outside:
        raise ModelError("a path in the model's manifest or index leads out of the model directory – refused")
    return path


def _own_folders(root: Path) -> tuple[Path, ...]:
    """The model's folder; of a snapshot in the Hugging Face cache also `blobs`, to which its files are links."""
    return (root, root.parent.parent / "blobs") if _is_snapshot(root) else (root,)


def _is_snapshot(root: Path) -> bool:
    return root.parent.name == "snapshots" and root.parent.parent.name.startswith("models--")


def _name_of(root: Path) -> str:
    """A snapshot's own name is a commit, which says nothing in a report."""
    return root.parent.parent.name.rpartition("--")[2] if _is_snapshot(root) else root.name


def _check_hashes(root: Path, table: Any, opened: Sequence[Path]) -> None:
    """Raise ModelError where a file is not the one the manifest describes, or is used and not described."""
    if not isinstance(table, dict):
        raise ModelError(f"{MANIFEST}: sha256 is not an object of file names – convert the model again")
    listed = {inside(root, name): digest for name, digest in table.items()}
    for path in opened:
        if path not in listed:
            raise ModelError(f"{MANIFEST}: sha256 does not list {path.name} – convert the model again")
    for path, digest in listed.items():
        if not path.is_file():
            raise ModelError(f"{path.name} is missing, which {MANIFEST} lists – copy the whole folder again")
        if sha256(path) != digest:
            raise ModelError(
                f"{path.name} is not the file that was converted (its SHA-256 differs) – copy the folder again, or give "
                "--no-verify if you changed it yourself"
            )


def _weight_files(root: Path, manifest: Mapping[str, Any] | None, pickles: bool) -> list[Path]:
    if manifest is not None:
        fallback = manifest.get("fallback_weights") or []
        if not isinstance(fallback, list):
            raise ModelError(f"{MANIFEST}: fallback_weights is not a list")
        named = [inside(root, name) for name in (manifest.get("preferred_weights") or "weights.safetensors", *fallback)]
        found = [path for path in named if path.suffix == ".safetensors" and path.is_file()]
        if found:
            return found[:1]
        raise ModelError(f"{MANIFEST}: none of its weights is there as safetensors – convert the model again")
    for whole in ("model.safetensors", "pytorch_model.bin") if pickles else ("model.safetensors",):
        if (root / whole).is_file():
            return [inside(root, whole)]
        if (root / f"{whole}.index.json").is_file():
            return _shards(root, root / f"{whole}.index.json")
    if any(root.glob("pytorch_model*.bin")) or any(root.glob("*.pt")):
        raise ModelError(
            "the weights are a pickle (pytorch_model.bin), which can run code when it is loaded and is never read here – "
            f"convert it where torch is installed, which reads tensors alone from it: {PICKLE_COMMAND}"
        )
    raise ModelError("no weights: neither model.safetensors nor model.safetensors.index.json is in the model directory")


def _shards(root: Path, index: Path) -> list[Path]:
    table = read_object(index).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise ModelError(f"{index.name}: has no weight_map")
    shards = list(dict.fromkeys(inside(root, name) for name in table.values()))
    absent = [path.name for path in shards if not path.is_file()]
    if absent:
        raise ModelError(f"{len(absent)} of {len(shards)} weight shards are missing (first: {absent[0]}) – download them")
    return shards


def _tokenizer(root: Path, manifest: Mapping[str, Any] | None) -> Path:
    section = (manifest or {}).get("tokenizer") or {}
    folder = section.get("path") if isinstance(section, dict) else None
    path = inside(root, "tokenizer.json" if folder in (None, "", ".") else f"{folder}/tokenizer.json")
    if not path.is_file():
        raise ModelError(
            "tokenizer.json is missing – make it where transformers is installed: "
            "python -c \"from transformers import AutoTokenizer as T; T.from_pretrained('DIR').save_pretrained('DIR')\""
        )
    return path


def _id2label(config: Mapping[str, Any]) -> Any:
    """A config's id2label; where it has none, as transformers' `PreTrainedConfig` fills it in.

    By label2id, else LABEL_0 … for num_labels, which is 2 for a token classifier that does not say: `save_pretrained` leaves
    out what is the default.
    """
    table, ids = config.get("id2label"), config.get("label2id")
    if table is not None:
        return table
    if isinstance(ids, dict) and ids:
        return {str(number): label for label, number in ids.items()} if len(set(map(str, ids.values()))) == len(ids) else None
    named = config.get("architectures")
    classifies = isinstance(named, list) and any(str(name).endswith("ForTokenClassification") for name in named)
    count = natural(config, "num_labels", default=2 if classifies else 0, least=0, most=MAX_LABELS)
    return {str(number): f"LABEL_{number}" for number in range(count)}


def _labels(table: Any) -> tuple[str, ...]:
    """id2label as a tuple. Raises ModelError where ids are not 0 … n-1 or labels are no strings."""
    if not isinstance(table, dict) or not table:
        raise ModelError("config.json: id2label is missing – is this a token-classification checkpoint?")
    try:
        by_id = {int(key): label for key, label in table.items()}
    except ValueError:
        raise ModelError("id2label: a key is not an integer") from None
    if sorted(by_id) != list(range(len(by_id))) or len(by_id) != len(table):
        raise ModelError(f"id2label: {len(table)} entries, but their ids are not 0 to {len(table) - 1}")
    if not all(isinstance(label, str) and label for label in by_id.values()):
        raise ModelError("id2label: a label is not a string")
    return tuple(by_id[i] for i in range(len(by_id)))


def _check_head(checkpoint: Checkpoint, labels: tuple[str, ...]) -> None:
    """A wrong number of labels is told as such, not as a misshapen classifier."""
    if "classifier.weight" in checkpoint:
        rows = checkpoint.tensors["classifier.weight"].shape[:1]
        if rows != (len(labels),):
            head = rows[0] if rows else 0
            raise ModelError(f"id2label has {len(labels)} labels, but the classification head has {head} rows")


def _quantization(manifest: Mapping[str, Any] | None, config: Mapping[str, Any]) -> Quantization | None:
    """What the manifest or the config says of quantisation, in OpenMed's or mlx-lm's words."""
    said = (manifest or {}).get("quantization") or config.get("_mlx_quantization") or config.get("quantization")
    if not said:
        return None
    if not isinstance(said, dict) or said.get("mode", "affine") != "affine":
        raise ModelError("quantization: only MLX's affine mode is supported – convert the model again")
    bits, group = said.get("bits"), said.get("group_size", 64)
    if bits not in (2, 4, 8) or group not in (32, 64, 128):
        raise ModelError("quantization: bits must be 2, 4 or 8 and group_size 32, 64 or 128 – convert the model again")
    return Quantization(bits, group)
