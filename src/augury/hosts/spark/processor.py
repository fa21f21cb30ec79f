"""What Spark keeps for each bucket of keys, and does with it when events come or time goes by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)

from augury.hosts.events import conform
from augury.hosts.spark.blobs import ARRIVAL, BLOB, NOBODY, from_blob, to_blob
from augury.hosts.spark.bucket import Bucket, advance, new_bucket
from augury.hosts.spark.clock import first_millisecond_after, watermark_ticks
from augury.hosts.spark.group import Group
from augury.hosts.spark.job import Job
from augury.hosts.spark.saved import check_header, header, load_bucket, save_bucket
from augury.hosts.spark.waiting import forgets, waits
from augury.runtime.batch import time_ticks

MATCHES, LATE = 0, 1
"""Kinds of output: a table of matches, or of events that came too late."""


class BucketProcessor(StatefulProcessor):
    """Holds events back until the watermark has passed them, matches them in order and keeps what is open."""

    def __init__(self, group: Group, buckets: int) -> None:
        self.group, self.buckets = group, buckets
        self.schema = group.schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.states = [handle.getValueState(state_name(name), "state binary") for name in self.group.names]
        self.advanced: dict[int, int] = {}

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # type: ignore[override]
        if key[0] == NOBODY:
            self._check()
            return iter(())
        events = pa.concat_tables([from_blob(bytes(row[BLOB])) for row in rows])
        if ARRIVAL in events.column_names:
            events = events.take(pa.array(np.argsort(events[ARRIVAL].to_numpy(), kind="stable")))
        return self._advance(key[0], events.select(self.group.arrow.names), timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        if self.advanced.get(key[0]) == watermark:
            # Events of this very batch have brought the bucket here already.
            return iter(())
        return self._advance(key[0], None, watermark)

    def _check(self) -> None:
        for job, state in zip(self.group.jobs, self.states, strict=True):
            saved = _value(state)
            if saved is None:
                state.update((header(job, self.buckets),))
            else:
                check_header(saved, job, self.buckets)

    def _advance(self, key: int, events: pa.Table | None, milliseconds: int) -> Iterator[Row]:
        watermark = watermark_ticks(milliseconds, self.schema)
        if events is not None:
            events = conform(events, self.group.arrow)
            late = time_ticks(events, self.schema) < watermark
            if late.any():
                yield Row(kind=LATE, blob=to_blob(events.filter(pa.array(late))))
                events = events.filter(pa.array(~late))
        self.advanced[key] = milliseconds
        for k, (job, state) in enumerate(zip(self.group.jobs, self.states, strict=True)):
            saved = _value(state)
            bucket = new_bucket(job) if saved is None else load_bucket(saved, job, self.buckets)
            bucket, found = advance(bucket, job, events, watermark)
            self._keep(bucket, job, state, milliseconds)
            for table in self.group.rows(k, found):
                if table.num_rows:
                    yield Row(kind=MATCHES, blob=to_blob(table))

    def _keep(self, bucket: Bucket, job: Job, state: ValueState, milliseconds: int) -> None:
        """Save the bucket, unless there is nothing to remember, and ask to be woken when its time has come."""
        if bucket.idle and forgets(job.program):
            state.clear()
            return
        state.update((save_bucket(bucket, job, self.buckets),))
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
