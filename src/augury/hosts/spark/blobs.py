"""Arrow tables as bytes: what travels between tasks one row a table, instead of one row an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from augury.hosts.events import engine_table
from augury.hosts.spark.clock import milliseconds
from augury.hosts.spark.partition import STEP, joined
from augury.runtime.batch import time_ticks
from augury.schema import EventSchema

BUCKET, BLOB, KIND, LATEST = "bucket", "blob", "kind", "latest"
ARRIVAL = "__augury_arrival"
"""The order in which events came."""

NOBODY = -1
"""The bucket of no events, which knows what the others were written by."""

PACKED = pa.schema([(BUCKET, pa.int32()), (BLOB, pa.binary()), (LATEST, pa.int64())])
"""What goes to the buckets: events, and the latest time that their task has seen, in milliseconds."""


def to_blob(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_blob(data: bytes) -> pa.Table:
    """Read what `to_blob` wrote."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


@dataclass(frozen=True, slots=True)
class PackTask:
    """The events of a partition -> one blob for each bucket, numbered as they come if `arrival` counts."""

    schema: EventSchema
    arrival: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        next_row = 0 if context is None else context.partitionId() << 33
        for table in joined(batches, STEP):
            events = table.drop_columns([BUCKET])
            times = pa.table({self.schema.time: engine_table(events.select([self.schema.time]), None).column(0)})
            latest = milliseconds(int(time_ticks(times, self.schema).max()), self.schema)
            if self.arrival:
                events = events.append_column(ARRIVAL, pa.array(np.arange(next_row, next_row + len(table))))
                next_row += len(table)
            yield _packed(events, table[BUCKET].to_numpy(), latest)


def _packed(events: pa.Table, bucket: npt.NDArray[np.int32], latest: int) -> pa.RecordBatch:
    order = np.argsort(bucket, kind="stable")
    present, first = np.unique(bucket[order], return_index=True)
    in_order = events.take(pa.array(order)).combine_chunks()
    ends = [*first[1:].tolist(), len(order)]
    blobs = [to_blob(in_order.slice(a, b - a)) for a, b in zip(first.tolist(), ends, strict=True)]
    columns = [
        pa.array([NOBODY, *present.tolist()], pa.int32()),
        pa.array([b"", *blobs], pa.binary()),
        pa.array([latest] * (len(blobs) + 1), pa.int64()),
    ]
    return pa.record_batch(columns, schema=PACKED)
