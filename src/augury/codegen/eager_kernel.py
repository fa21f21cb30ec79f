"""The eager automaton as a kernel: encode a batch, let the generated code consume it, write out what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.codegen.eager_nfa import COUNTERS, emit_eager_nfa, emitted_names
from augury.codegen.eager_state import (
    EDGES,
    FREE,
    KEYS,
    NODES,
    OUT,
    EagerState,
    Expanded,
    LiveTables,
    Segment,
    key_words,
)
from augury.codegen.source import KernelSource, kernel_source
from augury.codegen.tier import Tier
from augury.errors import HostError, TooManyMatches
from augury.ir.predicate import Ref
from augury.ir.query import CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.columns import ColumnSpec, EncodedBatch, encode
from augury.runtime.dictionary import ranks
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, SharedMatches
from augury.runtime.state import FOREVER, RunState

VERSION = 1

MOST_EVENTS = 2**31 - 1
"""Events that the matches of one step may hold in all: Arrow's lists count them in 32 bits."""

CHUNK = 1 << 18
"""How many events of matches are written out at a time."""

SLICE = 64
"""How many events, or matches, a kernel takes at a time while it may still be compiled."""


@cache
def _support() -> KernelSource:
    """The parts of the automaton that are the same for every query, compiled once for all of them."""
    names = {"number": 10, "expand": 18, "count": 15, "split": 8, "order_ties": 6, "sweep": 10, "collect": 14}
    text = "".join(
        f"@kernel\ndef {name}_all({', '.join(f'a{k}' for k in range(n))}):\n"
        f"    return {name}({', '.join(f'a{k}' for k in range(n))})\n\n\n"
        for name, n in names.items()
    )
    return kernel_source(text, tuple(f"{name}_all" for name in names))


