"""A finite stream cut into portions that threads match in parallel; matches and their order stay the same."""

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
from augury.runtime.batch import Integers, ascends
from augury.runtime.matches import MatchSet
from augury.runtime.row_matches import RowMatches
from augury.runtime.shared import FoundMatches, MatchParts, enumerated
from augury.runtime.state import LONG_AGO

MAX_PORTION_EVENTS = 1 << 16
"""Largest portion, in events: the state of a kernel for them fits into the processor caches."""

FIRST_PORTION_EVENTS = 1 << 15
"""Events of the first portions, before it is known how many matches they have."""

MIN_PORTION_EVENTS = 1 << 12  # smaller portions cost more to start than to match

MAX_PORTION_MATCHES = 1 << 17
"""Matches that a portion should have at most, so that sorting and writing them stays within the caches too."""

MAX_UNCUT_STEP_EVENTS = 1 << 17
"""Events in one step of a kernel over a stream that is not cut, at most: its state for them fits into the caches."""

MAX_SHOWN_PORTION_MATCHES = 1 << 16
"""Matches that a portion should have at most if their columns are written to a file, which takes most of the memory."""

MIN_WINDOWS_PER_PORTION = 4
"""Shortest portion of time, in windows: it has to read one more window on either side."""


class NotInOrder(Exception):
    """An event is earlier than one that was read before it: the stream has to be sorted first."""


