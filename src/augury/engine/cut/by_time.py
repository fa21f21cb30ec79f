"""Cutting a stream by time: each chunk is matched apart, with a halo of one window of events on either side.

A match needs no event farther from it than WITHIN. A chunk therefore sees the events of its own times and of one
window around them, and finds every match that begins (or ends) in it. Matches in a halo are found by two chunks, and
reported by the one that owns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from augury.compiler import CompiledProgram
from augury.engine.stages import StageResult
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.runtime.batch import Integers
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, LONG_AGO


@dataclass(frozen=True, slots=True)
class TimeChunk:
    """The times from `low` up to, not including, `high` (ticks; None is open), and a halo of ticks on either side.

    >>> chunk = TimeChunk(10, 20, halo=3)
    >>> chunk.owns(np.array([9, 10, 19, 20])).tolist(), chunk.sees(np.array([6, 7, 22, 23])).tolist()
    ([False, True, True, False], [False, True, True, False])
    """

    low: int | None
    high: int | None
    halo: int

    def owns(self, time: Integers) -> npt.NDArray[np.bool_]:
        """A mask of the times that lie in the chunk."""
        return _between(time, self.low, self.high)

    def sees(self, time: Integers) -> npt.NDArray[np.bool_]:
        """A mask of the times that lie in the chunk or in its halo."""
        return _between(time, self.seen_from, self.seen_until)

    @property
    def seen_from(self) -> int | None:
        """The first time of the halo."""
        return None if self.low is None else self.low - self.halo

    @property
    def seen_until(self) -> int | None:
        """The first time after the halo."""
        return None if self.high is None else self.high + self.halo


def _between(time: Integers, low: int | None, high: int | None) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(time), dtype=bool)
    if low is not None:
        inside &= time >= low
    if high is not None:
        inside &= time < high
    return inside


class TimeCut(Protocol):
    """A way to cut time into numbered chunks."""

    @property
    def halo(self) -> int:
        """Ticks on either side of a chunk whose events it needs as well."""

    def chunk(self, number: int) -> TimeChunk:
        """The chunk of this number."""

    def home(self, time: Integers) -> Integers:
        """The number of the chunk that each time lies in."""


@dataclass(frozen=True, slots=True)
class CutAt:
    """A finite stream cut at `bounds` (ticks, increasing): chunk k begins at bound k - 1 and ends before bound k.

    >>> cut = CutAt((10, 20), halo=3)
    >>> cut.chunk(1)
    TimeChunk(low=10, high=20, halo=3)
    >>> cut.home(np.array([5, 10, 25])).tolist()
    [0, 1, 2]
    """

    bounds: tuple[int, ...]
    halo: int

    def __len__(self) -> int:
        return len(self.bounds) + 1

    def chunk(self, number: int) -> TimeChunk:
        low = None if number == 0 else self.bounds[number - 1]
        high = None if number == len(self.bounds) else self.bounds[number]
        return TimeChunk(low, high, self.halo)

    def home(self, time: Integers) -> Integers:
        return np.searchsorted(np.array(self.bounds, dtype=np.int64), time, "right")


@dataclass(frozen=True, slots=True)
class CutEvery:
    """An endless stream cut into chunks of `length` ticks: chunk k begins at k * length.

    >>> cut = CutEvery(100, halo=10)
    >>> cut.chunk(2)
    TimeChunk(low=200, high=300, halo=10)
    >>> cut.home(np.array([-1, 0, 99])).tolist()
    [-1, 0, 0]
    """

    length: int
    halo: int

    def chunk(self, number: int) -> TimeChunk:
        return TimeChunk(number * self.length, (number + 1) * self.length, self.halo)

    def home(self, time: Integers) -> Integers:
        return time // self.length


def copies(cut: TimeCut, time: Integers) -> tuple[Integers, Integers]:
    """Repeat each event for every chunk that sees it: the positions of the events, and the numbers of the chunks.

    >>> rows, chunks = copies(CutAt((10, 20), halo=3), np.array([5, 8, 12]))
    >>> rows.tolist(), chunks.tolist()
    ([0, 1, 1, 2, 2], [0, 0, 1, 0, 1])
    """
    # Times at the ends of the range of 64 bits stay there instead of wrapping round.
    first = cut.home(np.maximum(time, LONG_AGO + cut.halo) - cut.halo)
    last = cut.home(np.minimum(time, FOREVER - cut.halo) + cut.halo)
    number = last - first + 1
    rows = np.repeat(np.arange(len(time)), number)
    before = np.cumsum(number) - number
    return rows, first[rows] + np.arange(len(rows)) - before[rows]


def owned(found: StageResult, chunk: TimeChunk, *, by_end: bool) -> StageResult:
    """The matches that begin, or with `by_end` those that end, in a chunk."""
    matches = enumerated(found.matches)
    inside = chunk.owns(matches.end if by_end else matches.start)
    return found if inside.all() else replace(found, matches=matches.take(np.flatnonzero(inside)))


def why_not_by_time(program: CompiledProgram) -> str | None:
    """Why the stream of a program cannot be cut by time, or None when it can.

    It can if a match depends only on the events within a window of it.
    """
    if len(program.queries) > 1:
        return "a later query of a program sees events that an earlier one derives"
    query = program.last.bound
    if not query.one_by_one:
        paced = " EVERY" if query.every is not None else " ONCE" if query.once else ""
        return f"with OUTPUT {query.output}{paced} a match depends on others"
    if query.longest_silence is not None:
        return "NOT ... FOR may look beyond the window"
    if query.threshold is not None:
        return "the score of a match in a lossy stream depends on what is missing"
    if query.window is None:
        return "without WITHIN a match may span the whole stream"
    if not isinstance(query.window, TimeWindow):
        return "WITHIN counts events, not time"
    return None


def halo_of(program: CompiledProgram) -> int:
    """The halo that a program which can be cut by time needs, in ticks: its window."""
    window = program.last.bound.window
    assert isinstance(window, TimeWindow)
    return window.ticks


def owned_by_end(program: CompiledProgram) -> bool:
    """Whether a match belongs to the chunk it ends in: LATEST and COUNT decide at the last event of a match."""
    return program.last.bound.output in (OutputMode.LATEST, OutputMode.COUNT)


def cut_at_quantiles(quantiles: Sequence[int], halo: int) -> CutAt:
    """Cut at quantiles into chunks of about equally many events; none is shorter than its halo.

    >>> cut_at_quantiles([5, 6, 20, 90], halo=10).bounds
    (5, 20, 90)
    """
    bounds: list[int] = []
    for time in sorted(quantiles):
        if not bounds or time - bounds[-1] > halo:
            bounds.append(time)
    return CutAt(tuple(bounds), halo)
