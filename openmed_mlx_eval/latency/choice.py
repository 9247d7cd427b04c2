"""ModelChoice: which model is measured and how it is run. Read by this process and by the fresh ones it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.classifier import TokenClassifier


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

    def load(
        self,
        lap: Callable[[str], Any] = lambda phase: None,
        rename: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None,
    ) -> TokenClassifier:
        """The classifier. lap, rename: as in TokenClassifier.load; names come from label_map if rename is not given.

        Raises ModelError and UsageError.
        """
        from ..runtime.classifier import TokenClassifier

        return TokenClassifier.load(
            self.directory,
            engine=self.engine,
            device=self.device,
            dtype=self.dtype,
            aggregation=self.aggregation,
            stride=self.stride,
            batch_tokens=self.batch_tokens,
            rename=rename or self._renamed,
            lap=lap,
        )

    def _renamed(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        if self.label_map in (None, "none"):  # these tables name labels of scores; a model's tags keep theirs
            return labels
        from ..labels import LabelMap

        return LabelMap.load(self.label_map).tags(labels)
