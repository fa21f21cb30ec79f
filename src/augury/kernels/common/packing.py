"""Matches of one event a variable, put in order and written by way of one number each (`augury.native.packed`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from augury.jit.tier import Tier
from augury.runtime.batch import Integers
from augury.runtime.memory import empty_array

Rows = npt.NDArray[np.int64]
"""A row of events for each match, or of rows of the stream for each variable."""

DIGIT_BITS = 11  # bits sorted by one pass of the radix sort; its 2,048 counts fit in the L1 cache

KEY_BITS = 63  # bits of a non-negative 64-bit integer

MAX_EVENTS_PER_MATCH = 16  # all events that matches span are ranked anew, which is not worth it for a few matches


@dataclass(frozen=True, slots=True, eq=False)
class PackedMatches:
    """Matches as numbers that compare as they do, of so many `bits`, and what is needed to read them.

    They are of the events from `low` on; `firsts` are the first ones of each rank among these. `longest`, `shifts` and
    `widths` say what the parts of a number are.
    """

    keys: Integers
    bits: int
    low: int
    firsts: Integers
    longest: int
    shifts: Integers
    widths: Integers
    sequential: bool

    def write(
        self, support: Tier, time: Integers, rows: Integers, events: Rows, start: Integers, end: Integers
    ) -> None:
        """Write the matches in order: rows by variable to `events`, and their starts and ends."""
        keys, other = self.keys, empty_array(len(self.keys))
        counts = np.zeros((-(-self.bits // DIGIT_BITS), 1 << DIGIT_BITS), np.int64)
        if support("sort_packed", keys, DIGIT_BITS, counts, other):
            keys = other
        parts = self.longest, self.shifts, self.widths, self.sequential, self.firsts
        support("write_packed", keys, *parts, time[self.low :], rows[self.low :], events, start, end)


def _dense(rank: Integers) -> tuple[Integers, Integers]:
    """Ranks that begin with 0 and have no gaps, and the first event of each."""
    fresh = np.diff(rank) > 0
    return np.append(0, np.cumsum(fresh)), np.append(0, np.flatnonzero(fresh) + 1)


def order_plainly(matches: Rows, columns: Integers, rank: Integers, *, sequential: bool) -> Integers:
    """The order of matches by the same numbers, without a compiler; by one of their parts after the other if these
    would be too wide.

    >>> order_plainly(np.array([[1, 2], [0, 2], [0, 1]]), np.arange(2), np.arange(3), sequential=True).tolist()
    [2, 1, 0]
    """
    low, high = int(matches.min()), int(matches.max()) + 1
    ranks, firsts = _dense(rank[low:high])
    matches = matches - low
    first, last = (matches[:, 0], matches[:, -1]) if sequential else (matches.min(axis=1), matches.max(axis=1))
    begin, end = ranks[first], ranks[last]
    length, base = end - begin, firsts[begin]
    parts = [end, length.max() - length, *(matches[:, v] - base for v in columns)]
    widths = [int(part.max()).bit_length() for part in parts]
    if sum(widths) > KEY_BITS:
        return np.lexsort(parts[::-1])
    keys = parts[0]
    for part, width in zip(parts[1:], widths[1:], strict=True):
        keys = (keys << width) | part
    if (keys[1:] > keys[:-1]).all():
        return np.arange(len(keys))
    return np.argsort(keys, kind="stable")


def write_plainly(
    order: Integers,
    columns: Integers,
    matches: Rows,
    time: Integers,
    rows: Integers,
    out: Rows,
    start: Integers,
    end: Integers,
) -> None:
    """Write matches as `augury.native.ordering.write_rows` does, without a compiler."""
    ordered = matches[order]
    out[:] = rows[ordered.T[columns]]
    if len(start):
        start[:], end[:] = time[ordered.min(axis=1)], time[ordered.max(axis=1)]


def packed(
    support: Tier, matches: Rows, columns: Integers, rank: Integers, *, sequential: bool
) -> PackedMatches | None:
    """Matches as numbers; None if these would be too wide, or matches are few for the events that they span.

    Variable v of a match is bound to the event in column `columns[v]`. In `sequential` ones the events of all variables
    follow one another.
    """
    low, high = int(matches.min()), int(matches.max()) + 1
    if high - low > MAX_EVENTS_PER_MATCH * len(matches):
        return None
    ranks, firsts = _dense(rank[low:high])
    most = np.empty(matches.shape[1] + 1, dtype=np.int64)
    support("measure_rows", matches, columns, low, ranks, firsts, sequential, most)
    widths = [number.bit_length() for number in most.tolist()]
    # How long a match is comes first, then the variables from the first to the last.
    shifts = np.append(np.cumsum(widths[::-1])[::-1] - widths, sum(widths))
    bits = sum(widths) + int(ranks[-1]).bit_length()
    if bits > KEY_BITS:
        return None
    keys, longest = empty_array(len(matches)), int(most[0])
    support("pack_rows", matches, columns, low, ranks, firsts, sequential, longest, shifts, keys)
    return PackedMatches(keys, bits, low, firsts, longest, shifts, np.array(widths), sequential)
