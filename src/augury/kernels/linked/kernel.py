"""Linked chains as a kernel: encode a batch, link its events into the chains, report covers or all matches.

Only the events are saved. Chains follow from them, and are built anew when old events are thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account, too_many_partial_matches
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.linked.arrays import (
    CHAINS,
    DEPTHS,
    FINALS,
    LINKS,
    LISTS,
    PARTITIONS,
    combine_arrays,
    combine_lists_arrays,
    walk_arrays,
    walked_arrays,
)
from augury.codegen.linked.chains import LinkedSource, emit_linked
from augury.ir.query import TimeWindow, span_of
from augury.ir.terms import OutputMode
from augury.jit.tier import Tier
from augury.kernels.common.counters import counters_of
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.pool import ArrayPool
from augury.kernels.common.reporting import WARM_UP_EVENTS, Bindings
from augury.kernels.common.restoring import restore_pending
from augury.kernels.common.segment import EDGES, NODES, Segment, match_buffer
from augury.kernels.common.shared import SharedReporting
from augury.kernels.stream import Renumbering, StreamKernel, StreamState
from augury.native.cells import CELLS, FIRST_COUNTER, LinkCell
from augury.native.chains import linked_ways, settled
from augury.options import Options
from augury.plan import LinkedPlan
from augury.runtime.batch import Integers
from augury.runtime.checks import ArraySpec, read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.events import EventStore
from augury.runtime.shared import FoundMatches
from augury.runtime.state import FOREVER, LONG_AGO

ROOM = 256
"""Links, lists, chains, finals and partitions that there is room for at first."""

FIRST_ROWS, ROWS = 1 << 10, 1 << 16
"""How many matches there is room for at first, since often there are few, and later."""


FILLED = {LinkCell.LINKS: LINKS, LinkCell.LISTS: LISTS, LinkCell.CHAINS: CHAINS, LinkCell.FINALS: FINALS}
"""Cells of `nums` that say how many there are of each owner."""


@dataclass(slots=True, eq=False, kw_only=True)
class LinkedState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: LinkedSource
    pool: ArrayPool
    segments: list[Segment] = field(default_factory=list)
    """What a step has found so far, if it is not to be written out."""
    watermark: int = LONG_AGO

    @classmethod
    def start(cls, source: LinkedSource, *, keys: int, with_places: bool, memory: Account | None = None) -> LinkedState:
        return cls(
            source=source,
            pool=_new_pool(source, memory),
            encoding=Encoding.start(source.strings),
            events=EventStore(source.specs, with_places=with_places),
            keys=KeyNumbers(keys),
            nums=np.zeros(CELLS, dtype=np.int64),
            pending=Expanded.none(),
            memory=memory,
        )

    def clear(self) -> None:
        """No chains; the counters stay."""
        self.nums[:FIRST_COUNTER] = 0
        self.pool = _new_pool(self.source, self.memory)

    def stream(self) -> list[npt.NDArray[Any]]:
        return stream_arrays(self.events, self.encoding, self.source.specs, self.source.source)

    def to_tables(self) -> dict[str, pa.Table]:
        watermark = pa.table({"": pa.array([self.watermark], pa.int64())})
        return StreamState.to_tables(self) | {"watermark": watermark}


def _new_pool(source: LinkedSource, memory: Account | None) -> ArrayPool:
    sizes = dict.fromkeys((LINKS, LISTS, CHAINS, FINALS, PARTITIONS), ROOM)
    return ArrayPool(source.arrays, sizes, "chains", memory)


class LinkedKernel(StreamKernel[LinkedState]):
    """Links the events of a stream into chains; what it remembers of them is in the state."""

    family = "linked"
    version = 2
    state_type = LinkedState
    counted = counters_of(LinkCell)
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

    def new_state(self, used_up: LinkedState | None = None) -> LinkedState:
        return LinkedState.start(self.source, keys=len(self.keys), with_places=self.counts_events, memory=self.memory)

    @property
    def codes(self) -> tuple[Tier, ...]:
        return (self.code,)

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
        live.pool.reserve(PARTITIONS, len(live.keys))
        stream = live.stream()
        match = self._match_arrays(live, stream)
        parts: list[Expanded] = []
        at, n = first, live.events.length
        while at < n:
            end = min(n, at + WARM_UP_EVENTS) if self.code.warming_up else n
            at = self.code("advance", at, end, int(quiet), live.nums, *stream, *live.pool.arguments, *match)
            if self.plan.query.output is not OutputMode.COVER:
                self._take_out(live, stream, parts)
            if at < end:
                self._make_room(live, at)
        return Expanded.of(parts)

    def _make_room(self, live: LinkedState, at: int) -> None:
        lists = int(live.pool["live_lists"][live.events.view("partition")[at]])
        if lists > self.options.max_partial_matches:
            raise too_many_partial_matches(
                self.options.max_partial_matches,
                "combinations of chains at a time",
                "shorten WITHIN, add predicates",
            )
        need = 2 * (lists + self.size)
        for cell, owner in FILLED.items():
            live.pool.reserve(owner, int(live.nums[cell]) + need)

    def _take_out(self, live: LinkedState, stream: list[npt.NDArray[Any]], parts: list[Expanded]) -> None:
        """The matches found so far, out of the arrays that generated code writes them to."""
        n = int(live.nums[LinkCell.FINALS])
        live.nums[LinkCell.FINALS] = 0
        if not n:
            return
        if self.lists:
            self._combine_lists(live, stream, n, parts)
            return
        if self.plan.query.output is OutputMode.LATEST:
            parts.append(self._expanded(live.pool["final_events"][:n].copy()))
            return
        if self.shares:
            self.memory.claim("compressed matches", 8 * (12 * int(live.nums[LinkCell.LINKS]) + 4 * live.events.length))
            live.segments.append(self._segment(live, n))
            self.memory.hold("compressed matches", sum(segment.nbytes for segment in live.segments))
            return
        found = sum(map(len, parts))
        at, size = 0, FIRST_ROWS
        while at < n:
            live.nums[LinkCell.MATCHES] = 0
            out = np.empty((size, self.size), dtype=np.int64)
            before = at
            arrays = ({**live.pool, "out_events": out}[spec.name] for spec in combine_arrays())
            at = self.code("combine", at, n, *arrays, live.nums, *stream)
            written = int(live.nums[LinkCell.MATCHES])
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
        longest = int(live.nums[LinkCell.LINKS]) + 2
        walk = live.pool | ArrayPool(walk_arrays(self.size), {DEPTHS: longest}, "matches")
        found = sum(map(len, parts))
        at, size = 0, FIRST_ROWS
        while at < n:
            live.nums[LinkCell.MATCHES : LinkCell.WALKED] = 0
            out = [np.empty(max(longest, 4 * size), dtype=np.int64) for _ in range(2)]
            offsets = np.zeros(size + 1, dtype=np.int64)
            before, limit = at, self.options.max_partial_matches
            written = {"out_events": out[0], "out_codes": out[1], "out_offsets": offsets}
            arrays = ((walk | written)[spec.name] for spec in (*combine_lists_arrays(), *walked_arrays()))
            at = self.code("combine", at, n, limit, *arrays, live.nums, *stream)
            if live.nums[LinkCell.TOO_MANY_STEPS]:
                raise too_many_partial_matches(
                    limit,
                    "ways back from one event to the one before a match",
                    "shorten WITHIN, add predicates, bound the iteration (`{1,5}`)",
                )
            matches, events = int(live.nums[LinkCell.MATCHES]), int(live.nums[LinkCell.EVENTS])
            parts.append(Expanded(offsets[: matches + 1].copy(), out[0][:events].copy(), out[1][:events].copy()))
            found += matches
            self.memory.claim("matches", 6 * sum(p.events.nbytes for p in parts))
            # Of the event that there was no room for, the matches so far are known though not written.
            self._check(found + int(live.nums[LinkCell.WALKED]) if at < n else found)
            size = max(ROWS, 4 * size if at == before else size)

    def _segment(self, live: LinkedState, finals: int) -> Segment:
        """The chains as they are, from which the matches that end with the `finals` can be told."""
        n = int(live.nums[LinkCell.LINKS])
        buffer = {name: np.full(2 * n + finals, -1, dtype=np.int64) for name in NODES}
        buffer |= {name: np.full(max(1, n), -1, dtype=np.int64) for name in EDGES}
        view = live.events.view
        rank, clock = view("rank"), view("place" if self.counts_events else "time")
        nodes, edges = match_buffer(buffer)
        self.support("linked_ways", n, *live.pool.taken_by(linked_ways), rank, clock, nodes, edges)
        ends = live.pool["final_events"][:finals, 0].copy(), live.pool["final_above"][:finals]
        links = live.pool["link_event"], live.pool["link_before"]
        self.support("final_ways", finals, n, *ends, self.size - 1, *links, rank, nodes)
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
        n = int(live.nums[LinkCell.FINALS])
        if not n:
            return Expanded.none()
        window = self.plan.query.window
        span = window.ticks if isinstance(window, TimeWindow) else -1
        out = np.empty(n, dtype=np.int64)
        arrays = live.pool.taken_by(settled)
        view = live.events.view
        ended = int(live.watermark == FOREVER)
        m = self.support("settled", n, ended, live.watermark, span, *arrays, view("time"), view("partition"), out)
        return self._expanded(live.pool["final_events"][out[:m]])

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
        counted = live.nums[FIRST_COUNTER:].copy()
        live.clear()
        self._link(live, 0, quiet=True)
        if self.plan.query.output is OutputMode.COVER:
            self._settled(live)
        live.nums[FIRST_COUNTER:] = counted
