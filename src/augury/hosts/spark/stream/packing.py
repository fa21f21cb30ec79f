"""Packing of a micro-batch's events into blobs, one for each bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from augury.engine.batches import TASK_STEP_EVENTS, joined
from augury.engine.cut.by_time import CutEvery, copies
from augury.engine.exchange.blobs import ARRIVAL, BLOB, blobs_by
from augury.engine.sources.column_types import engine_table
from augury.hosts.spark.stream.clock import milliseconds
from augury.runtime.batch import Integers, time_ticks
from augury.runtime.state import LONG_AGO
from augury.schema import EventSchema

BUCKET, KIND, LATEST = "bucket", "kind", "latest"


def header_bucket(cut: CutEvery | None) -> int:
    """The number of a bucket without events, whose state identifies the queries of the checkpoint."""
    return -1 if cut is None else LONG_AGO


def packed_schema(cut: CutEvery | None) -> pa.Schema:
    """The columns sent to buckets: blobs of events, and the latest time that their task has seen, in milliseconds."""
    return pa.schema([(BUCKET, pa.int32() if cut is None else pa.int64()), (BLOB, pa.binary()), (LATEST, pa.int64())])


@dataclass(frozen=True, slots=True)
class PackBucketsTask:
    """A task that packs the events of a partition into one blob per bucket, numbered by arrival if `arrival`.

    With a `cut` the buckets are chunks of time, else a column holds the bucket of an event.
    """

    schema: EventSchema
    arrival: bool
    cut: CutEvery | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        next_row = 0 if context is None else context.partitionId() << 33
        for table in joined(batches, TASK_STEP_EVENTS):
            events = table.drop_columns([BUCKET])
            times = pa.table({self.schema.time: engine_table(events.select([self.schema.time]), None).column(0)})
            time = time_ticks(times, self.schema)
            latest = milliseconds(int(time.max()), self.schema)
            if self.arrival:
                events = events.append_column(ARRIVAL, pa.array(np.arange(next_row, next_row + len(table))))
                next_row += len(table)
            position, bucket = self._places(table, time)
            order = np.argsort(bucket, kind="stable")
            yield self._packed(events.take(pa.array(position[order])).combine_chunks(), bucket[order], latest)

    def _places(self, table: pa.Table, time: Integers) -> tuple[Integers, Integers]:
        """The positions of events, and the bucket of each."""
        if self.cut is not None:
            return copies(self.cut, time)
        return np.arange(len(table)), table[BUCKET].to_numpy().astype(np.int64)

    def _packed(self, events: pa.Table, bucket: Integers, latest: int) -> pa.RecordBatch:
        """Events in the order of their buckets, as one blob per bucket."""
        present, blobs = blobs_by(bucket, events)
        schema = packed_schema(self.cut)
        columns = [
            pa.array([header_bucket(self.cut), *present.tolist()], schema.field(BUCKET).type),
            pa.array([b"", *blobs], pa.binary()),
            pa.array([latest] * (len(blobs) + 1), pa.int64()),
        ]
        return pa.record_batch(columns, schema=schema)
