"""Under `mlx.launch`: every rank runs one shard, and rank 0 gets all of them over mlx.distributed and merges.

What goes over the wire are a shard's files, which hold no text; no folder need be shared between the machines. A rank
that fails sends why, so that nobody waits for it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import EvaluationError, UsageError
from .merging import Merged, merge

Files = Mapping[str, Iterable[str]]


class Ranks:
    """The processes that were launched together. rank: this one's place, from 0. size: how many."""

    def __init__(self) -> None:
        """Raises UsageError where the processes cannot be joined."""
        try:
            import mlx.core as mx

            self._group = mx.distributed.init(strict=True)
        except (ImportError, RuntimeError, ValueError):
            raise UsageError(
                "mlx.launch: the processes cannot be joined – try --backend ring, or run --shard and merge"
            ) from None
        self._mx = mx
        self.rank, self.size = self._group.rank(), self._group.size()

    @property
    def shard(self) -> str:
        """I/N of `run --shard`."""
        return f"{self.rank + 1}/{self.size}"

    def merged(self, made: Callable[[], Files]) -> Merged | None:
        """What `merge` makes of every rank's files, on rank 0; None on the others.

        made: runs this rank's shard and gives {name: pieces of text}. Raises, on every rank, what was wrong on the first that
        failed.
        """
        message: dict[str, Any]
        try:
            message = {"files": {name: "".join(pieces) for name, pieces in made().items()}}
        except EvaluationError as error:
            message = {"failed": str(error), "exit_code": error.exit_code}
        messages = [json.loads(data) for data in self._gathered(json.dumps(message).encode())]
        for number, one in enumerate(messages, start=1):
            if "failed" in one:
                failure = EvaluationError(f"rank {number - 1}: {one['failed']}")
                failure.exit_code = one["exit_code"]
                raise failure
        return None if self.rank else _merged(one["files"] for one in messages)

    def _gathered(self, data: bytes) -> list[bytes]:
        """The bytes of every rank, in their order; each is sent as long as the longest."""
        import numpy as np

        mx = self._mx
        with mx.stream(mx.cpu):
            lengths = np.array(mx.distributed.all_gather(mx.array([len(data)], dtype=mx.int32), group=self._group)).tolist()
            padded = np.zeros((1, max(lengths)), dtype=np.uint8)
            padded[0, : len(data)] = np.frombuffer(data, dtype=np.uint8)
            rows = np.array(mx.distributed.all_gather(mx.array(padded), group=self._group))
        return [row[:length].tobytes() for row, length in zip(rows, lengths, strict=True)]


def _merged(files: Iterable[Mapping[str, str]]) -> Merged:
    with tempfile.TemporaryDirectory() as place:
        folders = []
        for number, by_name in enumerate(files, start=1):
            folders.append(Path(place) / str(number))
            folders[-1].mkdir()
            for name, text in by_name.items():
                (folders[-1] / name).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        return merge(folders)
