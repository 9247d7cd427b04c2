"""Request: which model is to run, how, and on which corpus – what `run`, `errors` and `latency` are all asked.

ModelChoice is the model's half: read by this process, and by the fresh ones that `latency` starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .asked_labels import asked_labels

if TYPE_CHECKING:
    from .corpora import Corpus, CorpusStream, Document
    from .runtime.classifier import TokenClassifier


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The options of a command that decide how a model runs; label_map as on the command line."""

    directory: str
    engine: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    aggregation: str = "simple"
    stride: int | None = None
    batch_tokens: int | None = None
    label_map: str | None = None
    compile: bool | None = None
    verify: bool = True
    gliner_labels: Sequence[str] | None = None
    gliner_threshold: float | None = None

    def load(
        self,
        lap: Callable[[str], Any] = lambda phase: None,
        rename: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None,
    ) -> TokenClassifier:
        """The classifier. lap, rename: as in TokenClassifier.load; names come from label_map if rename is not given.

        Raises ModelError and UsageError.
        """
        from .runtime.loading import load_classifier

        return load_classifier(
            self.directory,
            gliner_labels=self.gliner_labels,
            gliner_threshold=self.gliner_threshold,
            engine=self.engine,
            device=self.device,
            dtype=self.dtype,
            aggregation=self.aggregation,
            stride=self.stride,
            batch_tokens=self.batch_tokens,
            compile=self.compile,
            verify=self.verify,
            rename=rename or self._renamed,
            lap=lap,
        )

    def _renamed(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        if self.label_map in (None, "none"):  # these tables name labels of scores; a model's tags keep theirs
            return labels
        from .labels import LabelMap

        return LabelMap.load(self.label_map).tags(labels)


@dataclass(frozen=True, slots=True)
class Request:
    """The options that these commands share, by their names on the command line. model and corpus None: the embedded demo.

    manifest: the file of the user's own models. verify: compare the model's files with the hashes of its own
    openmed-mlx.json, and those of a model given by name with the manifest's.
    """

    model: str | None = None
    corpus: str | None = None
    format: str | None = None
    discontinuous: str = "hull"
    skip_bad: bool = False
    suite: str | None = None
    label_map: str | None = None
    limit: int | None = None
    engine: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    stride: int | None = None
    aggregation: str = "simple"
    compile: bool | None = None
    verify: bool = True
    manifest: str | None = None
    gliner_labels: str | Sequence[str] | None = None
    gliner_threshold: float | None = None

    @property
    def choice(self) -> ModelChoice:
        directory: Any = self.model
        if directory is None:
            from .demo import model_path

            directory = model_path()
        elif not Path(directory).exists():  # the name of a pulled model, it may be; a folder needs no manifest
            from .model_manifest.locating import model_directory

            directory = model_directory(str(directory), self.manifest, verify=self.verify)
        labels = None if self.gliner_labels is None else asked_labels(self.gliner_labels)
        how = self.engine, self.device, self.dtype, self.aggregation, self.stride, self.batch_tokens, self.label_map
        more = self.compile, self.verify, labels, self.gliner_threshold
        return ModelChoice(str(directory), *how, *more)

    def read(self) -> Corpus:
        """The whole corpus; `limit` is the caller's. Raises UsageError and InputError."""
        from .corpora import load_corpus

        return load_corpus(self._corpus(), self.format, name=self._name(), **self._reading())

    def open(self, see: Callable[[int, Document], Any]) -> CorpusStream:
        """As `read`, but held nowhere. see: as in open_corpus."""
        from .corpora import open_corpus

        return open_corpus(self._corpus(), self.format, name=self._name(), see=see, **self._reading())

    def _corpus(self) -> Any:
        if self.corpus is not None:
            return self.corpus
        from .demo import corpus_path

        return corpus_path()

    def _name(self) -> str | None:
        return self.suite or (None if self.corpus is not None else "demo")

    def _reading(self) -> dict[str, Any]:
        return {"skip_bad": self.skip_bad, "discontinuous": self.discontinuous}
