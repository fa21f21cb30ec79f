"""BoundQuery -> EventSetsPlan, for sets under the strategies that consume events one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from augury.ir.branches import Branch, branches
from augury.ir.equality import close_equalities
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq, variable_of
from augury.ir.predicate import Aggregate, Conjunct, walk
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.plan import Computed, EventSetsPlan, SetBranch, Unsupported
from augury.plan.event_sets import MAX_VARIABLES
from augury.planner.bids import Bid
from augury.planner.components import UnsupportedQuery, absence, compiled_conjuncts, component
from augury.planner.exclusive import exclusive
from augury.planner.hints import Hints
from augury.planner.supports import LOSSY_REASON, RESULTS, ROUNDS_REASON, Supports

FAMILY = EventSetsPlan.family

SUPPORTS = Supports(
    strategies=frozenset(
        {Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY, Strategy.SKIP_TILL_NEXT_MATCH},
    ),
    outputs=frozenset({OutputMode.ALL, OutputMode.NONOVERLAP, OutputMode.LATEST, OutputMode.COUNT}),
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS,
    because={
        Group: ROUNDS_REASON,
        Strategy.SKIP_TILL_ANY_MATCH: "skip_till_any_match binds sets in every possible way, "
        "an automaton the next events that fit",
        "threshold": LOSSY_REASON,
        OutputMode.COVER: "instances find all matches, and do not know the chains of OUTPUT COVER",
    },
)


def build_event_sets(query: BoundQuery, _hints: Hints) -> EventSetsPlan | Unsupported:
    """One SES automaton per branch; Unsupported for sequences, whose lists do not wait to become maximal."""
    try:
        return _build(query)
    except UnsupportedQuery as e:
        return e.of(FAMILY)


def bid_event_sets(_plan: EventSetsPlan, _hints: Hints) -> Bid:
    """No estimate: no other compiled plan runs sets under these strategies."""
    return Bid()


def _build(query: BoundQuery) -> EventSetsPlan:
    found = [b for b in branches(query.pattern) if b.components]
    if all(b.by_runs for b in found):
        reason = "a sequence, which matches as soon as it is complete, not when it is maximal"
        raise UnsupportedQuery(reason, query.pattern.span)
    if any(b.by_runs and any(isinstance(c, Repeat) for c in b.components) for b in found):
        raise UnsupportedQuery("an alternative that is a sequence with a list, which is for runs", query.pattern.span)
    names = [frozenset(b.variables) for b in found]
    if len(set(names)) < len(names):
        raise UnsupportedQuery(
            "alternatives that bind the same variables, of which one may wait for the other", query.pattern.span
        )
    if any(len(b.components) > MAX_VARIABLES for b in found):
        raise UnsupportedQuery(f"more than {MAX_VARIABLES} variables", query.pattern.span, too_large=True)
    computed: dict[str, Computed] = {}
    plans = []
    for b in found:
        closed = normal_conjuncts(query.conjuncts, query.pattern_order)
        if not b.by_runs:
            closed = close_equalities(closed, b.variables, query.pattern_order)
        conjuncts, columns = compiled_conjuncts(replace(query, conjuncts=closed))
        computed |= {c.name: c for c in columns}
        plans.append(_branch(query, b, conjuncts))
    # A contiguous match ends with the first event that it cannot take, even with one that fits no component.
    skips = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH
    return EventSetsPlan(query, tuple(plans), tuple(computed.values()), filter=skips)


def _branch(query: BoundQuery, branch: Branch, conjuncts: Sequence[Conjunct]) -> SetBranch:
    components = [component(c, [variable_of(c)], conjuncts) for c in branch.components]
    # A conjunct that reads no event is tested with every one, since any may be the first.
    constant = tuple(j for j in conjuncts if not j.variables)
    bare = tuple(replace(c, alone=(*constant, *c.alone), take=(), whole=()) for c in components)
    several = tuple(
        j
        for j in conjuncts
        if j.variables and set(j.variables) <= set(branch.variables) and not (len(j.variables) == 1 and j.one_event)
    )
    for j in several:
        _check(j, branch)
    absent = tuple(absence(p, branch.variables, conjuncts) for p in branch.absent)
    typed = query.schema.type is not None
    apart = all(exclusive(a, b, typed=typed) for a, b in combinations(bare, 2))
    return SetBranch(bare, branch.order, several, absent, apart, branch.by_runs)


def _check(j: Conjunct, branch: Branch) -> None:
    """Refuse a running aggregate compared with what is bound later: it is known only while its list grows."""
    for e in walk(j.expr):
        if isinstance(e, Aggregate) and e.running:
            others = set(j.variables) - {e.variable}
            if j.whole or any((u, e.variable) not in branch.order for u in others):
                raise UnsupportedQuery("a running aggregate of a list that is already complete", e.span)
