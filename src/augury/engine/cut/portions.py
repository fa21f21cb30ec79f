"""A finite stream cut into portions that threads match side by side: the same matches as at once, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.arrivals import Arrivals
from augury.engine.cut.by_key import key_shares, shared_key
from augury.engine.cut.by_time import TimeChunk, halo_of, why_not_by_time
from augury.ir.terms import Strategy
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import MatchParts
from augury.runtime.state import LONG_AGO

PORTION_EVENTS = 1 << 16
"""Events of a portion at most: what a kernel remembers of them stays in the caches of a processor."""

FIRST_PORTION_EVENTS = 1 << 15
"""Events of a portion before it is known how many matches they have."""

MIN_PORTION_EVENTS = 1 << 12  # fewer cost more to begin with than to match

PORTION_MATCHES = 1 << 17
"""Matches that a portion should have at most: what sorts and writes them stays in the caches as well."""

STEP_EVENTS = 1 << 16
"""Events that one kernel takes at a time of a stream that is not cut: what it remembers of them stays in the caches."""

WINDOWS_PER_PORTION = 4
"""A portion of time is no shorter than so many windows, since it sees one more on either side."""


class NotInOrder(Exception):
    """Events that come before events that were read earlier: such a stream has to be sorted first."""


@dataclass(slots=True)
class PortionSize:
    """How many events the next portion of a stream is to have, as told by the matches in those before.

    >>> size = PortionSize()
    >>> size.note(events=16_384, matches=100)
    >>> size.events
    65536
    >>> size.note(events=65_536, matches=640_000)
    >>> size.events
    13421
    """

    events: int = FIRST_PORTION_EVENTS
    most: int = PORTION_EVENTS

    def share(self, events: int, threads: int) -> None:
        """There are so many events in all, which are to give every thread a portion that is not too small.

        >>> size = PortionSize()
        >>> size.share(40_000, threads=2)
        >>> size.events
        20000
        """
        self.events = min(self.events, max(2 * MIN_PORTION_EVENTS, -(-events // threads)))

    def note(self, events: int, matches: int) -> None:
        """So many events had so many matches."""
        least = min(MIN_PORTION_EVENTS, self.most)
        self.events = max(least, min(self.most, events * PORTION_MATCHES // max(1, matches)))


def _ascending(pieces: Iterable[Arrivals]) -> Iterator[Arrivals]:
    """The pieces that hold events, as long as these are in the order of time; else `NotInOrder`."""
    last = LONG_AGO
    for piece in pieces:
        if len(piece):
            if piece.time[0] < last or (np.diff(piece.time) < 0).any():
                raise NotInOrder
            last = int(piece.time[-1])
            yield piece


def whole_times(pieces: Iterable[Arrivals]) -> Iterator[Arrivals]:
    """The events of pieces that are in the order of time, cut so that concurrent ones are together."""
    held: Arrivals | None = None
    for piece in _ascending(pieces):
        if held is None:
            held = piece
        elif held.time[-1] < piece.time[0]:
            # As a rule no event is concurrent with one of the next piece, and the piece is handed on as it is.
            yield held
            held = piece
        else:
            complete = int(np.searchsorted(held.time, held.time[-1]))
            if complete:
                yield held.slice(0, complete)
            held = held.slice(complete, len(held)) + piece
    if held is not None:
        yield held


def in_steps(events: Arrivals, size: int) -> Iterator[Arrivals]:
    """Events in the order of time, so many at a time, or a few more so that concurrent ones are together."""
    first = 0
    while first < len(events):
        last = len(events)
        if first + size < last:
            last = int(np.searchsorted(events.time, events.time[first + size - 1], side="right"))
        yield events.slice(first, last)
        first = last


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Events that are matched apart; with a `chunk` those of their matches count that end in it."""

    events: Callable[[], Arrivals]
    chunk: TimeChunk | None = None

    def own_events(self) -> Arrivals:
        """The events of the portion's own time."""
        events = self.events()
        return events if self.chunk is None else events.where(self.chunk.owns(events.time))

    def owned(self, found: MatchSet) -> MatchSet:
        """The matches that are this portion's to report; they are ordered by their ends."""
        if self.chunk is None:
            return found
        low, high = self.chunk.low, self.chunk.high
        first = 0 if low is None else int(np.searchsorted(found.end, low))
        last = len(found) if high is None else int(np.searchsorted(found.end, high))
        return found.slice(first, last)


