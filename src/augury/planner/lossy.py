"""BoundQuery, LossModel -> LossyPlan: components that may follow one another, and the probability of the gaps."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from augury.ir.lossy import Step, check_model, last_positive, may_miss, sequence
from augury.ir.pattern import Absent, Event, Seq, components
from augury.ir.predicate import Compare, Conjunct, Ref, walk
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.loss import PRECISION, LossModel
from augury.plan import Component, Unsupported
from augury.plan.lossy import LossyEdge, LossyPlan
from augury.planner.bids import Bid
from augury.planner.components import UnsupportedQuery, compiled_conjuncts
from augury.planner.hints import Hints
from augury.planner.supports import RESULTS, Supports
from augury.schema import UNITS, Kind

FAMILY = LossyPlan.family

SUPPORTS = Supports(
    strategies=frozenset({Strategy.SKIP_TILL_ANY_MATCH}),
    outputs=frozenset({OutputMode.ALL, OutputMode.NONOVERLAP}),
    operators=frozenset({Event, Seq, Absent}),
    windows=frozenset({TimeWindow}),
    clauses=RESULTS | {"threshold"},
    requires={"threshold": "without THRESHOLD no event is missing"},
)

HASHED = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION})
"""Kinds of attributes that queues can be hashed by."""

MAX_CONJUNCT_VARIABLES = 6
"""Variables that one conjunct may read, those of defaults included, since each may be observed or missing."""


def build_lossy(query: BoundQuery, hints: Hints) -> LossyPlan | Unsupported:
    """Arrival queues and scored edges; Unsupported without a loss model."""
    assert query.threshold is not None
    if hints.loss is None:
        return Unsupported(FAMILY, "scores need a loss model")
    try:
        return _build(query, check_model(query, hints.loss), query.threshold)
    except UnsupportedQuery as e:
        return e.of(FAMILY)


def bid_lossy(_plan: LossyPlan, _hints: Hints) -> Bid:
    """No estimate: no other compiled plan scores matches."""
    return Bid()


def _build(query: BoundQuery, model: LossModel, threshold: float) -> LossyPlan:
    steps = sequence(query.pattern)
    conjuncts, computed = compiled_conjuncts(query)
    negated = {s.variable for s in steps if s.negated}
    for c in conjuncts:
        read = {e.variable for e in walk(c.expr) if isinstance(e, Ref)}
        if len(read) > MAX_CONJUNCT_VARIABLES:
            raise UnsupportedQuery(f"a condition over more than {MAX_CONJUNCT_VARIABLES} components", c.span)
        if len(read & negated) > 1:
            raise UnsupportedQuery("a condition that reads two negated components, one of them as a default", c.span)
    events = {c.variable: c for c in components(query.pattern) if isinstance(c, Event)}
    found = {s.variable: _component(events[s.variable], conjuncts) for s in steps}
    positive = tuple(found[s.variable] for s in steps if not s.negated)
    missable = may_miss(steps, model)
    kept, removed = _edges(query, steps, missable, model, threshold)
    return LossyPlan(
        query,
        model,
        positive,
        tuple(found[s.variable] for s in steps if s.negated),
        tuple(s.variable for s in steps),
        tuple(c for c in conjuncts if not _alone(c)),
        computed,
        _shared(query, steps, missable),
        tuple(c.variable for c in positive if model.posterior and c.variable in missable),
        kept,
        removed,
        _best(len(positive), kept),
    )


def _alone(c: Conjunct) -> bool:
    """Whether one event decides the conjunct; if that event is missing, the conjunct does not apply."""
    return len({e.variable for e in walk(c.expr) if isinstance(e, Ref)}) <= 1


def _component(event: Event, conjuncts: Sequence[Conjunct]) -> Component:
    v = event.variable
    # A default applies only to a missing event: an observed one is tested directly.
    alone = tuple(c for c in conjuncts if c.variables in ((), (v,)))
    return Component(v, event.types, 1, 1, False, alone, (), ())


def _edges(
    query: BoundQuery, steps: Sequence[Step], missable: Collection[str], model: LossModel, threshold: float
) -> tuple[tuple[LossyEdge, ...], tuple[LossyEdge, ...]]:
    """The edges that can be part of a match, and those whose score stays below the threshold."""
    # Not at the top: it imports the polynomials of NumPy and inverts a matrix, which no other plan needs.
    from augury.planner.scores import most_probable, tabulate

    assert isinstance(query.window, TimeWindow)
    tick = UNITS[query.schema.time_unit] / 1e9
    places = [-1, *(k for k, s in enumerate(steps) if not s.negated), len(steps)]
    kept: list[LossyEdge] = []
    removed: list[LossyEdge] = []
    for a in range(len(places) - 1):
        for b in range(a + 1, len(places)):
            gap = steps[places[a] + 1 : places[b]]
            missing = tuple(s.variable for s in gap if not s.negated)
            # An edge from before the first to after the last component would observe nothing.
            if not set(missing) <= set(missable) or (a == 0 and b == len(places) - 1):
                continue
            absent = tuple(s.variable for s in gap if s.negated)
            # An edge that is too improbable anyway is not integrated.
            peak = most_probable(missing, query.window.ticks * tick, model)
            table = None
            if gap and peak >= threshold - PRECISION:
                table = tabulate(gap, query.window.ticks, tick, model)
                peak = table.peak
                if table.error > PRECISION:
                    raise UnsupportedQuery(
                        f"the score of a gap is known to {table.error:.1g} only, not to {PRECISION:g}"
                    )
            edge = LossyEdge(a - 1, b - 1, missing, absent, table, peak)
            (removed if peak < threshold - PRECISION else kept).append(edge)
    return tuple(kept), tuple(removed)


def _best(states: int, edges: Sequence[LossyEdge]) -> tuple[float, ...]:
    """The greatest product of peak scores from each component to the end."""
    best = [0.0] * states + [1.0]
    for j in range(states - 1, -1, -1):
        best[j] = max((e.peak * best[e.target] for e in edges if e.source == j), default=0.0)
    return tuple(best[:states])


def _shared(query: BoundQuery, steps: Sequence[Step], missable: Collection[str]) -> tuple[str, ...]:
    """Attributes equal in all events of a match, whatever is missing: `[attr]`, and those equal to the last event's.

    The queues of section 5.2 of the paper are hashed by them. NONOVERLAP counts by `[attr]` alone.
    """
    last = last_positive(steps)
    others = [step for step in steps if step.variable != last]
    if last in missable or query.output is not OutputMode.ALL or not others:
        return query.partition_by
    columns = set.intersection(
        *({c for u, v, c in map(_equality, query.conjuncts) if {u, v} == {step.variable, last}} for step in others)
    )
    return (*query.partition_by, *sorted(columns - set(query.partition_by)))


def _equality(c: Conjunct) -> tuple[str, str, str]:
    """Two variables and the column in which the conjunct requires them to be equal, if it does."""
    match c.expr:
        case Compare("=", Ref(u, column, type), Ref(v, other, same)) if (column, type) == (other, same):
            return (u, v, column) if type.kind in HASHED else ("", "", "")
        case _:
            return ("", "", "")
