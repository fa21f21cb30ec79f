"""Splits files among tasks that read them on their own, without a shuffle.

A task reads the row groups of a chunk of time with its halo, if the query can be cut by time; else files whose keys are
in no other task's files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.engine.batches import RESULT_ROWS
from augury.engine.cut.by_time import TimeChunk, cut_at_quantiles
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.codes import are_of_types, coded_schema, with_codes
from augury.engine.group import Group
from augury.engine.matching import matches_of
from augury.engine.merging import by_time as sorted_by_time
from augury.engine.merging import ticks_of
from augury.engine.scan.arrow_filter import only_types, read_filter
from augury.engine.scan.parquet import (
    CannotSplit,
    Footers,
    RowGroup,
    fragment,
    key_range,
    row_groups,
    why_other_columns,
)
from augury.engine.sources.column_types import conform
from augury.runtime.batch import Integers

MIN_TASK_EVENTS = 50_000  # smaller tasks cost more to schedule than to match
MAX_TASK_EVENTS = 4_000_000  # events that a task may have to hold in memory

MAX_READS_PER_ROW = 1.75
"""Average number of reads per row above which a shuffle is taken to be cheaper."""

IMBALANCE_PER_REREAD = 4
"""Rows of imbalance between two tasks that are accepted for each row that is not read and matched twice."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """The part that one task reads: row groups, all of their events or those that a chunk of time sees."""

    groups: tuple[RowGroup, ...]
    chunk: TimeChunk | None = None


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The files, and the part of them that each task reads."""

    files: tuple[str, ...]
    tasks: tuple[ScanTask, ...]


