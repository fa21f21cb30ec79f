"""Warnings about a query that finds nothing in a finite stream: conditions never satisfied, windows too short."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from augury.compiler import CompiledQuery
from augury.engine.arrivals import Arrivals
from augury.engine.scan.arrow_filter import read_filter
from augury.engine.scan.narrow import passing
from augury.engine.scan.needed import ComponentFilter
from augury.engine.scan.scan import Scan
from augury.errors import names
from augury.ir.branches import MAX_BRANCHES, Branch, branch_count, branches
from augury.ir.pattern import Event, Repeat, event_of, variable_of
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.text import duration_text
from augury.printable import printable
from augury.schema import UNITS


def nothing_found(query: CompiledQuery, scan: Scan, events: Arrivals) -> tuple[str, ...]:
    """Reasons, each sufficient, why a query has no match; `events` are those that it reads, in order.

    Called only for queries without a match, so that it costs nothing otherwise.
    """
    bound = query.bound
    if not scan.rows or bound.threshold is not None or branch_count(bound.pattern) > MAX_BRANCHES:
        return ()
    found = [b for b in branches(query.rewritten.pattern) if b.components]
    return (*_unsatisfied(query.rewritten, found, scan, events), *_too_short(bound, found, events))


def _unsatisfied(query: BoundQuery, found: list[Branch], scan: Scan, events: Arrivals) -> Iterator[str]:
    """Components of every match for which no event satisfies the conditions on that component alone.

    Events that a query does not read satisfy none of its components, so they need not be looked at.
    """
    for component in _in_all(found):
        conjuncts = tuple(c for c in query.conjuncts if c.variables == (variable_of(component),) and c.one_event)
        types = event_of(component).types if query.schema.type is not None else ()
        test = read_filter((ComponentFilter(types, conjuncts),), query.schema) if conjuncts else None
        if test is None:
            continue
        fits = passing(events.table, query.schema, test)
        if fits is None or fits.any():
            continue
        occurring = [name for name in types if name in scan.types()]
        if types and not occurring:
            continue  # that there are no such events is a warning of its own
        of_type = f" of type {names(occurring).replace(', ', ' or ')}" if occurring else ""
        yield printable(f"no event{of_type} satisfies `{' AND '.join(c.brief for c in conjuncts)}`")


def _in_all(found: list[Branch]) -> Iterator[Event | Repeat]:
    """The components that every match binds."""
    for component in found[0].components if found else ():
        if all(variable_of(component) in branch.variables for branch in found):
            yield component


def _too_short(query: BoundQuery, found: list[Branch], events: Arrivals) -> Iterator[str]:
    """Windows into which no two events fit, where every match has events at two times."""
    if not all(branch.order or any(c.low > 1 for c in branch.components if isinstance(c, Repeat)) for branch in found):
        return
    gaps = np.diff(events.time)
    if len(query.schema.order_by) == 1:
        # Concurrent events never follow one another.
        gaps = gaps[gaps > 0]
    if not len(gaps):
        return
    unit, least = UNITS[query.schema.time_unit], int(gaps.min())
    windows = {"WITHIN": query.window.ticks if isinstance(query.window, TimeWindow) else None, "EACH": query.each}
    for clause, ticks in windows.items():
        if ticks is not None and ticks < least:
            yield printable(
                f"{clause} is shorter than every gap between the events that the query reads, of which the least is "
                f"{duration_text(least * unit)}; is the unit of `{query.schema.time}` {query.schema.time_unit}?"
            )
