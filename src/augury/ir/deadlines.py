"""Deadlines of negated events from conditions on differences of times (SEMANTICS section 10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from augury.ir.comparisons import sides
from augury.ir.predicate import Arithmetic, Conjunct, Element, Expr, Literal, Ref
from augury.ir.query import BoundQuery
from augury.schema import UNITS, Kind

_TICKS = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION)
"""Kinds of values that are whole ticks; float times are rounded to ticks, so they give no deadline."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """An event is at most `ticks` later than the event of `variable`, which is the first or the `last` of a list."""

    variable: str
    last: bool
    ticks: int


def deadlines(query: BoundQuery, conjuncts: Iterable[Conjunct], negated: str) -> tuple[Deadline, ...]:
    """The deadlines that conditions set for the event of a negated component.

    Such conditions are `n.ts - b.ts <= 1 second`, `n.ts < b.ts + 5 seconds` and the like.
    """
    found = []
    for j in conjuncts:
        compared = sides(j) if negated in j.variables and len(j.variables) == 2 else None
        if compared is None:
            continue
        low, high, differ = compared
        one, other = _sum(low, query), _sum(high, query)
        if one is None or other is None:
            continue
        refs = one[0].keys() | other[0].keys()
        times = {ref: one[0].get(ref, 0) - other[0].get(ref, 0) for ref in refs}
        rest = other[1] - one[1] - differ
        by_sign = {count: ref for ref, count in times.items()}
        if sorted(times.values()) == [-1, 1] and by_sign[1].variable == negated:
            found.append(Deadline(by_sign[-1].variable, by_sign[-1].element is Element.LAST, rest))
    return tuple(found)


def _sum(e: Expr, query: BoundQuery) -> tuple[dict[Ref, int], int] | None:
    """The coefficient of each event's time in a linear expression, and its constant; None for any other expression."""
    match e:
        case Ref(column=column, type=type, element=element):
            plain = element in (Element.SINGLE, Element.FIRST, Element.LAST)
            return ({e: 1}, 0) if column == query.schema.time and plain and type.kind in _TICKS else None
        case Literal(value=int() as value, type=type) if not isinstance(value, bool) and type.kind in _TICKS:
            unit = UNITS[type.unit] if type.kind is Kind.DURATION and type.unit else UNITS[query.schema.time_unit]
            nanoseconds = value * unit
            ticks, left = divmod(nanoseconds, UNITS[query.schema.time_unit])
            return None if left or type.kind is Kind.TIMESTAMP else ({}, ticks)
        case Arithmetic("+" | "-" as operator, left, right):
            one, other = _sum(left, query), _sum(right, query)
            if one is None or other is None:
                return None
            sign = 1 if operator == "+" else -1
            refs = one[0].keys() | other[0].keys()
            times = {ref: one[0].get(ref, 0) + sign * other[0].get(ref, 0) for ref in refs}
            return {ref: count for ref, count in times.items() if count}, one[1] + sign * other[1]
        case _:
            return None
