"""BoundQuery -> LazyChainPlan, for any pattern under skip_till_any_match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.ir.branches import Branch, branches, prefixes
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq, variable_of
from augury.ir.predicate import Aggregate, Conjunct, walk
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.plan import Absence, ChainBranch, LazyChainPlan, LazyTreePlan, Negation, Unsupported
from augury.planner.bids import Bid, Rank
from augury.planner.chain_steps import changed, with_steps
from augury.planner.components import UnsupportedQuery, check_nesting, compiled_conjuncts, component, placed_absence
from augury.planner.cost import reorder
from augury.planner.estimates import estimate_chain
from augury.planner.hints import NO_HINTS, Hints
from augury.planner.searches import with_searches
from augury.planner.spacing import spacing
from augury.planner.supports import LOSSY_REASON, RESULTS, ROUNDS_REASON, SELECTED_OUTPUTS, Supports, each
from augury.source import Span

FAMILY = LazyChainPlan.family

SUPPORTS = Supports(
    strategies=frozenset({Strategy.SKIP_TILL_ANY_MATCH}),
    outputs=SELECTED_OUTPUTS,
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS | {"skip_to", "every", "once", "since", "silence", "each", "until", "nth"},
    hints=frozenset({"order", "negation", "statistics"}),
    because={
        Group: ROUNDS_REASON,
        **each(
            (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY, Strategy.SKIP_TILL_NEXT_MATCH),
            "{} selects events in the order they arrive, a chain does not",
        ),
        "threshold": LOSSY_REASON,
        OutputMode.COVER: "a chain finds all matches, and does not know the chains of OUTPUT COVER",
    },
)

TREE_SUPPORTS = replace(SUPPORTS, hints=frozenset({"negation", "statistics"}))

MAX_CHAIN_BRANCHES = 64
"""Branches that get chains; each function takes the buffers of all of them, so code grows with the square."""

MAX_NESTED_LISTS = 10
"""Nested loops over lists and their elements; CPython nests 20 loops at most."""


def build_lazy_chain(query: BoundQuery, hints: Hints) -> LazyChainPlan | Unsupported:
    """One chain per branch, in the cheapest order; Unsupported for too many branches or components."""
    try:
        plan = _build(query, hints)
    except UnsupportedQuery as e:
        return e.of(FAMILY)
    if hints.order is None:
        plan = changed(plan, reorder(plan, {}))
    else:
        orders = (tuple(v for v in hints.order if v in [c.variable for c in b.components]) for b in plan.branches)
        plan = changed(plan, tuple(orders), adaptive=False)
    if hints.negation is None:
        # Where no part can be searched for earlier, both are the same plan.
        ways = [changed(plan, negation=n) for n in (Negation.POST_PROCESSING, Negation.FIRST_CHANCE)]
        plan = min(ways, key=lambda way: estimate_chain(way).cost)
    return replace(with_searches(plan, {}), estimated=estimate_chain(plan).partial)


def has_chain(query: BoundQuery) -> bool:
    """Whether this family has a plan for the query."""
    try:
        _build(query, NO_HINTS)
    except UnsupportedQuery:
        return False
    return True


def build_lazy_tree(query: BoundQuery, hints: Hints) -> LazyTreePlan | Unsupported:
    """The tree that starts with the order of the chain."""
    chain = build_lazy_chain(query, hints)
    if isinstance(chain, Unsupported):
        return replace(chain, family=LazyTreePlan.family)
    return LazyTreePlan(chain)


def bid_lazy_chain(plan: LazyChainPlan, hints: Hints) -> Bid:
    """The estimate, or the rank of counting for sequences without conditions between events."""
    counts = plan.unary and plan.query.output is OutputMode.COUNT
    return Bid(estimate_chain(plan).cost, Rank.COUNT_ONLY if counts else Rank.BY_COST)


def bid_lazy_tree(plan: LazyTreePlan, hints: Hints) -> Bid:
    """A bid for a live stream without known rates, and three or more single components in some branch.

    With fewer components every order visits the same pairs.
    """
    single = max(sum(1 for c in b.components if not c.iterated) for b in plan.chain.branches)
    wanted = hints.live and not hints.statistics.rates and single >= 3
    return Bid(
        estimate_chain(plan.chain).cost,
        Rank.BY_COST,
        tie=-1 if wanted else 1,
        wins="the rates are not known: a tree finds the order as it goes",
        yields="for live streams of unknown rates, and three components or more; else a chain does the same",
    )


def _build(query: BoundQuery, hints: Hints) -> LazyChainPlan:
    conjuncts, computed = compiled_conjuncts(query)
    found = [b for b in branches(query.pattern) if b.components]
    begun = [p for b in found for p in prefixes(b)] if query.output.has_timeouts else []
    size = len(found) + len(begun)
    if size > MAX_CHAIN_BRANCHES:
        raise UnsupportedQuery(
            f"{size} alternatives, and chains are for {MAX_CHAIN_BRANCHES}", query.pattern.span, too_large=True
        )
    for b in found:
        _check_lists(b, conjuncts, query.pattern.span)
    plans = tuple(_branch(query, b, conjuncts) for b in found)
    names = [frozenset(b.variables) for b in found]
    if len(set(names)) < len(names) and any(part.open for plan in plans for part in plan.absent):
        raise UnsupportedQuery(
            "alternatives that bind the same variables, one of which waits for a NOT", query.pattern.span
        )
    plans += tuple(_partial(query, p, conjuncts) for p in begun)
    positive = {v.name for v in query.variables if not v.negated}
    several = tuple(
        j for j in conjuncts if j.variables and set(j.variables) <= positive and not (_unary(j) and j.one_event)
    )
    lists = {v.name for v in query.variables if v.iterated}
    for j in several:
        _check(j, lists)
    negation = hints.negation or Negation.POST_PROCESSING
    return with_steps(LazyChainPlan(query, plans, several, computed, negation, hints.statistics))


def _check_lists(branch: Branch, conjuncts: Sequence[Conjunct], span: Span) -> None:
    """Refuse more nested lists than a kernel can loop over; single events may be any number."""
    lists = sum(isinstance(c, Repeat) for c in branch.components)
    most = MAX_NESTED_LISTS - max((len(j.each) for j in conjuncts), default=0)
    if lists > most:
        raise UnsupportedQuery(
            f"{lists} repeated components, and a chain can nest the loops of {most}", span, too_large=True
        )


def _unary(j: Conjunct) -> bool:
    return len(j.variables) == 1


def _branch(query: BoundQuery, branch: Branch, conjuncts: Sequence[Conjunct]) -> ChainBranch:
    components = [component(c, [variable_of(c)], conjuncts) for c in branch.components]
    # A conjunct that reads no event is tested with the first one.
    constant = tuple(j for j in conjuncts if not j.variables)
    components[0] = replace(components[0], alone=(*constant, *components[0].alone))
    bare = tuple(replace(c, take=(), whole=()) for c in components)
    absent = tuple(placed_absence(query, p, branch.variables, conjuncts) for p in branch.absent)
    absent += tuple(_absent_among(c, branch, conjuncts) for c in branch.components if _has_end(c))
    evaluation = (*(c.variable for c in bare if not c.iterated), *(c.variable for c in bare if c.iterated))
    return ChainBranch(bare, branch.order, absent, evaluation, spacing(query, branch))


def _partial(query: BoundQuery, prefix: Branch, conjuncts: Sequence[Conjunct]) -> ChainBranch:
    """The chain of an incomplete match; its last list need not be complete."""
    last = variable_of(prefix.in_sequence[-1])
    for j in conjuncts:
        if last in j.decided_at and set(j.variables) <= set(prefix.variables):
            raise UnsupportedQuery("an element by its number in a list that a partial match ends in", j.span)
    return replace(_branch(query, prefix, conjuncts), partial=True)


def _has_end(c: Event | Repeat) -> bool:
    return isinstance(c, Repeat) and c.until is not None


def _absent_among(c: Event | Repeat, branch: Branch, conjuncts: Sequence[Conjunct]) -> Absence:
    """The event that ends a list, as a negated part among its elements, searched for once lists are complete."""
    assert isinstance(c, Repeat)
    assert c.until is not None
    until = component(c.until, [*branch.variables, c.until.variable], conjuncts)
    check_nesting(until.take, c.span)
    if any(isinstance(e, Aggregate) for j in until.take for e in walk(j.expr)):
        raise UnsupportedQuery("an aggregate in a condition on what ends a list", c.span)
    v = frozenset({c.body.variable})
    return Absence((until,), frozenset(), v, v, (), open=False, among=c.body.variable)


def _check(j: Conjunct, lists: set[str]) -> None:
    """Refuse a running aggregate compared with a list: in some order of the lists it is no longer known."""
    several = len(lists & set(j.variables)) > 1
    for e in walk(j.expr):
        if isinstance(e, Aggregate) and e.running and (several or e.variable in j.whole or e.variable in j.decided_at):
            raise UnsupportedQuery("a running aggregate of a list that is already complete", e.span)
