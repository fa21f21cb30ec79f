"""Rules over a stream of Spark: events and versions of the rules are two sources, both sent to every bucket.

Spark records in the checkpoint which events and versions a micro-batch reads before it runs, and files of versions
never change, so a micro-batch that is run again has the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from augury.engine.batches import TASK_STEP_EVENTS, joined
from augury.engine.exchange.blobs import ARRIVAL, BLOB, to_blob
from augury.engine.merging import ticks_of
from augury.engine.rules.buckets import COST, COSTLIEST, RuleBuckets
from augury.engine.rules.results import DIAGNOSTICS
from augury.engine.rules.versions import FILE, RULES, VERSION, RuleVersion
from augury.hosts.spark.expressions import column
from augury.hosts.spark.releases import require, with_state
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import spark_schema
from augury.hosts.spark.stream.clock import milliseconds
from augury.hosts.spark.stream.match import EVENT_TIME, LATE_COLUMN, OUTPUT, UnpackTask, event_time, key_bucket
from augury.hosts.spark.stream.packing import BUCKET, LATEST, PackBucketsTask, header_bucket, packed_schema
from augury.hosts.spark.stream.processor import BucketProcessor
from augury.schema import EventSchema

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

DEFAULT_RULE_BUCKETS = 4
"""Default number of shares of the rules: every event is sent to each, and each can run on its own core."""

METRIC = "augury_rules"
"""The metric of a streaming query with `late_events`, `matches`, `diagnostics` and one `diagnostic` as JSON, and for
rules the total `seconds` and `rule_events`, and in `costliest`, as lines of JSON, the rules that took the longest."""

MAX_REPORTING_BUCKETS = 64  # whose costliest rules are reported; each adds a term to Spark's expression

PACKED = pa.schema([(BUCKET, pa.int32()), (BLOB, pa.binary()), (LATEST, pa.int64()), (VERSION, pa.int64())])
"""Rows of both sources: blobs of events, of version 0, with the latest time of their task; versions, without."""


def rules_over_stream(frame: DataFrame, stream: RuleBuckets, versions: Path, delay: int | None) -> DataFrame:
    """What rules find, diagnostics of rules, and in `LATE_COLUMN` late events, each in rows of their own.

    `delay` is the lateness of events in milliseconds, None if the frame has a watermark of its own.
    """
    require("streams", "match finite frames, or update Spark")
    events = frame
    if delay is not None:
        events = events.withColumn(EVENT_TIME, event_time(stream.schema))
        events = events.withWatermark(EVENT_TIME, f"{delay} milliseconds")
    both = _packed(events, stream).unionByName(_versions(frame, versions, stream.buckets))
    states = with_state(both.groupBy(BUCKET), RuleProcessor(stream, delay), spark_schema(OUTPUT))
    result = stream.result.append(pa.field(LATE_COLUMN, pa.struct(list(stream.arrow))))
    found = states.mapInArrow(UnpackTask(result, LATE_COLUMN), spark_schema(result))
    told = [
        F.max(F.when(F.col(f"{COSTLIEST}.bucket") == bucket, F.col(f"{COSTLIEST}.rules")))
        for bucket in range(min(stream.buckets, MAX_REPORTING_BUCKETS))
    ]
    return found.observe(
        METRIC,
        F.count(column(LATE_COLUMN)).alias("late_events"),
        F.count(column("match")).alias("matches"),
        F.count(column("level")).alias("diagnostics"),
        F.max(F.when(column("level").isNotNull(), F.to_json(F.struct(*DIAGNOSTICS.names)))).alias("diagnostic"),
        F.coalesce(F.sum(f"{COST}.seconds"), F.lit(0.0)).alias("seconds"),
        F.coalesce(F.sum(f"{COST}.events"), F.lit(0)).alias("rule_events"),
        F.concat_ws("\n", *told).alias("costliest"),
    ).drop(COSTLIEST)


def _packed(events: DataFrame, stream: RuleBuckets) -> DataFrame:
    """Blobs of events for all buckets, or with a key, for the bucket of each value."""
    columns = [column(name) for name in stream.arrow.names]
    if not stream.key:
        task = PackForAllTask(stream.schema, stream.buckets)
        return map_in_arrow(events.select(*columns), task, spark_schema(PACKED))
    placed = events.select(*columns, key_bucket(stream.key, stream.buckets).alias(BUCKET))
    packed = map_in_arrow(placed, PackBucketsTask(stream.schema, arrival=True), spark_schema(packed_schema(None)))
    return packed.withColumn(VERSION, F.lit(0).cast("long"))


def _versions(frame: DataFrame, folder: Path, buckets: int) -> DataFrame:
    """The published versions of rules, for every bucket."""
    reader = frame.sparkSession.readStream.schema(spark_schema(FILE))
    published = reader.parquet(folder.absolute().as_uri())
    everyone = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1)))
    text, no_time = F.col(RULES).cast("binary"), F.lit(0).cast("long")
    return published.select(everyone.alias(BUCKET), text.alias(BLOB), no_time.alias(LATEST), VERSION)


@dataclass(frozen=True, slots=True)
class PackForAllTask:
    """A task that packs the events of a partition, numbered by arrival, into one blob that goes to each bucket."""

    schema: EventSchema
    buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        next_row = 0 if context is None else context.partitionId() << 33
        for table in joined(batches, TASK_STEP_EVENTS):
            latest = milliseconds(int(ticks_of(table, self.schema).max()), self.schema)
            blob = to_blob(table.append_column(ARRIVAL, pa.array(np.arange(next_row, next_row + len(table)))))
            next_row += len(table)
            count = self.buckets + 1
            yield pa.record_batch(
                [
                    pa.array([header_bucket(None), *range(self.buckets)], pa.int32()),
                    pa.array([b"", *[blob] * self.buckets], pa.binary()),
                    pa.array([latest] * count, pa.int64()),
                    pa.array([0] * count, pa.int64()),
                ],
                schema=PACKED,
            )


class RuleProcessor(BucketProcessor):
    """Runs the buckets of rules: a version that comes with events is in force for these events."""

    stream: RuleBuckets

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # type: ignore[override]
        if key[0] == header_bucket(None):
            self.stream.check(self._stores(0))
            return iter(())
        received = list(rows)
        published = [RuleVersion(int(row[VERSION]), bytes(row[BLOB]).decode()) for row in received if row[VERSION]]
        newest = max(published, key=lambda version: version.number, default=None)
        now = timerValues.getCurrentWatermarkInMs()
        packed = [row for row in received if not row[VERSION]]
        events, next_now = self._unpacked(packed, now) if packed else (None, now)
        return self._advance(key[0], events, now, next_now, newest)

    def _advance(
        self, bucket: int, events: pa.Table | None, now: int, next_now: int, newest: RuleVersion | None = None
    ) -> Iterator[Row]:
        stores, passed, watermark = self._moved(bucket, now, next_now)
        return self._rows(self.stream.advance(bucket, events, stores, passed, watermark, newest))