@dataclass(slots=True)
class PortionSize:
    """The number of events of the next portion, adapted to the number of matches in earlier portions.

    >>> size = PortionSize()
    >>> size.note(events=16_384, matches=100)
    >>> size.events
    65536
    >>> size.note(events=65_536, matches=640_000)
    >>> size.events
    13421
    """

    events: int = FIRST_PORTION_EVENTS
    max_events: int = MAX_PORTION_EVENTS
    max_matches: int = MAX_PORTION_MATCHES

    def fit_threads(self, events: int, threads: int) -> None:
        """Lower the size so that `events` in all give every thread a portion, but none that is too small.

        >>> size = PortionSize()
        >>> size.fit_threads(40_000, threads=2)
        >>> size.events
        20000
        """
        self.events = min(self.events, max(2 * MIN_PORTION_EVENTS, -(-events // threads)))

    def note(self, events: int, matches: int) -> None:
        """Adapt the size to the events and the matches of a finished portion."""
        least = min(MIN_PORTION_EVENTS, self.max_events)
        self.events = max(least, min(self.max_events, events * self.max_matches // max(1, matches)))


def _ascending(pieces: Iterable[Arrivals]) -> Iterator[Arrivals]:
    """The pieces that are not empty; raises `NotInOrder` if their events are not in the order of time."""
    last = LONG_AGO
    for piece in pieces:
        if len(piece):
            if piece.time[0] < last or not ascends(piece.time):
                raise NotInOrder
            last = int(piece.time[-1])
            yield piece


def whole_times(pieces: Iterable[Arrivals]) -> Iterator[Arrivals]:
    """Cut pieces, which are in the order of time, anew so that concurrent events are in the same piece."""
    held: Arrivals | None = None
    for piece in _ascending(pieces):
        if held is None:
            held = piece
        elif held.time[-1] < piece.time[0]:
            # Mostly no event is concurrent with one of the next piece, and the piece needs no cut.
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
    """Cut events, which are in the order of time, into steps of `size`, longer if concurrent events follow."""
    first = 0
    while first < len(events):
        last = end_of_step(events, first, size)
        yield events.slice(first, last)
        first = last


def end_of_step(events: Arrivals, first: int, size: int) -> int:
    """The end of a step from `first` on, of `size` events or more if concurrent ones follow."""
    if first + size >= len(events):
        return len(events)
    return int(np.searchsorted(events.time, events.time[first + size - 1], side="right"))


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Events that are matched on their own; with a `chunk`, only the matches that end in it are reported."""

    events: Callable[[], Arrivals]
    chunk: TimeChunk | None = None

    def own_events(self) -> Arrivals:
        """The events of the portion's own time."""
        events = self.events()
        return events if self.chunk is None else events.where(self.chunk.owns(events.time))

    def owned(self, found: FoundMatches, events: Arrivals) -> MatchSet | RowMatches:
        """The matches that this portion reports; `found` is ordered by the ends of matches, in `events`."""
        found = found.over(events.rows, events.time) if isinstance(found, RowMatches) else enumerated(found)
        if self.chunk is None:
            return found
        low, high = self.chunk.low, self.chunk.high
        first = 0 if low is None else found.ends_before(low)
        last = len(found) if high is None else found.ends_before(high)
        return found.slice(first, last)


@dataclass(frozen=True, slots=True)
class CutByTime:
    """Cuts a stream by time, if matches depend only on the events within `halo` ticks of them."""

    halo: int

    def portions(self, events: Arrivals, size: PortionSize) -> Iterator[Portion]:
        """The stream in portions of time with about `size` events each."""
        return self.while_read([events], size)

    def while_read(self, pieces: Iterable[Arrivals], size: PortionSize) -> Iterator[Portion]:
        """The portions of a stream that comes in pieces, of which only what the next portion needs is kept.

        Raises `NotInOrder` if the pieces are not in the order of time.
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
        """The end of the portion that begins at `low`; None if all events read so far belong to it."""
        first = 0 if low is None else int(np.searchsorted(time, low))
        if first + size + size // 2 >= len(time):
            return None
        high = max(int(time[first + size]), int(time[first]) + MIN_WINDOWS_PER_PORTION * self.halo + 1)
        return high if high + self.halo <= time[-1] else None

    def _portion(self, events: Arrivals, chunk: TimeChunk) -> Portion:
        last = len(events) if chunk.seen_until is None else int(np.searchsorted(events.time, chunk.seen_until))
        return Portion(lambda: events.slice(0, last), chunk)

    def joined(self, events: Arrivals, parts: Sequence[MatchSet | RowMatches]) -> MatchParts:
        """The matches of all portions, which are in the order of their ends."""
        return MatchParts(parts[0].variables, tuple(part for part in parts if len(part)))


@dataclass(frozen=True, slots=True)
class CutByKey:
    """Cuts a stream by key, if the events of a match agree on the columns `key`."""

    key: tuple[str, ...]

    def portions(self, events: Arrivals, size: PortionSize) -> Iterator[Portion]:
        """The stream in hash partitions of its keys, with about as many events as `size` allows if no key is heavy."""
        shares = max(1, min(len(events) // size.max_events, np.iinfo(np.int16).max))
        share = key_shares(events.table, self.key, shares, nested=True).astype(np.int16)
        order = np.argsort(share, kind="stable")
        # Taking rows is several times slower if a table has many chunks.
        whole = replace(events, table=events.table.combine_chunks())
        last = 0
        for count in np.bincount(share, minlength=shares).tolist():
            first, last = last, last + count
            if count:
                yield self._portion(whole, order[first:last])

    def _portion(self, events: Arrivals, positions: npt.NDArray[np.intp]) -> Portion:
        return Portion(lambda: events.take(positions))

    def joined(self, events: Arrivals, parts: Sequence[MatchSet | RowMatches]) -> MatchSet:
        """The matches of all portions, in the order in which one kernel would have reported them."""
        return in_report_order(MatchSet.concat(parts[0].variables, map(enumerated, parts)), events.positions)


def in_report_order(found: MatchSet, positions: Callable[[Integers], Integers]) -> MatchSet:
    """Matches in the order in which one kernel reports them; `positions` of rows are those in the stream."""
    order = np.lexsort((found.start, found.end))
    same_as_next = (np.diff(found.start[order]) == 0) & (np.diff(found.end[order]) == 0)
    if same_as_next.any():
        tied = np.flatnonzero(np.append(same_as_next, False) | np.append(False, same_as_next))
        times = np.append(0, np.cumsum(~same_as_next))[tied]
        words = _words(found.take(order[tied]), positions)
        order[tied] = order[tied][sorted(range(len(tied)), key=lambda k: (times[k], words[k]))]
    return found.take(order)


def _words(found: MatchSet, positions: Callable[[Integers], Integers]) -> list[tuple[list[int], ...]]:
    """The sort keys of matches with equal times: the positions of their events in the stream, variable by variable."""
    if (found.completed_by >= 0).any():
        return [([place],) for place in positions(found.completed_by).tolist()]
    lists = []
    for rows in found.rows:
        places = positions(rows.flatten().to_numpy()).tolist()
        ends = np.cumsum(rows.value_lengths().to_numpy()).tolist()
        lists.append([places[first:last] for first, last in zip([0, *ends], ends, strict=False)])
    return list(zip(*lists, strict=True))


Cut: TypeAlias = CutByTime | CutByKey


def ways_to_cut(query: CompiledQuery) -> tuple[Cut, ...]:
    """The ways to cut the stream of a query, the best first; empty for a query that needs the stream as a whole."""
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
    """Whether one kernel takes less time for all events than partitioning them by key would.

    Under contiguity a partition has one or two runs: an event takes some 10 ns to match, and some 100 to partition.
    """
    return query.bound.strategies <= {Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY}


def reports_at_the_end(query: CompiledQuery) -> bool:
    """Whether every match is certain at its last event, so that the matches of a step follow those of earlier steps.

    Event sets are reported once no further event can be of them.
    """
    bound = query.bound
    if query.choice.plan.family == "event-sets":
        return False
    return bound.reports_all and not any(variable.negated for variable in bound.variables)


def can_start_anywhere(query: CompiledQuery) -> bool:
    """Whether the matches that begin in a piece of the stream depend on nothing before it, and soon end after it.

    Runs of contiguous events end at the first event that does not fit (`engine/cut/by_start.py`).
    """
    return one_pass_is_cheap(query) and reports_at_the_end(query) and query.bound.threshold is None


def why_not_cut(query: CompiledQuery) -> str | None:
    """Why the stream of a query is not cut; None if it is."""
    if ways_to_cut(query) or can_start_anywhere(query):
        return None
    alone = CompiledProgram((query,))
    if shared_key(alone) and one_pass_is_cheap(query):
        return "to share out events by key would take longer than to match contiguous ones"
    return why_not_by_time(alone)
