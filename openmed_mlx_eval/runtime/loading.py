"""Loading: which classifier runs a model directory. What it is for decides, by a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ModelError, UsageError
from .artifact import MANIFEST, Artifact, open_artifact, read_object
from .classifier import TokenClassifier
from .families.base import TOKEN_CLASSIFICATION
from .families.gliner import ZERO_SHOT
from .tasks import task_name


def load_classifier(
    directory: str | Path,
    *,
    gliner_labels: Sequence[str] | None = None,
    gliner_threshold: float | None = None,
    artifact: Artifact | None = None,
    **options: Any,
) -> TokenClassifier:
    """The classifier of a model directory, a SpanClassifier where labels are given with the text.

    gliner_labels, gliner_threshold: of such a model, and of no other. artifact, options: of TokenClassifier.load. Raises
    UsageError where labels are missing or refused, and as TokenClassifier.load does.
    """
    task = _task(Path(directory)) if artifact is None else artifact.family.task
    return _LOADERS[task](gliner_labels, gliner_threshold)(directory, artifact=artifact, **options)


def _task(root: Path) -> str:
    if not root.is_dir():
        open_artifact(root)  # says so
    manifest = root / MANIFEST
    try:
        return task_name(root, read_object(manifest) if manifest.is_file() else None)
    except ModelError:
        return TOKEN_CLASSIFICATION  # opening it says what is wrong


def _of_tokens(labels: Sequence[str] | None, threshold: float | None) -> Callable[..., TokenClassifier]:
    for option, value in (("--gliner-labels", labels), ("--gliner-threshold", threshold)):
        if value is not None:
            raise UsageError(f"{option}: this is no GLiNER model, and has labels of its own – leave it out")
    return TokenClassifier.load


def _of_spans(labels: Sequence[str] | None, threshold: float | None) -> Callable[..., TokenClassifier]:
    if not labels:
        raise UsageError('this GLiNER model finds the labels it is given – say which with --gliner-labels "person,date,…"')
    from .span_classifier import SpanClassifier

    def load(*where: Any, **options: Any) -> TokenClassifier:
        return SpanClassifier.load(*where, labels=labels, threshold=threshold, **options)

    return load


_LOADERS = {TOKEN_CLASSIFICATION: _of_tokens, ZERO_SHOT: _of_spans}
