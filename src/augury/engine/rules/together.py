"""A stream of events that groups of rules read together: what arrives, what waits, and what is kept of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

from augury.budget import within
from augury.engine.arrivals import Arrivals, EventLog, arrive, in_order, release, split_late
from augury.engine.kept import KeptEvents
from augury.engine.rules.group import SharedEvents
from augury.engine.rules.stream import Step, StreamGroup
from augury.engine.sources.column_types import engine_columns
from augury.engine.sources.schemas import KnownColumns
from augury.engine.times import lateness_ticks
from augury.options import Lateness
from augury.runtime.state import FOREVER, LONG_AGO


@dataclass(frozen=True, slots=True, eq=False)
class GroupStep:
    """What a group has found in a step, in so many seconds, and the events that its matches bind."""

    group: StreamGroup
    step: Step
    log: EventLog
    seconds: float


class TogetherStream:
    """The events of a stream, on their way to groups of rules.

    Without a lateness every event is consumed at once, and one that precedes what was consumed is late. With one events
    wait until one has come that is later by more than that. Late events take no part.
    """

    def __init__(self, columns: KnownColumns, lateness: Lateness | None) -> None:
        self.schema, arrow = columns.schema, columns.arrow
        self.groups: list[StreamGroup] = []
        self.next_row = 0
        self._lateness = lateness_ticks(lateness, columns.schema)
        self._columns = engine_columns(arrow, columns.schema.type, coded=True)
        self._held = self._last = Arrivals.none(arrow)
        self._log = KeptEvents(arrow)
        self._watermark = self._highest = LONG_AGO
        self._batches: deque[tuple[int, int]] = deque()
        """The latest time and the first row of the batches that are kept."""

    def arrive(self, table: pa.Table) -> Arrivals:
        """New events, checked and numbered."""
        return arrive(table, self.schema, self.next_row, self._columns)

    def feed(self, arrived: Arrivals) -> Iterator[GroupStep]:
        """Consume events; what each group finds."""
        in_time, _ = split_late(arrived, self._last, self._watermark, self.schema, by_key=self._lateness is None)
        self.next_row += len(arrived)
        self._held = self._held + in_time
        if len(in_time):
            self._highest = max(self._highest, in_time.latest)
        return self._consume(max(self._watermark, self._highest - (self._lateness or 0)))

    def finish(self) -> Iterator[GroupStep]:
        """Consume what still waits; what each group finds at the end."""
        return self._consume(FOREVER)

    def _consume(self, watermark: int) -> Iterator[GroupStep]:
        ready, self._held = release(self._held, FOREVER if self._lateness is None else watermark)
        ready = in_order(ready, self.schema)
        before, last_watermark = self._log, self._watermark
        shared, log = SharedEvents(ready, self.schema), before + ready
        if len(ready):
            self._last = ready.slice(len(ready) - 1, len(ready))
            self._batches.append((ready.latest, int(ready.rows.min())))
        self._watermark, self._log = watermark, log

        def earlier() -> SharedEvents:
            return SharedEvents(in_order(before.everything(), self.schema), self.schema)

        for group in self.groups:
            began = perf_counter()
            with within(group.options.watching):
                step = group.step(shared, watermark, earlier, last_watermark)
            yield GroupStep(group, step, log, perf_counter() - began)
        self._let_go()

    def _let_go(self) -> None:
        """Forget the batches that no match can reach any more."""
        reach = max((group.reach for group in self.groups), default=0)
        while self._batches and self._batches[0][0] < self._watermark - reach:
            self._batches.popleft()
        # Rows ascend from batch to batch, unless events waited: then earlier ones may come with later batches.
        self._log = self._log.since(min((row for _, row in self._batches), default=self.next_row))
