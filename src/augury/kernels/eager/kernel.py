"""The eager automaton as a kernel: encode a batch, let the generated code consume it, forget what is past."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from augury.budget import too_many_partial_matches
from augury.codegen.eager.arrays import EDGES, MATCHES, NODES, PARTITIONS, RUNS
from augury.codegen.eager.nfa import emit_eager_nfa
from augury.codegen.eager.source import COUNTERS, EagerNfaSource
from augury.ir.query import TimeWindow, span_of
from augury.ir.terms import Strategy
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import WARM_UP_EVENTS
from augury.kernels.common.segment import match_buffer
from augury.kernels.common.selecting import windows_of
from augury.kernels.eager.checks import Arrays, check_cells, check_history, check_states
from augury.kernels.eager.reporting import EagerReporting
from augury.kernels.eager.state import EagerState
from augury.kernels.stream import Renumbering, StreamKernel
from augury.native.buffer import sweep
from augury.native.cells import RunCell
from augury.native.groups import Runs
from augury.options import Options
from augury.plan import EagerNfaPlan, EventSetsPlan
from augury.runtime.batch import Integers
from augury.runtime.checks import require
from augury.runtime.columns import ColumnSpec
from augury.runtime.shared import FoundMatches
from augury.runtime.state import LONG_AGO, RunState

ROOM_FOR_EVENTS = 1 << 14
"""Room that a batch of at least as many events gets from the start, so that it is seldom made; it fits the caches."""


class AutomatonKernel(StreamKernel[EagerState]):
    """Runs or instances in a pool that take the events of a batch one by one; `EagerKernel` is the plainest."""

    version = 5
    state_type = EagerState
    plan: EagerNfaPlan | EventSetsPlan
    reporting: EagerReporting
    at_a_time: ClassVar[str] = "partial matches at a time"
    fewer_runs: ClassVar[str] = "shorten WITHIN, add predicates, bound the iteration (`{1,5}`), use a stricter strategy"

    def __init__(
        self,
        plan: EagerNfaPlan | EventSetsPlan,
        options: Options,
        source: EagerNfaSource,
        reporting: type[EagerReporting],
    ) -> None:
        super().__init__(plan.query, options, plan.query.partition_by)
        self.plan, self.source = plan, source
        self.code = Tier(source.source, self.options, source.functions)
        self.reporting = reporting(plan, source, self.options, self.code, self.support)
        # Under strict contiguity the events of any partition end a run, so that all are in one list.
        self.by_partition = Strategy.STRICT_CONTIGUITY not in plan.query.strategies

    @property
    def makes(self) -> tuple[int, int]:
        """How many runs, nodes and edges one run may make with an event, and how many runs that may begin."""
        return 3, len(self.plan.branches)

    @property
    def codes(self) -> tuple[Tier, ...]:
        return (self.code,)

    def columns(self, live: EagerState) -> tuple[ColumnSpec, ...]:
        return (*self.source.specs, *self.reporting.totals.specs)

    def literals(self, live: EagerState) -> tuple[str, ...]:
        return self.source.strings

    def report(self, live: EagerState, found: Expanded, watermark: int) -> FoundMatches:
        if self.reporting.shares:
            return self.reporting.shared(live)
        if self.reporting.tallies:
            return self.reporting.tallied(live)
        return self.reporting.report(live, found, watermark)

    def counters(self, state: RunState) -> dict[str, int]:
        weighed = {"weighed": self.live(state).looked} if self.reporting.totals else {}
        return super().counters(state) | weighed

    # -- restoring ----------------------------------------------------------------------------------------------------

    def restore_pending(self, live: EagerState, tables: Mapping[str, pa.Table]) -> Expanded:
        return self.reporting.restore_pending(tables, live.events)

    def restore_family(self, live: EagerState, tables: Mapping[str, pa.Table]) -> None:
        live.restore(tables, self._check)

    def _check(self, live: EagerState, runs: Arrays, nodes: Arrays, edges: Arrays) -> None:
        """Refuse saved runs that generated code could not follow."""
        owner = check_history(runs, nodes, edges, live.events, live.keys, self.query.window)
        partition = live.events.view("partition")[nodes["node_event"][runs["run_node"]]]
        require(
            runs["partition"] == (partition if self.by_partition else 0),
            "a run is in another partition than its events",
        )
        cells = runs["run_integers"]
        strings = len(live.encoding.dictionary)
        check_cells(cells, self.source.event_cells, self.source.code_cells, live.events.length, strings)
        self._check_states(runs, nodes, edges, owner)

    @abstractmethod
    def _check_states(self, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
        """Refuse runs in a state that their history does not lead to."""

    # -- consuming --------------------------------------------------------------------------------------------------

    def advance(self, live: EagerState, first: int, watermark: int) -> Expanded:
        live.pool.reserve(PARTITIONS, max(1, len(live.keys)))
        stream = live.stream()
        found: list[Expanded] = []
        matches = 0
        at, n = first, live.events.length
        if n - first >= ROOM_FOR_EVENTS:
            for owner in (NODES, EDGES, MATCHES):
                live.pool.reserve(owner, ROOM_FOR_EVENTS)
        while True:
            end = min(n, at + WARM_UP_EVENTS) if self.code.warming_up else n
            at = self.code("advance", at, end, live.nums, *stream, *live.pool.arguments)
            if live.nums[RunCell.FOUND]:
                if self.reporting.shares:
                    live.cut_segment(self.reporting.starts(live), span_of(self.plan.query.window))
                elif self.reporting.tallies:
                    self.reporting.tally(live)
                else:
                    found.append(self.reporting.expand(live, matches))
                    matches += len(found[-1])
            if at == n:
                return Expanded.of(found)
            if at < end:
                self._make_room(live, at)

    def _make_room(self, live: EagerState, at: int) -> None:
        """Free what has expired, and enlarge what is still too small for the event at `at`."""
        partition = int(live.events.view("partition")[at]) if self.by_partition else 0
        self._collect(live, int(live.events.view("time")[at]))
        each, begun = self.makes
        need = each * int(live.pool["live_runs"][partition]) + begun
        self.reserve_runs(live, need)
        # Every collection goes through all nodes: where few of them stay, it is seldom called and finds much.
        if live.nums[RunCell.NODES] + 2 * need > live.pool.room(NODES) // 4:
            live.pool.grow(NODES, 4 * need)
        if live.nums[RunCell.EDGES] + 2 * need > live.pool.room(EDGES) // 2:
            live.pool.grow(EDGES, 4 * need)
        if need > live.pool.room(MATCHES) // 2:
            live.pool.grow(MATCHES, 2 * need)

    def reserve_runs(self, live: EagerState, need: int) -> None:
        """Ensure room for this many more runs, within the budget."""
        if live.nums[RunCell.FREE] < 2 * need:
            if live.pool.room(RUNS) > self.options.max_partial_matches:
                raise too_many_partial_matches(self.options.max_partial_matches, self.at_a_time, self.fewer_runs)
            live.grow_runs(2 * need)

    def _collect(self, live: EagerState, now: int | None = None) -> int:
        """Free runs and nodes that can complete no match; returns the first event that a run still holds."""
        window, limit = self.plan.query.window, LONG_AGO
        # In the middle of a batch the places counted so far are ahead of the runs. Under strict contiguity all runs are
        # in one list, which belongs to no partition; they end soon by themselves.
        counted = not self.counts_events or (now is None and self.by_partition)
        if window is not None and live.events.length and counted:
            if now is None:
                now = int(live.events.view("time")[-1])
            limit = now - window.ticks if isinstance(window, TimeWindow) else limit
            moves = live.nums, now, span_of(window), self.counts_events, live.counts
            self.support("sweep", *moves, *live.pool.taken_by(sweep))
        # Places are counted by partition, so that no one place is too early for all nodes. Without merging a node is no
        # older than the runs that lead back to it.
        by_partition = self.counts_events and isinstance(self.plan, EagerNfaPlan) and self.plan.merge
        return self.collect(live, limit, span_of(window) if by_partition else -1)

    def collect(self, live: EagerState, limit: int = LONG_AGO, span: int = -1) -> int:
        """Free nodes that no run holds or that start before `limit`; returns the first event that a run still holds.

        With a `span`, one of places, each partition has a limit of its own.
        """
        pool = live.pool
        limits = np.empty(pool.room(PARTITIONS) if span >= 0 else 1, dtype=np.int64)
        self.memory.claim(pool.account, 8 * (pool.room(NODES) + 2 * pool.room(EDGES)))
        moved = np.empty(pool.room(NODES), dtype=np.int64), np.empty((2, pool.room(EDGES)), dtype=np.int64)
        events = live.events.view("partition"), self.reporting.starts(live)
        runs = Runs(node=pool["run_node"], next=pool["run_next"], first=pool["first_run"])
        histories = runs, *match_buffer(pool)
        least = self.support("collect", live.nums, *histories, *moved, limit, limits, span, *events)
        return min(int(least), live.events.length)

    # -- forgetting -------------------------------------------------------------------------------------------------

    def find_horizon(self, live: EagerState, watermark: int) -> int:
        window = self.plan.query.window
        if isinstance(window, TimeWindow) and live.events.length:
            time = live.events.view("time")
            now = min(watermark, int(time[-1]))
            reach = 3 if self.reporting.waits else 2 if self.source.negated else 1
            reach = max(reach, windows_of(self.plan.query))
            silence = self.plan.query.longest_silence or 0
            first = int(time.searchsorted(now - reach * window.ticks - silence))
        elif self.source.negated or live.events.length < live.next_look:
            # What a NOT looks for may lie before every run.
            return live.horizon
        else:
            first = self._collect(live)
            # A look goes through all partitions and what is left, so that it is put off until as many events have come.
            live.next_look = 2 * live.events.length - first + max(4096, live.pool.room(PARTITIONS))
        return min(first, int(live.pending.events.min())) if len(live.pending) else first

    def find_oldest(self, live: EagerState) -> int:
        # What a NOT looks for may lie before every run.
        if self.source.negated or len(live.pending):
            return live.horizon
        return self._collect(live)

    def expire(self, live: EagerState) -> int:
        self._collect(live)
        nodes = int(live.nums[RunCell.NODES])
        return min(live.horizon, int(live.pool["node_event"][:nodes].min())) if nodes else live.horizon

    def waiting(self, live: EagerState) -> Integers:
        """The partition of each run."""
        runs = live.pool["live_runs"][: len(live.keys)]
        return np.repeat(np.arange(len(runs)), runs)

    def strings_held(self, live: EagerState) -> list[Integers]:
        return live.strings_held()

    def renumbered(self, live: EagerState, by: Renumbering) -> None:
        live.renumbered(by, by_partition=self.by_partition)


class EagerKernel(AutomatonKernel):
    """Runs the automata of a plan; all that it remembers of the events is in the state."""

    family = "eager-nfa"
    counted = COUNTERS
    plan: EagerNfaPlan

    def __init__(self, plan: EagerNfaPlan, options: Options, source: EagerNfaSource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        plan = replace(plan, merge=plan.merge and options.merge)
        super().__init__(plan, options, source or emit_eager_nfa(plan, counters=options.counters), EagerReporting)

    @property
    def makes(self) -> tuple[int, int]:
        return self.plan.spread, max(self.plan.begun, len(self.plan.branches))

    def _check_states(self, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
        require(self.plan.merge or not len(edges["edge_node"]), "runs that are not to be merged were merged")
        check_states(self.plan, runs, nodes, edges, owner)

    def new_state(self, used_up: EagerState | None = None) -> EagerState:
        return EagerState.start(
            self.source,
            keys=len(self.keys),
            with_places=self.counts_events,
            merge=self.plan.merge,
            totals=self.reporting.totals.specs,
            memory=self.memory,
        )
