"""What Spark keeps for each bucket of keys, and does with it when events come or time goes by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from augury.hosts.events import conform
from augury.hosts.reorder import Arrivals, arrive, in_order, release
from augury.hosts.spark.blobs import ARRIVAL, BLOB, NOBODY, from_blob, to_blob
from augury.hosts.spark.clock import first_millisecond_after, watermark_ticks
from augury.hosts.spark.job import Job
from augury.hosts.spark.saved import Bucket, check_header, header, load_bucket, new_bucket, save_bucket
from augury.hosts.spark.waiting import forgets, waits
from augury.hosts.stages import step

MATCHES, LATE = 0, 1
"""Kinds of output: a table of matches, or of events that came too late."""


class BucketProcessor(StatefulProcessor):
    """Holds events back until the watermark has passed them, matches them in order and keeps what is open."""

    def __init__(self, job: Job, buckets: int) -> None:
        self.job, self.buckets = job, buckets
        self.waits, self.forgets = waits(job.program), forgets(job.program)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("bucket", "state binary")
        self.advanced: dict[int, int] = {}

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # type: ignore[override]
        if key[0] == NOBODY:
            self._check()
            return iter(())
        blobs = [from_blob(bytes(row[BLOB])) for row in rows]
        return self._advance(key[0], pa.concat_tables(blobs), timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        if self.advanced.get(key[0]) == watermark:
            # Events of this very batch have brought the bucket here already.
            return iter(())
        return self._advance(key[0], None, watermark)

    def _check(self) -> None:
        saved = self.state.get() if self.state.exists() else None
        if saved is None:
            self.state.update((header(self.job, self.buckets),))
        else:
            check_header(bytes(saved[0]), self.job, self.buckets)

    def _advance(self, key: int, events: pa.Table | None, milliseconds: int) -> Iterator[Row]:
        saved = self.state.get() if self.state.exists() else None
        bucket = new_bucket(self.job) if saved is None else load_bucket(bytes(saved[0]), self.job, self.buckets)
        watermark = max(bucket.watermark, watermark_ticks(milliseconds, self.job.schema))
        late, bucket = self._arrive(bucket, events, watermark)
        ready, held = release(bucket.held, watermark)
        chain, found, next_derived = step(
            bucket.stages, in_order(ready, self.job.schema), watermark, bucket.next_derived, self.job.options
        )
        bucket = replace(bucket, stages=chain, held=held, next_derived=next_derived, watermark=watermark)
        self._keep(bucket, milliseconds)
        self.advanced[key] = milliseconds
        for table in self.job.columns(found[-1]):
            if table.num_rows:
                yield Row(kind=MATCHES, blob=to_blob(table))
        if late is not None and len(late):
            yield Row(kind=LATE, blob=to_blob(late.table))

    def _arrive(self, bucket: Bucket, events: pa.Table | None, watermark: int) -> tuple[Arrivals | None, Bucket]:
        """Number new events as they came, and set those apart that came too late."""
        if events is None:
            return None, bucket
        if ARRIVAL in events.column_names:
            events = events.take(pa.array(np.argsort(events[ARRIVAL].to_numpy(), kind="stable")))
        arrived = arrive(conform(events.select(self.job.arrow.names), self.job.arrow), self.job.schema, bucket.next_row)
        late = arrived.time < watermark
        in_time = arrived.where(~late)
        return arrived.where(late), replace(bucket, held=bucket.held + in_time, next_row=bucket.next_row + len(arrived))

    def _keep(self, bucket: Bucket, milliseconds: int) -> None:
        """Save the bucket, unless there is nothing to remember, and ask to be woken when its time has come."""
        if bucket.idle and self.forgets:
            self.state.clear()
            return
        self.state.update((save_bucket(bucket, self.job, self.buckets),))
        if self.waits and not bucket.idle:
            self.handle.registerTimer(milliseconds + 1)
        elif len(bucket.held):
            due = first_millisecond_after(int(bucket.held.time.min()), self.job.schema)
            self.handle.registerTimer(max(due, milliseconds + 1))