class EagerKernel:
    """Runs the automata of a plan; all that it remembers of the events is in the state."""

    def __init__(self, plan: EagerNfaPlan, options: Options) -> None:
        self.plan = replace(plan, merge=plan.merge and options.merge)
        self.options = options
        self.source = emit_eager_nfa(self.plan, counters=options.counters)
        self.code = Tier(self.source.source, options, self.source.functions)
        self.support = Tier(_support(), options)
        self.nothing = MatchSet.of(self._positive, ())
        positive = self._positive
        self.variable_of = np.array([positive.index(v) for v in self.source.component_variables], dtype=np.int64)
        self.opens = np.array([any(p.open for p in b.absent) for b in plan.branches])
        self.branch_of = np.array(self.source.branch_of_component, dtype=np.int64)
        schema = plan.query.schema
        self.keys = tuple(
            ColumnSpec(f"key_{k}", schema[c].kind, Ref("e", c, schema[c]))
            for k, c in enumerate(plan.query.partition_by)
        )

    # -- the contract -----------------------------------------------------------------------------------------------

    def start(self) -> RunState:
        return self._saved(self._new_state())

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        live = self._live(state)
        # The arrays are changed in place: after an error halfway through, there is no way back.
        live.broken = True
        first = live.events.length
        encoded, live.encoding = encode(
            batch,
            self.plan.query.schema,
            (*self.source.specs, *self.keys),
            (),
            live.encoding,
            functions=self.options.callables,
            with_places=False,
        )
        live.events.append(encoded)
        self._number(live, first, encoded)
        found = live.pending + self._advance(live, first)
        matches = self._shared(live) if self.shares else self._report(live, found, watermark)
        live.horizon = self._horizon(live, watermark)
        if 2 * live.horizon > live.events.length and live.horizon > 1024:
            self._compact(live)
        live.broken = False
        return self._saved(live), matches

    def counters(self, state: RunState) -> dict[str, int]:
        """The measures of the papers, if the options asked for them."""
        live = self._live(state)
        return {name: int(live.nums[8 + k]) for k, name in enumerate(COUNTERS)}

    def _new_state(self) -> EagerState:
        walks = max(
            (len(j.each) for b in self.plan.branches for c in b.components for j in (*c.take, *c.whole)), default=0
        )
        return EagerState.start(
            self.source, keys=len(self.keys), with_places=self._counts, merge=self.plan.merge, walks=walks
        )

    def _saved(self, live: EagerState) -> RunState:
        rows = live.events.view("rows")[live.horizon :]
        oldest = int(rows.min()) if len(rows) else live.encoding.next_event
        return RunState("eager-nfa", VERSION, LiveTables(live, lambda: self._compact(live)), {}, oldest)

    def _live(self, state: RunState) -> EagerState:
        if isinstance(state.tables, LiveTables):
            if state.tables.state.broken:
                raise HostError(
                    "A549", "an error interrupted this state, which cannot be continued", "restore a saved one"
                )
            return state.tables.state
        if (state.family, state.version) != ("eager-nfa", VERSION):
            raise HostError(
                "A548", f"a state of `{state.family}` version {state.version} cannot be continued by `eager-nfa`"
            )
        live = self._new_state()
        live.restore(state.tables)
        return live

    def _number(self, live: EagerState, first: int, batch: EncodedBatch) -> None:
        """Number the partitions of the events from `first` on, and their places in them."""
        words, null = key_words(batch, self.keys)
        view = live.events.view
        part, place = view("partition")[first:], view("place")[first:]
        at = 0
        while at < batch.length:
            pool = live.pool
            at = self.support(
                "number_all",
                at,
                batch.length,
                words,
                null,
                live.nums,
                pool["TABLE"],
                pool["KEYS"],
                pool["COUNT"],
                part,
                place,
            )
            if at < batch.length:
                live.grow_keys()
        live.grow_partitions(max(1, int(live.nums[KEYS])))

    # -- consuming --------------------------------------------------------------------------------------------------

    @property
    def _counts(self) -> bool:
        return isinstance(self.plan.query.window, CountWindow)

    @property
    def _span(self) -> int:
        """How far the start of a match may lie behind its end, in ticks or places; -1 for any distance."""
        match self.plan.query.window:
            case TimeWindow(ticks):
                return ticks
            case CountWindow(events):
                return events - 1
            case None:
                return -1

    def _stream(self, live: EagerState) -> list[npt.NDArray[Any]]:
        view = live.events.view
        return [
            *(view(name) for name in ("time", "rank", "place", "type", "partition")),
            ranks(live.encoding.dictionary) if len(live.encoding.dictionary) else np.zeros(1, dtype=np.int64),
            *(view(name) for name in emitted_names(self.source.specs)),
        ]

    def _advance(self, live: EagerState, first: int) -> Expanded:
        """Consume the events from `first` on; the matches they complete."""
        stream = self._stream(live)
        found: list[Expanded] = []
        at, n = first, live.events.length
        while True:
            pool = live.pool
            end = min(n, at + SLICE) if self.code.warming_up else n
            at = self.code(
                "advance",
                at,
                end,
                live.nums,
                *stream,
                *(pool[k] for k in ("RS", "RN", "RT", "RX", "RI", "RF", "FREE", "P_head", "P_live")),
                *(pool[k] for k in ("NE", "NP", "NC", "NT", "NM", "XN", "XX", "OUT", "HT", "HG", "WALK")),
            )
            if live.nums[OUT]:
                if self.shares:
                    live.cut_segment(self._starts(live))
                else:
                    found.append(self._expand(live, sum(map(len, found))))
            if at == n:
                return Expanded.of(found)
            if at < end:
                self._make_room(live, at)

    def _make_room(self, live: EagerState, at: int) -> None:
        """Free what has expired, and enlarge what is still too small for the event at `at`."""
        partition = int(live.events.view("partition")[at])
        strict = self.plan.query.strategy is Strategy.STRICT_CONTIGUITY
        self._collect(live, int(live.events.view("time")[at]))
        need = 3 * int(live.pool["P_live"][0 if strict else partition]) + len(self.plan.branches)
        if live.nums[FREE] < 2 * need:
            if len(live.pool["RS"]) > self.options.max_runs:
                raise TooManyMatches(
                    f"more than {self.options.max_runs} partial matches at a time: the pattern explodes on this "
                    "stream\n = help: shorten WITHIN, add predicates, bound the iteration (`{1,5}`), use a stricter "
                    "strategy, or raise max_runs"
                )
            live.grow_runs(2 * need)
        if live.nums[NODES] + 2 * need > len(live.pool["NE"]) // 2:
            live.grow_buffer(4 * need, ("NE", "NP", "NC", "NT", "NM"))
        if live.nums[EDGES] + 2 * need > len(live.pool["XN"]) // 2:
            live.grow_buffer(4 * need, ("XN", "XX"))
        if need > len(live.pool["OUT"]) // 2:
            live.grow_buffer(2 * need, ("OUT",))

    def _collect(self, live: EagerState, now: int | None = None) -> int:
        """Throw away runs and nodes that nothing can come of; the first event that is left in a run."""
        pool, window = live.pool, self.plan.query.window
        limit = -(2**63)
        # In the middle of a batch the places counted so far are ahead of the runs. Under strict contiguity all runs are
        # in one list, which belongs to no partition; they end soon by themselves.
        counted = not self._counts or (now is None and self.plan.query.strategy is not Strategy.STRICT_CONTIGUITY)
        if window is not None and live.events.length and counted:
            if now is None:
                now = int(live.events.view("time")[-1])
            # Places are counted by partition, so that no one place is too early for all nodes.
            limit = now - window.ticks if isinstance(window, TimeWindow) else limit
            lists = (pool[k] for k in ("COUNT", "RT", "RX", "FREE", "P_head", "P_live"))
            self.support("sweep_all", live.nums, now, self._span, self._counts, *lists)
        scratch = np.empty(len(pool["NE"]), dtype=np.int64)
        edges = np.empty((2, len(pool["XN"])), dtype=np.int64)
        least = self.support(
            "collect_all",
            live.nums,
            *(pool[k] for k in ("RN", "RX", "P_head", "NE", "NP", "NC", "NT", "NM", "XN", "XX")),
            scratch,
            edges,
            limit,
        )
        return min(int(least), live.events.length)

    def _starts(self, live: EagerState) -> Integers:
        """What the window is measured in, by event."""
        return live.events.view("place" if self._counts else "time")

    def _expand(self, live: EagerState, before: int) -> Expanded:
        """Write out the matches of the nodes reported so far."""
        finals = live.pool["OUT"][: int(live.nums[OUT])]
        parts, count = [], before
        for some in self._write_out(finals, live.pool, self._starts(live)):
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
                "expand_all",
                at,
                n,
                finals,
                *(pool[k] for k in ("NE", "NP", "NC", "NT", "NM", "XN", "XX")),
                start,
                self._span,
                state,
                stack,
                cursor,
                offsets,
                events,
                codes,
            )
            m, entries = int(state[1]), int(state[2])
            yield Expanded(offsets[: m + 1].copy(), events[:entries].copy(), codes[:entries].copy())

    @property
    def shares(self) -> bool:
        """Whether matches may stay in the buffer: nothing but the runs decides about them."""
        return (
            self.options.compressed
            and self.plan.query.output is OutputMode.ALL
            and not self.source.negated
            and len({frozenset(c.variable for c in b.components) for b in self.plan.branches})
            == len(self.plan.branches)
        )

    def _shared(self, live: EagerState) -> SharedMatches:
        segments, live.segments = tuple(live.segments), []
        return SharedMatches(
            self._positive,
            lambda: min(2**61, sum(map(self._count, segments))),
            lambda: (batch for segment in segments for batch in self._batches(segment)),
        )

    def _count(self, segment: Segment) -> int:
        scratch = (np.zeros(len(segment.buffer["NE"]) + 1, dtype=np.int64) for _ in range(4))
        stamp = np.full(len(segment.buffer["NE"]) + 1, -1, dtype=np.int64)
        arrays = (segment.buffer[k] for k in ("NE", "NP", "NT", "NM", "XN", "XX"))
        return int(
            self.support(
                "count_all",
                len(segment.finals),
                segment.finals,
                *arrays,
                segment.start,
                self._span,
                *scratch,
                stamp,
            )
        )

    def _batches(self, segment: Segment) -> Iterator[MatchSet]:
        for some in self._write_out(segment.finals, segment.buffer, segment.start):
            yield self._match_set(some, segment.rank, segment.time, segment.rows)

    # -- reporting --------------------------------------------------------------------------------------------------

    def _report(self, live: EagerState, found: Expanded, watermark: int) -> MatchSet:
        """The matches that are certain now; the others wait."""
        if not len(found):
            return self.nothing
        live.pending = Expanded.none()
        waiting = self.opens[self._branches(found)]
        if waiting.any():
            waiting &= ~self._window_closed(live, found, watermark)
            live.pending = found.take(np.flatnonzero(waiting))
            found = found.take(np.flatnonzero(~waiting))
        if self.source.negated and len(found):
            found = found.take(np.flatnonzero(self._absent(live, found)))
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
        offsets = np.empty((len(self._positive), len(order) + 1), dtype=np.int64)
        by_variable = np.empty(int(found.offsets[-1]), dtype=np.int64)
        self.support(
            "split_all", order, found.offsets, found.events, found.codes, self.variable_of, rows, offsets, by_variable
        )
        return offsets, by_variable

    @property
    def _positive(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.plan.query.variables if not v.negated)

    def _absent(self, live: EagerState, found: Expanded) -> npt.NDArray[np.uint8]:
        """1 for each match beside which no negated part occurs."""
        stream = self._stream(live)
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
        names = [frozenset(c.variable for c in b.components) for b in self.plan.branches]
        if len(set(names)) == len(names) or not len(found):
            return found
        seen: dict[tuple[bytes, bytes], int] = {}
        for m in range(len(found)):
            part = slice(int(found.offsets[m]), int(found.offsets[m + 1]))
            seen.setdefault((found.events[part].tobytes(), self.variable_of[found.codes[part]].tobytes()), m)
        return found.take(np.array(list(seen.values()), dtype=np.int64))

    def _order(self, found: Expanded, rank: Integers) -> Integers:
        """By end, then start, then the events of the variables in pattern order."""
        first, last = rank[found.events[found.offsets[:-1]]], rank[found.events[found.offsets[1:] - 1]]
        order = np.lexsort((first, last))
        ends, starts = last[order], first[order]
        if ((ends[1:] == ends[:-1]) & (starts[1:] == starts[:-1])).any():
            lists = self._by_variable(found, np.arange(len(found)), np.arange(len(rank)))
            self.support("order_ties_all", order, first, last, *lists, np.empty_like(order))
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
        return MatchSet(self._positive, columns, time[first], time[last], None, one, -one)

    # -- forgetting -------------------------------------------------------------------------------------------------

    def _horizon(self, live: EagerState, watermark: int) -> int:
        """The first event that a match to come can still hold, or that can decide about one."""
        window = self.plan.query.window
        if isinstance(window, TimeWindow) and live.events.length:
            time = live.events.view("time")
            now = min(watermark, int(time[-1]))
            reach = 3 if self.opens.any() else 2 if self.source.negated else 1
            if self.plan.query.output is OutputMode.NONOVERLAP:
                reach = max(reach, 2)
            first = int(np.searchsorted(time, now - reach * window.ticks, side="left"))
        elif self.source.negated or live.events.length < live.next_look:
            # What a NOT looks for may lie before every run.
            return live.horizon
        else:
            first = self._collect(live)
            live.next_look = 2 * (live.events.length - first) + 4096
        return min(first, int(live.pending.events.min())) if len(live.pending) else first

    def _compact(self, live: EagerState) -> None:
        """Throw away every run, node and event that nothing can come of."""
        self._collect(live)
        nodes, count = int(live.nums[NODES]), live.horizon
        if nodes:
            count = min(count, int(live.pool["NE"][:nodes].min()))
        if not count:
            return
        live.events.drop(count)
        live.horizon -= count
        live.pool["NE"][:nodes] -= count
        for cell in self.source.event_cells:
            live.pool["RI"][:, cell] -= count
        live.pending.events -= count


def _arrow(values: npt.NDArray[Any]) -> pa.Array:
    """An Arrow array over the same memory; `pa.array` would import pandas to look at it."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
