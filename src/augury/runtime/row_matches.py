"""Matches by the rows of their events alone, which take a third of the memory of a `MatchSet`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.runtime.batch import Integers
from augury.runtime.matches import FoundMatch, MatchSet, each_once, row_lists

ROW = np.dtype(np.int32)

MAX_ROW = int(np.iinfo(ROW).max)

Rows = npt.NDArray[np.int32]

SEARCHED_STRETCH = 1 << 9  # matches that are compared at once when the end of a portion is looked for


@dataclass(frozen=True, slots=True, eq=False)
class RowColumn:
    """The rows that each match binds to one variable: `rows[offsets[k]:offsets[k + 1]]`, or one each without offsets.

    Those of a match ascend. The first offset need not be 0.
    """

    rows: Rows
    offsets: Rows | None = None

    def slice(self, first: int, last: int) -> RowColumn:
        """The rows of the matches from `first` up to `last`, over the same memory."""
        if self.offsets is None:
            return RowColumn(self.rows[first:last])
        return RowColumn(self.rows, self.offsets[first : last + 1])

    def take(self, positions: Integers) -> RowColumn:
        """The rows of the matches at `positions`, in that order."""
        if self.offsets is None:
            return RowColumn(self.rows[positions])
        starts, sizes = self.offsets[positions], self.offsets[positions + 1] - self.offsets[positions]
        offsets = np.append(0, np.cumsum(sizes)).astype(ROW)
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
        return RowColumn(self.rows[places], offsets)

    def last(self, k: int) -> int:
        """The last row of match `k`; -1 if there is none."""
        if self.offsets is None:
            return self.rows.item(k)
        first, stop = self.offsets.item(k), self.offsets.item(k + 1)
        return self.rows.item(stop - 1) if stop > first else -1

    def bounds(self, matches: int) -> tuple[Integers, Integers]:
        """The first and the last row of each match; `MAX_ROW` and -1 where there is none."""
        if self.offsets is None:
            return self.rows.astype(np.int64), self.rows.astype(np.int64)
        first, last = np.full(matches, MAX_ROW, np.int64), np.full(matches, -1, np.int64)
        some = np.flatnonzero(np.diff(self.offsets))
        first[some], last[some] = self.rows[self.offsets[some]], self.rows[self.offsets[some + 1] - 1]
        return first, last

    def to_arrow(self, matches: int) -> pa.ListArray:
        """The same as a `MatchSet` has it."""
        if self.offsets is None:
            return row_lists(np.arange(matches + 1), self.rows.astype(np.int64))
        lo, hi = int(self.offsets[0]), int(self.offsets[-1])
        return row_lists(self.offsets - lo, self.rows[lo:hi].astype(np.int64))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.rows.nbytes + (0 if self.offsets is None else self.offsets.nbytes)


def _last_rows(columns: Sequence[RowColumn], part: slice) -> Rows:
    """The rows of the last events of some matches, which bind one event to each variable."""
    first, *others = (column.rows[part] for column in columns)
    return reduce(np.maximum, others, first)


@dataclass(frozen=True, slots=True, eq=False)
class RowMatches:
    """Matches in the order they are reported, of which only the rows of their events are written.

    Their times are looked up when they are asked for, in the columns of events among which all of theirs are:
    `event_rows`, which ascend, and `event_time`.

    >>> matches = RowMatches(("a", "b"), 2, (RowColumn(np.array([1, 1], ROW)), RowColumn(np.array([3, 5], ROW))),
    ...     np.array([1, 3, 5]), np.array([10, 30, 50]))
    >>> [(match.rows, match.start, match.end) for match in matches.enumerate()]
    [(((1,), (3,)), 10, 30), (((1,), (5,)), 10, 50)]
    """

    variables: tuple[str, ...]
    matches: int
    columns: tuple[RowColumn, ...]
    event_rows: Integers
    event_time: Integers

    def __len__(self) -> int:
        return self.matches

    def __iter__(self) -> Iterator[FoundMatch]:
        return iter(self.enumerate())

    def batches(self) -> Iterator[MatchSet]:
        """All matches, in one set."""
        yield self.enumerate()

    @property
    def nbytes(self) -> int:
        """The memory that the columns of matches take."""
        return sum(column.nbytes for column in self.columns)

    def over(self, event_rows: Integers, event_time: Integers) -> RowMatches:
        """The same matches with other columns of the same events, such as ones that a kernel does not change."""
        return replace(self, event_rows=event_rows, event_time=event_time)

    def slice(self, first: int, last: int) -> RowMatches:
        """The matches from `first` up to `last`, over the same memory."""
        if (first, last) == (0, self.matches):
            return self
        return replace(self, matches=last - first, columns=tuple(c.slice(first, last) for c in self.columns))

    def ends_before(self, time: int) -> int:
        """How many matches end before `time`; they are in the order of their ends."""
        later = int(np.searchsorted(self.event_time, time))
        if later == len(self.event_rows):
            return self.matches
        row = self.event_rows.item(later)
        if all(column.offsets is None for column in self.columns):
            # Matches far apart say which stretch to look at: two searches take less than a dozen steps in Python.
            apart = _last_rows(self.columns, slice(0, self.matches, SEARCHED_STRETCH))
            stop = min(self.matches, int(apart.searchsorted(row)) * SEARCHED_STRETCH)
            first = max(0, (stop - 1) // SEARCHED_STRETCH * SEARCHED_STRETCH)
            return first + int(_last_rows(self.columns, slice(first, stop)).searchsorted(row))
        return bisect_left(range(self.matches), row, key=self._last_row)

    def _last_row(self, k: int) -> int:
        """The row of the last event of match `k`."""
        return max(column.last(k) for column in self.columns)

    def times(self) -> tuple[Integers, Integers]:
        """The times of the first and of the last event of each match."""
        bounds = [column.bounds(self.matches) for column in self.columns]
        first = np.minimum.reduce([low for low, _ in bounds])
        last = np.maximum.reduce([high for _, high in bounds])
        return self._time(first), self._time(last)

    def _time(self, rows: Integers) -> Integers:
        found: Integers = self.event_time[np.searchsorted(self.event_rows, rows)]
        return found

    def take(self, positions: Integers) -> MatchSet:
        """The matches at `positions`, in that order."""
        return replace(self, matches=len(positions), columns=tuple(c.take(positions) for c in self.columns)).enumerate()

    def enumerate(self) -> MatchSet:
        """All matches, with their times."""
        start, end = self.times()
        columns = tuple(column.to_arrow(self.matches) for column in self.columns)
        return MatchSet(self.variables, columns, start, end, None, *each_once(self.matches))
