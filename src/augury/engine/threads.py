"""The threads of a call, and the portions of a finite stream matched on them."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from queue import SimpleQueue
from typing import TypeVar

from augury.compiler import CompiledQuery, load
from augury.engine.arrivals import Arrivals
from augury.engine.cut.portions import Portion
from augury.options import Options
from augury.runtime.matches import MatchSet
from augury.runtime.row_matches import RowMatches
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, Kernel, RunState
from augury.timing import CallStage

QUEUED_ITEMS_PER_THREAD = 2
"""Items per thread that are running or queued, one more in all, so that few are in memory.

Results are taken in their order. With one item, threads were idle while the first of three took longer than the others.
"""

QUEUED_LARGE_ITEMS_PER_THREAD = 1
"""The same where items take much memory: pieces of contiguous events, matches with all columns of their events."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(options: Options) -> int:
    """The threads that a call may use."""
    return cores() if options.threads is None else options.threads


class Workers:
    """The threads of a call: pieces are read and matched by the same ones, so that no more run than there are cores.

    So many items per thread are running or `queued`, and one more in all. A worker that maps in turn does so on its
    own.

    >>> workers = Workers(2)
    >>> list(workers.map(lambda x: x * x, workers.map(abs, range(-4, 1))))
    [16, 9, 4, 1, 0]
    """

    def __init__(self, threads: int, queued: int = QUEUED_ITEMS_PER_THREAD) -> None:
        self.threads, self.queued = threads, queued
        self._pool = _pool(threads) if threads > 1 and not _this_thread.works else None

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results of `work` for each item, in their order; items are pulled as threads become free."""
        if self._pool is None:
            yield from map(work, items)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(self._pool.submit(work, item))
                if len(waiting) > self.queued * self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # After an error the others are not waited for: running ones stop with the budget, or are done soon.
            for future in waiting:
                future.cancel()


class _ThisThread(threading.local):
    works = False


_this_thread = _ThisThread()


def _work() -> None:
    _this_thread.works = True


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that calls share: starting some takes as long as matching ten thousand events."""
    return ThreadPoolExecutor(threads, thread_name_prefix="augury", initializer=_work)


if hasattr(os, "register_at_fork"):
    # A forked process has the pool, but not its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def map_in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """The same as `Workers.map`.

    >>> list(map_in_threads(lambda x: x * x, range(5), 2))
    [0, 1, 4, 9, 16]
    """
    return Workers(threads).map(work, items)


def matched(
    query: CompiledQuery, portions: Iterable[Portion], options: Options, workers: Workers
) -> Iterator[tuple[int, MatchSet | RowMatches]]:
    """The number of events of each portion and the matches that it owns, in the order of the portions."""
    # A kernel serves one thread at a time.
    kernels: SimpleQueue[tuple[Kernel, RunState | None]] = SimpleQueue()
    clock = options.clock
    with clock.stage(CallStage.LOADING):
        for _ in range(workers.threads):
            kernels.put((load(query, options), None))

    def one(portion: Portion) -> tuple[int, MatchSet | RowMatches]:
        kernel, state = kernels.get()
        try:
            with clock.helping(), clock.stage(CallStage.MATCHING):
                events = portion.events()
                clock.count(CallStage.MATCHING, len(events))
                begin = kernel.start() if state is None else kernel.restart(state)
                state, found = kernel.step(begin, events.batch(query.bound.schema), FOREVER)
                return len(events), portion.owned(found, events)
        except BaseException:
            state = None
            raise
        finally:
            kernels.put((kernel, state))

    return clock.threaded(workers.map(one, portions))


def matched_in_steps(
    query: CompiledQuery, steps: Iterable[Arrivals], options: Options
) -> Iterator[tuple[int, MatchSet]]:
    """The number of events of each step and its matches, for a stream that one kernel matches step by step."""
    with options.clock.stage(CallStage.LOADING):
        kernel = load(query, options)
    state, waiting = kernel.start(), None
    for events in chain(steps, [None]):
        if waiting is not None:
            # No event that is still to come is earlier than the next one.
            watermark = FOREVER if events is None else int(events.time[0])
            with options.clock.stage(CallStage.MATCHING, len(waiting)):
                state, found = kernel.step(state, waiting.batch(query.bound.schema), watermark)
                matches = enumerated(found)
            yield len(waiting), matches
        waiting = events
