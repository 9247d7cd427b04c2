"""What an artifact says of itself: config.json and openmed-mlx.json, as plain dictionaries.

Keys and values up to `tokenizer` are those of OpenMed 3.1.0 (`mlx/artifact.py` write_manifest, `mlx/models`
normalize_model_config), whose Python and Swift runtimes read them; the others are this project's. No path of
the machine that converted is in either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from openmed_mlx_eval import __version__
from openmed_mlx_eval.runtime.artifact import MANIFEST, Artifact
from openmed_mlx_eval.runtime.calibration import CONFIG_KEY
from openmed_mlx_eval.runtime.families.gliner import PROMPT_KEY
from openmed_mlx_eval.runtime.weights import Quantization
from openmed_mlx_eval.tags import TagScheme

WEIGHTS = "weights.safetensors"
LABELS = "id2label.json"

OPENMED_FAMILIES = {"distilbert": "bert", "electra": "bert", "roberta": "bert"}
"""What OpenMed calls a family of ours where it has another name: one BERT class runs all four."""

_ALIASES = {
    "hidden_size": ("dim", None),
    "num_attention_heads": ("n_heads", None),
    "num_hidden_layers": ("n_layers", None),
    "intermediate_size": ("hidden_dim", None),
    "hidden_dropout_prob": ("dropout", 0.1),
    "attention_probs_dropout_prob": ("attention_dropout", 0.1),
    "layer_norm_eps": (None, 1e-12),
}  # OpenMed's name: (DistilBERT's name, transformers' default), for BERT and its kin

_OTHER_DEFAULTS: dict[str, dict[str, Any]] = {"deberta-v2": {"layer_norm_eps": 1e-7}, "longformer": {"pad_token_id": 1}}
"""Where transformers' default is not that of BERT, or not the 0 that OpenMed fills in."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_SNAPSHOT = re.compile(r".*/models--(?P<name>[^/]+)/snapshots/(?P<revision>[0-9a-f]{40})")


def source_of(artifact: Artifact) -> dict[str, str | None]:
    """name and revision of a checkpoint: of its place in the Hugging Face cache, else as its config has them."""
    cached = _SNAPSHOT.fullmatch(artifact.directory.resolve().as_posix())
    if cached:
        return {"name": cached["name"].replace("--", "/", 1), "revision": cached["revision"]}
    named, revision = artifact.config.get("_name_or_path"), artifact.config.get("_commit_hash")
    hub = isinstance(named, str) and "/" in named and _HUB_NAME.fullmatch(named)
    return {"name": named if hub else artifact.name, "revision": revision if isinstance(revision, str) else None}


def artifact_config(artifact: Artifact, dtype: str, quantization: Quantization | None) -> dict[str, Any]:
    """The source's config.json with the keys OpenMed's runtimes need. dtype: by its common name."""
    config = {**_OTHER_DEFAULTS.get(artifact.family.name, {}), **artifact.config}
    family = OPENMED_FAMILIES.get(artifact.family.name, artifact.family.name)
    for name, (other, default) in _ALIASES.items() if family == "bert" else ():
        value = config.get(other, default) if other else default
        if config.get(name) is None and value is not None:
            config[name] = value
    config.setdefault("type_vocab_size", _token_types(artifact))
    for key in {"dtype", "torch_dtype"} & set(config):
        config[key] = dtype
    config |= artifact.family.artifact_keys(artifact.config)
    if not artifact.labels:  # what an artifact's reader puts there for itself
        del config["num_labels"]
    config |= {
        "_name_or_path": source_of(artifact)["name"],
        **({"num_labels": len(artifact.labels), "id2label": label_table(artifact)} if artifact.labels else {}),
        "_mlx_model_type": family,
        "_mlx_task": artifact.family.task,
        "_mlx_family": family,
        "_mlx_weights_format": "safetensors",
        # OpenMed's BERT adds it; its Longformer counts positions itself, and says 0.
        "_mlx_position_offset": _position_offset(artifact) if family == "bert" else 0,
    }
    config.pop(CONFIG_KEY, None)
    if artifact.transition_biases:
        config[CONFIG_KEY] = dict(artifact.transition_biases)
    config.pop("_mlx_quantization", None)
    if quantization:
        config["_mlx_quantization"] = _described(quantization)
    return config


def label_table(artifact: Artifact) -> dict[str, str]:
    """id2label.json."""
    return {str(number): label for number, label in enumerate(artifact.labels)}


def artifact_manifest(
    artifact: Artifact,
    *,
    dtype: str,
    quantization: Quantization | None,
    unquantized: Sequence[str],
    tokenizer_files: Sequence[str],
    hashes: Mapping[str, str],
) -> dict[str, Any]:
    """openmed-mlx.json, format version 2.

    artifact: the source. dtype: of the values that are not packed. unquantized: layers that stay plain. hashes:
    SHA-256 of every other file of the artifact. `max_sequence_length` is what a sequence may really have: for
    RoBERTa fewer tokens than positions, where OpenMed's own converter writes the number of positions.
    """
    described = {**_described(quantization), "unquantized": list(unquantized)} if quantization else None
    source = source_of(artifact)
    prompt = artifact.family.artifact_keys(artifact.config).get(PROMPT_KEY)
    return {
        "format": MANIFEST.removesuffix(".json"),
        "formats": [f"mlx-{quantization.bits}bit" if quantization else "mlx-fp"],
        "format_version": 2,
        "task": artifact.family.task,
        "family": OPENMED_FAMILIES.get(artifact.family.name, artifact.family.name),
        "source_model_id": source["name"],
        "config_path": "config.json",
        "label_map_path": LABELS if artifact.labels else None,
        "preferred_weights": WEIGHTS,
        "fallback_weights": [],
        "available_weights": [WEIGHTS],
        "weights_format": "safetensors",
        "quantization": described,
        "max_sequence_length": artifact.window,
        "tokenizer": {"path": ".", "files": list(tokenizer_files)},
        "converter": {"name": "openmed-mlx-eval", "version": __version__},
        "source": {**source, "sha256": artifact.hashes()},
        "dtype": dtype,
        "parameters": artifact.checkpoint.parameters(),
        "tag_scheme": TagScheme.of(artifact.labels).name if artifact.labels else None,
        **({"prompt_spec": prompt} if prompt else {}),
        "window": artifact.window,
        "sha256": dict(sorted(hashes.items())),
    }


def _described(quantization: Quantization) -> dict[str, Any]:
    bits = quantization.bits
    return {"bits": bits, "format": f"mlx-{bits}bit", "group_size": quantization.group_size, "mode": "affine"}


def _token_types(artifact: Artifact) -> int:
    """Rows of the table itself: what a config leaves out, transformers and OpenMed fill in differently."""
    name = "embeddings.token_type_embeddings.weight"
    return artifact.checkpoint.tensors[name].shape[0] if name in artifact.checkpoint else 0


def _position_offset(artifact: Artifact) -> int:
    """The position id of a sequence's first token."""
    return int(artifact.family.positions(artifact.config, np.array([-1]))[0])
