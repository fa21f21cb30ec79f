"""Values, events and windows as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from augury.engine.results.render import cell
from augury.engine.results.values import to_shown
from augury.ir.evaluate import evaluate
from augury.ir.predicate import Aggregate, Conjunct, Expr, ListLength, Literal, Ref, Value, children
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.text import duration_text, expression_text
from augury.ir.unbind import unbind
from augury.reference.conditions import Conditions
from augury.reference.stream import Bindings
from augury.runtime.values import from_values
from augury.schema import UNITS, ColumnType


def window_words(query: BoundQuery) -> str:
    """The WITHIN clause as written."""
    match query.window:
        case None:
            return "no window"
        case CountWindow(events):
            return f"WITHIN {events} EVENTS"
        case TimeWindow(ticks):
            return f"WITHIN {duration_words(ticks, query)}"


def duration_words(ticks: int, query: BoundQuery) -> str:
    """A distance in time."""
    return duration_text(ticks * UNITS[query.schema.time_unit])


def value_words(value: Value, type: ColumnType) -> str:
    """A value as in results."""
    if value is None:
        return "null"
    return cell(to_shown(from_values([value], type))[0])


def failing_choice(
    given: Conditions, c: Conjunct, bindings: Bindings, fixed: Mapping[str, int]
) -> Mapping[str, int] | None:
    """The list elements for which a condition is not true; None if it is true for all of them."""
    rows = {v: [e.values for e in bindings[v]] for v in c.variables}
    names = sorted(c.each)
    ranges = [
        [k for k in ((fixed[v],) if v in fixed else range(len(bindings[v]))) if k >= (v in c.from_second)]
        for v in names
    ]
    for choice in product(*ranges):
        elements = dict(zip(names, choice, strict=True))
        if evaluate(c.expr, rows, elements=elements, functions=given.options.callables) is not True:
            return elements
    return None


def read_values(given: Conditions, c: Conjunct, bindings: Bindings, elements: Mapping[str, int]) -> dict[str, str]:
    """The values that a condition reads from these events, by the text of each attribute or aggregate."""
    rows = {v: [e.values for e in bindings[v]] for v in c.variables}
    found = {}
    for e in _read(c.expr):
        value = evaluate(e, rows, elements=elements, functions=given.options.callables)
        found[expression_text(unbind(e))] = value_words(value, e.type)
    return found


def _read(e: Expr) -> Iterator[Ref | Aggregate | ListLength]:
    """The attributes, lengths and aggregates in an expression, outermost first."""
    match e:
        case Ref() | Aggregate() | ListLength():
            yield e
        case Literal():
            return
        case _:
            for child in children(e):
                yield from _read(child)
