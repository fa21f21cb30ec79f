"""BoundQuery -> LinkedPlan, for sequences; with lists unless their covers are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from augury.ir.branches import Branch, branches
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq, variable_of
from augury.ir.predicate import Aggregate, Conjunct, Element, ListLength, Ref, walk
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.plan import LinkedPlan, Unsupported
from augury.planner.bids import Bid, Rank
from augury.planner.components import UnsupportedQuery, absence, check_nesting, compiled_conjuncts, component
from augury.planner.exclusive import exclusive
from augury.planner.hints import Hints
from augury.planner.supports import LOSSY_REASON, RESULTS, ROUNDS_REASON, Supports, each

FAMILY = LinkedPlan.family

SUPPORTS = Supports(
    strategies=frozenset({Strategy.SKIP_TILL_ANY_MATCH}),
    outputs=frozenset({OutputMode.ALL, OutputMode.COVER, OutputMode.LATEST}),
    # An OR or an AND of one component is a sequence.
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS,
    because={
        Group: ROUNDS_REASON,
        **each(
            (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY, Strategy.SKIP_TILL_NEXT_MATCH),
            "{} selects events, chains hold all of them",
        ),
        "threshold": LOSSY_REASON,
        **each((OutputMode.NONOVERLAP, OutputMode.COUNT), "OUTPUT {} is not among ALL, COVER, LATEST"),
    },
)


MAX_COMPONENTS = 62
"""Components of a sequence: each has a bit in the word that says which components an event fits."""


def build_linked(query: BoundQuery, _hints: Hints) -> LinkedPlan | Unsupported:
    """The chains of one sequence; Unsupported where they would miss matches or add wrong ones."""
    try:
        return _build(query)
    except UnsupportedQuery as e:
        return e.of(FAMILY)


def bid_linked(plan: LinkedPlan, _hints: Hints) -> Bid:
    """No estimate; ranked first where a walk back finds the latest match of an event without enumerating the others."""
    latest = plan.direct and plan.query.output is OutputMode.LATEST
    return Bid(rank=Rank.LATEST_ONLY if latest else Rank.UNESTIMATED)


def _build(query: BoundQuery) -> LinkedPlan:
    branch = _sequence(query)
    conjuncts, computed = compiled_conjuncts(query)
    ordered = branch.in_sequence
    check_nesting(conjuncts, query.pattern.span)
    if len(ordered) > MAX_COMPONENTS:
        reason = f"{len(ordered)} components, and linked chains are for {MAX_COMPONENTS}"
        raise UnsupportedQuery(reason, query.pattern.span, too_large=True)
    # A conjunct that reads no event is tested with each one: if it is false, no event enters a chain.
    constant = tuple(j for j in conjuncts if not j.variables)
    components = tuple(component(c, [variable_of(c)], conjuncts) for c in ordered)
    bare = tuple(replace(c, alone=(*constant, *c.alone), take=(), whole=()) for c in components)
    joining = [j for j in conjuncts if len(j.variables) > 1 or not (j.one_event or not j.variables)]
    several = tuple(j for j in joining if set(j.variables) <= set(branch.variables))
    lists = [c.variable for c in bare if c.iterated]
    if lists:
        _check_lists(query, several, [c.variable for c in bare], branch)
    absent = tuple(absence(p, branch.variables, conjuncts) for p in branch.absent)
    if any(part.open for part in absent):
        raise UnsupportedQuery("a NOT that may still occur when the match is complete", query.pattern.span)
    typed = query.schema.type is not None
    apart = all(exclusive(a, b, typed=typed) for a, b in combinations(bare, 2))
    return LinkedPlan(query, bare, several, absent, computed, apart)


def _sequence(query: BoundQuery) -> Branch:
    found = branches(query.pattern)
    if len(found) > 1:
        raise UnsupportedQuery(
            "alternatives, whose events are in the chains of other alternatives too", query.pattern.span
        )
    (branch,) = found
    if not branch.sequential:
        raise UnsupportedQuery(
            "an AND: its events may come in any order, and chains are linked in one", query.pattern.span
        )
    if len(branch.components) < 2:
        raise UnsupportedQuery("a single component has no chain to be linked to", query.pattern.span)
    return branch


def _check_lists(query: BoundQuery, conjuncts: Sequence[Conjunct], order: Sequence[str], branch: Branch) -> None:
    """Refuse conditions on whole lists: a walk back sees the elements of a list one by one, last first."""
    for v in query.variables:
        if v.iterated and not v.negated and query.output is OutputMode.COVER:
            raise UnsupportedQuery(f"the list `{v.name}` may lie in several chains at once", query.pattern.span)
    if branch.absent and query.output is OutputMode.LATEST:
        raise UnsupportedQuery("a NOT beside a list: only the latest match of an event is found, and it may not count")
    for c in conjuncts:
        for e in walk(c.expr):
            if isinstance(e, Aggregate | ListLength):
                raise UnsupportedQuery("a list as a whole, which is not known before all of it is", e.span)
            if isinstance(e, Ref) and e.element is Element.FIRST and e.variable == min(c.variables, key=order.index):
                raise UnsupportedQuery(
                    "the first element of a list, which is the last that a walk back comes to", e.span
                )
        if len(c.each) > 1:
            raise UnsupportedQuery("each element of one list with each of another", c.span)
