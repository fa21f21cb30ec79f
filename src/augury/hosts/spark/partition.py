"""The events of one partition, in order -> the matches in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from augury.hosts.events import conform
from augury.hosts.reorder import Arrivals
from augury.hosts.spark.chunks import Chunks, kept_in
from augury.hosts.spark.group import Group
from augury.hosts.spark.job import Job
from augury.hosts.stages import Found, step
from augury.runtime.state import FOREVER

STEP = 1 << 18
"""Events a kernel is given at a time."""

PIECE = 1 << 14
"""Matches in one Arrow batch on the way back to Spark."""

FIRST_DERIVED = 2**62
"""Events derived from matches are numbered from here."""


def matches_of(
    group: Group, steps: Iterable[tuple[Arrivals, bool]], chunks: Chunks | None = None, chunk: int | None = None
) -> Iterator[pa.Table]:
    """The matches of a partition, as soon as they are certain, from its events in steps of which one is the last.

    With `chunks` the partition is one range of time, with what lies around it.
    """
    runs = [Run(job) for job in group.jobs]
    for events, last in steps:
        for k, run in enumerate(runs):
            found = run.feed(events, last=last)
            if chunks is not None and chunk is not None:
                found = kept_in(found, chunks, chunk, by_end=group.by_end(k))
            yield from group.rows(k, found)


class Run:
    """One program on its way through one partition."""

    def __init__(self, job: Job) -> None:
        self.job, self.chain = job, job.stages()
        self.next_derived = FIRST_DERIVED

    def feed(self, events: Arrivals, *, last: bool) -> Found:
        """What the last query finds in events that follow all earlier ones."""
        job = self.job
        part = replace(events, table=conform(events.table.select(job.arrow.names), job.arrow))
        if len(job.program.queries) > 1:
            # A later query may see a derived column under a name that another program has events' values for.
            part = replace(part, texts={})
        watermark = FOREVER if last else int(part.time[-1])
        self.chain, found, self.next_derived = step(self.chain, part, watermark, self.next_derived, job.options)
        return found[-1]


def joined(batches: Iterable[pa.RecordBatch], rows: int, size: int | None = None) -> Iterator[pa.Table]:
    """The batches joined to tables of at least so many rows, or bytes, the last one excepted; none is empty."""
    waiting: list[pa.RecordBatch] = []
    have = taken = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        have, taken = have + batch.num_rows, taken + batch.nbytes
        if have >= rows or (size is not None and taken >= size):
            yield pa.Table.from_batches(waiting)
            waiting, have, taken = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)