def plan_scan(footers: Footers, group: Group, tasks: int | None, default_tasks: int) -> ScanPlan | CannotSplit:
    """Split files among `tasks`, by default one per `MIN_TASK_EVENTS` and at most `default_tasks`, unless too large."""
    why_not = why_other_columns(footers, group.arrow)
    if why_not is not None:
        return CannotSplit(why_not)
    groups = row_groups(footers, group.arrow.field(group.schema.time), group.schema)
    if isinstance(groups, CannotSplit):
        return groups
    rows = footers.rows
    number = tasks or max(1, min(default_tasks, rows // MIN_TASK_EVENTS), -(-rows // MAX_TASK_EVENTS))
    chunks = by_time(footers.files, groups, group, number)
    if isinstance(chunks, ScanPlan):
        return chunks
    files = by_files(footers, groups, group, number)
    return files if isinstance(files, ScanPlan) else CannotSplit(f"{chunks.reason}, and {files.reason}")


def by_time(files: tuple[str, ...], groups: tuple[RowGroup, ...], group: Group, tasks: int) -> ScanPlan | CannotSplit:
    """Split by time: each task has a chunk of time that begins where a row group begins.

    A row group is read by every task that needs some of it; the tasks are halved as long as rows are read too often.
    """
    reason = group.why_not_by_time
    if reason is not None:
        return CannotSplit(reason)
    total = sum(g.rows for g in groups)
    ordered = sorted(groups, key=lambda g: g.first)
    wanted = tasks
    places, extra = _cut_places(ordered, group.halo)
    while True:
        bounds = [] if not places else [_best_place(places, extra, total, k, tasks) for k in range(1, tasks)]
        cut = cut_at_quantiles(bounds, group.halo)
        chunks = [cut.chunk(k) for k in range(len(cut))]
        parts = tuple(ScanTask(_seen(ordered, chunk), chunk) for chunk in chunks)
        if sum(g.rows for part in parts for g in part.groups) < MAX_READS_PER_ROW * total:
            break
        tasks //= 2
    if len(cut) == 1 and wanted > 1 and len(groups) > 1:
        return CannotSplit(
            "row groups overlap in time, or WITHIN overlaps them, so that each task would read most of them"
        )
    return ScanPlan(files, parts)


def _cut_places(groups: Sequence[RowGroup], halo: int) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """The times where row groups begin, with the rows before; and by time the rows read twice if it is cut there."""
    rows = np.array([g.rows for g in groups])
    first = np.array([g.first for g in groups])
    ends = np.array([g.last for g in groups])
    by_last = np.argsort(ends, kind="stable")
    last, latest = ends[by_last], np.maximum.accumulate(ends)
    begun, ended = (np.concatenate([[0], np.cumsum(r)]) for r in (rows, rows[by_last]))
    places, extra = [], {}
    for time in np.unique(first).tolist():
        a = int(np.searchsorted(first, time))
        near, over = np.searchsorted(last, [time - halo, time])
        reached = a if a == 0 else np.searchsorted(first, min(int(latest[a - 1]), time - 1) + halo, "right")
        both = begun[a] - ended[over]
        if a:
            places.append((time, int(begun[a])))
        extra[time] = int(begun[max(a, reached)] - begun[a] + ended[over] - ended[near] + both)
    return places, extra


def _best_place(places: Sequence[tuple[int, int]], extra: dict[int, int], total: int, k: int, tasks: int) -> int:
    """The best time for cut `k`, by the balance of tasks and the rows that are read twice."""
    share = total / tasks

    def too_far(place: tuple[int, int]) -> float:
        return abs(place[1] - k * share)

    near = [place for place in places if too_far(place) <= share / 2] or [min(places, key=too_far)]
    return min(near, key=lambda place: too_far(place) + IMBALANCE_PER_REREAD * extra[place[0]])[0]


def _seen(groups: Sequence[RowGroup], chunk: TimeChunk) -> tuple[RowGroup, ...]:
    """The row groups that hold an event of the chunk, or one within a halo of its first or last event.

    The chunk itself sees more: it may begin or end in a gap between row groups.
    """
    low, high = chunk.low, chunk.high
    own = [g for g in groups if (low is None or g.last >= low) and (high is None or g.first < high)]
    if not own:
        return ()
    begin, end = min(g.first for g in own), max(g.last for g in own)
    begin, end = begin if low is None else max(begin, low), end if high is None else min(end, high - 1)
    return tuple(g for g in groups if g.last >= begin - chunk.halo and g.first <= end + chunk.halo)


def by_files(footers: Footers, groups: tuple[RowGroup, ...], group: Group, tasks: int) -> ScanPlan | CannotSplit:
    """Split by files: each task has whole files, which share no key with the files of another task."""
    if not group.key:
        return CannotSplit("the query has no key")
    parts = max((_disjoint([key_range(footer, name) for footer in footers.footers]) for name in group.key), key=len)
    if len(parts) == 1 and len(footers.files) > 1:
        return CannotSplit(f"statistics do not show that files have values of `{group.key[0]}` of their own")
    rows = [sum(footers.footers[file].num_rows for file in part) for part in parts]
    shares: list[list[int]] = [[] for _ in range(min(tasks, len(parts)))]
    loads = [0] * len(shares)
    # The largest first, each to whoever has least.
    for k in sorted(range(len(parts)), key=lambda k: -rows[k]):
        least = loads.index(min(loads))
        shares[least] += parts[k]
        loads[least] += rows[k]
    return ScanPlan(footers.files, tuple(ScanTask(tuple(g for g in groups if g.file in share)) for share in shares))


def _disjoint(ranges: Sequence[tuple[Any, Any] | None]) -> list[list[int]]:
    """Group files so that no two groups share a key; all in one group if a file has no statistics of its keys.

    >>> _disjoint([("a", "c"), ("x", "z"), ("b", "d")])
    [[0, 2], [1]]
    """
    known = [(r, k) for k, r in enumerate(ranges) if r is not None]
    if len(known) < len(ranges):
        return [list(range(len(ranges)))]
    parts: list[list[int]] = []
    highest: Any = None
    for (low, high), k in sorted(known):
        if not parts or low > highest:
            parts.append([])
            highest = high
        parts[-1].append(k)
        highest = max(highest, high)
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class ScanAndMatch:
    """Numbers of tasks of a plan -> the matches of these tasks."""

    group: Group
    plan: ScanPlan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist():
                task = self.plan.tasks[number]
                for table in matches_of(self.group, list(self._pieces(task)), task.chunk):
                    yield from table.to_batches(max_chunksize=RESULT_ROWS)

    def _pieces(self, task: ScanTask) -> Iterator[tuple[pa.Table, Integers]]:
        """The events of a task with their times, one piece for each row group, sorted by time."""
        group, read = self.group, self._reader()
        arrived = 0
        for g in sorted(task.groups, key=lambda g: (g.file, g.number)):
            table = read(g.file, g.number)
            time = ticks_of(table, group.schema)
            if group.arrival_matters:
                table = table.append_column(ARRIVAL, pa.array(np.arange(arrived, arrived + len(time))))
                arrived += len(time)
            if task.chunk is not None and not task.chunk.sees(np.array([g.first, g.last])).all():
                inside = task.chunk.sees(time)
                table, time = table.filter(pa.array(inside)), time[inside]
            yield sorted_by_time(table, time)

    def _reader(self) -> Callable[[int, int], pa.Table]:
        """A function that reads the columns and rows of a row group that can matter, with strings as codes."""
        group, files = self.group, self.plan.files
        coded, kind = group.coded, group.schema.type
        relevant = group.relevant
        types = None if relevant is None or kind not in coded else only_types(relevant, group.schema)
        test = None if relevant is None or types is not None else read_filter(relevant, group.schema)
        arrow = coded_schema(group.arrow, coded)

        def read(file: int, number: int) -> pa.Table:
            one = fragment(files[file], [number], coded)
            # A task has one core.
            table = one.to_table(columns=group.arrow.names, filter=test, use_threads=False)
            table = conform(with_codes(table, coded), arrow)
            if types is None or kind is None:
                return table
            wanted = are_of_types(table[kind], types)
            return table if wanted.all() else table.filter(pa.array(wanted))

        return read
