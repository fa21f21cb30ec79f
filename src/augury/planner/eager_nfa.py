"""BoundQuery -> EagerNfaPlan, for sequences under any of the four strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.ir.branches import Branch, branches, prefixes
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq, groups, variable_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.plan import EagerNfaPlan, Gap, NfaBranch, Unsupported
from augury.planner.bids import Bid, Rank
from augury.planner.components import UnsupportedQuery, compiled_conjuncts, component, placed_absence
from augury.planner.estimates import estimate_eager
from augury.planner.groups import looped_branches
from augury.planner.hints import Hints
from augury.planner.supports import LOSSY_REASON, RESULTS, SELECTED_OUTPUTS, STRATEGIES, Supports

FAMILY = EagerNfaPlan.family

SUPPORTS = Supports(
    strategies=STRATEGIES,
    outputs=SELECTED_OUTPUTS,
    # An AND of one component and a NOT has one order only.
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, Group, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS | {"skip_to", "every", "once", "steps", "reluctant", "since", "silence", "each", "until", "nth"},
    because={
        "threshold": LOSSY_REASON,
        OutputMode.COVER: "runs find all matches, and do not know the chains of OUTPUT COVER",
    },
)

MARGIN = 1.3
"""How many times cheaper than a lazy plan an eager one must be to be chosen, since its estimate is rougher.

Where a short list between two events (W5 of docs/benchmarks.md) is estimated at 0.9 of a chain, it takes 1.2 times
as long.
"""


def build_eager_nfa(query: BoundQuery, hints: Hints) -> EagerNfaPlan | Unsupported:
    """One automaton per branch; Unsupported for sets, and for alternatives that wait for one another."""
    try:
        plan = _build(query) if not any(groups(query.pattern)) else _looping(query)
    except UnsupportedQuery as e:
        return e.of(FAMILY)
    return plan if hints.merge else replace(plan, merge=False, unmerged="merge=False was asked for")


def bid_eager_nfa(plan: EagerNfaPlan, hints: Hints) -> Bid:
    """The estimate, where the strategy has one; a pattern of one component has only one evaluation order."""
    counted = plan.query.output is OutputMode.COUNT
    estimate = estimate_eager(plan, hints.statistics, compressed=hints.compressed or counted)
    if estimate is None:
        return Bid()
    single = all(len(b.components) == 1 for b in plan.branches)
    return Bid(estimate.cost, Rank.NO_ORDER if single else Rank.BY_COST, margin=MARGIN, tie=2)


def _looping(query: BoundQuery) -> EagerNfaPlan:
    """The plan of a query with groups."""
    plans, computed, names = looped_branches(query)
    _check_alternatives(
        query, plans, [frozenset(names.get(c.variable, c.variable) for c in p.components) for p in plans]
    )
    reason = "a group that is left by a run of its own shares its history with the run that goes on with it"
    return EagerNfaPlan(query, plans, computed, merge=False, unmerged=reason, names=tuple(names.items()))


def _build(query: BoundQuery) -> EagerNfaPlan:
    found = [b for b in branches(query.pattern) if b.components]
    if not all(b.sequential for b in found):
        raise UnsupportedQuery("an AND binds its parts in any order, an automaton only in one", query.pattern.span)
    if not query.declarative and any(b.sets for b in found):
        raise UnsupportedQuery("an AND is a set under this strategy, also one of a single part", query.pattern.span)
    conjuncts, computed = compiled_conjuncts(query)
    plans = tuple(_branch(query, b, conjuncts) for b in found)
    _check_alternatives(query, plans, [frozenset(b.variables) for b in found])
    if query.output.has_timeouts:
        plans += tuple(_partial(query, p, conjuncts) for b in found for p in prefixes(b))
    unmerged = _unmerged(query, plans)
    return EagerNfaPlan(query, plans, computed, merge=not unmerged, unmerged=unmerged)


def _check_alternatives(query: BoundQuery, plans: Sequence[NfaBranch], bound: Sequence[frozenset[str]]) -> None:
    """Refuse branches that may find the same match at different times."""
    if len(set(bound)) < len(bound) and any(part.open for plan in plans for part in plan.absent):
        raise UnsupportedQuery(
            "alternatives that bind the same variables, one of which waits for a NOT", query.pattern.span
        )


def _branch(query: BoundQuery, branch: Branch, conjuncts: Sequence[Conjunct]) -> NfaBranch:
    ordered = branch.in_sequence
    components = []
    known: list[str] = []
    for c in ordered:
        known.append(variable_of(c))
        components.append(component(c, known, conjuncts))
    # A conjunct that reads no event is tested with the first one.
    constant = tuple(j for j in conjuncts if not j.variables)
    components[0] = replace(components[0], alone=(*constant, *components[0].alone))
    absent = tuple(placed_absence(query, p, known, conjuncts) for p in branch.absent)
    return NfaBranch(tuple(components), absent, tuple(_gap(query, c) for c in ordered))


def _partial(query: BoundQuery, prefix: Branch, conjuncts: Sequence[Conjunct]) -> NfaBranch:
    """The automaton of what a run may have bound when it times out; its last list need not be complete."""
    plan = _branch(query, prefix, conjuncts)
    *earlier, last = plan.components
    return replace(plan, components=(*earlier, replace(last, whole=())), partial=True)


def _gap(query: BoundQuery, c: Event | Repeat) -> Gap:
    v = variable_of(c)
    reluctant = isinstance(c, Repeat) and c.reluctant
    return Gap(query.strategy_of(v), query.strategy_of(v, inside=True), reluctant)


def _unmerged(query: BoundQuery, plans: Sequence[NfaBranch]) -> str:
    """The reason why runs with equal values cannot be merged; empty if they can."""
    for plan in plans:
        for c in plan.components:
            walked = [j for j in c.take if j.each - {c.variable} or (j.each and c.variable in j.decided_at)]
            for j in (*walked, *(j for j in c.whole if j.each)):
                return f"`{j}` reads the events of a list one by one, so runs with other events are not equivalent"
    if any(plan.splits(j) for plan in plans for j in range(len(plan.components))):
        return "a list that is left by a run of its own shares its history with the run that goes on with it"
    if query.steps and query.partition_by and Strategy.STRICT_CONTIGUITY in query.strategies:
        return "runs of all partitions wait side by side, since some step ends with the next event of any"
    if any(c.until is not None for plan in plans for c in plan.components):
        return "a list that ends UNTIL an event ends for each run at another one"
    if query.each is not None:
        return "WITHIN ... EACH is counted from the last event of each run"
    if any(plan.absent for plan in plans):
        return "negated parts are looked for match by match"
    return ""
