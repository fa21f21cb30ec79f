"""Queries that are matched together: they read the same events, cut by the same key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from augury.engine.cut.by_key import shared_key
from augury.engine.cut.by_time import halo_of, owned_by_end, why_not_by_time
from augury.engine.job import Job
from augury.engine.scan.needed import ComponentFilter, arrival_matters, compared_columns, component_filters
from augury.engine.skipping import MatchRequirements, match_requirements
from augury.engine.stages import StageResult
from augury.schema import EventSchema

QUERY = "query"
"""The column of a result that names the query of a match."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Jobs over one frame, with the same roles of its columns and the same key.

    `names` are those of the jobs, None for a single query. `arrow` are the columns that any job needs, `result` the
    columns of their matches.
    """

    jobs: tuple[Job, ...]
    names: tuple[str | None, ...]
    arrow: pa.Schema
    result: pa.Schema

    @property
    def schema(self) -> EventSchema:
        """The roles of the columns, which are the same for all jobs."""
        return self.jobs[0].schema

    @property
    def key(self) -> tuple[str, ...]:
        return shared_key(self.jobs[0].program)

    @property
    def arrival_matters(self) -> bool:
        return any(arrival_matters(job.program) for job in self.jobs)

    @property
    def relevant(self) -> tuple[ComponentFilter, ...] | None:
        """Filters, one of which an event must pass to matter to any job; None if every event matters."""
        each = [component_filters(job.program.rewritten) for job in self.jobs]
        known = [r for r in each if r is not None]
        return tuple(r for one in known for r in one) if len(known) == len(each) else None

    @property
    def why_not_by_time(self) -> str | None:
        """Why the stream cannot be cut by time, or None when it can."""
        return next((reason for job in self.jobs if (reason := why_not_by_time(job.program)) is not None), None)

    @property
    def halo(self) -> int:
        """Ticks before and after a match of any job within which all events lie that decide about it."""
        return max(halo_of(job.program) for job in self.jobs)

    @property
    def coded(self) -> tuple[str, ...]:
        """The string columns that kernels compare, and may be given as dictionary codes."""
        if any(len(job.program.queries) > 1 for job in self.jobs):
            return ()
        compared = frozenset[str]().union(*(compared_columns(job.program.rewritten) for job in self.jobs))
        return tuple(f.name for f in self.arrow if f.name in compared and pa.types.is_string(f.type))

    @property
    def requirements(self) -> tuple[MatchRequirements, ...]:
        """The requirements of every match of each job; empty unless stretches of time can be skipped for every job."""
        each = [match_requirements(job.program) for job in self.jobs]
        known = tuple(what for what in each if what is not None)
        kind = self.schema.type
        typed = any(event.types for what in known for event in what.events)
        return known if len(known) == len(each) and (not typed or kind in self.coded) else ()

    def owned_by_end(self, k: int) -> bool:
        """Whether a match of job `k` belongs to the chunk of time that it ends in, not to the one it begins in."""
        return owned_by_end(self.jobs[k].program)

    def rows(self, k: int, found: StageResult) -> Iterator[pa.Table]:
        """The matches of job `k`, as rows of the result."""
        name = self.names[k]
        for table in self.jobs[k].columns(found):
            yield table if name is None else _tagged(table, name, self.result)


def one_group(job: Job) -> Group:
    """A group of one query."""
    return Group((job,), (None,), job.arrow, job.result)


def groups(jobs: Sequence[tuple[str, Job]], events: pa.Schema) -> list[Group]:
    """Group queries by key; all groups have the same result columns: query, start, end, and a struct per query."""
    first = jobs[0][1].result
    time = first.field("end").type
    own = [pa.field(name, pa.struct(_own_columns(job.result))) for name, job in jobs]
    result = pa.schema([(QUERY, pa.string()), ("start", time), ("end", time), *own])
    by_key: dict[tuple[str, ...], list[tuple[str, Job]]] = {}
    for name, job in jobs:
        by_key.setdefault(shared_key(job.program), []).append((name, job))
    return [
        Group(
            tuple(job for _, job in members),
            tuple(name for name, _ in members),
            pa.schema([f for f in events if any(f.name in job.arrow.names for _, job in members)]),
            result,
        )
        for members in by_key.values()
    ]


def _own_columns(result: pa.Schema) -> list[pa.Field]:
    return [field for field in result if field.name not in ("start", "end")]


def _tagged(table: pa.Table, name: str, result: pa.Schema) -> pa.Table:
    """The matches of one query, in the result columns of all queries."""
    own = table.select([f.name for f in _own_columns(table.schema)])
    columns: list[pa.Array | pa.ChunkedArray] = []
    for field in result:
        if field.name == QUERY:
            columns.append(pa.array([name] * len(table), pa.string()))
        elif field.name in ("start", "end"):
            there = field.name in table.column_names
            columns.append(table[field.name] if there else pa.nulls(len(table), field.type))
        else:
            columns.append(own.to_struct_array() if field.name == name else pa.nulls(len(table), field.type))
    return pa.table(columns, schema=result)
