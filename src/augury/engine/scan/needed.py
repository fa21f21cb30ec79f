"""The columns and rows of the events that a query needs, for projection and filter pushdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augury.compiler import CompiledProgram
from augury.ir.pattern import components, event_of, variable_of
from augury.ir.predicate import Conjunct, Expr, Ref, walk
from augury.ir.query import BoundQuery, CountWindow
from augury.ir.terms import OutputMode, Strategy


@dataclass(frozen=True, slots=True)
class ComponentFilter:
    """A filter for the events one component can bind: of its types (none: any), with all its own conjuncts true."""

    types: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]


def needed_columns(program: CompiledProgram) -> frozenset[str]:
    """The input columns that decide about matches or appear in the result of the last query."""
    given = program.queries[0].bound.schema
    shown = program.last.bound
    if not shown.returns and shown.output is not OutputMode.COUNT:
        return frozenset(given.names)
    names = {given.time, *given.order_by}
    if given.type is not None:
        names.add(given.type)
    for query in program.queries:
        names |= {*query.bound.partition_by, *query.rewritten.key}
        names |= {ref.column for expr in _expressions(query.bound) for ref in walk(expr) if isinstance(ref, Ref)}
    return frozenset(names & set(given.names))


def compared_columns(queries: Sequence[BoundQuery]) -> frozenset[str]:
    """The input columns that decide about matches of rewritten queries, without those of the order."""
    names: set[str] = set()
    for query in queries:
        names |= {*query.partition_by, *query.key}
        if query.schema.type is not None and query.names_types:
            names.add(query.schema.type)
        exprs = (conjunct.expr for conjunct in query.conjuncts)
        names |= {ref.column for expr in exprs for ref in walk(expr) if isinstance(ref, Ref)}
    return frozenset(names)


def decisive_columns(queries: Sequence[BoundQuery]) -> frozenset[str]:
    """The input columns that a kernel reads: those that decide about matches, and those it aggregates."""
    names = compared_columns(queries)
    for query in queries:
        if query.threshold is not None:
            # What gets lost may depend on any attribute.
            return frozenset(query.schema.names)
        names |= {*query.schema.order_by}
        if query.output is OutputMode.COUNT:
            exprs = (item.expr for item in query.returns)
            names |= {ref.column for expr in exprs for ref in walk(expr) if isinstance(ref, Ref)}
    return names


def _expressions(query: BoundQuery) -> Iterator[Expr]:
    for conjunct in query.conjuncts:
        yield conjunct.expr
    for item in query.returns:
        yield item.expr


def component_filters(queries: Sequence[BoundQuery]) -> tuple[ComponentFilter, ...] | None:
    """Filters, one of which an event must pass to matter to rewritten queries; None if every event can matter.

    Under contiguity any event can end a run, and a count window counts all events.
    """
    given = frozenset(queries[0].schema.names)
    found: list[ComponentFilter] = []
    for query in queries:
        if (
            query.strategies & {Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY}
            or isinstance(query.window, CountWindow)
            or query.threshold is not None
        ):
            return None
        found += _of_components(query, given, typed=query.schema.type is not None)
    return None if any(not r.types and not r.conjuncts for r in found) else tuple(found)


def _of_components(query: BoundQuery, given: frozenset[str], *, typed: bool) -> Iterator[ComponentFilter]:
    for component in components(query.pattern):
        own = tuple(
            c
            for c in query.conjuncts
            if c.variables == (variable_of(component),) and c.one_event
            # Conditions on columns that only derived events have cannot be tested on input events.
            if given.issuperset(e.column for e in walk(c.expr) if isinstance(e, Ref))
        )
        yield ComponentFilter(event_of(component).types if typed else (), own)


def arrival_matters(program: CompiledProgram) -> bool:
    """Whether the order in which events of the same time arrive can change the matches."""
    return any(
        not q.bound.declarative or not q.bound.reports_all or isinstance(q.bound.window, CountWindow)
        for q in program.queries
    )
