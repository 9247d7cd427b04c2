"""Work begun ahead of the one who takes its results: from one thread, or in several with one BLAS thread each.

Whoever takes results makes the next tasks too, and does with a result what is to be done, while those begun are being
computed: so texts are read, tokenised and decoded beside the matrix products, and no thread waits at the end of a chunk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

Task = TypeVar("Task")
Begun = tuple[Task, Any]
Compute = Callable[[Callable[[Task], Any], Iterable[Task]], Iterator[Begun[Task]]]
"""(function, tasks) → each task and what the function made of it, in order."""

AHEAD = 2
"""Tasks begun for each thread: one that it computes, and one for when that is done."""


@contextmanager
def workers(count: int) -> Iterator[Compute[Any]]:
    """How tasks are computed: from this thread if count is 1 (mlx's streams belong to theirs), or in `count` threads.

    From one thread the next task is begun before one is handed out, so that a device is never idle. Each of several
    threads gets one BLAS thread: two batches at once beat one batch on two threads, which wait for each other. A task that
    is the only one gets all of BLAS's. The threads have ended once the block is left.
    """
    if count == 1:
        yield lambda function, tasks: _ahead(lambda task: _made(function(task)), tasks, 1)
        return
    with ThreadPoolExecutor(count) as pool:

        def compute(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Begun[Any]]:
            tasks = iter(tasks)
            first = list(islice(tasks, 2))
            if len(first) < 2:
                yield from ((task, function(task)) for task in first)
                return
            with one_blas_thread:
                yield from _ahead(lambda task: pool.submit(function, task).result, chain(first, tasks), AHEAD * count)

        try:
            yield compute
        finally:
            pool.shutdown(cancel_futures=True)


def _made(result: Any) -> Callable[[], Any]:
    return lambda: result


def _ahead(begin: Callable[[Task], Callable[[], Any]], tasks: Iterable[Task], most: int) -> Iterator[Begun[Task]]:
    """Each task and its result, with up to `most` begun behind it. Where `tasks` fails, what was begun comes first."""
    waiting: deque[tuple[Task, Callable[[], Any]]] = deque()
    failure: Exception | None = None
    source = iter(tasks)
    while True:
        try:
            task = next(source)
            waiting.append((task, begin(task)))
        except StopIteration:
            break
        except Exception as error:
            failure = error
            break
        if len(waiting) > most:
            task, result = waiting.popleft()
            yield task, result()
    while waiting:
        task, result = waiting.popleft()
        yield task, result()
    if failure is not None:
        raise failure


class _OneBlasThread:
    """A block in which BLAS has one thread; as it was before, once the last of several that overlap is left.

    threadpoolctl (from 3.7 on) lets the first thread that sets OpenBLAS's limit alone set it until that one ends, and does
    nothing for any other. So the limit is set, and lifted, from threads that end at once: whoever enters here first may live
    longer than whoever leaves last, and BLAS would keep its one thread for good.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import ThreadpoolController

        with self._lock:
            if not self._inside:
                self._limit = _elsewhere(lambda: ThreadpoolController().select(user_api="blas").limit(limits=1))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _elsewhere(self._limit.restore_original_limits)


def _elsewhere(function: Callable[[], Any]) -> Any:
    """What the function returns, called in a thread that ends with it; here, where the interpreter starts none any more."""
    try:
        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(function)
    except RuntimeError:
        return function()
    return begun.result()


one_blas_thread = _OneBlasThread()
