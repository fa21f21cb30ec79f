"""The eager automaton as a kernel: encode a batch, let the generated code consume it, forget what is past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from augury.budget import Budget, too_many_partial_matches
from augury.codegen.eager.nfa import COUNTERS, EagerNfaSource, emit_eager_nfa
from augury.ir.predicate import Ref
from augury.ir.query import CountWindow, TimeWindow, span_of
from augury.ir.terms import OutputMode, Strategy
from augury.jit.tier import Tier
from augury.kernels.common.keys import key_words
from augury.kernels.common.live import LiveTables, in_use
from augury.kernels.common.preparing import standardising
from augury.kernels.common.reporting import SLICE, Expanded
from augury.kernels.eager.checks import Arrays, check_cells, check_history, check_states
from augury.kernels.eager.reporting import EagerReporting
from augury.kernels.eager.state import (
    EDGES,
    FREE,
    NODES,
    OUT,
    EagerState,
)
from augury.native.support import support_source
from augury.options import Options
from augury.plan import EagerNfaPlan, EventSetsPlan
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.checks import require
from augury.runtime.columns import ColumnSpec, EncodedBatch, encode
from augury.runtime.shared import FoundMatches
from augury.runtime.state import RunState

VERSION = 3

PATIENCE = 1 << 14
"""How many events are left lying that nothing can come of, before the others are moved to their place."""


class AutomatonKernel(ABC):
    """Runs or instances in a pool that take the events of a batch one by one; `EagerKernel` is the plainest.

    All that it remembers of the events is in the state.
    """

    family: str
    counted: tuple[str, ...]
    plan: EagerNfaPlan | EventSetsPlan
    reporting: EagerReporting

    def _prepare(
        self,
        plan: EagerNfaPlan | EventSetsPlan,
        options: Options,
        source: EagerNfaSource,
        reporting: type[EagerReporting],
    ) -> None:
        options = options.with_budget()
        assert options.budget is not None
        self.budget: Budget = options.budget
        self.memory = self.budget.account()
        self.plan, self.options, self.source = plan, options, source
        self.code = Tier(source.source, options, source.functions)
        self.support = Tier(support_source(), options)
        self.reporting = reporting(plan, source, options, self.code, self.support)
        schema = plan.query.schema
        self.keys = tuple(
            ColumnSpec(f"key_{k}", schema[c].kind, Ref("e", c, schema[c]))
            for k, c in enumerate(plan.query.partition_by)
        )

    # -- the contract -----------------------------------------------------------------------------------------------

    def start(self) -> RunState:
        return self._saved(self._new_state())

    def restore(self, state: RunState) -> RunState:
        return self._saved(self._live(state))

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        live = self._live(state)
        # The arrays are changed in place: after an error halfway through, there is no way back.
        live.broken = True
        self.budget.watch(live.nums)
        first = live.events.length
        encoded, live.encoding = encode(
            batch,
            self.plan.query.schema,
            (*self.source.specs, *self.keys, *self.reporting.totals.specs),
            live.encoding,
            functions=self.options.callables,
            standardise=standardising(self.support),
        )
        live.events.append(encoded)
        self.memory.hold("events", live.events.nbytes)
        self._number(live, first, encoded)
        found = live.pending + self._advance(live, first, watermark)
        matches: FoundMatches
        if self.reporting.shares:
            matches = self.reporting.shared(live)
        elif self.reporting.tallies:
            matches = self.reporting.tallied(live)
        else:
            matches = self.reporting.report(live, found, watermark)
        live.horizon = self._horizon(live, watermark)
        if 2 * live.horizon > live.events.length and live.horizon > PATIENCE:
            self._compact(live)
        live.broken = False
        return self._saved(live), matches

    def counters(self, state: RunState) -> dict[str, int]:
        """The measures of the papers, if the options asked for them."""
        live = self._live(state)
        weighed = {"weighed": live.looked} if self.reporting.totals else {}
        return {name: int(live.nums[8 + k]) for k, name in enumerate(self.counted)} | weighed

    @abstractmethod
    def _new_state(self) -> EagerState: ...

    def _saved(self, live: EagerState) -> RunState:
        rows = live.events.view("rows")[live.horizon :]
        oldest = int(rows.min()) if len(rows) else live.encoding.next_event
        return RunState(self.family, VERSION, LiveTables(live, lambda: self._compact(live)), {}, oldest)

    def _live(self, state: RunState) -> EagerState:
        live = in_use(state, EagerState, self.family, VERSION)
        if live is not None:
            return live
        live = self._new_state()
        live.restore(state.tables, self.support, self.reporting, self._check)
        return live

    def _check(self, live: EagerState, runs: Arrays, nodes: Arrays, edges: Arrays) -> None:
        """Refuse saved runs that generated code could not follow."""
        owner = check_history(runs, nodes, edges, live.events, live.keys, self.plan.query.window)
        strict = self.plan.query.strategy is Strategy.STRICT_CONTIGUITY
        partition = live.events.view("partition")[nodes["NE"][runs["RN"]]]
        require(runs["partition"] == (0 if strict else partition), "a run is in another partition than its events")
        cells = np.stack([runs[f"RI{k}"] for k in range(self.source.integers)], axis=1)
        strings = len(live.encoding.dictionary)
        check_cells(cells, self.source.event_cells, self.source.code_cells, live.events.length, strings)
        self._check_states(runs, nodes, edges, owner)

    @abstractmethod
    def _check_states(self, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
        """Refuse runs in a state that their history does not lead to."""

    def _number(self, live: EagerState, first: int, batch: EncodedBatch) -> None:
        """Number the partitions of the events from `first` on, and their places in them."""
        view = live.events.view
        words, null = key_words(batch.arrays, batch.length, self.keys)
        live.keys.number(self.support, words, null, view("partition")[first:], view("place")[first:])
        live.grow_partitions(max(1, len(live.keys)))

    # -- consuming --------------------------------------------------------------------------------------------------

    @property
    def _counts(self) -> bool:
        return isinstance(self.plan.query.window, CountWindow)

    def _advance(self, live: EagerState, first: int, watermark: int) -> Expanded:
        """Consume the events from `first` on; the matches they complete."""
        stream = live.stream()
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
                *(pool[k] for k in ("RS", "RN", "RT", "RK", "RX", "RI", "RF", "FREE", "P_head", "P_live")),
                *(pool[k] for k in ("NE", "NP", "NC", "NT", "NM", "XN", "XX", "OUT", "HT", "HG", "WALK")),
            )
            if live.nums[OUT]:
                if self.reporting.shares:
                    live.cut_segment(self.reporting.starts(live), span_of(self.plan.query.window))
                elif self.reporting.tallies:
                    self.reporting.tally(live)
                else:
                    found.append(self.reporting.expand(live, sum(map(len, found))))
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
            if len(live.pool["RS"]) > self.options.max_partial_matches:
                raise too_many_partial_matches(
                    self.options.max_partial_matches,
                    "partial matches at a time",
                    "shorten WITHIN, add predicates, bound the iteration (`{1,5}`), use a stricter strategy",
                )
            live.grow_runs(2 * need)
        # Every collection goes through all nodes: where few of them stay, it is seldom called and finds much.
        if live.nums[NODES] + 2 * need > len(live.pool["NE"]) // 4:
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
            limit = now - window.ticks if isinstance(window, TimeWindow) else limit
            lists = (live.counts, *(pool[k] for k in ("RT", "RX", "FREE", "P_head", "P_live")))
            self.support("sweep", live.nums, now, span_of(window), self._counts, *lists)
        # Places are counted by partition, so that no one place is too early for all nodes. Without merging a node is no
        # older than the runs that lead back to it.
        by_partition = self._counts and isinstance(self.plan, EagerNfaPlan) and self.plan.merge
        limits = np.empty(len(pool["P_head"]) if by_partition else 1, dtype=np.int64)
        self.memory.claim("partial matches", 8 * (len(pool["NE"]) + 2 * len(pool["XN"])))
        scratch = np.empty(len(pool["NE"]), dtype=np.int64)
        edges = np.empty((2, len(pool["XN"])), dtype=np.int64)
        least = self.support(
            "collect",
            live.nums,
            *(pool[k] for k in ("RN", "RX", "P_head", "NE", "NP", "NC", "NT", "NM", "XN", "XX")),
            scratch,
            edges,
            limit,
            limits,
            span_of(window) if by_partition else -1,
            live.events.view("partition"),
            self.reporting.starts(live),
        )
        return min(int(least), live.events.length)

    # -- forgetting -------------------------------------------------------------------------------------------------

    def _horizon(self, live: EagerState, watermark: int) -> int:
        """The first event that a match to come can still hold, or that can decide about one."""
        window = self.plan.query.window
        if isinstance(window, TimeWindow) and live.events.length:
            time = live.events.view("time")
            now = min(watermark, int(time[-1]))
            reach = 3 if self.reporting.waits else 2 if self.source.negated else 1
            if self.plan.query.output is OutputMode.NONOVERLAP:
                reach = max(reach, 2)
            first = int(time.searchsorted(now - reach * window.ticks))
        elif self.source.negated or live.events.length < live.next_look:
            # What a NOT looks for may lie before every run.
            return live.horizon
        else:
            first = self._collect(live)
            # A look goes through all partitions and what is left, so that it is put off until as many events have come.
            live.next_look = 2 * live.events.length - first + max(4096, len(live.pool["P_head"]))
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
        live.next_look -= count
        live.pool["NE"][:nodes] -= count
        for cell in self.source.event_cells:
            live.pool["RI"][:, cell] -= count
        live.pending.events -= count


class EagerKernel(AutomatonKernel):
    """Runs the automata of a plan; all that it remembers of the events is in the state."""

    family = "eager-nfa"
    counted = COUNTERS
    plan: EagerNfaPlan

    def __init__(self, plan: EagerNfaPlan, options: Options, source: EagerNfaSource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        plan = replace(plan, merge=plan.merge and options.merge)
        self._prepare(plan, options, source or emit_eager_nfa(plan, counters=options.counters), EagerReporting)

    def _check_states(self, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
        require(self.plan.merge or not len(edges["XN"]), "runs that are not to be merged were merged")
        check_states(self.plan, runs, nodes, edges, owner)

    def _new_state(self) -> EagerState:
        walks = max(
            (len(j.each) for b in self.plan.branches for c in b.components for j in (*c.take, *c.whole)), default=0
        )
        return EagerState.start(
            self.source,
            keys=len(self.keys),
            with_places=self._counts,
            merge=self.plan.merge,
            walks=walks,
            totals=self.reporting.totals.specs,
            memory=self.memory,
        )
