"""Matching of a streaming frame."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from augury.engine.cut.by_time import CutEvery
from augury.engine.exchange.blobs import BLOB, from_blob
from augury.engine.exchange.kernels import fitting_stateful_task
from augury.engine.group import Group
from augury.engine.stream import BucketedStream, Buckets
from augury.errors import AuguryWarning, HostError
from augury.hosts.spark.expressions import column, row_filter, ticks
from augury.hosts.spark.releases import require, with_state
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import spark_schema
from augury.hosts.spark.stream.clock import delay_milliseconds
from augury.hosts.spark.stream.packing import BUCKET, KIND, PackBucketsTask, packed_schema
from augury.hosts.spark.stream.processor import LATE, BucketProcessor
from augury.schema import UNITS, EventSchema

DEFAULT_BUCKETS = 16
"""Buckets of keys of a stream: enough tasks for many cores, few enough for large batches in each."""

EVENT_TIME = "__augury_time"

MICROSECOND_NS = 1_000
"""Nanoseconds in a microsecond."""

LATE_COLUMN = "__augury_late"

OUTPUT = pa.schema([(KIND, pa.int32()), (BLOB, pa.binary())])


def match_stream(
    frame: DataFrame, group: Group, *, watermark: str | None, buckets: int | None, late: str | None
) -> DataFrame:
    """The matches of a stream; `watermark` is how late an event may come, None if the frame has a watermark of its own.

    With a key there are `buckets` of keys. Without one there is one bucket, or the stream is cut into chunks of time,
    each as long as so many windows. With `late`, a column of that name holds events that came too late, in rows of
    their own.
    """
    require("streams", "match finite frames, or update Spark")
    number = _buckets(group, buckets)
    cut = None if group.key or number == 1 else CutEvery(number * max(1, group.halo), group.halo)
    events = _events(frame, group, watermark, number)
    kernels = fitting_stateful_task(tuple(file for job in group.jobs for file in job.kernels))
    # The first job of a group ships the kernels of all of them.
    shares = (kernels, *((),) * (len(group.jobs) - 1))
    light = replace(group, jobs=tuple(replace(j, kernels=k) for j, k in zip(group.jobs, shares, strict=True)))
    found = run_buckets(
        events,
        BucketedStream(light, number, cut),
        arrival=group.arrival_matters,
        delay=delay_milliseconds(watermark),
        result=group.result,
        late=_late_column(group, late),
        metric=metric_name(group),
    )
    return found if late is not None else without_late(found, LATE_COLUMN)


def run_buckets(
    events: DataFrame,
    stream: Buckets,
    *,
    arrival: bool,
    delay: int | None,
    result: pa.Schema,
    late: str,
    metric: str,
) -> DataFrame:
    """The output of a stream, with the columns `result`, and events that came too late in a column `late`.

    `events` have a column with their bucket, unless the stream is cut by time. Matches and late events are counted in
    the metric `metric`; `arrival` says whether the order of arrival matters.
    """
    cut = stream.cut
    packed = map_in_arrow(events, PackBucketsTask(stream.schema, arrival, cut), spark_schema(packed_schema(cut)))
    states = with_state(packed.groupBy(BUCKET), BucketProcessor(stream, delay), spark_schema(OUTPUT))
    both = result.append(pa.field(late, pa.struct(list(stream.arrow))))
    found = states.mapInArrow(UnpackTask(both, late), spark_schema(both))
    return found.observe(
        metric,
        F.count(column(late)).alias("late_events"),
        F.count(F.when(column(late).isNull(), 1)).alias("matches"),
    )


def without_late(found: DataFrame, late: str) -> DataFrame:
    """The rows of matches, without those of late events."""
    return found.where(column(late).isNull()).drop(late)


def metric_name(group: Group) -> str:
    """The metric of a streaming query that counts `late_events` and `matches`."""
    text = "\n".join(job.source.text for job in group.jobs)
    return "augury_" + hashlib.sha256(text.encode()).hexdigest()[:8]


def _buckets(group: Group, wanted: int | None) -> int:
    if group.key:
        return DEFAULT_BUCKETS if wanted is None else wanted
    reason = group.why_not_by_time
    if wanted is not None and wanted > 1:
        if reason is not None:
            raise HostError(
                "A575",
                f"a query without a key runs in one bucket: {reason}",
                "leave out buckets=, or give the query a key by [attr]",
            )
        return wanted
    by_time = "" if reason is not None else ", or else cut the stream by time with buckets=8"
    warnings.warn(
        "the query has no key: the whole stream is matched in one task. Where all events of a match agree on an "
        f"attribute, say so with [attr]{by_time}",
        AuguryWarning,
        stacklevel=4,
    )
    return 1


def _events(frame: DataFrame, group: Group, watermark: str | None, buckets: int) -> DataFrame:
    """The events that can affect matches, with their bucket; all events advance the watermark."""
    events = frame
    clock = column(group.schema.time)
    if watermark is not None:
        events = events.withColumn(EVENT_TIME, event_time(group.schema)).withWatermark(EVENT_TIME, watermark)
        clock = column(EVENT_TIME)
    relevant = group.relevant
    test = None if relevant is None else row_filter(relevant, group.schema)
    if test is not None:
        # Spark would push a condition that does not read the time below the watermark, which would then ignore those
        # events.
        events = events.where(F.when(clock.isNotNull(), test).otherwise(F.lit(True)))
    columns = [column(name) for name in group.arrow.names]
    place = key_bucket(group.key, buckets) if group.key else F.lit(0)
    return events.select(*columns, place.alias(BUCKET))


def key_bucket(key: Sequence[str], buckets: int) -> Column:
    """The bucket of a key, by the hash of its values."""
    return F.pmod(F.xxhash64(*map(column, key)), F.lit(buckets)).cast("int")


def event_time(schema: EventSchema) -> Column:
    """The time of an event for Spark's watermark, truncated to microseconds."""
    time = ticks(schema, schema.time)
    unit = UNITS[schema.time_unit]
    finer = unit < MICROSECOND_NS
    return F.timestamp_micros(F.floor(time / F.lit(MICROSECOND_NS)) if finer else time * F.lit(unit // MICROSECOND_NS))


def _late_column(group: Group, wanted: str | None) -> str:
    name = LATE_COLUMN if wanted is None else wanted
    if name in group.result.names:
        raise HostError("A576", f"late={name!r} is the name of a column of the matches", "choose another one")
    return name


@dataclass(frozen=True, slots=True, eq=False)
class UnpackTask:
    """A task that unpacks blobs of matches and of late events into rows."""

    result: pa.Schema
    late: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for kind, blob in zip(batch[KIND].to_pylist(), batch[BLOB].to_pylist(), strict=True):
                yield from self._rows(kind, from_blob(blob)).to_batches()

    def _rows(self, kind: int, table: pa.Table) -> pa.Table:
        if kind == LATE:
            columns = [pa.nulls(table.num_rows, field.type) for field in self.result if field.name != self.late]
            return pa.table([*columns, table.to_struct_array()], schema=self.result)
        late = self.result.field(self.late)
        return table.append_column(late, pa.nulls(table.num_rows, late.type))
