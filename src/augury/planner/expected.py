"""What the planner expects of a stream: how many events a window holds, and how often a condition is true."""

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
from augury.plan.components import spelt

ASSUMED_EVENTS = 100.0
"""Events of each variable in a window when nothing is known of their rates."""

FEWEST = 1e-6
"""Events of a variable in a window that never seems to occur, so that costs still tell orders apart."""

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
"""The share of candidates for which a condition is true when nobody counted, by its operator.

IN is an `=` for each of its items; AND, OR and NOT combine their parts as if these did not depend on one another.
"""


def window_events(query: BoundQuery, statistics: StreamStatistics, names: Collection[str]) -> dict[str, float]:
    """How many events of each variable a window is expected to hold.

    Of a variable without a rate they are the mean of the others; when nothing is known at all, components are equally
    frequent before the conditions on one event alone. Without a window, or with one that is longer than the stream,
    it is the whole stream; that of a stream whose length is not known holds as many as if nothing were known of it, in
    the proportions of the rates.
    """
    known = [rate for name, rate in statistics.rates.items() if name in names]
    if not known or not sum(known):
        number = query.window.events / len(names) if isinstance(query.window, CountWindow) else ASSUMED_EVENTS
        shares = passing(query, statistics)
        return {name: max(FEWEST, number * shares.get(name, 1.0)) for name in names}
    mean = sum(known) / len(known)
    rates = {name: statistics.rates.get(name, mean) for name in names}
    length = window_length(query, statistics)
    if length is None:
        length = ASSUMED_EVENTS / mean
    return {name: max(FEWEST, rate * length) for name, rate in rates.items()}


def all_events(query: BoundQuery, statistics: StreamStatistics, events: Mapping[str, float]) -> float:
    """How many events a window holds, those included that no component wants; `events` are those of the variables."""
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
    """Whether a window holds all there is."""
    length = window_length(query, statistics)
    return query.window is None or (bool(statistics.ticks) and length == statistics.ticks)


def windows(query: BoundQuery, statistics: StreamStatistics) -> float | None:
    """How many windows, laid end to end, the stream is long; None when its length is not known."""
    length = window_length(query, statistics)
    return statistics.ticks / length if statistics.ticks and length else None


def passing(query: BoundQuery, statistics: StreamStatistics) -> dict[str, float]:
    """By variable the share of the events of the right type that pass the conditions on one event of it alone."""
    shares: dict[str, float] = {}
    for c in normal_conjuncts(query.conjuncts, query.pattern_order):
        if len(c.variables) == 1 and c.one_event:
            (variable,) = c.variables
            shares[variable] = shares.get(variable, 1.0) * selectivity(c, statistics)
    return shares


def conjunct_text(c: Conjunct, computed: Iterable[Computed] = ()) -> str:
    """The name of a conjunct among the selectivities."""
    return expression_text(unbind(spelt(c.expr, computed)))


def partition_text(query: BoundQuery) -> str:
    """The name of the equivalence tests among the selectivities.

    Nothing without one, and with a window that counts the events of a partition, which all agree.
    """
    if isinstance(query.window, CountWindow):
        return ""
    return " AND ".join(f"[{name}]" for name in query.partition_by)


def selectivity(c: Conjunct, statistics: StreamStatistics, computed: Iterable[Computed] = ()) -> float:
    """The share of candidates for which `c` is true: as known, else as assumed."""
    # The text of a long condition takes time: it is not asked for where nothing is known.
    known = statistics.selectivities.get(conjunct_text(c, computed)) if statistics.selectivities else None
    return assumed_selectivity(c.expr) if known is None else known


def bounded(c: Conjunct, statistics: StreamStatistics, computed: Iterable[Computed]) -> float:
    """The share of candidates that leading coefficients do not rule out: as known, else all."""
    return statistics.bounded.get(conjunct_text(c, computed), 1.0) if statistics.bounded else 1.0


def partition_selectivity(query: BoundQuery, statistics: StreamStatistics) -> float:
    """The share of pairs of events that agree on the partition."""
    text, known = partition_text(query), statistics.selectivities
    if not text:
        return 1.0
    return known.get(
        text, math.prod(known.get(f"[{name}]", ASSUMED_SELECTIVITY["[attr]"]) for name in query.partition_by)
    )


def assumed_selectivity(e: Expr) -> float:
    """By the operators of a condition.

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
