"""Text -> CompiledQuery: the one place that knows the order of the stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from augury.bind import bind
from augury.codegen import EagerKernel, LossyKernel
from augury.codegen.eager_nfa import EagerNfaSource, emit_eager_nfa
from augury.codegen.lossy import LossySource, emit_lossy
from augury.errors import HostError
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.lang import parse
from augury.options import Options
from augury.plan import Choice, EagerNfaPlan, LossyPlan, Plan, ReferencePlan
from augury.planner import choose
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
    kernel: EagerNfaSource | LossySource | None


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The queries of one text, in the order they run; a later one sees the events an earlier one returns INTO."""

    queries: tuple[CompiledQuery, ...]

    @property
    def last(self) -> CompiledQuery:
        return self.queries[-1]


def compile_program(source: Source, schema: EventSchema, options: Options) -> CompiledProgram:
    """Take query text through every stage; raises `QueryError` for what its author got wrong."""
    compiled = []
    for query in parse(source).queries:
        bound = bind(query, schema, source, parameters=options.parameters, functions=options.functions)
        rewritten = rewrite(bound)
        choice = choose(rewritten, options.plan, merge=options.merge, loss=options.loss)
        compiled.append(CompiledQuery(source, query, bound, rewritten, choice, emit(choice.plan, options)))
        schema = with_derived_type(schema, bound)
    return CompiledProgram(tuple(compiled))


def emit(plan: Plan, options: Options) -> EagerNfaSource | LossySource | None:
    """The generated code of a plan that has one."""
    match plan:
        case EagerNfaPlan():
            return emit_eager_nfa(plan, counters=options.counters)
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
            assert not isinstance(query.kernel, LossySource)
            return EagerKernel(plan, options, query.kernel)
        case LossyPlan():
            assert not isinstance(query.kernel, EagerNfaSource)
            return LossyKernel(plan, options, query.kernel)
        case ReferencePlan():
            return ReferenceKernel(plan.query, options)
        case _:
            assert_never(plan)


def counted(kernel: Kernel, state: RunState, options: Options) -> dict[str, int] | None:
    """What the kernel has done so far, if the options ask for it and the kernel counts."""
    return kernel.counters(state) if options.counters and isinstance(kernel, EagerKernel | LossyKernel) else None


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
