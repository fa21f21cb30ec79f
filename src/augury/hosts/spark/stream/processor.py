"""What Spark keeps for each bucket of keys, and does with it when events come or time goes by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from augury.engine.cut.chunks import kept_in
from augury.engine.cut.ranges import Ranges
from augury.engine.exchange.blobs import ARRIVAL, BLOB, from_blob, to_blob
from augury.engine.group import Group
from augury.engine.sources.events import conform, engine_table
from augury.engine.state.bucket import Bucket, advance, new_bucket
from augury.engine.state.bucket_cache import keep, take
from augury.engine.state.checkpoint import check_header, header, load_bucket, read_head, save_bucket
from augury.engine.state.expiry import forgets, waits
from augury.hosts.spark.releases import StatefulProcessor
from augury.hosts.spark.stream.clock import first_millisecond_after, watermark_ticks
from augury.hosts.spark.stream.packing import LATEST, nobody
from augury.runtime.batch import time_ticks

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

MATCHES, LATE = 0, 1
"""Kinds of output: a table of matches, or of events that came too late."""


class BucketProcessor(StatefulProcessor):
    """Holds events back until the watermark has passed them, matches them in order and keeps what is open.

    Spark's watermark follows a batch behind. With the `delay` known, in milliseconds, events go on that will be before
    the watermark of the next batch: whatever comes then and is earlier will be late.

    With `ranges` each bucket is a range of time, and reports the matches that belong there.
    """

    def __init__(self, group: Group, buckets: int, delay: int | None, ranges: Ranges | None = None) -> None:
        self.group, self.buckets, self.delay, self.ranges = group, buckets, delay, ranges
        self.schema = group.schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.states = [handle.getValueState(state_name(name), "state binary") for name in self.group.names]
        self.segments = [
            handle.getMapState(f"{state_name(name)}_events", "number long", "events binary")
            for name in self.group.names
        ]
        self.advanced: dict[int, int] = {}

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # type: ignore[override]
        if key[0] == nobody(self.ranges):
            self._check()
            return iter(())
        received = list(rows)
        events = pa.concat_tables([from_blob(bytes(row[BLOB])) for row in received])
        latest = max(row[LATEST] for row in received)
        if ARRIVAL in events.column_names:
            events = events.take(pa.array(np.argsort(events[ARRIVAL].to_numpy(), kind="stable")))
        now = timerValues.getCurrentWatermarkInMs()
        next_now = now if self.delay is None else max(now, latest - self.delay)
        return self._advance(key[0], conform(events.select(self.group.arrow.names), self.group.arrow), now, next_now)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        if self.advanced.get(key[0]) == watermark:
            # Events of this very batch have brought the bucket here already.
            return iter(())
        return self._advance(key[0], None, watermark, watermark)

    def _check(self) -> None:
        for job, state in zip(self.group.jobs, self.states, strict=True):
            saved = _value(state)
            if saved is None:
                state.update((header(job, self.buckets),))
            else:
                check_header(saved, job, self.buckets)

    def _advance(self, key: int, events: pa.Table | None, now: int, next_now: int) -> Iterator[Row]:
        """Take in events at the watermark `now`, and go on to `next_now`, both in milliseconds."""
        buckets = [self._bucket(k) for k in range(len(self.group.jobs))]
        if events is not None:
            passed = max(watermark_ticks(now, self.schema), *(bucket.watermark for bucket in buckets))
            time = time_ticks(engine_table(events, self.schema.type), self.schema)
            late = time < passed
            told = late if self.ranges is None else late & (self.ranges.home(time) == key)
            if told.any():
                yield Row(kind=LATE, blob=to_blob(events.filter(pa.array(told))))
            if late.any():
                events = events.filter(pa.array(~late))
        self.advanced[key] = now
        for k, (job, bucket) in enumerate(zip(self.group.jobs, buckets, strict=True)):
            moved, found = advance(bucket, job, events, watermark_ticks(next_now, self.schema))
            self._keep(moved, key, k, next_now)
            if self.ranges is not None:
                found = kept_in(found, self.ranges.chunk(key), 1, by_end=self.group.by_end(k))
            for table in self.group.rows(k, found):
                if table.num_rows:
                    yield Row(kind=MATCHES, blob=to_blob(table))

    def _bucket(self, k: int) -> Bucket:
        job, saved = self.group.jobs[k], _value(self.states[k])
        if saved is None:
            return new_bucket(job)
        head = read_head(saved, job, self.buckets)
        return take(head.name, job.name, head.mark) or load_bucket(head, partial(_segment, self.segments[k]), job)

    def _keep(self, bucket: Bucket, key: int, k: int, milliseconds: int) -> None:
        """Save the bucket, unless there is nothing to remember, and ask to be woken when its time has come."""
        job, state, segments = self.group.jobs[k], self.states[k], self.segments[k]
        over = None if self.ranges is None else self.ranges.over(key)
        if (bucket.idle and forgets(job.program)) or (over is not None and bucket.watermark > over):
            state.clear()
            segments.clear()
            return
        bucket, saved = save_bucket(bucket, job, self.buckets)
        for number in saved.gone:
            segments.removeKey((number,))
        for number, events in saved.segments.items():
            segments.updateValue((number,), (events,))
        state.update((saved.head,))
        keep(bucket, job.name, saved.mark)
        if over is not None:
            self.handle.registerTimer(max(first_millisecond_after(over, self.schema), milliseconds + 1))
        if waits(job.program) and not bucket.idle:
            self.handle.registerTimer(milliseconds + 1)
        elif len(bucket.held):
            due = first_millisecond_after(int(bucket.held.time.min()), self.schema)
            self.handle.registerTimer(max(due, milliseconds + 1))


def state_name(query: str | None) -> str:
    """The state variable of a query."""
    return "bucket" if query is None else f"bucket_{hashlib.sha256(query.encode()).hexdigest()[:12]}"


def _value(state: ValueState) -> bytes | None:
    value = state.get()
    return None if value is None else bytes(value[0])


def _segment(segments: MapState, number: int) -> bytes:
    value = segments.getValue((number,))
    assert value is not None, "a segment is as old as the head that names it"
    return bytes(value[0])
