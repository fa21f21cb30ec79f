"""The seconds that each stage of a call takes, and the rows that go through it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import TypeVar, assert_never

Item = TypeVar("Item")


class CallStage(StrEnum):
    """The stages of a call, in the order in which they run."""

    READING = "reading"
    PLANNING = "planning"
    LOADING = "compiling or loading"
    ENCODING = "encoding"
    MATCHING = "matching"
    WRITING = "writing results"
    OTHER = "everything else"

    @property
    def unit(self) -> tuple[str, str] | None:
        """The name of its rows in singular and plural; None for a stage that no rows go through."""
        match self:
            case CallStage.READING | CallStage.ENCODING | CallStage.MATCHING:
                return "event", "events"
            case CallStage.WRITING:
                return "match", "matches"
            case CallStage.PLANNING | CallStage.LOADING | CallStage.OTHER:
                return None
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class StageTime:
    """The wall time of a stage, and the rows that went through it."""

    stage: CallStage
    seconds: float
    rows: int


class Clock:
    """Collects the times of stages; this base class discards them, at next to no cost."""

    __slots__ = ()

    def stage(self, stage: CallStage, rows: int = 0) -> AbstractContextManager[None]:
        """Context manager that counts its time for `stage`, except for the time of stages inside it."""
        return _NOTHING

    def moved(self, stage: CallStage, seconds: float) -> None:
        """Count the last `seconds` for `stage`, and not for the stage that is running."""

    def count(self, stage: CallStage, rows: int) -> None:
        """Count `rows` more rows for `stage`."""

    def each(self, stage: CallStage, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; the time that it takes to get them counts for `stage`."""
        return iter(items)

    def threaded(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same items, computed by threads within `helping`, whose stages share the time spent waiting."""
        return iter(items)

    def helping(self) -> AbstractContextManager[None]:
        """Context manager of a worker thread, whose stages are part of what `threaded` waits for."""
        return _NOTHING


_NOTHING: AbstractContextManager[None] = nullcontext()

UNTIMED = Clock()
"""The clock of calls whose times nobody asks for, such as every batch of a stream."""


class Stopwatch(Clock):
    """Divides the wall time of a call among its stages, so that they add up to the whole.

    Where several threads work at once, the time that the caller waits for them is divided in proportion to what they
    did meanwhile.

    >>> watch = Stopwatch()
    >>> with watch.stage(CallStage.OTHER), watch.stage(CallStage.READING, rows=3):
    ...     pass
    >>> [(time.stage.value, time.rows) for time in watch.times()]
    [('reading', 3), ('everything else', 0)]
    """

    __slots__ = ("_helped", "_here", "_lock", "_rows", "_seconds", "_waited")

    def __init__(self, times: Iterable[StageTime] = ()) -> None:
        known = tuple(times)
        self._seconds = {time.stage: time.seconds for time in known}
        self._rows = {time.stage: time.rows for time in known}
        self._waited = 0.0
        self._helped: dict[CallStage, float] = {}
        self._lock = threading.Lock()
        self._here = _ThreadTimes()

    def times(self) -> tuple[StageTime, ...]:
        """The stages that took any time, in the order of `CallStage`."""
        with self._lock:
            seconds, rows = dict(self._seconds), dict(self._rows)
            work = sum(self._helped.values())
            shares: Mapping[CallStage, float] = {s: t / work for s, t in self._helped.items()} if work else {}
            for stage, share in (shares or {CallStage.MATCHING: 1.0}).items():
                seconds[stage] = seconds.get(stage, 0.0) + share * self._waited
        return tuple(StageTime(stage, seconds[stage], rows.get(stage, 0)) for stage in CallStage if seconds.get(stage))

    def copy(self) -> Stopwatch:
        """A stopwatch with the same times, for another result of the same call."""
        return Stopwatch(self.times())

    def __reduce__(self) -> tuple[type[Stopwatch], tuple[tuple[StageTime, ...]]]:
        return Stopwatch, (self.times(),)

    def stage(self, stage: CallStage, rows: int = 0) -> AbstractContextManager[None]:
        return _Timed(self, stage, rows)

    def moved(self, stage: CallStage, seconds: float) -> None:
        self._here.inside += seconds
        self.add(stage, seconds)

    def count(self, stage: CallStage, rows: int) -> None:
        self.add(stage, 0.0, rows)

    def add(self, stage: CallStage | None, seconds: float, rows: int = 0) -> None:
        """Count seconds and rows for a stage; None stands for waiting for other threads."""
        with self._lock:
            if stage is None:
                self._waited += seconds
                return
            into = self._helped if self._here.helping else self._seconds
            into[stage] = into.get(stage, 0.0) + seconds
            self._rows[stage] = self._rows.get(stage, 0) + rows

    def each(self, stage: CallStage, items: Iterable[Item]) -> Iterator[Item]:
        return self._each(stage, items)

    def threaded(self, items: Iterable[Item]) -> Iterator[Item]:
        return self._each(None, items)

    def _each(self, stage: CallStage | None, items: Iterable[Item]) -> Iterator[Item]:
        iterator = iter(items)
        while True:
            with _Timed(self, stage, 0):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    @contextmanager
    def helping(self) -> Iterator[None]:
        here = self._here
        inside, helping = here.inside, here.helping
        here.helping = True
        try:
            yield
        finally:
            # One thread alone does the work itself: what it did is not taken off what it waited.
            here.inside, here.helping = inside, helping


class _ThreadTimes(threading.local):
    """A stopwatch's notes on one thread: whether it is helping, and the seconds of stages inside the current one."""

    helping = False
    inside = 0.0


class _Timed:
    """Context manager that times one stage."""

    __slots__ = ("before", "began", "rows", "stage", "watch")

    def __init__(self, watch: Stopwatch, stage: CallStage | None, rows: int) -> None:
        self.watch, self.stage, self.rows = watch, stage, rows
        self.before = self.began = 0.0

    def __enter__(self) -> None:
        here = self.watch._here
        self.before, here.inside = here.inside, 0.0
        self.began = perf_counter()

    def __exit__(self, *error: object) -> None:
        took, here = perf_counter() - self.began, self.watch._here
        # Seconds that were `moved` may have been measured by another thread, and be a little longer.
        self.watch.add(self.stage, max(0.0, took - here.inside), self.rows)
        here.inside = self.before + took
