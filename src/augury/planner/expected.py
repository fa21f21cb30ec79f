"""Expected numbers of a stream: events in a window, and how often a condition is true."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import assert_never

from augury.ir.normal_form import normal_conjuncts
from augury.ir.predicate import And, Compare, Conjunct, Expr, IsNull, Literal, Member, Not, Or
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.plan import Computed, StreamStatistics
from augury.plan.components import as_written

ASSUMED_EVENTS = 100.0
"""Events of each variable in a window when nothing is known of their rates."""

MIN_EVENTS = 1e-6
"""Events assumed in a window for a variable that never occurs, so that costs still tell orders apart."""

ASSUMED_SELECTIVITY: Mapping[str, float] = {
    "=": 0.1,
    "!=": 0.9,
    "<": 1 / 3,
    "<=": 1 / 3,
    ">": 1 / 3,
    ">=": 1 / 3,
    "IS NULL": 0.05,
    "[attr]": 0.1,
    "other": 0.5,
}
"""The share of candidates for which a condition is true when no statistics say so, by its operator.

IN counts as one `=` per item; the parts of AND, OR and NOT are taken to be independent.
"""


def window_events(query: BoundQuery, statistics: StreamStatistics, names: Collection[str]) -> dict[str, float]:
    """Number of events of each variable that a window is expected to hold.

    A variable without a rate gets the mean of the others; without any statistics, components are equally frequent
    before the conditions on one event alone. Without a window, or with one longer than the stream, the window is the
    whole stream; if the length of the stream is unknown, it holds as many events as are assumed without statistics, in
    the proportions of the rates.
    """
    known = [rate for name, rate in statistics.rates.items() if name in names]
    if not known or not sum(known):
        number = query.window.events / len(names) if isinstance(query.window, CountWindow) else ASSUMED_EVENTS
        shares = passing(query, statistics)
        return {name: max(MIN_EVENTS, number * shares.get(name, 1.0)) for name in names}
    mean = sum(known) / len(known)
    rates = {name: statistics.rates.get(name, mean) for name in names}
    length = window_length(query, statistics)
    if length is None:
        length = ASSUMED_EVENTS / mean
    return {name: max(MIN_EVENTS, rate * length) for name, rate in rates.items()}


def all_events(query: BoundQuery, statistics: StreamStatistics, events: Mapping[str, float]) -> float:
    """Number of events in a window, with those that fit no component; `events` are those of the variables."""
    length = window_length(query, statistics)
    return max(sum(events.values()), statistics.total * (length or 0.0))


def window_length(query: BoundQuery, statistics: StreamStatistics) -> float | None:
    """The window in ticks, at most the length of the stream; None when neither is known."""
    match query.window:
        case TimeWindow(ticks):
            length: float | None = max(ticks, 1)
        case CountWindow(events):
            total = statistics.total or sum(statistics.rates.values())
            length = events / total if total else None
        case None:
            length = None
        case _:
            assert_never(query.window)
    if statistics.ticks:
        length = statistics.ticks if length is None else min(length, statistics.ticks)
    return length


def whole_stream(query: BoundQuery, statistics: StreamStatistics) -> bool:
    """Whether a window covers the whole stream."""
    length = window_length(query, statistics)
    return query.window is None or (bool(statistics.ticks) and length == statistics.ticks)


def windows(query: BoundQuery, statistics: StreamStatistics) -> float | None:
    """Length of the stream in windows laid end to end; None when its length is unknown."""
    length = window_length(query, statistics)
    return statistics.ticks / length if statistics.ticks and length else None


def passing(query: BoundQuery, statistics: StreamStatistics) -> dict[str, float]:
    """The share of events of the right type that pass the conditions on one event alone, by variable."""
    shares: dict[str, float] = {}
    for c in normal_conjuncts(query.conjuncts, query.pattern_order):
        if len(c.variables) == 1 and c.one_event:
            (variable,) = c.variables
            shares[variable] = shares.get(variable, 1.0) * selectivity(c, statistics)
    return shares


def conjunct_text(c: Conjunct, computed: Iterable[Computed] = ()) -> str:
    """The key of a conjunct among the selectivities."""
    return expression_text(unbind(as_written(c.expr, computed)))


def partition_text(query: BoundQuery) -> str:
    """The key of the equivalence tests among the selectivities.

    Empty without any, and with a window that counts the events of a partition, since these all agree.
    """
    if isinstance(query.window, CountWindow):
        return ""
    return " AND ".join(f"[{name}]" for name in query.partition_by)


def selectivity(c: Conjunct, statistics: StreamStatistics, computed: Iterable[Computed] = ()) -> float:
    """The share of candidates for which `c` is true, from statistics if they have it, else assumed."""
    # Formatting a long condition takes time, so its key is computed only where there are statistics.
    known = statistics.selectivities.get(conjunct_text(c, computed)) if statistics.selectivities else None
    return assumed_selectivity(c.expr) if known is None else known


def bounded(c: Conjunct, statistics: StreamStatistics, computed: Iterable[Computed]) -> float:
    """The share of candidates that leading coefficients do not rule out, from statistics, else 1."""
    return statistics.bounded.get(conjunct_text(c, computed), 1.0) if statistics.bounded else 1.0


def partition_selectivity(query: BoundQuery, statistics: StreamStatistics) -> float:
    """The share of pairs of events with the same partition key."""
    text, known = partition_text(query), statistics.selectivities
    if not text:
        return 1.0
    return known.get(
        text, math.prod(known.get(f"[{name}]", ASSUMED_SELECTIVITY["[attr]"]) for name in query.partition_by)
    )


def assumed_selectivity(e: Expr) -> float:
    """The share of candidates for which a condition is assumed true, by its operators.

    >>> from augury.ir.predicate import Ref
    >>> from augury.schema import INT
    >>> assumed_selectivity(Compare("=", Ref("a", "x", INT), Ref("b", "x", INT)))
    0.1
    """
    match e:
        case Literal(value):
            return 1.0 if value is True else 0.0
        case Compare(operator):
            return ASSUMED_SELECTIVITY[operator]
        case Member(_, items, listed):
            return min(1.0, ASSUMED_SELECTIVITY["="] * (len(items) + len(listed)))
        case IsNull():
            return ASSUMED_SELECTIVITY["IS NULL"]
        case Not(operand):
            return 1.0 - assumed_selectivity(operand)
        case And(operands):
            return math.prod(map(assumed_selectivity, operands))
        case Or(operands):
            return 1.0 - math.prod(1.0 - assumed_selectivity(o) for o in operands)
        case _:
            return ASSUMED_SELECTIVITY["other"]
