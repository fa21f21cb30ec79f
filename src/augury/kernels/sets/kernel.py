"""SES automata as a kernel: instances end as matches, by an event, by the watermark or with the stream."""

from __future__ import annotations

from augury.codegen.eager.arrays import EDGES, MATCHES, NODES, PARTITIONS
from augury.codegen.eager.source import EagerNfaSource
from augury.codegen.sets.event_sets import emit_event_sets, width
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import WARM_UP_EVENTS, Remembered
from augury.kernels.eager.checks import Arrays, check_sets
from augury.kernels.eager.kernel import AutomatonKernel
from augury.kernels.eager.reporting import EagerReporting
from augury.kernels.eager.state import EagerState
from augury.native.cells import RunCell
from augury.options import Options
from augury.plan import EventSetsPlan
from augury.runtime.batch import Integers
from augury.runtime.state import FOREVER, LONG_AGO


class EventSetReporting(EagerReporting):
    """Reporting for instances: one that is a match so far may still grow, and holds back what ends after it."""

    growing: Expanded = Expanded.none()

    @property
    def shares(self) -> bool:
        return False

    @property
    def tallies(self) -> bool:
        return False

    def uncertain(self, live: Remembered) -> Expanded:
        return live.pending + self.growing


class EventSetKernel(AutomatonKernel):
    """Runs the SES automata of a plan; all that it remembers of the events is in the state."""

    family = "event-sets"
    counted = ("predicates", "instances", "peak_instances", "buffer_writes", "visits")
    plan: EventSetsPlan
    reporting: EventSetReporting
    at_a_time = "instances at a time"
    fewer_runs = "shorten WITHIN, add predicates that keep the variables apart, bound the iteration (`{1,5}`)"

    def __init__(self, plan: EventSetsPlan, options: Options, source: EagerNfaSource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        super().__init__(plan, options, source or emit_event_sets(plan, counters=options.counters), EventSetReporting)

    def _check_states(self, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
        check_sets(self.plan, runs, nodes, edges)

    def new_state(self, used_up: EagerState | None = None) -> EagerState:
        return EagerState.start(
            self.source,
            keys=len(self.keys),
            with_places=self.counts_events,
            merge=False,
            totals=self.reporting.totals.specs,
            memory=self.memory,
        )

    def advance(self, live: EagerState, first: int, watermark: int) -> Expanded:
        """Consume the events from `first` on, then end what nothing can join any more."""
        live.pool.reserve(PARTITIONS, max(1, len(live.keys)))
        stream = live.stream()
        found: list[Expanded] = []
        at, n = first, live.events.length
        while at < n:
            end = min(n, at + WARM_UP_EVENTS) if self.code.warming_up else n
            at = self.code("advance", at, end, live.nums, *stream, *live.pool.arguments)
            self._drain(live, found)
            if at < end:
                self._room_for(live, at, found)
        now = max(watermark, LONG_AGO + 1) - 1
        if n:
            now = max(now, int(live.events.view("time")[-1]))
        self._flush(live, now, found, every=watermark == FOREVER)
        if self.plan.query.output is not OutputMode.ALL:
            growing: list[Expanded] = []
            self._flush(live, now, growing, listing=True)
            self.reporting.growing = Expanded.of(growing)
        return Expanded.of(found)

    def _drain(self, live: EagerState, found: list[Expanded]) -> None:
        if live.nums[RunCell.FOUND]:
            found.append(self.reporting.expand(live, sum(map(len, found))))

    def _flush(
        self, live: EagerState, now: int, found: list[Expanded], *, every: bool = False, listing: bool = False
    ) -> None:
        if not live.nums[RunCell.LIVE]:
            return
        if live.nums[RunCell.LIVE] > live.pool.room(MATCHES):
            live.pool.grow(MATCHES, int(live.nums[RunCell.LIVE]))
        flags = int(every), int(listing)
        self.code("flush", now, *flags, live.counts, live.nums, *live.stream(), *live.pool.arguments)
        self._drain(live, found)

    def _room_for(self, live: EagerState, at: int, found: list[Expanded]) -> None:
        """End what has expired, and enlarge what is still too small for the event at `at`."""
        query = self.plan.query
        if isinstance(query.window, TimeWindow):
            self._flush(live, int(live.events.view("time")[at]), found)
        self._collect(live)
        group = int(live.events.view("partition")[at]) if self.by_partition else 0
        components = sum(len(b.components) for b in self.plan.branches)
        need = width(self.plan) * int(live.pool["live_runs"][group]) + components
        self.reserve_runs(live, need)
        if live.nums[RunCell.NODES] + 2 * need > live.pool.room(NODES) // 2:
            live.pool.grow(NODES, 4 * need)
        for owner in (EDGES, MATCHES):
            if need > live.pool.room(owner) // 2:
                live.pool.grow(owner, 2 * need)

    def _collect(self, live: EagerState, now: int | None = None) -> int:
        """Throw away nodes that no instance holds: one that has expired is a match, which `flush` reports."""
        return self.collect(live)
