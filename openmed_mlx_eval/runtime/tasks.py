"""Tasks: what a model directory may be for, and what follows from that for how it is read. A table; nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelError
from .families import family_of
from .families.base import TOKEN_CLASSIFICATION, Config, Family
from .families.gliner import ZERO_SHOT, gliner_family
from .families.gliner_config import FILE, flat


@dataclass(frozen=True, slots=True)
class Task:
    """config_name: of a directory without manifest. labelled: whether its labels are its own, in id2label.

    plain: what its config file holds → the config that a family reads. family_of: such a config → its family.
    """

    config_name: str
    labelled: bool
    plain: Callable[[Config], dict[str, Any]]
    family_of: Callable[[Config], Family]


TASKS = {
    TOKEN_CLASSIFICATION: Task("config.json", True, dict, family_of),
    ZERO_SHOT: Task(FILE, False, flat, gliner_family),
}


def task_of(root: Path, manifest: Mapping[str, Any] | None) -> Task:
    """Raises as `task_name` does."""
    return TASKS[task_name(root, manifest)]


def task_name(root: Path, manifest: Mapping[str, Any] | None) -> str:
    """By the manifest's word; without one, by which config there is. Raises ModelError that names the supported tasks."""
    named = (manifest or {}).get("task")
    if named is None:
        named = ZERO_SHOT if manifest is None and (root / FILE).is_file() else TOKEN_CLASSIFICATION
    if not isinstance(named, str) or named not in TASKS:
        raise ModelError(f"openmed-mlx.json: its task is none of {', '.join(TASKS)}, which are what this program runs")
    return named
