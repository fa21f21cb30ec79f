"""What the runs have found: written out, checked against what must be absent, and reported when it is certain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.codegen.eager_nfa import EagerNfaSource
from augury.codegen.eager_state import OUT, EagerState, Expanded, Segment
from augury.codegen.tier import Tier
from augury.errors import TooManyMatches
from augury.ir.query import CountWindow, TimeWindow, Window
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import SharedMatches
from augury.runtime.state import FOREVER

MOST_EVENTS = 2**31 - 1
"""Events that the matches of one step may hold in all: Arrow's lists count them in 32 bits."""

CHUNK = 1 << 18
"""How many events of matches are written out at a time."""

SLICE = 64
"""How many events, or matches, a kernel takes at a time while it may still be compiled."""


def span_of(window: Window | None) -> int:
    """How far the start of a match may lie behind its end, in ticks or places; -1 for any distance."""
    match window:
        case TimeWindow(ticks):
            return ticks
        case CountWindow(events):
            return events - 1
        case None:
            return -1


class Reporting:
    """The last part of a step, from nodes of the match buffer to matches."""

    def __init__(self, plan: EagerNfaPlan, source: EagerNfaSource, options: Options, code: Tier, support: Tier) -> None:
        self.plan, self.source, self.options, self.code, self.support = plan, source, options, code, support
        self.positive = tuple(v.name for v in plan.query.variables if not v.negated)
        self.nothing = MatchSet.of(self.positive, ())
        self.variable_of = np.array([self.positive.index(v) for v in source.component_variables], dtype=np.int64)
        self.branch_of = np.array(source.branch_of_component, dtype=np.int64)
        self.opens = np.array([any(p.open for p in b.absent) for b in plan.branches])
        self.waits = bool(self.opens.any())
        bound = {frozenset(c.variable for c in b.components) for b in plan.branches}
        self.overlapping = len(bound) < len(plan.branches)

    def starts(self, live: EagerState) -> Integers:
        """What the window is measured in, by event."""
        return live.events.view("place" if isinstance(self.plan.query.window, CountWindow) else "time")

    def expand(self, live: EagerState, before: int) -> Expanded:
        """Write out the matches of the nodes reported so far."""
        finals = live.pool["OUT"][: int(live.nums[OUT])]
        parts, count = [], before
        for some in self._write_out(finals, live.pool, self.starts(live)):
            parts.append(some)
            count += len(some)
            if count > self.options.max_matches:
                raise TooManyMatches(
                    f"more than {self.options.max_matches} matches\n = help: raise max_matches, ask for OUTPUT "
                    "NONOVERLAP, shorten WITHIN, add predicates, or let them stay compressed"
                )
        live.nums[OUT] = 0
        return Expanded.of(parts)

    def _write_out(self, finals: Integers, pool: Mapping[str, npt.NDArray[Any]], start: Integers) -> Iterator[Expanded]:
        """The matches that end at the nodes `finals`, some at a time."""
        state = np.zeros(3, dtype=np.int64)
        at, n = 0, len(finals)
        # No match is longer than the buffer up to its last node; the first piece is small, as most are all there is.
        longest = int(finals.max()) + 2
        stack, cursor = (np.empty(longest, dtype=np.int64) for _ in range(2))
        size = max(4096, longest)
        while at < n:
            offsets = np.empty(size + 1, dtype=np.int64)
            offsets[0] = 0
            events, codes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
            state[1:] = 0
            size = max(CHUNK, longest)
            at = self.support(
                "expand",
                at,
                n,
                finals,
                *(pool[k] for k in ("NE", "NP", "NC", "NT", "NM", "XN", "XX")),
                start,
                span_of(self.plan.query.window),
                state,
                stack,
                cursor,
                offsets,
                events,
                codes,
            )
            m, entries = int(state[1]), int(state[2])
            yield Expanded(offsets[: m + 1], events[:entries], codes[:entries])

    @property
    def shares(self) -> bool:
        """Whether matches may stay in the buffer: nothing but the runs decides about them."""
        return (
            self.options.compressed
            and self.plan.query.output is OutputMode.ALL
            and not self.source.negated
            and not self.overlapping
        )

    def shared(self, live: EagerState) -> SharedMatches:
        segments, live.segments = tuple(live.segments), []
        return SharedMatches(
            self.positive,
            lambda: min(2**61, sum(map(self._count, segments))),
            lambda: (batch for segment in segments for batch in self._batches(segment)),
        )

    def _count(self, segment: Segment) -> int:
        scratch = (np.empty(len(segment.buffer["NE"]) + 1, dtype=np.int64) for _ in range(6))
        stamp = np.full(len(segment.buffer["NE"]) + 1, -1, dtype=np.int64)
        arrays = (segment.buffer[k] for k in ("NE", "NP", "NT", "NM", "XN", "XX"))
        return int(
            self.support(
                "count",
                len(segment.finals),
                segment.finals,
                *arrays,
                segment.start,
                span_of(self.plan.query.window),
                *scratch,
                stamp,
            )
        )

    def _batches(self, segment: Segment) -> Iterator[MatchSet]:
        for some in self._write_out(segment.finals, segment.buffer, segment.start):
            yield self._match_set(some, segment.rank, segment.time, segment.rows)

    def report(self, live: EagerState, found: Expanded, watermark: int) -> MatchSet:
        """The matches that are certain now; the others wait."""
        if not len(found):
            return self.nothing
        live.pending = Expanded.none()
        if self.waits:
            waiting = self.opens[self._branches(found)] & ~self._window_closed(live, found, watermark)
            live.pending = found.take(np.flatnonzero(waiting))
            found = found.take(np.flatnonzero(~waiting))
        if self.source.negated and len(found):
            found = found.take(np.flatnonzero(self._absent(live, found)))
        if self.overlapping:
            found = self._distinct(found)
        if self.plan.query.output is OutputMode.NONOVERLAP:
            found = self._non_overlapping(live, found, watermark)
        view = live.events.view
        return self._match_set(found, view("rank"), view("time"), view("rows"))

    def _branches(self, found: Expanded) -> Integers:
        """The branch that found each match."""
        return self.branch_of[found.codes[found.offsets[1:] - 1]]

    def _window_closed(self, live: EagerState, found: Expanded, watermark: int) -> npt.NDArray[np.bool_]:
        """Which matches no event still to come can share a window with."""
        first = found.events[found.offsets[:-1]]
        match self.plan.query.window:
            case _ if watermark == FOREVER:
                return np.ones(len(found), dtype=bool)
            case TimeWindow(ticks):
                return watermark > live.events.view("time")[first] + ticks
            case CountWindow(events):
                counts: Integers = live.pool["COUNT"][live.events.view("partition")[first]]
                return counts >= live.events.view("place")[first] + events
            case _:
                return np.zeros(len(found), dtype=bool)

    def _by_variable(self, found: Expanded, order: Integers, rows: Integers) -> tuple[Integers, Integers]:
        """The matches `order` variable by variable: offsets of each, and the rows of all events."""
        offsets = np.empty((len(self.positive), len(order) + 1), dtype=np.int64)
        by_variable = np.empty(int(found.offsets[-1]), dtype=np.int64)
        self.support(
            "split", order, found.offsets, found.events, found.codes, self.variable_of, rows, offsets, by_variable
        )
        return offsets, by_variable

    def _absent(self, live: EagerState, found: Expanded) -> npt.NDArray[np.uint8]:
        """1 for each match beside which no negated part occurs."""
        stream = live.stream(self.source)
        n = live.events.length
        starts, parts, events = [0], [], []
        for k in range(len(self.source.negated)):
            fits = np.zeros(n, dtype=np.uint8)
            self.code("fits", k, n, fits, *stream)
            candidates = np.flatnonzero(fits)
            partition = live.events.view("partition")[candidates]
            order = np.argsort(partition, kind="stable")
            parts.append(partition[order])
            events.append(candidates[order])
            starts.append(starts[-1] + len(candidates))
        offsets, by_variable = self._by_variable(found, np.arange(len(found)), np.arange(n))
        keep = np.zeros(len(found), dtype=np.uint8)
        matches = (
            self._branches(found),
            found.offsets,
            found.events,
            offsets,
            by_variable,
            np.array(starts, dtype=np.int64),
            np.concatenate(parts).astype(np.int64),
            np.concatenate(events).astype(np.int64),
        )
        at = 0
        while at < len(found):
            end = min(len(found), at + SLICE) if self.code.warming_up else len(found)
            self.code("absent", at, end, keep, *stream, *matches)
            at = end
        return keep

    def _distinct(self, found: Expanded) -> Expanded:
        """Each match once, also if two branches that bind the same variables found it."""
        seen: dict[tuple[bytes, bytes], int] = {}
        for m in range(len(found)):
            part = slice(int(found.offsets[m]), int(found.offsets[m + 1]))
            seen.setdefault((found.events[part].tobytes(), self.variable_of[found.codes[part]].tobytes()), m)
        return found.take(np.array(list(seen.values()), dtype=np.int64))

    def _order(self, found: Expanded, rank: Integers) -> Integers:
        """By end, then start, then the events of the variables in pattern order."""
        if len(found) == 1:
            return np.zeros(1, dtype=np.int64)
        first, last = rank[found.events[found.offsets[:-1]]], rank[found.events[found.offsets[1:] - 1]]
        order = np.lexsort((first, last))
        ends, starts = last[order], first[order]
        if ((ends[1:] == ends[:-1]) & (starts[1:] == starts[:-1])).any():
            lists = self._by_variable(found, np.arange(len(found)), np.arange(len(rank)))
            self.support("order_ties", order, first, last, *lists, np.empty_like(order))
        return order

    def _non_overlapping(self, live: EagerState, found: Expanded, watermark: int) -> Expanded:
        """What is left when overlapping matches are passed over; what ends at the watermark or waits stays pending."""
        rank, time = live.events.view("rank"), live.events.view("time")
        partition = live.events.view("partition")
        strict_key = bool(self.plan.query.partition_by)
        blocked = self._blocked(live)
        keep, wait = [], []
        first, last = found.events[found.offsets[:-1]], found.events[found.offsets[1:] - 1]
        for m in self._order(found, rank).tolist():
            p = int(partition[first[m]]) if strict_key else 0
            key = (int(rank[last[m]]), int(rank[first[m]]))
            if (watermark != FOREVER and time[last[m]] >= watermark) or (p in blocked and blocked[p] < key):
                wait.append(m)
            elif p not in live.ends or rank[first[m]] > live.ends[p][0]:
                keep.append(m)
                live.ends[p] = (int(rank[last[m]]), int(time[last[m]]))
        live.pending = live.pending + found.take(np.array(wait, dtype=np.int64))
        return found.take(np.array(keep, dtype=np.int64))

    def _blocked(self, live: EagerState) -> dict[int, tuple[int, int]]:
        """Per partition, the first match in the order of (end, start) that is not certain yet."""
        rank, partition = live.events.view("rank"), live.events.view("partition")
        blocked: dict[int, tuple[int, int]] = {}
        for m in range(len(live.pending)):
            first = live.pending.events[live.pending.offsets[m]]
            last = live.pending.events[live.pending.offsets[m + 1] - 1]
            p = int(partition[first]) if self.plan.query.partition_by else 0
            key = (int(rank[last]), int(rank[first]))
            blocked[p] = min(blocked.get(p, key), key)
        return blocked

    def _match_set(self, found: Expanded, rank: Integers, time: Integers, rows: Integers) -> MatchSet:
        if not len(found):
            return self.nothing
        if len(found.events) > MOST_EVENTS:
            raise TooManyMatches(
                f"{len(found)} matches of {len(found.events)} events in one batch\n = help: feed smaller batches, "
                "or let the matches stay compressed"
            )
        order = self._order(found, rank)
        offsets, events = self._by_variable(found, order, rows)
        columns = tuple(
            pa.ListArray.from_arrays(_arrow((o - o[0]).astype(np.int32)), _arrow(events[int(o[0]) : int(o[-1])]))
            for o in offsets
        )
        first, last = found.events[found.offsets[:-1]][order], found.events[found.offsets[1:] - 1][order]
        one = np.ones(len(found), dtype=np.int64)
        return MatchSet(self.positive, columns, time[first], time[last], None, one, -one)


def _arrow(values: npt.NDArray[Any]) -> pa.Array:
    """An Arrow array over the same memory; `pa.array` would import pandas to look at it."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
