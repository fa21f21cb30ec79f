"""The events of a stream for its rules: those held back, those consumed, and those kept for later."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pyarrow as pa

from augury.engine.arrivals import Arrivals, EventLog, arrive, in_order, release, split_late
from augury.engine.kept import KeptEvents
from augury.engine.rules.group import SharedEvents
from augury.engine.sources.column_types import engine_columns
from augury.engine.sources.schemas import KnownColumns
from augury.runtime.state import FOREVER, LONG_AGO


@dataclass(frozen=True, slots=True)
class StartPosition:
    """The start of a rule in the stream: it sees events from this row on that are not before this time."""

    row: int
    time: int = LONG_AGO

    def seen(self, events: Arrivals) -> Arrivals:
        """The events that the rule sees."""
        if not len(events) or (self.row <= int(events.rows.min()) and self.time <= events.earliest):
            return events
        return events.where((events.rows >= self.row) & (events.time >= self.time))


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Events that rules consume in one step, up to a watermark.

    `before` are earlier events that a rule may still look back at, up to `last_watermark`; `last` is the last of them.
    `log` holds all events that matches may bind.
    """

    ready: Arrivals
    shared: SharedEvents
    watermark: int
    last_watermark: int
    last: Arrivals
    log: EventLog
    before: PastEvents


@dataclass(slots=True, eq=False)
class PastEvents:
    """Consumed events that are kept, from the time `since` on; concatenated when they are asked for."""

    log: KeptEvents
    since: int
    columns: KnownColumns
    _shared: SharedEvents | None = field(default=None)

    @property
    def events(self) -> Arrivals:
        """The events, in order."""
        kept = self.log.everything()
        return in_order(kept.where(kept.time >= self.since), self.columns.schema)

    @property
    def shared(self) -> SharedEvents:
        """The events in the form that groups of rules read."""
        if self._shared is None:
            self._shared = SharedEvents(self.events, self.columns.schema)
        return self._shared


class RuleEvents:
    """The events of a stream that rules read together.

    Without a lateness (in ticks) every event is consumed at once, and one that precedes what was consumed is late. With
    a lateness, events wait until an event comes that is later by more than that. Late events are dropped. Where the
    host knows the watermark, it calls `advance`, which finds no event late. Events are kept for at least `keep` ticks.
    """

    def __init__(self, columns: KnownColumns, lateness: int | None, keep: int) -> None:
        self.columns = columns
        self.schema = columns.schema
        self.next_row = 0
        self.watermark = LONG_AGO
        self.kept_from = LONG_AGO
        """The earliest time that a rule looks back to: earlier events have been dropped."""
        self.held = Arrivals.none(columns.arrow)
        self.log = KeptEvents(columns.arrow)
        self._lateness, self._keep = lateness, keep
        self._read = engine_columns(columns.arrow, columns.schema.type, coded=True)
        self._last = Arrivals.none(columns.arrow)
        self._highest = LONG_AGO
        self._batches: deque[tuple[int, int]] = deque()
        """The latest time and the first row of the batches that are kept."""

    @property
    def past(self) -> PastEvents:
        """The consumed events that are kept."""
        return PastEvents(self.log, self.kept_from, self.columns)

    @property
    def now(self) -> StartPosition:
        """The start of a rule that sees only events still to come."""
        return StartPosition(self.next_row)

    @property
    def backfill(self) -> StartPosition:
        """The start of a rule that also sees held events, and past ones kept for backfill."""
        return StartPosition(0, max(LONG_AGO, self.watermark - self._keep))

    def arrive(self, table: pa.Table) -> Arrivals:
        """Check and number new events."""
        return arrive(table, self.schema, self.next_row, self._read)

    def feed(self, arrived: Arrivals) -> Portion:
        """Add new events, and return those to consume now."""
        in_time, _ = split_late(arrived, self._last, self.watermark, self.schema, by_key=self._lateness is None)
        if len(in_time):
            self._highest = max(self._highest, in_time.latest)
        self._take_in(in_time, len(arrived))
        return self._consume(max(self.watermark, self._highest - (self._lateness or 0)), self._lateness is None)

    def advance(self, arrived: Arrivals | None, watermark: int) -> Portion:
        """Add new events, none of them late, and return those that the watermark has passed."""
        if arrived is not None:
            self._take_in(arrived, len(arrived))
        return self._consume(max(self.watermark, watermark), everything=False)

    def finish(self) -> Portion:
        """Return all held events, to consume them at the end of the stream."""
        return self._consume(FOREVER, everything=True)

    def let_go(self, reach: int) -> None:
        """Drop events more than `reach` ticks before the watermark, unless they are kept for backfill."""
        if self.watermark not in (LONG_AGO, FOREVER):
            self.kept_from = max(self.kept_from, self.watermark - max(reach, self._keep))
        while self._batches and self._batches[0][0] < self.kept_from:
            self._batches.popleft()
        # Rows ascend from batch to batch, unless events waited: then earlier ones may come with later batches.
        self.log = self.log.since(min((row for _, row in self._batches), default=self.next_row))

    def restore(self, log: Arrivals, held: Arrivals) -> None:
        """Continue with saved events: those kept and those held."""
        self.log, self.held = KeptEvents(self.columns.arrow) + log, held
        if len(log):
            self._batches.append((log.latest, int(log.rows.min())))

    def _take_in(self, events: Arrivals, arrived: int) -> None:
        self.next_row += arrived
        self.held = self.held + events

    def _consume(self, watermark: int, everything: bool) -> Portion:
        ready, self.held = release(self.held, FOREVER if everything else watermark)
        ready = in_order(ready, self.schema)
        before, last_watermark, last = self.past, self.watermark, self._last
        self.watermark, self.log = watermark, self.log + ready
        if len(ready):
            self._last = ready.slice(len(ready) - 1, len(ready))
            self._batches.append((ready.latest, int(ready.rows.min())))
        shared = SharedEvents(ready, self.schema)
        return Portion(ready, shared, watermark, last_watermark, last, self.log, before)
