"""A model in whatever form a user holds it, as one function from documents to spans. Nothing is scored here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError
from .labels import LabelMap

Runner = Callable[[Any, str, str], Iterable[Any]]
"""OpenMed's: (fixture, model name, device) to spans."""


@dataclass(frozen=True, slots=True)
class Predictor:
    """A model in whatever form it came, as one function; name and device as the result says them. seams: a text → the offsets
    at which one window of the model ends and the next takes over, where they are known."""

    name: str
    device: str
    predict: Callable[[Sequence[Any]], Iterable[Iterable[Any]]]
    seams: Callable[[str], Sequence[int]] | None = None


def predictor_of(
    model: Any, *, model_name: str | None = None, device: str = "auto", runner: Runner | None = None, labels: LabelMap
) -> Predictor:
    """A directory, an object with `predict(texts)`, a function from a text to its spans, or OpenMed's runner.

    With neither model nor runner, model_name is the directory. device: for a directory what it runs on, for a runner
    what it is told. labels: gives names to the labels of a checkpoint that has none. Raises UsageError for anything
    else, ModelError for a directory that cannot be run.
    """
    name = model_name
    if runner is not None:
        if model is not None:
            raise UsageError("give a model or a runner, not both")
        called = name or "runner"
        return Predictor(_shown(called), device, lambda documents: (runner(document, called, device) for document in documents))
    if model is None and name is None:
        raise UsageError("give a model: a directory, an object with predict(texts), or a function from text to spans")
    if model is None or isinstance(model, str | os.PathLike):
        from .runtime.classifier import TokenClassifier

        directory: Any
        directory, name = (model, name) if model is not None else (name, None)
        model = TokenClassifier.load(os.fspath(directory), device=device, rename=labels.tags)
    if hasattr(model, "predict"):
        artifact, ops = getattr(model, "artifact", None), getattr(model, "ops", None)
        shown = name or getattr(artifact, "name", None) or type(model).__name__
        return Predictor(
            _shown(shown),
            getattr(ops, "device", device),
            lambda documents: model.predict([document.text for document in documents]),
            getattr(model, "seams", None),
        )
    if callable(model):
        return Predictor(_shown(name or "function"), device, lambda documents: (model(document.text) for document in documents))
    raise UsageError("the model is no directory, has no predict(texts) and cannot be called with a text")


def _shown(name: str) -> str:
    """A model's name without the folders it lies in."""
    return Path(name).name if Path(name).is_absolute() else name
