"""Lossy streams as a kernel: encode a batch, let the generated code consume it, forget what is past."""

from __future__ import annotations

import numpy as np

from augury.budget import too_many_matches
from augury.codegen.lossy.conditions import COUNTERS
from augury.codegen.lossy.queues import FOUND, LIMIT, LossySource, emit_lossy
from augury.ir.predicate import Ref
from augury.ir.query import TimeWindow
from augury.jit.tier import Tier
from augury.kernels.common.keys import NO_PLACES, key_words
from augury.kernels.common.live import LiveTables, in_use
from augury.kernels.common.preparing import standardising
from augury.kernels.lossy.reporting import SLICE, LossyReporting
from augury.kernels.lossy.state import LossyState, Scored, score_tables
from augury.loss import DIGITS
from augury.native.support import support_source
from augury.options import Options
from augury.plan import LossyPlan
from augury.runtime.batch import EventBatch
from augury.runtime.columns import ColumnSpec, EncodedBatch, encode
from augury.runtime.matches import MatchSet
from augury.runtime.state import RunState

VERSION = 2

PATIENCE = 1 << 14
"""How many events are left lying that nothing can come of, before the others are moved to their place."""


class LossyKernel:
    """Runs a lossy plan; all that it remembers of the events is in the state."""

    def __init__(self, plan: LossyPlan, options: Options, source: LossySource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        assert isinstance(plan.query.window, TimeWindow)
        options = options.with_budget()
        assert options.budget is not None
        self.budget = options.budget
        self.memory = self.budget.account()
        self.plan, self.options, self.window = plan, options, plan.query.window.ticks
        self.source = source or emit_lossy(plan, counters=options.counters)
        self.code = Tier(self.source.source, options, self.source.functions)
        self.support = Tier(support_source(), options)
        self.tables = score_tables(plan, self.source)
        self.reporting = LossyReporting(plan, self.source, self.code)
        schema = plan.query.schema
        self.keys = tuple(
            ColumnSpec(f"key_{k}", schema[c].kind, Ref("e", c, schema[c])) for k, c in enumerate(plan.hash_by)
        )

    # -- the contract -----------------------------------------------------------------------------------------------

    def start(self) -> RunState:
        return self._saved(self._new_state())

    def restore(self, state: RunState) -> RunState:
        return self._saved(self._live(state))

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, MatchSet]:
        live = self._live(state)
        # The arrays are changed in place: after an error halfway through, there is no way back.
        live.broken = True
        self.budget.watch(live.nums)
        first = live.events.length
        encoded, live.encoding = encode(
            batch,
            self.plan.query.schema,
            (*self.source.specs, *self.keys),
            live.encoding,
            functions=self.options.callables,
            standardise=standardising(self.support),
        )
        live.events.append(encoded)
        self.memory.hold("events", live.events.nbytes)
        self._number(live, first, encoded)
        found = live.pending + self._advance(live, first)
        matches = self.reporting.report(live, found, watermark)
        live.horizon = self._horizon(live, watermark)
        if 2 * live.horizon > live.events.length and live.horizon > PATIENCE:
            self._compact(live)
        live.broken = False
        return self._saved(live), matches

    def counters(self, state: RunState) -> dict[str, int]:
        """What the kernel has done, if the options asked for it."""
        live = self._live(state)
        return {name: int(live.nums[8 + k]) for k, name in enumerate(COUNTERS)}

    def _new_state(self) -> LossyState:
        components = len(self.plan.positive)
        slots = components + len(self.plan.negated)
        return LossyState.start(
            self.source, keys=len(self.keys), components=components, slots=slots, memory=self.memory
        )

    def _saved(self, live: LossyState) -> RunState:
        rows = live.events.view("rows")[live.horizon :]
        oldest = int(rows.min()) if len(rows) else live.encoding.next_event
        return RunState("lossy", VERSION, LiveTables(live, lambda: self._compact(live)), {}, oldest)

    def _live(self, state: RunState) -> LossyState:
        live = in_use(state, LossyState, "lossy", VERSION)
        if live is not None:
            return live
        live = self._new_state()
        live.restore(state.tables, self.support, self.source)
        return live

    def _number(self, live: LossyState, first: int, batch: EncodedBatch) -> None:
        """Number the partitions of the events from `first` on."""
        words, _ = key_words(batch.arrays, batch.length, self.keys)
        # Only `[attr]` excludes a null. An event may match without those that an equality compares it with, missing or
        # negated ones: it stays in some partition, in which the conjuncts themselves reject whatever differs.
        _, null = key_words(batch.arrays, batch.length, self.keys[: len(self.plan.query.partition_by)])
        live.keys.number(self.support, words, null, live.events.view("partition")[first:], NO_PLACES)
        live.grow_slots(max(1, len(live.keys)) * self.source.queues)

    # -- consuming --------------------------------------------------------------------------------------------------

    def _advance(self, live: LossyState, first: int) -> Scored:
        """Consume the events from `first` on; the matches they complete."""
        stream = live.stream(self.source)
        live.nums[FOUND], live.nums[LIMIT] = 0, self.options.max_matches
        at, n = first, live.events.length
        while True:
            end = min(n, at + SLICE) if self.code.warming_up else n
            at = self.code("advance", at, end, *live.arguments(stream, self.tables))
            needed = max(int(live.nums[FOUND]), int(live.nums[LIMIT + 1]))
            if needed > self.options.max_matches:
                raise too_many_matches(
                    self.options.max_matches,
                    "raise THRESHOLD, ask for OUTPUT NONOVERLAP, shorten WITHIN, or add predicates",
                )
            if at == n:
                count = int(live.nums[FOUND])
                return Scored(live.pool["OUT"][:count].copy(), np.round(live.pool["OUT_score"][:count], DIGITS))
            if at < end:
                self._make_room(live, int(live.events.view("time")[at]))

    def _make_room(self, live: LossyState, now: int) -> None:
        """Dequeue what has expired, and enlarge what is still too small."""
        if live.nums[LIMIT + 1]:
            live.grow_output(2 * int(live.nums[LIMIT + 1]))
            live.nums[LIMIT + 1] = 0
            return
        self._sweep(live, now)
        if 2 * live.used > len(live.pool["FREE"]):
            live.grow_entries()

    def _sweep(self, live: LossyState, now: int) -> None:
        names = ("QE", "QO", "QY", "MO", "MY", "FREE", "HEAD", "TAIL", "MF", "MB")
        time = live.events.view("time")
        self.code("sweep", now - self.window, live.nums, time, *(live.pool[k] for k in names))

    # -- forgetting -------------------------------------------------------------------------------------------------

    def _horizon(self, live: LossyState, watermark: int) -> int:
        """The first event that a match to come can still hold, or that can decide about one."""
        if not live.events.length:
            return 0
        time = live.events.view("time")
        now = min(watermark, int(time[-1]))
        first = int(np.searchsorted(time, now - self.window, side="left"))
        return min(first, int(live.pending.first.min())) if len(live.pending) else first

    def _compact(self, live: LossyState) -> None:
        """Throw away every entry and event that nothing can come of."""
        if live.horizon:
            now = int(live.events.view("time")[-1])
            self._sweep(live, now)
            live.shift(live.horizon)
            live.horizon = 0
            live.forget_partitions(self.source.queues, now - self.window, self.support)
