"""Where the time of a run went: laps of one after the other, and what was spent between them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Clock:
    """Seconds from lap to lap of one run."""

    def __init__(self, started: float) -> None:
        self._started = self._last = started
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> float:
        """The time since the last lap goes to this one, too if it was there before."""
        now = time.perf_counter()
        self._laps[name], self._last = self._laps.get(name, 0.0) + now - self._last, now
        return self._laps[name]

    def split(self, name: str, parts: Mapping[str, float]) -> float:
        """Take what was spent on parts of a lap to theirs. Returns what is left of it."""
        for part, seconds in parts.items():
            self._laps[part] = self._laps.get(part, 0.0) + seconds
            self._laps[name] -= seconds
        return self._laps[name]

    def timing(self, *, documents: int, seconds: float) -> dict[str, Any]:
        """The laps, their total, and the rate of so many documents in so many seconds."""
        laps = {name: round(lap, 6) for name, lap in self._laps.items()}
        return {
            **laps,
            "total_s": round(time.perf_counter() - self._started, 6),
            "documents_per_second": round(documents / seconds, 3) if documents and seconds > 0 else None,
        }


class Spent:
    """Seconds spent on what goes on between other things, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def within(self, name: str, values: Iterable[T]) -> Iterator[T]:
        """The values, and the time it takes to get each."""
        iterator = iter(values)
        while True:
            started = time.perf_counter()
            try:
                value = next(iterator)
            except StopIteration:
                return
            finally:
                self._add(name, started)
            yield value

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._add(name, started)

    def _add(self, name: str, started: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
