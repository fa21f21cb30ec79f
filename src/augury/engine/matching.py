"""The events of one partition, in pieces that are sorted by time -> the matches in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.budget import within
from augury.engine.arrivals import Arrivals
from augury.engine.batches import FIRST_DERIVED, PIECE, STEP
from augury.engine.cut.chunks import Chunks, kept_in
from augury.engine.cut.shares import shares_of
from augury.engine.exchange.codes import coded_schema
from augury.engine.group import Group
from augury.engine.job import Job
from augury.engine.merging import in_steps
from augury.engine.skipping import possible
from augury.engine.sources.events import conform
from augury.engine.stages import Found, step
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER

SHARE = 1 << 16
"""Events of some of the keys that a kernel is given at a time: few enough for the caches of a processor, which a kernel
that goes from one event of a key to the next depends on, and enough to be worth the call."""

WORTH = 0.75
"""The share of the events that are left at most where it is worth to look for what can be left out."""

SLAB, SLAB_BYTES = 1 << 20, 1 << 28
"""Events that are shared out by their keys at a time, and how much memory they may take."""


def matches_of(
    group: Group, pieces: Sequence[tuple[pa.Table, Integers]], chunks: Chunks | None = None, chunk: int | None = None
) -> Iterator[pa.Table]:
    """The matches of a partition, as soon as they are certain, from its events with their times.

    With `chunks` the partition is one range of time, with what lies around it.
    """

    def shown(k: int, found: Found) -> Iterator[pa.Table]:
        if chunks is not None and chunk is not None:
            found = kept_in(found, chunks, chunk, by_end=group.by_end(k))
        return group.rows(k, found)

    shares, size = _portions(pieces, keyed=bool(group.key))
    coded, skipped = group.coded, group.skipped
    runs: dict[int, list[Run]] = {}
    first, numbered = True, 0
    for events, last in in_steps(pieces, group.schema, size, coded):
        watermark = FOREVER if last else int(events.time[-1])
        if skipped:
            before = len(events)
            events = possible(events, skipped, group.schema.type, group.key, first=first, last=last)
            if len(events) > WORTH * before:
                skipped = ()
        first = False
        if last and not runs and all(_by_share(job) for job in group.jobs):
            for k, found in _at_once(group, events, max(1, min(shares, len(events) // SHARE))):
                yield from shown(k, found)
            return
        for share, part in enumerate(shared_out(events, events.table.column_names, group.key, shares)):
            if not len(part) and not (last and share in runs):
                continue
            if share not in runs:
                runs[share] = [Run(job, coded) for job in group.jobs]
            rows = np.arange(numbered, numbered + len(part), dtype=np.int64)
            for k, run in enumerate(runs[share]):
                yield from shown(k, run.feed(replace(part, rows=rows, anchors=rows), watermark))
            if last:
                del runs[share]
        # Later events have higher numbers in any share.
        numbered += len(events)


def _by_share(job: Job) -> bool:
    """Whether what kernels find can wait to be shown: not where it is kept from being written out."""
    return len(job.program.queries) == 1 and not job.options.compressed


def _at_once(group: Group, events: Arrivals, shares: int) -> Iterator[tuple[int, Found]]:
    """What each job finds in all events there are, with the number of the job.

    Kernels see the columns that decide, of a share of the keys; what they find is shown with the events of all.
    """
    schema, coded = group.schema, group.coded
    logs, kernels, budgets, reads = [], [], [], []
    for job in group.jobs:
        (stage,) = job.stages()
        kernels.append(stage.kernel)
        budgets.append(stage.budget)
        decisive = job.decisive
        reads.append([name for name in job.arrow.names if name in decisive])
        shown = conform(events.table.select(job.arrow.names), coded_schema(job.arrow, coded))
        logs.append(replace(events, table=shown))
    names = [name for name in events.table.column_names if any(name in read for read in reads)]
    waiting: list[list[MatchSet]] = [[] for _ in group.jobs]

    def all_found(k: int) -> tuple[int, Found]:
        query, parts = group.jobs[k].last, waiting[k]
        matches, waiting[k] = MatchSet.concat(parts[0].variables, parts), []
        return k, Found(query, matches, logs[k], None)

    for part in shared_out(events, names, group.key, shares):
        for k, (kernel, read) in enumerate(zip(kernels, reads, strict=True)):
            seen = replace(part, table=part.table.select(read))
            with within(budgets[k]):
                _, found = kernel.step(kernel.start(), seen.batch(schema), FOREVER)
                waiting[k].append(enumerated(found))
            if sum(map(len, waiting[k])) > PIECE:
                yield all_found(k)
    yield from (all_found(k) for k in range(len(waiting)) if waiting[k])


def _portions(pieces: Sequence[tuple[pa.Table, Integers]], *, keyed: bool) -> tuple[int, int]:
    """Into how many shares of the keys the events are to be split, and how many are brought together for that."""
    total = sum(len(time) for _, time in pieces)
    if not keyed or total < 2 * SHARE:
        return 1, STEP
    used = sum(table.nbytes for table, _ in pieces)
    size = max(STEP, min(SLAB, total * SLAB_BYTES // max(1, used)))
    return min(total, size) // SHARE, size


def shared_out(events: Arrivals, names: Sequence[str], key: Sequence[str], shares: int) -> Iterator[Arrivals]:
    """The events of each share of the keys, in their order, with these columns."""
    if shares == 1:
        yield replace(events, table=events.table.select(names))
        return
    share = shares_of(events.table, key, shares, within=True).astype(np.int16)
    order = np.argsort(share, kind="stable")
    ends = np.cumsum(np.bincount(share, minlength=shares)).tolist()
    table = events.table.select(names).combine_chunks().take(pa.array(order))
    rows, time = events.rows[order], events.time[order]
    for begin, end in zip([0, *ends], ends, strict=False):
        yield Arrivals(table.slice(begin, end - begin), rows[begin:end], rows[begin:end], time[begin:end])


class Run:
    """One program on its way through some of the keys of a partition; `coded` columns come as codes."""

    def __init__(self, job: Job, coded: Sequence[str] = ()) -> None:
        self.job, self.arrow = job, coded_schema(job.arrow, coded)
        self.chain = job.stages(self.arrow)
        self.next_derived = FIRST_DERIVED

    def feed(self, events: Arrivals, watermark: int) -> Found:
        """What the last query finds in events that follow all earlier ones."""
        job = self.job
        part = replace(events, table=conform(events.table.select(job.arrow.names), self.arrow))
        if len(job.program.queries) > 1:
            # A later query may see a derived column under a name that another program has events' values for.
            part = replace(part, texts={})
        self.chain, found, self.next_derived = step(self.chain, part, watermark, self.next_derived, job.options)
        return found[-1]
