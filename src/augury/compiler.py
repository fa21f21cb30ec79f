"""Text -> CompiledQuery: the one place that knows the order of the stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from augury.bind import bind
from augury.codegen.eager.nfa import EagerNfaSource, emit_eager_nfa
from augury.codegen.lazy.chain import emit_lazy_chain
from augury.codegen.lazy.source import LazyChainSource
from augury.codegen.linked.chains import LinkedSource, emit_linked
from augury.codegen.lossy.queues import LossySource, emit_lossy
from augury.codegen.sets.event_sets import emit_event_sets
from augury.errors import HostError
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.kernels import EagerKernel, EventSetKernel, LazyKernel, LinkedKernel, LossyKernel
from augury.lang import parse
from augury.options import Options
from augury.plan import (
    Choice,
    EagerNfaPlan,
    EventSetsPlan,
    GivenStatistics,
    LazyChainPlan,
    LazyTreePlan,
    LinkedPlan,
    LossyPlan,
    Plan,
    ReferencePlan,
    StreamStatistics,
)
from augury.planner import choose, uses_statistics
from augury.planner.hints import Hints, check_order, check_statistics, negation_hint, resolve
from augury.planner.searches import remembering
from augury.reference import ReferenceKernel
from augury.rewrite import rewrite
from augury.runtime.state import Kernel, RunState
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
    kernel: EagerNfaSource | LazyChainSource | LinkedSource | LossySource | None


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The queries of one text, in the order they run; a later one sees the events an earlier one returns INTO."""

    queries: tuple[CompiledQuery, ...]

    @property
    def last(self) -> CompiledQuery:
        return self.queries[-1]


Measure: TypeAlias = Callable[[BoundQuery], StreamStatistics]
"""Finds out what the planner wants to know of the stream of a query."""


def compile_program(
    source: Source, schema: EventSchema, options: Options, *, measure: Measure | None = None, live: bool = False
) -> CompiledProgram:
    """Take query text through every stage; raises `QueryError` for what its author got wrong.

    `measure` is asked about the stream where that decides about the plan; a `live` stream has not been seen yet.
    """
    known = []
    for query in parse(source).queries:
        bound = bind(query, schema, source, parameters=options.parameters, functions=options.functions)
        known.append((query, bound, rewrite(bound)))
        schema = with_derived_type(schema, bound)
    hints = _hints(options, [(bound, rewritten) for _, bound, rewritten in known])
    compiled = []
    for query, bound, rewritten in known:
        measured = StreamStatistics()
        if measure is not None and uses_statistics(rewritten, options.plan):
            measured = measure(rewritten)
        mine = replace(hints, statistics=resolve(options.statistics, bound, rewritten, measured))
        choice = choose(
            rewritten, options.plan, merge=options.merge, compressed=options.compressed, hints=mine, live=live
        )
        compiled.append(CompiledQuery(source, query, bound, rewritten, choice, emit(choice.plan, options)))
    return CompiledProgram(tuple(compiled))


def _hints(options: Options, queries: list[tuple[BoundQuery, BoundQuery]]) -> Hints:
    """What the caller asks for, which has to make sense for the program."""
    if options.order is not None:
        check_order(options.order, [rewritten for _, rewritten in queries])
    if isinstance(options.statistics, GivenStatistics):
        check_statistics(options.statistics, queries)
    return Hints(order=options.order, negation=negation_hint(options.negation), loss=options.loss)


def emit(plan: Plan, options: Options) -> EagerNfaSource | LazyChainSource | LinkedSource | LossySource | None:
    """The generated code of a plan that has one."""
    match plan:
        case EagerNfaPlan():
            return emit_eager_nfa(plan, counters=options.counters)
        case EventSetsPlan():
            return emit_event_sets(plan, counters=options.counters)
        case LazyChainPlan():
            return emit_lazy_chain(plan, counters=options.counters)
        case LazyTreePlan(chain):
            return emit_lazy_chain(chain, counters=options.counters)
        case LinkedPlan():
            return emit_linked(plan, counters=options.counters)
        case LossyPlan():
            return emit_lossy(plan, counters=options.counters)
        case ReferencePlan():
            return None
        case _:
            assert_never(plan)


def load(query: CompiledQuery, options: Options) -> Kernel:
    """The live kernel of a compiled query."""
    plan = query.choice.plan
    match plan:
        case EagerNfaPlan():
            assert isinstance(query.kernel, EagerNfaSource)
            return EagerKernel(plan, options, query.kernel)
        case EventSetsPlan():
            assert isinstance(query.kernel, EagerNfaSource)
            return EventSetKernel(plan, options, query.kernel)
        case LazyChainPlan():
            assert isinstance(query.kernel, LazyChainSource)
            return LazyKernel(plan, options, query.kernel, better=remembering(_MARGIN) if plan.adaptive else None)
        case LazyTreePlan(chain):
            assert isinstance(query.kernel, LazyChainSource)
            return LazyKernel(chain, options, query.kernel, better=remembering(_MARGIN), tree=True)
        case LinkedPlan():
            assert isinstance(query.kernel, LinkedSource)
            return LinkedKernel(plan, options, query.kernel)
        case LossyPlan():
            assert isinstance(query.kernel, LossySource)
            return LossyKernel(plan, options, query.kernel)
        case ReferencePlan():
            return ReferenceKernel(plan.query, options)
        case _:
            assert_never(plan)


_MARGIN = 1.25
"""How many times cheaper a new order must be: first it has to build up its partial matches."""


def counted(kernel: Kernel, state: RunState, options: Options) -> dict[str, int] | None:
    """What the kernel has done so far, if the options ask for it and the kernel counts."""
    if options.counters and isinstance(kernel, EagerKernel | EventSetKernel | LazyKernel | LinkedKernel | LossyKernel):
        return kernel.counters(state)
    return None


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
