"""Warnings about the events of a query: concurrent events under a consuming strategy, types that never occur."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from augury.compiler import CompiledProgram
from augury.engine.arrivals import Arrivals, last_concurrent, ties
from augury.engine.sources.column_types import is_text
from augury.errors import suggestion
from augury.ir.pattern import components, event_of
from augury.ir.terms import Strategy
from augury.runtime.batch import EventBatch
from augury.runtime.columns import distinct_text
from augury.schema import EventSchema

MAX_CHUNK_EVENTS = 1 << 16  # events looked at together for their types

Consuming: TypeAlias = "Mapping[tuple[str, ...], frozenset[Strategy]]"
"""The strategies of a program that consume events one by one, by the columns whose values keep events apart."""


def consuming(program: CompiledProgram, schema: EventSchema) -> Consuming:
    """The strategies that concurrent events matter to.

    Events of different partitions are none of each other's business, unless every event of the stream counts.
    """
    found: dict[tuple[str, ...], frozenset[Strategy]] = {}
    for query in program.queries:
        strategies = query.bound.strategies - {Strategy.SKIP_TILL_ANY_MATCH}
        if strategies:
            apart = () if Strategy.STRICT_CONTIGUITY in strategies else query.rewritten.key
            key = tuple(name for name in apart if name in schema)
            found[key] = found.get(key, frozenset()) | strategies
    return found


def tie_warnings(
    strategies: Consuming, events: Arrivals, schema: EventSchema, after: Arrivals | None = None
) -> tuple[str, ...]:
    """Warnings about concurrent events among `events`, which are in order.

    `after` are earlier events of the stream, at least those of `still_concurrent`.
    """
    ties = TieCount(strategies, schema)
    ties.add(events, after)
    return ties.warnings()


class TieCount:
    """Counts concurrent events under a strategy that consumes events one by one, a part of the stream at a time."""

    def __init__(self, strategies: Consuming, schema: EventSchema) -> None:
        self.schema, self._strategies = schema, strategies
        self._found = dict.fromkeys(strategies, 0)

    def add(self, events: Arrivals, after: Arrivals | None = None) -> None:
        """Count the events, which are in order, that are concurrent with an earlier one.

        `after` are events before them: of those at the same time, at least one of each key.
        """
        if not self._found:
            return
        if after is not None and _meet(after, events):
            before = _at_last_time(after)
            events = before + events
            for key in self._found:
                self._found[key] -= ties(before, self.schema, key)
        for key in self._found:
            self._found[key] += ties(events, self.schema, key)

    def warnings(self) -> tuple[str, ...]:
        """The warnings for the ties counted so far."""
        tied = max(self._found.values(), default=0)
        if not tied:
            return ()
        strategies = {s for key, found in self._found.items() if found for s in self._strategies[key]}
        return (tie_warning(tied, strategies, self.schema),)


def still_concurrent(strategies: Consuming, events: Arrivals, schema: EventSchema, after: Arrivals) -> Arrivals:
    """Events that later ones may be concurrent with, once the batch `events` is consumed.

    These are the whole batch, without any work, unless the stream has not left the time at which the batch before it
    ended: then they are one event of each key since that time began. `after` is the result for the batch before.
    """
    if not len(events):
        return after
    if not _meet(after, events) or events.time[-1] != events.time[0]:
        return events
    return one_of_each_key(strategies, _at_last_time(after) + events, schema)


def one_of_each_key(strategies: Consuming, events: Arrivals, schema: EventSchema) -> Arrivals:
    """The first event of each key among those that are concurrent with the last one."""
    return last_concurrent(events, schema, tuple(dict.fromkeys(name for key in strategies for name in key)))


def _meet(before: Arrivals, events: Arrivals) -> bool:
    """Whether the first of some events has the time of the last event before them."""
    return bool(len(before) and len(events) and before.time[-1] == events.time[0])


def _at_last_time(events: Arrivals) -> Arrivals:
    return events.slice(int(np.searchsorted(events.time, events.time[-1])), len(events))


def tie_warning(tied: int, strategies: Collection[Strategy], schema: EventSchema) -> str:
    """The warning for `tied` concurrent events, which these strategies consume."""
    order = "".join(f'"{name}", ' for name in schema.order_by)
    return (
        f"{tied} of the events {'is' if tied == 1 else 'are'} concurrent with an earlier one; "
        f"{' and '.join(sorted(strategies))} consumes concurrent events in arrival order. "
        f'Give a column that settles their order, such as order_by=({order}"seq")'
    )


def types_seen(seen: frozenset[str], events: EventBatch, schema: EventSchema) -> frozenset[str]:
    """The type names seen so far, with those of these events."""
    if schema.type is None:
        return seen
    names = distinct_text(events, schema.type).keys
    return seen if seen.issuperset(names) else seen.union(names)


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
    """Warnings about type names that no event has; `types` reads all types, if `relevant` events do not have them."""
    if not names_types(program):
        return ()
    seen = frozenset[str]()
    # Most often the first events are of all types.
    for chunk in relevant.table.to_batches(max_chunksize=MAX_CHUNK_EVENTS):
        seen |= types_of(pa.Table.from_batches([chunk]), schema)
        if not type_warnings(program, seen):
            return ()
    return type_warnings_of(program, seen, types)


def names_types(program: CompiledProgram) -> bool:
    """Whether any query names a type; if none does, the types of the events need not be read."""
    return bool(type_warnings(program, frozenset()))


def type_warnings_of(
    program: CompiledProgram, seen: frozenset[str], types: Callable[[], frozenset[str]]
) -> tuple[str, ...]:
    """Warnings about type names that no event has; `types` reads all types, and is called if `seen` is not enough."""
    return type_warnings(program, types()) if type_warnings(program, seen) else ()


def type_warnings(program: CompiledProgram, seen: frozenset[str]) -> tuple[str, ...]:
    """Warnings about type names in a query that are not among the types `seen`."""
    out: dict[str, None] = {}
    known = set(seen)
    for query in program.queries:
        if query.bound.schema.type is not None:
            for component in components(query.bound.pattern):
                for name in event_of(component).types:
                    if name not in known:
                        out[type_warning(name, known)] = None
        if query.bound.into is not None:
            known.add(query.bound.into)
    return tuple(out)


def type_warning(name: str, seen: Collection[str]) -> str:
    """The warning about a type name that no event has."""
    help = suggestion(name, sorted(seen))
    return f"no event is of type `{name}`" + (f"; {help}" if help else "")
