"""The stateful operator of Spark that runs the engine's buckets, with Spark's rows, watermark, timers and state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from augury.engine.exchange.blobs import ARRIVAL, BLOB, from_blob, to_blob
from augury.engine.sources.column_types import conform
from augury.engine.state.checkpoint import SavedBucket
from augury.engine.stream import Buckets, LateEvents, MatchedRows, StreamOutput
from augury.hosts.spark.releases import StatefulProcessor
from augury.hosts.spark.stream.clock import first_millisecond_after, watermark_ticks
from augury.hosts.spark.stream.packing import LATEST, header_bucket
from augury.schema import EventSchema

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

MATCHES, LATE = 0, 1
"""Kinds of output: a table of matches, or of late events."""


class BucketProcessor(StatefulProcessor):
    """Runs the buckets of a stream, each of which is a key to Spark.

    Spark's watermark is one batch behind. With a known `delay` in milliseconds, events are processed up to the
    watermark of the next batch, since any earlier event that comes then is late.
    """

    def __init__(self, stream: Buckets, delay: int | None) -> None:
        self.stream, self.delay, self.schema = stream, delay, stream.schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.states = [handle.getValueState(state_name(name), "state binary") for name in self.stream.names]
        self.segments = [
            handle.getMapState(f"{state_name(name)}_events", "number long", "events binary")
            for name in self.stream.names
        ]
        self.advanced: dict[int, int] = {}

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # type: ignore[override]
        if key[0] == header_bucket(self.stream.cut):
            self.stream.check(self._stores(0))
            return iter(())
        now = timerValues.getCurrentWatermarkInMs()
        events, next_now = self._unpacked(list(rows), now)
        return self._advance(key[0], events, now, next_now)

    def _unpacked(self, received: Sequence[Row], now: int) -> tuple[pa.Table, int]:
        """The events received, in order of arrival, and the watermark after them in milliseconds."""
        events = pa.concat_tables([from_blob(bytes(row[BLOB])) for row in received])
        latest = max(row[LATEST] for row in received)
        if ARRIVAL in events.column_names:
            events = events.take(pa.array(np.argsort(events[ARRIVAL].to_numpy(), kind="stable")))
        next_now = now if self.delay is None else max(now, latest - self.delay)
        return conform(events.select(self.stream.arrow.names), self.stream.arrow), next_now

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        if self.advanced.get(key[0]) == watermark:
            # Events of this batch have advanced the bucket already.
            return iter(())
        return self._advance(key[0], None, watermark, watermark)

    def _advance(self, bucket: int, events: pa.Table | None, now: int, next_now: int) -> Iterator[Row]:
        """Add events at the watermark `now`, and advance to `next_now`, both in milliseconds."""
        stores, passed, watermark = self._moved(bucket, now, next_now)
        return self._rows(self.stream.advance(bucket, events, stores, passed, watermark))

    def _moved(self, bucket: int, now: int, next_now: int) -> tuple[list[SparkStore], int, int]:
        """Record the watermark that a bucket has reached; returns its stores, and both watermarks in ticks."""
        self.advanced[bucket] = now
        return self._stores(next_now), watermark_ticks(now, self.schema), watermark_ticks(next_now, self.schema)

    def _rows(self, found: Iterable[StreamOutput]) -> Iterator[Row]:
        """The output of a bucket as rows of Spark."""
        return map(_row, found)

    def _stores(self, milliseconds: int) -> list[SparkStore]:
        return [
            SparkStore(state, segments, self.handle, self.schema, milliseconds)
            for state, segments in zip(self.states, self.segments, strict=True)
        ]


def _row(output: StreamOutput) -> Row:
    match output:
        case LateEvents(table):
            return Row(kind=LATE, blob=to_blob(table))
        case MatchedRows(table):
            return Row(kind=MATCHES, blob=to_blob(table))
        case _:
            assert_never(output)


@dataclass(frozen=True, slots=True, eq=False)
class SparkStore:
    """The state of one query in Spark's current bucket, while the watermark is at `milliseconds`."""

    state: ValueState
    segments: MapState
    handle: StatefulProcessorHandle
    schema: EventSchema
    milliseconds: int

    def head(self) -> bytes | None:
        value = self.state.get()
        return None if value is None else bytes(value[0])

    def segment(self, number: int) -> bytes:
        value = self.segments.getValue((number,))
        assert value is not None, "a segment is as old as the head that names it"
        return bytes(value[0])

    def write_header(self, head: bytes) -> None:
        self.state.update((head,))

    def write(self, saved: SavedBucket) -> None:
        for number in saved.gone:
            self.segments.removeKey((number,))
        for number, events in saved.segments.items():
            self.segments.updateValue((number,), (events,))
        self.state.update((saved.head,))

    def clear(self) -> None:
        self.state.clear()
        self.segments.clear()

    def wake(self, after: int | None) -> None:
        due = self.milliseconds if after is None else first_millisecond_after(after, self.schema)
        self.handle.registerTimer(max(due, self.milliseconds + 1))


def state_name(query: str | None) -> str:
    """The name of the state variable of a query."""
    return "bucket" if query is None else f"bucket_{hashlib.sha256(query.encode()).hexdigest()[:12]}"
