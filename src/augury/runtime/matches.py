"""Matches as columns of row positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.errors import BudgetExceeded, HostError
from augury.ir.predicate import Value
from augury.runtime.arrow_numbers import to_arrow
from augury.runtime.batch import Integers
from augury.schema import INT_MAX, INT_MIN

MAX_LIST_ROWS = 2**31 - 1
"""Rows in one column of lists, whose offsets have 32 bits."""


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """One match: the rows bound to each positive variable, in pattern order; none for one that is not bound.

    `start` and `end` are the times of its earliest and latest event, in ticks. A partial match that OUTPUT TIMEOUTS
    reports has the `count` 0. Without rows it stands for the `count` matches that the event of row `completed_by`
    completes at `end` (OUTPUT COUNT), and `totals` are the aggregates over them that RETURN computes with.
    """

    rows: tuple[tuple[int, ...], ...]
    start: int
    end: int
    probability: float | None = None
    count: int = 1
    completed_by: int = -1
    totals: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MatchSet:
    """Matches in the order they are reported: by end, start, then rows.

    Two sets are equal when they hold the same matches, in whatever order.

    >>> a = MatchSet.of(("x",), [FoundMatch(((1,),), 5, 5), FoundMatch(((2,),), 6, 6)])
    >>> b = MatchSet.of(("x",), [FoundMatch(((2,),), 6, 6), FoundMatch(((1,),), 5, 5)])
    >>> len(a), a == b
    (2, True)
    """

    variables: tuple[str, ...]
    rows: tuple[pa.ListArray, ...]
    start: Integers
    end: Integers
    probability: npt.NDArray[np.float64] | None
    count: Integers
    completed_by: Integers
    totals: tuple[tuple[Value, ...], ...] = ()

    @classmethod
    def of(cls, variables: tuple[str, ...], matches: Iterable[FoundMatch]) -> MatchSet:
        """Columns from single matches."""
        found = list(matches)
        rows = tuple(_listed([m.rows[i] if m.rows else () for m in found]) for i in range(len(variables)))
        scored = any(m.probability is not None for m in found)
        return cls(
            variables,
            rows,
            np.array([m.start for m in found], dtype=np.int64),
            np.array([m.end for m in found], dtype=np.int64),
            np.array([m.probability for m in found], dtype=np.float64) if scored else None,
            np.array([m.count for m in found], dtype=np.int64),
            np.array([m.completed_by for m in found], dtype=np.int64),
            tuple(m.totals for m in found) if any(m.totals for m in found) else (),
        )

    def __len__(self) -> int:
        return len(self.start)

    @property
    def nbytes(self) -> int:
        """The memory that the columns take."""
        return int(sum(column.nbytes for column in self.rows)) + 40 * len(self)

    def __iter__(self) -> Iterator[FoundMatch]:
        for k in range(len(self)):
            yield self[k]

    def __getitem__(self, k: int) -> FoundMatch:
        rows = tuple(tuple(column[k].as_py()) for column in self.rows)
        return FoundMatch(
            rows if any(rows) else (),
            int(self.start[k]),
            int(self.end[k]),
            None if self.probability is None else float(self.probability[k]),
            int(self.count[k]),
            int(self.completed_by[k]),
            self.totals[k] if self.totals else (),
        )

    def take(self, positions: Integers) -> MatchSet:
        """The matches at `positions`, in that order."""
        return MatchSet(
            self.variables,
            tuple(column.take(to_arrow(positions)) for column in self.rows),
            self.start[positions],
            self.end[positions],
            None if self.probability is None else self.probability[positions],
            self.count[positions],
            self.completed_by[positions],
            tuple(self.totals[k] for k in positions) if self.totals else (),
        )

    def slice(self, first: int, last: int) -> MatchSet:
        """The matches from `first` up to `last`, over the same memory."""
        return MatchSet(
            self.variables,
            tuple(column.slice(first, last - first) for column in self.rows),
            self.start[first:last],
            self.end[first:last],
            None if self.probability is None else self.probability[first:last],
            self.count[first:last],
            self.completed_by[first:last],
            self.totals[first:last],
        )

    def ends_before(self, time: int) -> int:
        """How many matches end before `time`; they are in the order of their ends."""
        return int(np.searchsorted(self.end, time))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MatchSet):
            return NotImplemented
        return self.variables == other.variables and Counter(self) == Counter(other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: MatchSet) -> MatchSet:
        """The matches of both, those of `self` first."""
        return MatchSet.concat(self.variables, [self, other])

    @classmethod
    def concat(cls, variables: tuple[str, ...], parts: Iterable[MatchSet]) -> MatchSet:
        """The matches of all parts, in their order."""
        sets = [p for p in parts if len(p)]
        assert all(p.variables == variables for p in sets)
        if len(sets) < 2:
            return sets[0] if sets else cls.of(variables, ())
        for v in range(len(variables)):
            if sum(len(p.rows[v].flatten()) for p in sets) > MAX_LIST_ROWS:
                raise too_wide(sum(map(len, sets)))
        scores = [p.probability for p in sets]
        return cls(
            variables,
            tuple(pa.concat_arrays([p.rows[v] for p in sets]) for v in range(len(variables))),
            np.concatenate([p.start for p in sets]),
            np.concatenate([p.end for p in sets]),
            None if any(s is None for s in scores) else np.concatenate([s for s in scores if s is not None]),
            _joined([p.count for p in sets]),
            _joined([p.completed_by for p in sets]),
            tuple(row for p in sets for row in p.totals),
        )


_ONE, _NONE = np.array([1], dtype=np.int64), np.array([-1], dtype=np.int64)
_ONE.flags.writeable = _NONE.flags.writeable = False

_ROW, _ROWS = pa.int64(), pa.list_(pa.int64())


def each_once(matches: int) -> tuple[Integers, Integers]:
    """The columns `count` and `completed_by` of matches that stand for themselves, in memory that all of them share."""
    one, none = (np.ndarray((matches,), np.int64, number, strides=(0,)) for number in (_ONE, _NONE))
    return one, none


def row_lists(offsets: npt.NDArray[Any], rows: Integers) -> pa.ListArray:
    """The rows of each match, over the same memory; `pa.array` would import pandas to look at it."""
    return shared_lists(pa.py_buffer(offsets.astype(np.int32)), len(offsets) - 1, rows)


def shared_lists(offsets: pa.Buffer, matches: int, rows: Integers) -> pa.ListArray:
    """`row_lists` with offsets of 32 bits, which several columns may share."""
    values = pa.Array.from_buffers(_ROW, len(rows), [None, pa.py_buffer(rows)])
    return pa.Array.from_buffers(_ROWS, matches, [None, offsets], children=[values])


def _listed(lists: Sequence[Sequence[int]]) -> pa.ListArray:
    """A column of lists of rows."""
    return row_lists(
        np.cumsum([0, *map(len, lists)]), np.array([row for some in lists for row in some], dtype=np.int64)
    )


def _joined(columns: Sequence[Integers]) -> Integers:
    """Concatenate columns; if all of them broadcast the same value, so does the result."""
    if all(column.strides == (0,) and column[0] == columns[0][0] for column in columns):
        return np.broadcast_to(columns[0][:1], sum(map(len, columns)))
    return np.concatenate(columns)


def exact(total: int | None, what: str) -> int:
    """Check a count or sum over all matches that an event completes: None, or more than 64 bits, is an error.

    >>> exact(2**63 - 1, "the number of matches") == 2**63 - 1
    True
    """
    if total is None or not INT_MIN <= total <= INT_MAX:
        raise HostError(
            "A563",
            f"the result of OUTPUT COUNT does not fit 64 bits: {what} that an event completes is "
            + ("too great" if total is None else f"{total:.6g}" if abs(total) < 10**300 else "over 10^300"),
            "shorten WITHIN, add predicates or a partition key, bound the iteration (`{1,20}`), or ask for OUTPUT ALL "
            "with compressed=True, whose count() is exact whatever the number",
        )
    return total


def too_wide(matches: int) -> BudgetExceeded:
    """The error for matches that do not fit into one table."""
    return BudgetExceeded(
        "A601",
        f"too many events in one table of matches: {matches} matches bind more than {MAX_LIST_ROWS} events to a "
        "variable",
        "feed smaller batches, or let the matches stay compressed and write them out with to_batches()",
    )
