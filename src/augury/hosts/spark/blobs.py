"""Arrow tables as bytes: what travels between tasks one row a table, instead of one row an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from augury.hosts.spark.partition import STEP, joined

BUCKET, BLOB, KIND = "bucket", "blob", "kind"
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


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of a partition, one blob for each bucket; what is in no bucket's blob has no column `bucket`."""
    for table in joined(batches, STEP):
        events = table.drop_columns([BUCKET])
        bucket = table[BUCKET].to_numpy()
        order = np.argsort(bucket, kind="stable")
        present, first = np.unique(bucket[order], return_index=True)
        sorted_events = events.take(pa.array(order)).combine_chunks()
        ends = [*first[1:].tolist(), len(order)]
        blobs = [to_blob(sorted_events.slice(a, b - a)) for a, b in zip(first.tolist(), ends, strict=True)]
        yield pa.record_batch(
            [pa.array([NOBODY, *present.tolist()], pa.int32()), pa.array([b"", *blobs], pa.binary())], schema=PACKED
        )
