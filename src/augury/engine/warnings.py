"""Warnings about the events of a query: concurrent events under a consuming strategy, types that never occur."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from augury.compiler import CompiledProgram
from augury.engine.arrivals import Arrivals, ties
from augury.engine.sources.events import is_text
from augury.errors import suggestion
from augury.ir.pattern import components, event_of
from augury.ir.terms import Strategy
from augury.schema import EventSchema


def tie_warnings(program: CompiledProgram, events: Arrivals, schema: EventSchema) -> tuple[str, ...]:
    """What to say when concurrent events, which are in order here, meet a strategy that consumes events one by one.

    Events of different partitions are none of each other's business, unless every event of the stream counts.
    """
    found: dict[tuple[str, ...], int] = {}
    strategies, tied = set(), 0
    for query in program.queries:
        strategy = query.bound.strategy
        if strategy is Strategy.SKIP_TILL_ANY_MATCH:
            continue
        apart = () if strategy is Strategy.STRICT_CONTIGUITY else query.rewritten.key
        key = tuple(name for name in apart if name in schema)
        if key not in found:
            found[key] = ties(events, schema, key)
        if found[key]:
            strategies.add(strategy)
            tied = max(tied, found[key])
    if not tied:
        return ()
    order = "".join(f'"{name}", ' for name in schema.order_by)
    return (
        f"{tied} of the events {'is' if tied == 1 else 'are'} concurrent with an earlier one; "
        f"{' and '.join(sorted(strategies))} consumes concurrent events in arrival order. "
        f'Give a column that settles their order, such as order_by=({order}"seq")',
    )


def types_of(table: pa.Table, schema: EventSchema) -> frozenset[str]:
    """The type names that occur."""
    if schema.type is None:
        return frozenset()
    column = table[schema.type]
    values = (
        column.unique().cast(pa.string()) if is_text(column.type) else column.cast(pa.string()).unique()
    ).to_pylist()
    return frozenset(v for v in values if v is not None)


def missing_types(
    program: CompiledProgram, relevant: Arrivals, types: Callable[[], frozenset[str]], schema: EventSchema
) -> tuple[str, ...]:
    """What to say of type names that no event has; `types` finds all, but `relevant` events often have every one."""
    if not type_warnings(program, types_of(relevant.table, schema)):
        return ()
    return type_warnings(program, types())


def type_warnings(program: CompiledProgram, seen: frozenset[str]) -> tuple[str, ...]:
    """What to say of type names in a query that no event has."""
    out: dict[str, None] = {}
    known = set(seen)
    for query in program.queries:
        if query.bound.schema.type is not None:
            for component in components(query.bound.pattern):
                for name in event_of(component).types:
                    if name not in known:
                        help = suggestion(name, sorted(known))
                        out[f"no event is of type `{name}`" + (f"; {help}" if help else "")] = None
        if query.bound.into is not None:
            known.add(query.bound.into)
    return tuple(out)
