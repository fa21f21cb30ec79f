"""Text -> CompiledQuery: the one place that knows the order of the stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from augury.bind import bind
from augury.errors import HostError
from augury.families import FAMILIES, machine_of
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.lang import parse
from augury.options import Options
from augury.plan import Choice, GivenStatistics, Plan, StreamStatistics
from augury.planner import choose, uses_statistics
from augury.planner.hints import Hints, check_order, check_statistics, negation_hint, resolve
from augury.rewrite import rewrite
from augury.runtime.kernel_source import Emitted
from augury.runtime.state import Counting, Kernel, RunState
from augury.runtime.values import stored_type
from augury.schema import Column, EventSchema
from augury.source import Source


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """Every compile-time product of one query; picklable, holds no live kernel.

    `kernel` is the text of the generated code, None for an evaluator that interprets the query.
    """

    source: Source
    syntax: syntax.Query
    bound: BoundQuery
    rewritten: BoundQuery
    choice: Choice
    kernel: Emitted | None


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The queries of one text, in the order they run; a later one sees the events an earlier one returns INTO."""

    queries: tuple[CompiledQuery, ...]

    @property
    def last(self) -> CompiledQuery:
        return self.queries[-1]

    @property
    def rewritten(self) -> tuple[BoundQuery, ...]:
        """The queries as they are planned."""
        return tuple(query.rewritten for query in self.queries)


Measure: TypeAlias = Callable[[BoundQuery], StreamStatistics]
"""Measures the statistics of a stream that the planner uses for a query."""


def compile_program(
    source: Source, schema: EventSchema, options: Options, *, measure: Measure | None = None, live: bool = False
) -> CompiledProgram:
    """Take query text through every stage; raises `QueryError` for what its author got wrong.

    `measure` is called where statistics decide about the plan; of a `live` stream no event has been seen yet.
    """
    known = []
    for query in parse(source).queries:
        bound = bind(query, schema, source, parameters=options.parameters, functions=options.functions)
        known.append((query, bound, rewrite(bound)))
        schema = with_derived_type(schema, bound)
    hints = _hints(options, [(bound, rewritten) for _, bound, rewritten in known], live)
    return CompiledProgram(
        tuple(_planned(source, query, bound, rewritten, options, hints, measure) for query, bound, rewritten in known)
    )


def compile_bound(
    source: Source,
    query: syntax.Query,
    bound: BoundQuery,
    options: Options,
    *,
    measure: Measure | None = None,
    live: bool = False,
) -> CompiledQuery:
    """Take a query that is already bound through the remaining stages."""
    rewritten = rewrite(bound)
    hints = _hints(options, [(bound, rewritten)], live)
    return _planned(source, query, bound, rewritten, options, hints, measure)


def _planned(
    source: Source,
    query: syntax.Query,
    bound: BoundQuery,
    rewritten: BoundQuery,
    options: Options,
    hints: Hints,
    measure: Measure | None,
) -> CompiledQuery:
    measured = StreamStatistics()
    if measure is not None and uses_statistics(rewritten, FAMILIES, options.plan):
        measured = measure(rewritten)
    mine = replace(hints, statistics=resolve(options.statistics, bound, rewritten, measured))
    choice = choose(rewritten, FAMILIES, options.plan, mine)
    return CompiledQuery(source, query, bound, rewritten, choice, emit(choice.plan, options))


def _hints(options: Options, queries: list[tuple[BoundQuery, BoundQuery]], live: bool) -> Hints:
    """The planner hints that the caller gives, checked against the queries of the program."""
    if options.order is not None:
        check_order(options.order, [rewritten for _, rewritten in queries])
    if isinstance(options.statistics, GivenStatistics):
        check_statistics(options.statistics, queries)
    return Hints(
        order=options.order,
        negation=negation_hint(options.negation),
        loss=options.loss,
        merge=options.merge,
        compressed=options.compressed,
        live=live,
    )


def emit(plan: Plan, options: Options) -> Emitted | None:
    """The generated code of a plan; None for one that is interpreted."""
    source: Emitted | None = machine_of(plan).emit(plan, counters=options.counters)
    return source


def load(query: CompiledQuery, options: Options) -> Kernel:
    """The live kernel of a compiled query."""
    plan = query.choice.plan
    return machine_of(plan).kernel(plan, options, query.kernel)


def counted(kernel: Kernel, state: RunState, options: Options) -> dict[str, int] | None:
    """The counters of a kernel and the number of its compilations; None if not asked for, or if it does not count."""
    if not options.counters or not isinstance(kernel, Counting):
        return None
    return {**kernel.counters(state), "compilations": kernel.compilations}


def with_derived_type(schema: EventSchema, query: BoundQuery) -> EventSchema:
    """The schema a later query of the program sees: RETURN's items are attributes, INTO's name is a type."""
    if query.into is None:
        return schema
    if schema.type is None:
        raise HostError(
            "A510",
            f"the events have no type column, so the events of INTO {query.into} could not be told from the others",
            "add a type column and give its name as type=...",
        )
    columns = list(schema.columns)
    for item in query.returns:
        type = stored_type(item.type)
        if item.name not in schema:
            columns.append(Column(item.name, type))
        elif schema[item.name] != type:
            raise HostError(
                "A511",
                f"RETURN ... AS {item.name} is of type {type}, but the events have a column `{item.name}` "
                f"of type {schema[item.name]}",
                "choose another name with AS",
            )
    types = None if schema.types is None else schema.types | {query.into}
    return replace(schema, columns=tuple(columns), types=types)