@dataclass(frozen=True, slots=True)
class CutByTime:
    """The way to cut a stream whose matches depend on nothing but the events `halo` ticks around them."""

    halo: int

    def portions(self, events: Arrivals, size: PortionSize) -> Iterator[Portion]:
        """The stream in stretches of time of about `size` events."""
        return self.while_read([events], size)

    def while_read(self, pieces: Iterable[Arrivals], size: PortionSize) -> Iterator[Portion]:
        """The same of a stream that comes in pieces; no more of it is kept than the next stretch needs.

        Pieces that are not in the order of time raise `NotInOrder`.
        """
        held: Arrivals | None = None
        low: int | None = None
        for piece in _ascending(pieces):
            held = piece if held is None else held + piece
            while (high := self._next_bound(held.time, low, size.events)) is not None:
                chunk = TimeChunk(low, high, self.halo)
                yield self._portion(held, chunk)
                held = held.slice(int(np.searchsorted(held.time, high - self.halo)), len(held))
                low = high
        if held is not None:
            yield self._portion(held, TimeChunk(low, None, self.halo))

    def _next_bound(self, time: Integers, low: int | None, size: int) -> int | None:
        """Where a stretch that begins at `low` ends; None if all that is known of the stream belongs to it."""
        first = 0 if low is None else int(np.searchsorted(time, low))
        if first + size + size // 2 >= len(time):
            return None
        high = max(int(time[first + size]), int(time[first]) + WINDOWS_PER_PORTION * self.halo + 1)
        return high if high + self.halo <= time[-1] else None

    def _portion(self, events: Arrivals, chunk: TimeChunk) -> Portion:
        last = len(events) if chunk.seen_until is None else int(np.searchsorted(events.time, chunk.seen_until))
        return Portion(lambda: events.slice(0, last), chunk)

    def joined(self, events: Arrivals, parts: Sequence[MatchSet]) -> MatchParts:
        """The matches of all portions, which are in the order of their ends."""
        return MatchParts(parts[0].variables, tuple(part for part in parts if len(part)))


@dataclass(frozen=True, slots=True)
class CutByKey:
    """The way to cut a stream whose matches agree on the columns `key`."""

    key: tuple[str, ...]

    def portions(self, events: Arrivals, size: PortionSize) -> Iterator[Portion]:
        """The stream in shares of its keys, which have about as many events as `size` allows if no key has many."""
        shares = max(1, min(len(events) // size.most, np.iinfo(np.int16).max))
        share = key_shares(events.table, self.key, shares, nested=True).astype(np.int16)
        order = np.argsort(share, kind="stable")
        # To take rows of a table in many pieces takes several times as long.
        whole = replace(events, table=events.table.combine_chunks())
        last = 0
        for count in np.bincount(share, minlength=shares).tolist():
            first, last = last, last + count
            if count:
                yield self._portion(whole, order[first:last])

    def _portion(self, events: Arrivals, positions: npt.NDArray[np.intp]) -> Portion:
        return Portion(lambda: events.take(positions))

    def joined(self, events: Arrivals, parts: Sequence[MatchSet]) -> MatchSet:
        """The matches of all portions, in the order in which one kernel would have reported them."""
        found = MatchSet.concat(parts[0].variables, parts)
        order = np.lexsort((found.start, found.end))
        same_as_next = (np.diff(found.start[order]) == 0) & (np.diff(found.end[order]) == 0)
        if same_as_next.any():
            tied = np.flatnonzero(np.append(same_as_next, False) | np.append(False, same_as_next))
            times = np.append(0, np.cumsum(~same_as_next))[tied]
            words = _words(found.take(order[tied]), events)
            order[tied] = order[tied][sorted(range(len(tied)), key=lambda k: (times[k], words[k]))]
        return found.take(order)


def _words(found: MatchSet, events: Arrivals) -> list[tuple[list[int], ...]]:
    """What matches of the same times compare by: the places of their events in the stream, variable by variable."""
    if (found.completed_by >= 0).any():
        return [([place],) for place in events.positions(found.completed_by).tolist()]
    lists = []
    for rows in found.rows:
        places = events.positions(rows.flatten().to_numpy()).tolist()
        ends = np.cumsum(rows.value_lengths().to_numpy()).tolist()
        lists.append([places[first:last] for first, last in zip([0, *ends], ends, strict=False)])
    return list(zip(*lists, strict=True))


Cut: TypeAlias = CutByTime | CutByKey


def ways_to_cut(query: CompiledQuery) -> tuple[Cut, ...]:
    """How the stream of a query may be cut, the best way first; none for a query that has to see it as a whole."""
    alone = CompiledProgram((query,))
    ways: list[Cut] = []
    if why_not_by_time(alone) is None:
        ways.append(CutByTime(halo_of(alone)))
    key = shared_key(alone)
    # Shares of keys are put in order by time, which is not enough where other columns order the events as well.
    if key and len(query.bound.schema.order_by) == 1 and not one_pass_is_cheap(query):
        ways.append(CutByKey(key))
    return tuple(ways)


def one_pass_is_cheap(query: CompiledQuery) -> bool:
    """Whether a kernel takes less time for the events than sharing them out by key would.

    Where events are contiguous a partition has a run or two: an event takes some 10 ns, to share it out some 100.
    """
    return query.bound.strategies <= {Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY}


def why_not_cut(query: CompiledQuery) -> str | None:
    """Why the stream of a query is not cut, None if it is."""
    if ways_to_cut(query):
        return None
    alone = CompiledProgram((query,))
    if shared_key(alone) and one_pass_is_cheap(query):
        return "to share out events by key would take longer than to match contiguous ones"
    return why_not_by_time(alone)
