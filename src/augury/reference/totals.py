"""Aggregates over all matches that one event completes (SEMANTICS section 7, OUTPUT COUNT with RETURN)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from augury.ir.evaluate import aggregate, evaluate
from augury.ir.functions import representable
from augury.ir.predicate import Aggregate, Value, variables
from augury.reference.conditions import Conditions
from augury.reference.find import Candidate
from augury.runtime.matches import exact


def totals(given: Conditions, matches: Sequence[Candidate]) -> tuple[Value, ...]:
    """The value of each aggregate of the query over `matches`, which one event completes."""
    return tuple(_total(a, given, matches) for a in given.query.totals)


def _total(a: Aggregate, given: Conditions, matches: Sequence[Candidate]) -> Value:
    """An aggregate over the events that the matches bind to its variable, once for each match that binds them."""
    # An aggregate over rounds reads one variable inside the group, which binds the events of all rounds.
    (variable,) = variables(a.argument) if a.rounds and a.argument is not None else (a.variable,)
    events = [e for c in matches for e in c.bindings.get(variable, ())]
    if a.argument is None:
        return len(events)
    functions = given.options.callables
    values = [evaluate(a.argument, {variable: [e.values]}, elements={variable: 0}, functions=functions) for e in events]
    if a.function in ("sum", "avg") and any(isinstance(v, float) for v in values):
        present = [v for v in values if isinstance(v, float)]
        total = _sum(present)
        return representable(total if a.function == "sum" else total / len(present))
    if a.function == "sum" and any(v is not None for v in values):
        return exact(sum(v for v in values if isinstance(v, int)), f"sum({a.variable})")
    return aggregate(a.function, values)


def _sum(values: Sequence[float]) -> float:
    """The sum without rounding errors: it does not depend on the order of the matches."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        # The sum exceeds the greatest float, or has infinities of both signs.
        return sum(values)
