"""Arrow tables as bytes: what travels between tasks one row a table, instead of one row an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from augury.hosts.spark.partition import STEP, joined

BUCKET, BLOB, KIND = "bucket", "blob", "kind"
ARRIVAL = "__augury_arrival"
"""The order in which events came."""

NOBODY = -1
"""The bucket of no events, which knows what the others were written by."""

PACKED = pa.schema([(BUCKET, pa.int32()), (BLOB, pa.binary())])
"""What goes to the buckets."""


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

    arrival: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        next_row = 0 if context is None else context.partitionId() << 33
        for table in joined(batches, STEP):
            events = table.drop_columns([BUCKET])
            if self.arrival:
                events = events.append_column(ARRIVAL, pa.array(np.arange(next_row, next_row + len(table))))
                next_row += len(table)
            yield _packed(events, table[BUCKET].to_numpy())


def _packed(events: pa.Table, bucket: npt.NDArray[np.int32]) -> pa.RecordBatch:
    order = np.argsort(bucket, kind="stable")
    present, first = np.unique(bucket[order], return_index=True)
    in_order = events.take(pa.array(order)).combine_chunks()
    ends = [*first[1:].tolist(), len(order)]
    blobs = [to_blob(in_order.slice(a, b - a)) for a, b in zip(first.tolist(), ends, strict=True)]
    return pa.record_batch(
        [pa.array([NOBODY, *present.tolist()], pa.int32()), pa.array([b"", *blobs], pa.binary())], schema=PACKED
    )
