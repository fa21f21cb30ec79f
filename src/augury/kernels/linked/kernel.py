"""Linked chains as a kernel: encode a batch, link its events into the chains, report covers or all matches.

Only the events are saved. Chains follow from them, and are built anew when old events are thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account, too_many_partial_matches
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.linked.chains import COUNTERS, ENTRIES, FINAL, FOUND, LINKS, PARTITIONS, LinkedSource, emit_linked
from augury.codegen.linked.lists import FOUND_SO_FAR, STACK
from augury.ir.query import TimeWindow, span_of
from augury.ir.terms import OutputMode
from augury.jit.tier import Tier
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.reporting import WARM_UP_EVENTS, Bindings, Expanded
from augury.kernels.common.restoring import restore_pending
from augury.kernels.common.segment import EDGES, NODES, Segment
from augury.kernels.common.shared import SharedReporting
from augury.kernels.stream import Renumbering, StreamKernel, StreamState
from augury.options import Options
from augury.plan import LinkedPlan
from augury.runtime.batch import Integers
from augury.runtime.checks import ArraySpec, read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.events import EventStore
from augury.runtime.shared import FoundMatches
from augury.runtime.state import FOREVER, LONG_AGO

ROOM = 256
"""Nodes, lists, chains and partitions that there is room for at first."""

FIRST_ROWS, ROWS = 1 << 10, 1 << 16
"""How many matches there is room for at first, since often there are few, and later."""


@dataclass(slots=True, eq=False, kw_only=True)
class LinkedState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: LinkedSource
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    """What a step has found so far, if it is not to be written out."""
    watermark: int = LONG_AGO

    @classmethod
    def start(cls, source: LinkedSource, *, keys: int, with_places: bool, memory: Account | None = None) -> LinkedState:
        live = cls(
            source=source,
            encoding=Encoding.start(source.strings),
            events=EventStore(source.specs, with_places=with_places),
            keys=KeyNumbers(keys),
            nums=np.zeros(16, dtype=np.int64),
            pending=Expanded.none(),
            memory=memory,
        )
        live.clear()
        return live

    def clear(self) -> None:
        """No chains; the counters stay."""
        k = len(self.source.component_variables)
        self.nums[:8] = 0
        sizes = {"HEAD": (k, ROOM), "CH": (k, ROOM), "F_events": (ROOM, k), "M": (k,), "BEST": (k,), "KEEP": (1,)}
        for name in (*LINKS, *PARTITIONS, *FINAL):
            filling = -1 if name in ("HEAD", "ROOT") else 0
            self.arrays[name] = np.full(sizes.get(name, (ROOM,)), filling, dtype=np.int64)
        self.arrays["KEEP"] = np.zeros(1, dtype=np.uint8)

    def stream(self) -> list[npt.NDArray[Any]]:
        return stream_arrays(self.events, self.encoding, self.source.specs, self.source.source)

    def grow(self, names: tuple[str, ...], least: int, axis: int = 0) -> None:
        for name in names:
            old = self.arrays[name]
            if old.shape[axis] < least:
                shape = list(old.shape)
                shape[axis] = max(2 * shape[axis], least)
                if self.memory is not None:
                    self.memory.hold("chains", sum(array.nbytes for array in self.arrays.values()))
                    self.memory.claim("chains", math.prod(shape) * old.itemsize)
                larger = np.full(shape, -1 if name in ("HEAD", "ROOT") else 0, dtype=old.dtype)
                larger[tuple(slice(0, s) for s in old.shape)] = old
                self.arrays[name] = larger

    def to_tables(self) -> dict[str, pa.Table]:
        watermark = pa.table({"": pa.array([self.watermark], pa.int64())})
        return StreamState.to_tables(self) | {"watermark": watermark}


class LinkedKernel(StreamKernel[LinkedState]):
    """Links the events of a stream into chains; what it remembers of them is in the state."""

    family = "linked"
    version = 2
    state_type = LinkedState
    counted = COUNTERS
    fewer_matches = "ask for OUTPUT COVER or LATEST, shorten WITHIN, or add predicates"

    def __init__(self, plan: LinkedPlan, options: Options, source: LinkedSource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        super().__init__(plan.query, options, plan.query.partition_by)
        self.plan = plan
        self.source = source or emit_linked(plan, counters=options.counters)
        self.code = Tier(self.source.source, self.options, self.source.functions)
        self.size = len(plan.components)
        self.lists = any(c.iterated for c in plan.components)
        fixed = 0 if self.lists else self.size
        bindings = Bindings(
            self.source.component_variables, (0,) * self.size, (plan.absent,), len(self.source.negated), fixed
        )
        self.reporting = SharedReporting(plan.query, bindings, self.code, self.support)
        # With predicates over several events, or negation, not every way through the chains is a match.
        joined_by_order = not plan.conjuncts and not plan.absent and not self.lists
        self.shares = options.compressed and plan.query.output is OutputMode.ALL and joined_by_order

    def new_state(self) -> LinkedState:
        return LinkedState.start(self.source, keys=len(self.keys), with_places=self.counts_events, memory=self.memory)

    def columns(self, live: LinkedState) -> tuple[ColumnSpec, ...]:
        return self.source.specs

    def literals(self, live: LinkedState) -> tuple[str, ...]:
        return self.source.strings

    def advance(self, live: LinkedState, first: int, watermark: int) -> Expanded:
        live.watermark = max(live.watermark, watermark)
        found = self._link(live, first)
        return self._settled(live) if self.query.output is OutputMode.COVER else found

    def report(self, live: LinkedState, found: Expanded, watermark: int) -> FoundMatches:
        if self.shares:
            segments, live.segments = live.segments, []
            return self.reporting.from_segments(segments)
        if self.query.output is OutputMode.ALL:
            return self.reporting.report(live, found, watermark)
        view = live.events.view
        return self.reporting.match_set(found, view("rank"), view("time"), view("rows"))

    def restore_pending(self, live: LinkedState, tables: Mapping[str, pa.Table]) -> Expanded:
        return restore_pending(tables, live.events, self.reporting.branch_of, self.reporting.fixed)

    def restore_family(self, live: LinkedState, tables: Mapping[str, pa.Table]) -> None:
        live.watermark = int(read_arrays(tables, "watermark", [ArraySpec("")], rows=1)[""][0])
        self._relink(live)

    # -- chains -------------------------------------------------------------------------------------------------------

    def _link(self, live: LinkedState, first: int, *, quiet: bool = False) -> Expanded:
        """Consume the events from `first` on; the matches that are known with them, but for covers."""
        live.grow(("HEAD", "CH"), len(live.keys), axis=1)
        live.grow(("LIVE", "REL", "ROOT"), len(live.keys))
        stream = live.stream()
        match = self._match_arrays(live, stream)
        parts: list[Expanded] = []
        at, n = first, live.events.length
        while at < n:
            end = min(n, at + WARM_UP_EVENTS) if self.code.warming_up else n
            arrays = (live.arrays[name] for name in (*LINKS, *PARTITIONS, *FINAL))
            at = self.code("advance", at, end, int(quiet), live.nums, *stream, *arrays, *match)
            if self.plan.query.output is not OutputMode.COVER:
                self._take_out(live, stream, parts)
            if at < end:
                self._make_room(live, at)
        return Expanded.of(parts)

    def _make_room(self, live: LinkedState, at: int) -> None:
        lists = int(live.arrays["LIVE"][live.events.view("partition")[at]])
        if lists > self.options.max_partial_matches:
            raise too_many_partial_matches(
                self.options.max_partial_matches,
                "combinations of chains at a time",
                "shorten WITHIN, add predicates",
            )
        need = 2 * (lists + self.size)
        nodes, chains, ends = (
            ("N_event", "N_prev", "N_up", "N_list"),
            ("C_last",),
            ("F_parent", "F_chain", "F_next", "F_up", "F_own", "F_events"),
        )
        combinations = ("L_parent", "L_chain", "L_tail", "L_next", "L_child", "L_depth")
        for cell, names in enumerate((nodes, combinations, chains, ends)):
            live.grow(names, int(live.nums[cell]) + need)

    def _take_out(self, live: LinkedState, stream: list[npt.NDArray[Any]], parts: list[Expanded]) -> None:
        """The matches found so far, out of the arrays that generated code writes them to."""
        n = int(live.nums[FOUND])
        live.nums[FOUND] = 0
        if not n:
            return
        if self.lists:
            self._combine_lists(live, stream, n, parts)
            return
        if self.plan.query.output is OutputMode.LATEST:
            parts.append(self._expanded(live.arrays["F_events"][:n].copy()))
            return
        if self.shares:
            self.memory.claim("compressed matches", 8 * (12 * int(live.nums[0]) + 4 * live.events.length))
            live.segments.append(self._segment(live, n))
            self.memory.hold("compressed matches", sum(segment.nbytes for segment in live.segments))
            return
        found = sum(map(len, parts))
        at, size = 0, FIRST_ROWS
        while at < n:
            live.nums[ENTRIES] = 0
            out = np.empty((size, self.size), dtype=np.int64)
            links = (live.arrays[name] for name in ("N_event", "N_prev", "N_up", "L_tail", "M"))
            ends = live.arrays["F_up"], live.arrays["F_events"]
            before = at
            at = self.code("combine", at, n, *ends, out, *links, live.nums, *stream)
            written = int(live.nums[ENTRIES])
            parts.append(self._expanded(out[:written].copy() if written < size else out))
            found += written
            self._check(found)
            self.memory.claim("matches", 3 * sum(p.events.nbytes for p in parts))
            size = max(ROWS, 4 * size if at == before else size)

    def _check(self, found: int) -> None:
        if found > self.options.max_matches:
            raise self.too_many()

    def _combine_lists(self, live: LinkedState, stream: list[npt.NDArray[Any]], n: int, parts: list[Expanded]) -> None:
        """The same where matches have lists: their sizes are not known beforehand."""
        longest = int(live.nums[0]) + 2
        stack = [np.zeros(longest, dtype=np.int64) for _ in STACK[:-1]]
        stack.append(np.empty(self.size + 1, dtype=np.int64))
        ends = [live.arrays[name] for name in ("F_own", "F_up", "F_events")]
        links = [live.arrays[name] for name in ("N_event", "N_prev", "N_up")]
        found = sum(map(len, parts))
        at, size = 0, FIRST_ROWS
        while at < n:
            live.nums[ENTRIES : ENTRIES + 3] = 0
            out = [np.empty(max(longest, 4 * size), dtype=np.int64) for _ in range(2)]
            offsets = np.zeros(size + 1, dtype=np.int64)
            before, limit = at, self.options.max_partial_matches
            at = self.code("combine", at, n, limit, *ends, *out, offsets, *links, *stack, live.nums, *stream)
            if live.nums[ENTRIES + 2]:
                raise too_many_partial_matches(
                    limit,
                    "ways back from one event to the one before a match",
                    "shorten WITHIN, add predicates, bound the iteration (`{1,5}`)",
                )
            matches, events = int(live.nums[ENTRIES]), int(live.nums[ENTRIES + 1])
            parts.append(Expanded(offsets[: matches + 1].copy(), out[0][:events].copy(), out[1][:events].copy()))
            found += matches
            self.memory.claim("matches", 6 * sum(p.events.nbytes for p in parts))
            # Of the event that there was no room for, the matches so far are known though not written.
            self._check(found + int(live.nums[FOUND_SO_FAR]) if at < n else found)
            size = max(ROWS, 4 * size if at == before else size)

    def _segment(self, live: LinkedState, finals: int) -> Segment:
        """The chains as they are, from which the matches that end with the `finals` can be told."""
        n = int(live.nums[0])
        buffer = {name: np.full(2 * n + finals, -1, dtype=np.int64) for name in NODES}
        buffer |= {name: np.full(max(1, n), -1, dtype=np.int64) for name in EDGES}
        arrays, view = live.arrays, live.events.view
        rank, clock = view("rank"), view("place" if self.counts_events else "time")
        names = ("N_event", "N_prev", "N_up", "N_list", "L_depth")
        self.support("linked_ways", n, *(arrays[name] for name in names), rank, clock, *buffer.values())
        ends = arrays["F_events"][:finals, 0].copy(), arrays["F_up"][:finals]
        links = arrays["N_event"], arrays["N_prev"]
        nodes = (buffer[name] for name in NODES)
        self.support("final_ways", finals, n, *ends, self.size - 1, *links, rank, *nodes)
        columns = (view(name).copy() for name in ("time", "rank", "rows"))
        places = 2 * n + np.arange(finals, dtype=np.int64)
        return Segment(places, buffer, clock.copy(), span_of(self.plan.query.window), *columns)

    def _expanded(self, events: Integers) -> Expanded:
        return Expanded.alike(self.size, events.reshape(-1))

    def _match_arrays(self, live: LinkedState, stream: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        """Room for one match, and the candidates of negated components, where these are looked for one by one."""
        if not self.plan.absent or self.plan.query.output is OutputMode.ALL:
            return ()
        k = self.size
        offsets = np.stack([np.arange(k), np.arange(1, k + 1)], axis=1).astype(np.int64)
        branch, ends, events = np.zeros(1, dtype=np.int64), np.array([0, k]), np.zeros(k, dtype=np.int64)
        return branch, ends, events, offsets, events.copy(), *self.reporting.candidates(live, stream)

    def _settled(self, live: LinkedState) -> Expanded:
        """The covers that no event to come can make later, each once."""
        n = int(live.nums[FOUND])
        if not n:
            return Expanded.none()
        window = self.plan.query.window
        span = window.ticks if isinstance(window, TimeWindow) else -1
        out = np.empty(n, dtype=np.int64)
        names = ("F_parent", "F_chain", "F_next", "F_events", "L_parent", "L_chain", "REL", "CH", "C_last")
        arrays = (live.arrays[name] for name in names)
        view = live.events.view
        ended = int(live.watermark == FOREVER)
        m = self.support("settled", n, ended, live.watermark, span, *arrays, view("time"), view("partition"), out)
        return self._expanded(live.arrays["F_events"][out[:m]])

    # -- forgetting -------------------------------------------------------------------------------------------------

    def find_horizon(self, live: LinkedState, watermark: int) -> int:
        window, n = self.plan.query.window, live.events.length
        cover = self.plan.query.output is OutputMode.COVER
        if not isinstance(window, TimeWindow) or not n or (cover and not self.plan.apart):
            return live.horizon
        time = live.events.view("time")
        now = min(watermark, int(time[-1]))
        # The chain that can still grow begins after all others, which are in reach of it as long as they wait for it.
        reach = (2 if cover else 1) + bool(self.plan.absent)
        return int(np.searchsorted(time, now - reach * window.ticks, side="left"))

    def renumbered(self, live: LinkedState, by: Renumbering) -> None:
        self._relink(live)

    def _relink(self, live: LinkedState) -> None:
        """Build the chains of the events there are; what was reported is not reported again."""
        counted = live.nums[8:].copy()
        live.clear()
        self._link(live, 0, quiet=True)
        if self.plan.query.output is OutputMode.COVER:
            self._settled(live)
        live.nums[8:] = counted
