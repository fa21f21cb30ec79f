"""Ranges of time that are matched apart, each together with what lies within a window of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from augury.compiler import CompiledProgram
from augury.engine.stages import Found
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.runtime.batch import Integers
from augury.runtime.shared import enumerated


@dataclass(frozen=True, slots=True)
class Chunks:
    """Time cut at `bounds` (ticks, increasing): chunk k holds the times from bound k - 1 up to, not including, bound k.

    An event takes part in every chunk that comes within `reach` of it.

    >>> Chunks((10, 20), 3).limits(1)
    (10, 20)
    """

    bounds: tuple[int, ...]
    reach: int

    def __len__(self) -> int:
        return len(self.bounds) + 1

    def limits(self, chunk: int) -> tuple[int | None, int | None]:
        """The times of a chunk: from the first up to the second; None is open."""
        return (
            None if chunk == 0 else self.bounds[chunk - 1],
            None if chunk == len(self.bounds) else self.bounds[chunk],
        )

    def seen_in(self, time: Integers) -> tuple[Integers, Integers]:
        """Every event, by its position, in each chunk that it takes part in.

        >>> rows, chunks = Chunks((10, 20), 3).seen_in(np.array([5, 8, 12]))
        >>> rows.tolist(), chunks.tolist()
        ([0, 1, 1, 2, 2], [0, 0, 1, 0, 1])
        """
        bounds, limits = np.array(self.bounds, dtype=np.int64), np.iinfo(np.int64)
        first = np.searchsorted(bounds, np.maximum(time, limits.min + self.reach) - self.reach, "right")
        last = np.searchsorted(bounds, np.minimum(time, limits.max - self.reach) + self.reach, "right")
        number = last - first + 1
        rows = np.repeat(np.arange(len(time)), number)
        before = np.cumsum(number) - number
        return rows, first[rows] + np.arange(len(rows)) - before[rows]


def why_whole(program: CompiledProgram) -> str | None:
    """Why the stream of a program cannot be cut by time, or None when it can.

    A match must depend on nothing but the events within a window of it.
    """
    if len(program.queries) > 1:
        return "a later query of a program sees events that an earlier one derives"
    query = program.last.bound
    if query.output in (OutputMode.NONOVERLAP, OutputMode.COVER):
        return f"with OUTPUT {query.output} a match depends on those before it"
    if query.threshold is not None:
        return "the score of a match in a lossy stream depends on what is missing"
    if query.window is None:
        return "without WITHIN a match may span the whole stream"
    if not isinstance(query.window, TimeWindow):
        return "WITHIN counts events, not time"
    return None


def reach_of(program: CompiledProgram) -> int:
    """How far from a match the events lie that decide about it, in ticks."""
    window = program.last.bound.window
    assert isinstance(window, TimeWindow)
    return window.ticks


def by_end(program: CompiledProgram) -> bool:
    """Whether the event that completes a match, not the one it starts with, decides what is reported."""
    return program.last.bound.output in (OutputMode.LATEST, OutputMode.COUNT)


def cut(quantiles: Sequence[int], reach: int) -> Chunks:
    """Chunks with about the same number of events; none is shorter than a window, of which it would see three.

    >>> cut([5, 6, 20, 90], 10).bounds
    (5, 20, 90)
    """
    bounds: list[int] = []
    for time in sorted(quantiles):
        if not bounds or time - bounds[-1] > reach:
            bounds.append(time)
    return Chunks(tuple(bounds), reach)


def kept_in(found: Found, chunks: Chunks, chunk: int, *, by_end: bool) -> Found:
    """The matches that belong to a chunk, by their start or their end: each is found wherever seen, and kept once."""
    matches = enumerated(found.matches)
    at = matches.end if by_end else matches.start
    low, high = chunks.limits(chunk)
    inside = np.ones(len(matches), dtype=bool)
    if low is not None:
        inside &= at >= low
    if high is not None:
        inside &= at < high
    return found if inside.all() else replace(found, matches=matches.take(np.flatnonzero(inside)))
