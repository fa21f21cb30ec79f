"""Lossy streams as a kernel: encode a batch, let the generated code consume it, forget what is past."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.codegen.lossy.arrays import ENTRIES, MATCHES, QUEUES
from augury.codegen.lossy.queues import LossySource, emit_lossy
from augury.ir.query import TimeWindow
from augury.jit.tier import Tier
from augury.kernels.common.counters import counters_of
from augury.kernels.common.keys import key_words
from augury.kernels.lossy.reporting import WARM_UP_EVENTS, LossyReporting
from augury.kernels.lossy.state import LossyState, Scored, score_tables
from augury.kernels.stream import Renumbering, StreamKernel
from augury.loss import DIGITS
from augury.native.cells import QueueCell
from augury.native.queues import sweep
from augury.options import Options
from augury.plan import LossyPlan
from augury.plan.lossy import Floats
from augury.runtime.columns import ColumnSpec, EncodedBatch
from augury.runtime.matches import MatchSet


class LossyKernel(StreamKernel[LossyState]):
    """Runs a lossy plan; all that it remembers of the events is in the state."""

    family = "lossy"
    version = 3
    state_type = LossyState
    counted = counters_of(QueueCell)
    fewer_matches = "raise THRESHOLD, ask for OUTPUT NONOVERLAP, shorten WITHIN, or add predicates"

    def __init__(self, plan: LossyPlan, options: Options, source: LossySource | None = None) -> None:
        """`source` is what the plan was emitted as with these options, if it was."""
        assert isinstance(plan.query.window, TimeWindow)
        super().__init__(plan.query, options, plan.hash_by)
        self.plan, self.window = plan, plan.query.window.ticks
        self.source = source or emit_lossy(plan, counters=options.counters)
        self.code = Tier(self.source.source, self.options, self.source.functions)
        self.tables = score_tables(plan, self.source)
        self.reporting = LossyReporting(plan, self.source, self.code)

    def new_state(self, used_up: LossyState | None = None) -> LossyState:
        components = len(self.plan.positive)
        return LossyState.start(
            self.source, self.tables, keys=len(self.keys), components=components, memory=self.memory
        )

    @property
    def codes(self) -> tuple[Tier, ...]:
        return (self.code,)

    def columns(self, live: LossyState) -> tuple[ColumnSpec, ...]:
        return self.source.specs

    def literals(self, live: LossyState) -> tuple[str, ...]:
        return self.source.strings

    def without_partition(self, encoded: EncodedBatch, null: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        # Only `[attr]` excludes a null. An event may match without those that an equality compares it with, missing or
        # negated ones: it stays in some partition, in which the conjuncts themselves reject whatever differs.
        return key_words(encoded.arrays, encoded.length, self.keys[: len(self.query.partition_by)])[1]

    def report(self, live: LossyState, found: Scored, watermark: int) -> MatchSet:
        return self.reporting.report(live, found, watermark)

    def restore_pending(self, live: LossyState, tables: Mapping[str, pa.Table]) -> Scored:
        return live.restored_pending(tables)

    def restore_family(self, live: LossyState, tables: Mapping[str, pa.Table]) -> None:
        live.restore(tables, self.source)

    # -- consuming --------------------------------------------------------------------------------------------------

    def advance(self, live: LossyState, first: int, watermark: int) -> Scored:
        live.pool.reserve(QUEUES, max(1, len(live.keys)) * self.source.queues)
        stream = live.stream(self.source)
        live.nums[QueueCell.FOUND], live.nums[QueueCell.LIMIT] = 0, self.options.max_matches
        at, n = first, live.events.length
        while True:
            end = min(n, at + WARM_UP_EVENTS) if self.code.warming_up else n
            at = self.code("advance", at, end, live.nums, *stream, *live.pool.arguments)
            needed = max(int(live.nums[QueueCell.FOUND]), int(live.nums[QueueCell.NO_ROOM]))
            if needed > self.options.max_matches:
                raise self.too_many()
            if at == n:
                count = int(live.nums[QueueCell.FOUND])
                scores: Floats = live.pool["match_score"][:count]
                return Scored(live.pool["match_events"][:count].copy(), np.round(scores, DIGITS))
            if at < end:
                self._make_room(live, int(live.events.view("time")[at]))

    def _make_room(self, live: LossyState, now: int) -> None:
        """Dequeue what has expired, and enlarge what is still too small."""
        if live.nums[QueueCell.NO_ROOM]:
            live.pool.reserve(MATCHES, 2 * int(live.nums[QueueCell.NO_ROOM]))
            live.nums[QueueCell.NO_ROOM] = 0
            return
        self._sweep(live, now)
        if 2 * live.used > live.pool.room(ENTRIES):
            live.grow_entries()

    def _sweep(self, live: LossyState, now: int) -> None:
        self.code("sweep", now - self.window, live.nums, live.events.view("time"), *live.pool.taken_by(sweep))

    # -- forgetting -------------------------------------------------------------------------------------------------

    def find_horizon(self, live: LossyState, watermark: int) -> int:
        if not live.events.length:
            return 0
        time = live.events.view("time")
        now = min(watermark, int(time[-1]))
        first = int(np.searchsorted(time, now - self.window, side="left"))
        return min(first, int(live.pending.first.min())) if len(live.pending) else first

    def expire(self, live: LossyState) -> int:
        if live.horizon:
            self._sweep(live, int(live.events.view("time")[-1]))
        return live.horizon

    def renumbered(self, live: LossyState, by: Renumbering) -> None:
        live.renumbered(by)
