"""Which family runs a query.

Only the plans that enumerate the matches of skip_till_any_match have rivals: of these the cheapest is chosen by what it
is expected to do in a window (`planner.cost`, `planner.estimates`), with three rules besides:

- a pattern that binds one component only has no order to choose, and runs as an automaton;
- an automaton has to be cheaper by more than MARGIN: its estimate is the rougher one;
- a tree is chosen for a live stream of which no rates are known, when some branch has at least three single components:
  with fewer every order visits the same pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from augury.errors import Diagnostic, QueryError, UnsupportedPlan, names
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode
from augury.plan import (
    FAMILIES,
    Choice,
    Dearer,
    EagerNfaPlan,
    EventSetsPlan,
    LazyChainPlan,
    LazyTreePlan,
    LinkedPlan,
    LossyPlan,
    Plan,
    ReferencePlan,
    Unsupported,
)
from augury.planner.eager_nfa import build_eager_nfa
from augury.planner.estimates import estimate_chain, estimate_eager
from augury.planner.event_sets import build_event_sets
from augury.planner.hints import NO_HINTS, Hints, unusable_hint
from augury.planner.lazy_chain import build_lazy_chain, build_lazy_tree, has_chain
from augury.planner.linked import build_linked
from augury.planner.lossy import build_lossy
from augury.planner.reference import build_reference

Builder: TypeAlias = "Callable[[BoundQuery, Hints], Plan | Unsupported]"

LAZY: Mapping[str, Builder] = {"lazy-chain": build_lazy_chain, "lazy-tree": build_lazy_tree}

BUILDERS: Mapping[str, Builder] = {
    **LAZY,
    "eager-nfa": lambda query, _: build_eager_nfa(query),
    "event-sets": lambda query, _: build_event_sets(query),
    "linked": lambda query, _: build_linked(query),
    "lossy": lambda query, hints: build_lossy(query, hints.loss),
    "reference": lambda query, _: build_reference(query),
}
"""One builder a family, the better ones first; a family without one is not part of this release."""

MARGIN = 1.1
"""How many times cheaper than a lazy plan an eager one must be to be chosen."""


def choose(
    query: BoundQuery,
    family: str | None = None,
    *,
    merge: bool = True,
    compressed: bool = False,
    hints: Hints = NO_HINTS,
    live: bool = False,
    builders: Mapping[str, Builder] = BUILDERS,
) -> Choice:
    """The best plan for `query`, or the one of `family` if that is asked for.

    An unknown name, or a family that cannot run the query, raises `UnsupportedPlan`. Without `merge` runs stay apart;
    `compressed` matches are not written out; a `live` stream has not been seen yet. An order, or a way to look for
    negated parts, asks for a lazy chain.
    """
    if family is not None and family not in FAMILIES:
        raise UnsupportedPlan("A611", f"there is no plan `{family}`", f"plans are {names(FAMILIES)}")
    family = _asked_for(family, hints)
    built = {name: _build(query, name, hints, builders) for name in dict.fromkeys((*builders, *FAMILIES))}
    possible = {name: plan for name, plan in built.items() if not isinstance(plan, Unsupported)}
    if not merge and isinstance(eager := possible.get("eager-nfa"), EagerNfaPlan):
        possible["eager-nfa"] = replace(eager, merge=False, unmerged="merge=False was asked for")
    costs = {name: _cost(plan, hints, compressed) for name, plan in possible.items()}
    chosen = family or _cheapest(possible, costs, hints, live)
    if family is None and chosen == "reference":
        _check_size(query, built)
    if chosen not in possible:
        reason = built[chosen]
        assert isinstance(reason, Unsupported)
        raise UnsupportedPlan("A612", f"plan `{chosen}` cannot run this query: {reason.reason}")
    rivals: list[Unsupported | Dearer] = []
    for name in FAMILIES:
        rival = built[name]
        if isinstance(rival, Unsupported):
            rivals.append(rival)
        elif name != chosen:
            why = f"`{chosen}` was asked for" if family else _why_not(name, chosen, costs)
            rivals.append(Dearer(name, why, costs[name]))
    return Choice(possible[chosen], tuple(rivals), costs[chosen])


def _check_size(query: BoundQuery, built: Mapping[str, Plan | Unsupported]) -> None:
    """Refuse a query for which only its size leaves nothing but the reference, which would take too long for it."""
    reasons = [plan for plan in built.values() if isinstance(plan, Unsupported) and plan.too_large]
    if reasons:
        help = "split it into queries that follow one another (RETURN ... INTO), or ask for plan='reference'"
        span = reasons[0].span or query.pattern.span
        message = f"this pattern is too large for every plan: {reasons[0].reason}"
        raise QueryError([Diagnostic("A292", message, span, "too large", help)], query.source)


def uses_statistics(query: BoundQuery, family: str | None, builders: Mapping[str, Builder] = BUILDERS) -> bool:
    """Whether the choice depends on what is known of the stream."""
    return any(name in builders and family in (None, name) for name in LAZY) and has_chain(query)


def _asked_for(family: str | None, hints: Hints) -> str | None:
    what = [name for name, hint in (("order", hints.order), ("negation", hints.negation)) if hint is not None]
    if not what or family == "lazy-chain":
        return family
    if family is None:
        return "lazy-chain"
    if family == "lazy-tree" and what == ["negation"]:
        return family
    raise unusable_hint(f"{what[0]} is for the plan `lazy-chain`, not for `{family}`", f"leave out plan or {what[0]}")


def _build(query: BoundQuery, family: str, hints: Hints, builders: Mapping[str, Builder]) -> Plan | Unsupported:
    """The plan of one family, or the reason why there is none."""
    builder = builders.get(family)
    return Unsupported(family, "this release has no such evaluator") if builder is None else builder(query, hints)


def _cost(plan: Plan, hints: Hints, compressed: bool) -> float | None:
    match plan:
        case EagerNfaPlan():
            counted = plan.query.output is OutputMode.COUNT
            estimate = estimate_eager(plan, hints.statistics, compressed=compressed or counted)
            return None if estimate is None else estimate.cost
        case LazyChainPlan():
            return estimate_chain(plan).cost
        case LazyTreePlan(chain):
            return estimate_chain(chain).cost
        case EventSetsPlan() | LinkedPlan() | LossyPlan() | ReferencePlan():
            return None
        case _:
            assert_never(plan)


def _cheapest(possible: Mapping[str, Plan], costs: Mapping[str, float | None], hints: Hints, live: bool) -> str:
    chain, eager = possible.get("lazy-chain"), costs.get("eager-nfa")
    linked = possible.get("linked")
    if isinstance(linked, LinkedPlan) and linked.direct and linked.query.output is OutputMode.LATEST:
        # The others find all matches first.
        return "linked"
    if not isinstance(chain, LazyChainPlan):
        return next(name for name in possible if name not in LAZY)
    if chain.unary and chain.query.output is OutputMode.COUNT:
        return "lazy-chain"
    cost = costs["lazy-chain"]
    assert cost is not None
    if eager is not None and (eager * MARGIN < cost or all(len(b.components) == 1 for b in chain.branches)):
        return "eager-nfa"
    single = max(sum(1 for c in b.components if not c.iterated) for b in chain.branches)
    if live and not hints.statistics.rates and single >= 3 and "lazy-tree" in possible:
        return "lazy-tree"
    return "lazy-chain"


def _why_not(name: str, chosen: str, costs: Mapping[str, float | None]) -> str:
    match name, chosen:
        case "lazy-tree", "lazy-chain":
            return "for live streams of unknown rates, and three components or more; else a chain does the same"
        case "lazy-chain", "lazy-tree":
            return "the rates are not known: a tree finds the order as it goes"
    mine, best = costs[name], costs[chosen]
    if mine is None or best is None:
        return f"`{chosen}` is expected to be faster"
    estimate = f"estimated {mine:.3g} against {best:.3g} operations a window"
    if mine > best:
        return f"dearer: {estimate}"
    return f"no order to choose: {estimate}" if chosen == "eager-nfa" else f"not cheap enough: {estimate}"
