"""The events of a stream on their way to its rules: what waits, what is consumed, and what is kept of it."""

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
class Since:
    """The events that a rule sees: those from a row of the stream on, and not before a time."""

    row: int
    time: int = LONG_AGO

    def seen(self, events: Arrivals) -> Arrivals:
        """The events among these that the rule sees."""
        if not len(events) or (self.row <= int(events.rows.min()) and self.time <= events.earliest):
            return events
        return events.where((events.rows >= self.row) & (events.time >= self.time))


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Events that rules consume in one step, up to a watermark.

    `before` are those consumed before that a rule may still look back at, up to `last_watermark`; `last` is the very
    last of them. `log` has all that matches may bind.
    """

    ready: Arrivals
    shared: SharedEvents
    watermark: int
    last_watermark: int
    last: Arrivals
    log: EventLog
    before: Past


@dataclass(slots=True, eq=False)
class Past:
    """Events that were consumed and are kept, from the time `since` on; put together when they are asked for."""

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
        """The events, as groups of rules read them."""
        if self._shared is None:
            self._shared = SharedEvents(self.events, self.columns.schema)
        return self._shared


class RuleEvents:
    """The events of a stream that rules read together.

    Without a lateness (in ticks) every event is consumed at once, and one that precedes what was consumed is late. With
    one events wait until one has come that is later by more than that. Late events take no part. Where somebody else
    knows the watermark, `advance` is told, and finds no event late. Events are kept for `keep` ticks at least.
    """

    def __init__(self, columns: KnownColumns, lateness: int | None, keep: int) -> None:
        self.columns = columns
        self.schema = columns.schema
        self.next_row = 0
        self.watermark = LONG_AGO
        self.kept_from = LONG_AGO
        """No rule looks back farther than to this time, so that earlier events are gone."""
        self.held = Arrivals.none(columns.arrow)
        self.log = KeptEvents(columns.arrow)
        self._lateness, self._keep = lateness, keep
        self._read = engine_columns(columns.arrow, columns.schema.type, coded=True)
        self._last = Arrivals.none(columns.arrow)
        self._highest = LONG_AGO
        self._batches: deque[tuple[int, int]] = deque()
        """The latest time and the first row of the batches that are kept."""

    @property
    def past(self) -> Past:
        """What was consumed and is kept."""
        return Past(self.log, self.kept_from, self.columns)

    @property
    def now(self) -> Since:
        """The events that are still to come."""
        return Since(self.next_row)

    @property
    def backfill(self) -> Since:
        """The events that are still to come, those that wait, and those that are kept for rules to come."""
        return Since(0, max(LONG_AGO, self.watermark - self._keep))

    def arrive(self, table: pa.Table) -> Arrivals:
        """New events, checked and numbered."""
        return arrive(table, self.schema, self.next_row, self._read)

    def feed(self, arrived: Arrivals) -> Portion:
        """Take in new events; those that are consumed now."""
        in_time, _ = split_late(arrived, self._last, self.watermark, self.schema, by_key=self._lateness is None)
        if len(in_time):
            self._highest = max(self._highest, in_time.latest)
        self._take_in(in_time, len(arrived))
        return self._consume(max(self.watermark, self._highest - (self._lateness or 0)), self._lateness is None)

    def advance(self, arrived: Arrivals | None, watermark: int) -> Portion:
        """Take in new events, none of them late, and consume what the watermark has passed."""
        if arrived is not None:
            self._take_in(arrived, len(arrived))
        return self._consume(max(self.watermark, watermark), everything=False)

    def finish(self) -> Portion:
        """Consume what still waits."""
        return self._consume(FOREVER, everything=True)

    def let_go(self, reach: int) -> None:
        """Forget what lies more than so many ticks before the watermark, and is not kept for rules to come."""
        if self.watermark not in (LONG_AGO, FOREVER):
            self.kept_from = max(self.kept_from, self.watermark - max(reach, self._keep))
        while self._batches and self._batches[0][0] < self.kept_from:
            self._batches.popleft()
        # Rows ascend from batch to batch, unless events waited: then earlier ones may come with later batches.
        self.log = self.log.since(min((row for _, row in self._batches), default=self.next_row))

    def restore(self, log: Arrivals, held: Arrivals) -> None:
        """Go on with events that were kept, and with events that waited."""
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
