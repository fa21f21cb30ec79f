"""The events of one Spark partition, in order -> the matches in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from augury.hosts.events import conform
from augury.hosts.reorder import arrive
from augury.hosts.spark.chunks import Chunks, kept_in
from augury.hosts.spark.group import Group
from augury.hosts.spark.job import Job
from augury.hosts.stages import Found, step
from augury.runtime.state import FOREVER

STEP = 1 << 16
"""Events a kernel is given at a time."""

PIECE = 1 << 14
"""Matches in one Arrow batch on the way back to Spark."""

FIRST_DERIVED = 2**62
"""Events derived from matches are numbered from here."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTask:
    """What Spark runs for each partition, whose events come in order.

    With `chunks` the partition is one range of time, named by a column, with what lies around it.
    """

    group: Group
    chunks: Chunks | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in self.matches(batches):
            yield from table.to_batches(max_chunksize=PIECE)

    def matches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The matches of the partition, as soon as they are certain."""
        runs = [Run(job) for job in self.group.jobs]
        for table, last in _steps(batches):
            for k, run in enumerate(runs):
                found = run.feed(table, last=last)
                if self.chunks is not None:
                    chunk = table[self.chunks.column][0].as_py()
                    found = kept_in(found, self.chunks, chunk, by_end=self.group.by_end(k))
                yield from self.group.rows(k, found)


class Run:
    """One program on its way through one partition."""

    def __init__(self, job: Job) -> None:
        self.job, self.chain = job, job.stages()
        self.next_row, self.next_derived = 0, FIRST_DERIVED

    def feed(self, table: pa.Table, *, last: bool) -> Found:
        """What the last query finds in events that follow all earlier ones."""
        job = self.job
        part = arrive(conform(table.select(job.arrow.names), job.arrow), job.schema, self.next_row)
        self.next_row += len(part)
        watermark = FOREVER if last else int(part.time[-1])
        self.chain, found, self.next_derived = step(self.chain, part, watermark, self.next_derived, job.options)
        return found[-1]


def _steps(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, bool]]:
    """The batches joined to tables of a good size, and whether each is the last; nothing for no events."""
    waiting: pa.Table | None = None
    for table in joined(batches, STEP):
        if waiting is not None:
            yield waiting, False
        waiting = table
    if waiting is not None:
        yield waiting, True


def joined(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """The batches joined to tables of at least `size` rows, the last one excepted; none is empty."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= size:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
