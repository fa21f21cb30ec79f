"""A job, which is what a task is given: a compiled program, the columns it reads and the columns of its result."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa

from augury.compiler import CompiledProgram, CompiledQuery, Measure, compile_program
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.exchange.kernels import CompiledFile, provide_kernels
from augury.engine.host import THIS_PROCESS, FiniteStream, Host
from augury.engine.kept import KeptEvents
from augury.engine.results.columns import match_columns, with_types
from augury.engine.results.matches import Matches
from augury.engine.scan.needed import decisive_columns, needed_columns
from augury.engine.sources.column_types import conform, engine_columns
from augury.engine.sources.schemas import event_schema
from augury.engine.stages import Stage, StageResult, stages
from augury.engine.statistics.measure import measure
from augury.engine.statistics.sampling import scaled
from augury.ir.query import BoundQuery
from augury.options import Options, Roles
from augury.plan import StreamStatistics
from augury.runtime.matches import MatchSet
from augury.schema import EventSchema
from augury.source import Source

MAX_STARTED_PROGRAMS = 64  # programs whose live kernels a worker process keeps for later tasks

_started: dict[str, tuple[Stage, ...]] = {}
_starting = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One program over one kind of events; picklable, the same on the driver and in every task.

    `arrow` are the columns that the program needs, `schema` says what they mean, `result` are the columns of a match,
    `name` identifies the job, `kernels` are compiled already. The `slots` of an executor share its memory.
    """

    source: Source
    arrow: pa.Schema
    schema: EventSchema
    options: Options
    program: CompiledProgram
    result: pa.Schema
    name: str
    kernels: tuple[CompiledFile, ...] = ()
    slots: int = 1

    @property
    def last(self) -> CompiledQuery:
        return self.program.last

    @property
    def decisive(self) -> frozenset[str]:
        """The columns that kernels read; the others are only shown with matches."""
        return decisive_columns(self.program.rewritten)

    def stages(self, arrow: pa.Schema | None = None) -> tuple[Stage, ...]:
        """The program before its first event, with the live kernels of this process.

        `arrow` is another form of the same columns, for a program of one query.
        """
        with _starting:
            if self.name not in _started:
                if len(_started) >= MAX_STARTED_PROGRAMS:
                    del _started[next(iter(_started))]
                provide_kernels(self.kernels)
                _started[self.name] = stages(self.program, self.arrow, self.options.watched(self.slots))
            ready = _started[self.name]
        fresh = tuple(replace(stage, state=stage.kernel.start()) for stage in ready)
        if arrow is None or arrow == self.arrow:
            return fresh
        (stage,) = fresh
        columns = engine_columns(arrow, self.schema.type, coded=True)
        return (replace(stage, arrow=arrow, held=Arrivals.none(arrow), log=KeptEvents(arrow), columns=columns),)

    def columns(self, found: StageResult) -> Iterable[pa.Table]:
        """The matches as tables with the types of the result, a piece at a time."""
        matches = Matches(found.matches, found.log, found.query.bound, self.options.callables)
        return (with_types(piece, self.result) for piece in matches.to_batches())


def job_of(
    source: Source,
    events: pa.Schema,
    roles: Roles,
    options: Options,
    *,
    stream: FiniteStream | None = None,
    live: bool = False,
    host: Host = THIS_PROCESS,
) -> Job:
    """Compile a program for events of these columns; it reads only those it needs.

    The planner samples the finite `stream` if statistics decide about the plan; a `live` one has no events yet.
    """
    whole = event_schema(events, roles)
    program = compile_program(source, whole, options)
    names = needed_columns(program)
    arrow = pa.schema([field for field in events if field.name in names])
    kept = replace(whole, columns=tuple(c for c in whole.columns if c.name in names))
    measured = None if stream is None else measured_on(stream, arrow, kept)
    program = _productive(compile_program(source, kept, options, measure=measured, live=live))
    chain = stages(program, arrow, replace(options, jit=False))
    result = host.result_types(_columns(chain[-1], options))
    # Tasks do not report progress, and the function may not be picklable.
    options = replace(options, progress=None)
    return Job(source, arrow, kept, options, program, result, _name(source, arrow, kept, options))


def measured_on(stream: FiniteStream, arrow: pa.Schema, schema: EventSchema) -> Measure:
    """The function by which the planner measures a sample of a finite stream, with the columns `arrow`."""

    @cache
    def events() -> Arrivals:
        return sampled_events(stream, arrow, schema)

    def measured(query: BoundQuery) -> StreamStatistics:
        # Totals come first: they say how far apart the events of the sample should be.
        totals = stream.totals(schema)
        return scaled(measure(events(), query), len(events()), totals)

    return measured


def sampled_events(stream: FiniteStream, arrow: pa.Schema, schema: EventSchema) -> Arrivals:
    """A sample of the events, in order, with the columns `arrow`."""
    table = conform(stream.sample(arrow.names), arrow)
    return in_order(arrive(table, schema, 0), schema)


def _productive(program: CompiledProgram) -> CompiledProgram:
    """The program without queries whose results are not used: only the last one and those that derive events are."""
    return CompiledProgram(tuple(q for q in program.queries if q.bound.into is not None or q is program.last))


def _columns(stage: Stage, options: Options) -> pa.Schema:
    query = stage.query.bound
    variables = tuple(v.name for v in query.variables if not v.negated)
    nothing = MatchSet.of(variables, ())
    return pa.table(match_columns(nothing, Arrivals.none(stage.arrow), query, options.callables)).schema


def _name(source: Source, arrow: pa.Schema, schema: EventSchema, options: Options) -> str:
    """A name that equal jobs share, by which tasks find the kernels that their process has loaded."""
    if options.functions:
        # What a function does cannot be told from its name.
        return uuid.uuid4().hex
    return hashlib.sha256(repr((source, arrow.to_string(), schema, options)).encode()).hexdigest()
