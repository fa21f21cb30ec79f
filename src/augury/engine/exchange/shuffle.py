"""Shuffling finite events: a row for each blob of a partition's events, instead of a row for each event.

The host moves few large values instead of many small rows, and need not sort them: each blob is sorted by time where it
is written, and blobs are merged where they are read.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from augury.engine.batches import RESULT_ROWS, joined
from augury.engine.cut.by_key import key_shares
from augury.engine.cut.by_time import CutAt, copies
from augury.engine.exchange.blobs import BLOB, blobs_by, from_blob
from augury.engine.exchange.codes import where_small, with_codes
from augury.engine.group import Group
from augury.engine.host import Host
from augury.engine.matching import matches_of
from augury.engine.merging import ticks_of
from augury.runtime.batch import Integers
from augury.schema import EventSchema

PARTITION = "__augury_partition"

PACKED = pa.schema([(PARTITION, pa.int32()), (BLOB, pa.binary())])
"""The columns of a shuffled frame."""

PACKED_EVENTS = 1 << 17  # events packed at a time for few partitions
EVENTS_PER_BLOB = 1 << 12  # events per blob on average: for many partitions more events are packed at a time
MAX_PACKED_EVENTS = 1 << 20  # events packed at a time, however many partitions there are
MAX_PACKED_BYTES = 1 << 26  # bytes packed at a time

MIN_EVENTS_PER_CODE = 8
"""Events that a blob must have per distinct string: with fewer, codes and a dictionary take more room than strings."""

MAX_BLOB_BYTES = 1 << 28
"""Bytes of blobs that a task keeps in memory; further ones go to a temporary file."""


@dataclass(frozen=True, slots=True, eq=False)
class PackTask:
    """Events -> blobs, each of one partition and sorted by time.

    A partition is a share of the keys, or with a `cut` one chunk of time of a share. String columns that are `coded`
    may be dictionary-encoded.
    """

    schema: EventSchema
    key: tuple[str, ...]
    shares: int
    cut: CutAt | None
    coded: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = min(MAX_PACKED_EVENTS, max(PACKED_EVENTS, EVENTS_PER_BLOB * self.partitions))
        for table in joined(batches, rows, MAX_PACKED_BYTES):
            yield self.packed(table)

    @property
    def partitions(self) -> int:
        """How many partitions there are."""
        return self.shares * (1 if self.cut is None else len(self.cut))

    def packed(self, events: pa.Table) -> pa.RecordBatch:
        """The blobs of these events."""
        encoded = with_codes(events, self.coded)
        share = key_shares(encoded, self.key, self.shares)
        events = where_small(events, encoded, self.coded, len(events) // (self.partitions * MIN_EVENTS_PER_CODE))
        time = ticks_of(events, self.schema)
        row, partition = np.arange(len(time)), share
        if self.cut is not None:
            row, chunk = copies(self.cut, time)
            partition = share[row] * np.int32(len(self.cut)) + chunk
        if not (time[1:] >= time[:-1]).all():
            order = np.argsort(time[row], kind="stable")
            row, partition = row[order], partition[order]
        # NumPy sorts 16-bit numbers by radix, in linear time.
        narrow = partition.astype(np.int16) if self.partitions < 1 << 15 else partition
        order = np.argsort(narrow, kind="stable")
        present, blobs = blobs_by(partition[order], events.take(pa.array(row[order])).combine_chunks())
        return pa.record_batch([pa.array(present, pa.int32()), pa.array(blobs, pa.binary())], schema=PACKED)


@dataclass(frozen=True, slots=True, eq=False)
class PackEachTask:
    """Events -> blobs, once for each of several ways to cut them, whose partitions are numbered one after the other."""

    tasks: tuple[PackTask, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in joined(batches, PACKED_EVENTS, MAX_PACKED_BYTES):
            first = 0
            for task in self.tasks:
                packed = task.packed(table)
                partition = pa.array(packed[PARTITION].to_numpy() + np.int32(first), pa.int32())
                yield pa.record_batch([partition, packed[BLOB]], schema=PACKED)
                first += task.partitions

    @property
    def partitions(self) -> int:
        """How many partitions there are."""
        return sum(task.partitions for task in self.tasks)


@dataclass(frozen=True, slots=True, eq=False)
class MatchTask:
    """The blobs of one partition -> its matches."""

    group: Group
    cut: CutAt | None
    host: Host

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryFile(dir=self.host.scratch_folder()) as file:
            partition, pieces = received(batches, self.group.schema, file)
            chunk = None if self.cut is None else self.cut.chunk(partition % len(self.cut))
            for table in matches_of(self.group, pieces, chunk):
                yield from table.to_batches(max_chunksize=RESULT_ROWS)


def received(
    batches: Iterable[pa.RecordBatch], schema: EventSchema, file: BinaryIO
) -> tuple[int, list[tuple[pa.Table, Integers]]]:
    """The partition, and its blobs as tables with their times; blobs beyond the limit are memory-mapped from `file`."""
    partition, in_memory = 0, 0
    blobs: list[pa.Buffer] = []
    lengths: list[int] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        partition = batch[PARTITION][0].as_py()
        for blob in batch[BLOB]:
            buffer = blob.as_buffer()
            in_memory += buffer.size
            if in_memory <= MAX_BLOB_BYTES:
                blobs.append(buffer)
            else:
                lengths.append(file.write(buffer))
    if lengths:
        file.flush()
        data = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        ends = np.cumsum(lengths).tolist()
        blobs += [data.slice(end - length, length) for end, length in zip(ends, lengths, strict=True)]
    tables = [from_blob(blob) for blob in blobs]
    return partition, [(table, ticks_of(table, schema)) for table in tables]
