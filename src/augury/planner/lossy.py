"""BoundQuery, LossModel -> LossyPlan: which components may follow one another, and how probable the gaps are."""

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
from augury.planner.components import Cannot, compiled_conjuncts
from augury.planner.hints import Hints
from augury.planner.scores import most_probable, tabulate
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
"""Kinds of attributes that a queue can be hashed by."""

MOST_VARIABLES = 6
"""Variables that one conjunct may read, defaults included: each may be there or missing."""


def build_lossy(query: BoundQuery, hints: Hints) -> LossyPlan | Unsupported:
    """Arrival queues and scored edges; Unsupported where nobody says how events are lost."""
    assert query.threshold is not None
    if hints.loss is None:
        return Unsupported(FAMILY, "scores need a loss model")
    try:
        return _build(query, check_model(query, hints.loss), query.threshold)
    except Cannot as e:
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
        if len(read) > MOST_VARIABLES:
            raise Cannot(f"a condition over more than {MOST_VARIABLES} components", c.span)
        if len(read & negated) > 1:
            raise Cannot("a condition that reads two negated components, one of them as a default", c.span)
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
    """Whether one event decides the conjunct, also when it is missing: then it does not apply."""
    return len({e.variable for e in walk(c.expr) if isinstance(e, Ref)}) <= 1


def _component(event: Event, conjuncts: Sequence[Conjunct]) -> Component:
    v = event.variable
    # A default is for an event that is missing: one that is here is tested by itself.
    alone = tuple(c for c in conjuncts if c.variables in ((), (v,)))
    return Component(v, event.types, 1, 1, False, alone, (), ())


def _edges(
    query: BoundQuery, steps: Sequence[Step], missable: Collection[str], model: LossModel, threshold: float
) -> tuple[tuple[LossyEdge, ...], tuple[LossyEdge, ...]]:
    """The edges that can be part of a match, and those whose score never reaches the threshold."""
    assert isinstance(query.window, TimeWindow)
    tick = UNITS[query.schema.time_unit] / 1e9
    places = [-1, *(k for k, s in enumerate(steps) if not s.negated), len(steps)]
    kept: list[LossyEdge] = []
    removed: list[LossyEdge] = []
    for a in range(len(places) - 1):
        for b in range(a + 1, len(places)):
            gap = steps[places[a] + 1 : places[b]]
            missing = tuple(s.variable for s in gap if not s.negated)
            # From before the first straight to after the last, nothing would be observed.
            if not set(missing) <= set(missable) or (a == 0 and b == len(places) - 1):
                continue
            absent = tuple(s.variable for s in gap if s.negated)
            # What is hopeless need not be integrated.
            peak = most_probable(missing, query.window.ticks * tick, model)
            table = None
            if gap and peak >= threshold - PRECISION:
                table = tabulate(gap, query.window.ticks, tick, model)
                peak = table.peak
                if table.error > PRECISION:
                    raise Cannot(f"the score of a gap is known to {table.error:.1g} only, not to {PRECISION:g}")
            edge = LossyEdge(a - 1, b - 1, missing, absent, table, peak)
            (removed if peak < threshold - PRECISION else kept).append(edge)
    return tuple(kept), tuple(removed)


def _best(states: int, edges: Sequence[LossyEdge]) -> tuple[float, ...]:
    """From each component on, the greatest product of peaks up to the end."""
    best = [0.0] * states + [1.0]
    for j in range(states - 1, -1, -1):
        best[j] = max((e.peak * best[e.target] for e in edges if e.source == j), default=0.0)
    return tuple(best[:states])


def _shared(query: BoundQuery, steps: Sequence[Step], missable: Collection[str]) -> tuple[str, ...]:
    """Attributes that all events of a match share, whatever is missing: `[attr]`, and those equal to the last one's.

    The queues of the paper's section 5.2 are hashed by these. NONOVERLAP counts by `[attr]` alone.
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
    """Two variables and the column in which they have to be equal, if that is what the conjunct says."""
    match c.expr:
        case Compare("=", Ref(u, column, type), Ref(v, other, same)) if (column, type) == (other, same):
            return (u, v, column) if type.kind in HASHED else ("", "", "")
        case _:
            return ("", "", "")
