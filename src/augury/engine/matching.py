"""The matches of one partition, whose events come in pieces that are sorted by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.budget import within
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.batches import RESULT_ROWS, TASK_STEP_EVENTS
from augury.engine.cut.by_key import key_shares
from augury.engine.cut.by_time import TimeChunk, owned
from augury.engine.exchange.codes import coded_schema
from augury.engine.group import Group
from augury.engine.job import Job
from augury.engine.merging import in_steps
from augury.engine.skipping import skip_impossible
from augury.engine.sources.column_types import conform
from augury.engine.stages import FIRST_DERIVED, StageResult, step
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER

SHARE_EVENTS = 1 << 16
"""Events of one share of the keys in one call of a kernel: few enough for the processor caches, which a kernel needs to
go from one event of a key to the next, and enough to be worth the call."""

MAX_SHARE_LEFT = 0.75
"""Largest fraction of events that skipping may leave: beyond it skipping costs more than it saves, and is given up."""

SLAB_EVENTS = 1 << 20  # events that are partitioned into shares of the keys at a time
SLAB_BYTES = 1 << 28  # bytes that these events may take


def matches_of(
    group: Group, pieces: Sequence[tuple[pa.Table, Integers]], chunk: TimeChunk | None = None
) -> Iterator[pa.Table]:
    """The matches of a partition, as soon as they are certain; `pieces` are its events and times, sorted by time.

    With a `chunk` the events are those that it sees, and the matches those that it owns.
    """

    def shown(k: int, found: StageResult) -> Iterator[pa.Table]:
        if chunk is not None:
            found = owned(found, chunk, by_end=group.owned_by_end(k))
        return group.rows(k, found)

    shares, size = _portions(pieces, keyed=bool(group.key))
    coded, requirements = group.coded, group.requirements
    runs: dict[int, list[ProgramRun]] = {}
    first, numbered = True, 0
    for events, last in in_steps(pieces, group.schema, size, coded):
        watermark = FOREVER if last else int(events.time[-1])
        if requirements:
            before = len(events)
            events = skip_impossible(events, requirements, group.schema.type, group.key, first=first, last=last)
            if len(events) > MAX_SHARE_LEFT * before:
                requirements = ()
        first = False
        if last and not runs and all(_by_share(job) for job in group.jobs):
            for k, found in _at_once(group, events, max(1, min(shares, len(events) // SHARE_EVENTS))):
                yield from shown(k, found)
            return
        for share, part in enumerate(shared_out(events, events.table.column_names, group.key, shares)):
            if not len(part) and not (last and share in runs):
                continue
            if share not in runs:
                runs[share] = [ProgramRun(job, coded) for job in group.jobs]
            rows = np.arange(numbered, numbered + len(part), dtype=np.int64)
            for k, run in enumerate(runs[share]):
                yield from shown(k, run.feed(replace(part, rows=rows, anchors=rows, consecutive=False), watermark))
            if last:
                del runs[share]
        # Later events have higher numbers in any share.
        numbered += len(events)


def _by_share(job: Job) -> bool:
    """Whether matches of several shares may be collected before they become rows; compressed ones may not."""
    return len(job.program.queries) == 1 and not job.options.compressed


def _at_once(group: Group, events: Arrivals, shares: int) -> Iterator[tuple[int, StageResult]]:
    """The matches of each job in all events of the partition, with the number of the job.

    A kernel is given only the columns it reads, one share of the keys at a time; matches refer to all events.
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

    def all_found(k: int) -> tuple[int, StageResult]:
        query, parts = group.jobs[k].last, waiting[k]
        matches, waiting[k] = MatchSet.concat(parts[0].variables, parts), []
        return k, StageResult(query, matches, logs[k], None)

    for part in shared_out(events, names, group.key, shares):
        for k, (kernel, read) in enumerate(zip(kernels, reads, strict=True)):
            seen = replace(part, table=part.table.select(read))
            with within(budgets[k]):
                _, found = kernel.step(kernel.start(), seen.batch(schema), FOREVER)
                waiting[k].append(enumerated(found))
            if sum(map(len, waiting[k])) > RESULT_ROWS:
                yield all_found(k)
    yield from (all_found(k) for k in range(len(waiting)) if waiting[k])


def _portions(pieces: Sequence[tuple[pa.Table, Integers]], *, keyed: bool) -> tuple[int, int]:
    """The number of shares of the keys to split events into, and the number of events to split at a time."""
    total = sum(len(time) for _, time in pieces)
    if not keyed or total < 2 * SHARE_EVENTS:
        return 1, TASK_STEP_EVENTS
    used = sum(table.nbytes for table, _ in pieces)
    size = max(TASK_STEP_EVENTS, min(SLAB_EVENTS, total * SLAB_BYTES // max(1, used)))
    return min(total, size) // SHARE_EVENTS, size


def shared_out(events: Arrivals, names: Sequence[str], key: Sequence[str], shares: int) -> Iterator[Arrivals]:
    """The events of each share of the keys, in their order, with these columns."""
    if shares == 1:
        yield replace(events, table=events.table.select(names))
        return
    share = key_shares(events.table, key, shares, nested=True).astype(np.int16)
    order = np.argsort(share, kind="stable")
    ends = np.cumsum(np.bincount(share, minlength=shares)).tolist()
    table = events.table.select(names).combine_chunks().take(pa.array(order))
    rows, time = events.rows[order], events.time[order]
    for begin, end in zip([0, *ends], ends, strict=False):
        yield Arrivals(table.slice(begin, end - begin), rows[begin:end], rows[begin:end], time[begin:end])


class ProgramRun:
    """The live stages of one program over one share of a partition's keys; `coded` columns come as codes."""

    def __init__(self, job: Job, coded: Sequence[str] = ()) -> None:
        self.job, self.arrow = job, coded_schema(job.arrow, coded)
        self.chain = job.stages(self.arrow)
        self.next_derived = FIRST_DERIVED

    def feed(self, events: Arrivals, watermark: int) -> StageResult:
        """Match events, which follow all earlier ones, and return what the last query finds."""
        job = self.job
        part = replace(events, table=conform(events.table.select(job.arrow.names), self.arrow))
        if len(job.program.queries) > 1:
            # A later query may see a derived column under a name that another program has events' values for.
            part = replace(part, texts={})
        self.chain, found, self.next_derived = step(self.chain, part, watermark, self.next_derived, job.options)
        return found[-1]


def matches_in(job: Job, events: pa.Table) -> Iterator[pa.Table]:
    """The matches of one job in a table of events in any order, as rows of its result."""
    table = conform(events.select(job.arrow.names), job.arrow)
    ordered = in_order(arrive(table, job.schema, 0), job.schema)
    _, found, _ = step(job.stages(), ordered, FOREVER, FIRST_DERIVED, job.options)
    return iter(job.columns(found[-1]))
