"""The choice of search methods: those that pay for expected counts, and for counts measured on a stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from augury.plan import Component, LazyChainPlan
from augury.planner.chain_steps import bounds_of, changed, near_of
from augury.planner.cost import MIN_VECTOR_CANDIDATES, branch_models, events_in_window, reorder
from augury.planner.expected import bounded, selectivity

MIN_SORTED_CANDIDATES, MAX_SORTED_SHARE, MIN_SORTED_SEARCHES = 512, 0.1, 16
"""Smallest number of candidates, largest share left by comparisons and smallest number of searches of a sorted search.

Where processors compress vectors, comparing all candidates costs no more; elsewhere it costs several times as much.
"""

MIN_BLOCK_CANDIDATES, BLOCK_STORE_COST = 16, 4.0
"""Candidates of a search from which on lists are compared in blocks, and the cost of storing a list in a block."""

MAX_LED_SHARE = 0.05
"""Largest share of candidates that leading coefficients may leave, since each of these is tested by itself."""


def with_searches(plan: LazyChainPlan, counts: Mapping[str, float]) -> LazyChainPlan:
    """The plan with the search methods that pay when a window holds `counts` events of each variable.

    Comparing candidates as vectors takes a second loop over those that pass. Sorting a column costs as much as some
    tests of each event; a search then looks at seven of a block of 128 candidates and at those it finds. Testing
    candidates once for each first event, also those for a negated part, pays when several partial matches grow from it.
    Lists are stored in blocks where each is compared with several others; their leading coefficients are compared first
    where that happens often and leaves few candidates.
    """
    events = events_in_window(plan, [v.name for v in plan.query.variables], counts)
    models = branch_models(plan, events)
    select, sort, keep, blocked, led = (set[str]() for _ in range(5))

    def in_blocks(c: Component, searches: float, candidates: float) -> bool:
        near = [j for j in c.take if near_of(j, c.variable)]
        each = searches * candidates / events[c.variable]
        if not near or candidates < MIN_BLOCK_CANDIDATES or each < BLOCK_STORE_COST:
            return False
        blocked.add(c.variable)
        if each >= MIN_SORTED_SEARCHES and all(
            bounded(j, plan.statistics, plan.computed) <= MAX_LED_SHARE for j in near
        ):
            led.add(c.variable)
        return True

    for model, branch in zip(models, plan.branches, strict=True):
        bound = first = 0
        for step in branch.steps:
            v = step.component.variable
            i = model.index(v)
            left = math.prod(selectivity(j, plan.statistics, plan.computed) for j, _ in bounds_of(step.component))
            candidates = model.candidates(bound, i)
            if candidates >= MIN_VECTOR_CANDIDATES:
                select.add(v)
            if model.keeps(bound, first):
                keep.add(v)
            elif (
                candidates >= MIN_SORTED_CANDIDATES
                and left <= MAX_SORTED_SHARE
                and model.partial(bound) * candidates >= MIN_SORTED_SEARCHES * events[v]
            ):
                sort.add(v)
            if bound:
                in_blocks(step.component, model.partial(bound), candidates)
            bound |= 1 << i
            first = first or bound
            for part in step.absent:
                (c,) = part.components
                candidates = model.beside(part, events[c.variable], bound)
                blocks = in_blocks(c, model.partial(bound), candidates)
                if not blocks and candidates >= MIN_VECTOR_CANDIDATES and model.keeps(bound, first):
                    select.add(c.variable)
                    keep.add(c.variable)
    return changed(
        plan,
        selected=frozenset(select),
        sorted=frozenset(sort),
        kept=frozenset(keep),
        blocked=frozenset(blocked),
        led=frozenset(led),
    )


def cached_improvements(margin: float) -> Callable[[LazyChainPlan, Mapping[str, float]], LazyChainPlan]:
    """A function that improves the plan of a running stream, called often with counts of its window.

    Its decisions are cached for counts of about the same size.
    """
    decided: dict[tuple[object, ...], LazyChainPlan] = {}

    def better(plan: LazyChainPlan, counts: Mapping[str, float]) -> LazyChainPlan:
        # Below four events in a window, one event more or less says nothing about rates.
        about = (plan.variant, *(round(math.log2(max(4.0, n))) for n in counts.values()))
        if about not in decided:
            orders = reorder(plan, counts, margin)
            if orders != plan.variant.orders:
                decided[about] = with_searches(changed(plan, orders), counts)
            else:
                decided[about] = _with_more_searches(plan, counts)
        return decided[about]

    return better


def _with_more_searches(plan: LazyChainPlan, counts: Mapping[str, float]) -> LazyChainPlan:
    """The plan with the additional search methods that would pay with half as many events.

    None is removed, which would gain little, so that a stream changes its methods only a few times.
    """
    more = with_searches(plan, {v: n / 2 for v, n in counts.items()})
    kept = plan.kept | more.kept
    return changed(
        plan,
        selected=plan.selected | more.selected,
        # Candidates that are kept for the first event are not searched for by value as well.
        sorted=(plan.sorted | more.sorted) - kept,
        kept=kept,
        blocked=plan.blocked | more.blocked,
        led=plan.led | more.led,
    )
