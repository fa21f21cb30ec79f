"""The ways to search that pay, for what a plan expects and for what a stream turns out to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from augury.plan import Component, LazyChainPlan
from augury.planner.chain_steps import bounds_of, changed, near_of
from augury.planner.cost import SOME, branch_models, events_in_window, reorder
from augury.planner.expected import bounded, selectivity

MANY, SELDOM, OFTEN = 512, 0.1, 16
"""When a search is a sorted one: comparisons leave such a share of so many candidates, each of so many searches.

Where processors compress vectors, comparing all costs no more; elsewhere several times as much.
"""

BLOCK, TURN = 16, 4.0
"""Candidates of a search from which on their lists are compared in blocks, and what it costs to put a list into one."""

LEFT = 0.05
"""The share of candidates that leading coefficients may leave: each of these is tested by itself."""


def with_searches(plan: LazyChainPlan, counts: Mapping[str, float]) -> LazyChainPlan:
    """The plan with the ways to search that pay when a window holds `counts` events of each variable.

    Comparing many candidates at a time takes a second loop over those that pass. Sorting a column costs as much as some
    tests of each event; a search then looks at seven of a block of 128 candidates and at what it finds. Testing
    candidates once for each first event, also those for a negated part, pays when several partial matches grow from it.
    Lists are put into blocks where each is compared with several others, and by what leads them where that is often and
    leaves few.
    """
    events = events_in_window(plan, [v.name for v in plan.query.variables], counts)
    models = branch_models(plan, events)
    select, sort, keep, abreast, led = (set[str]() for _ in range(5))

    def in_blocks(c: Component, searches: float, candidates: float) -> bool:
        near = [j for j in c.take if near_of(j, c.variable)]
        each = searches * candidates / events[c.variable]
        if not near or candidates < BLOCK or each < TURN:
            return False
        abreast.add(c.variable)
        if each >= OFTEN and all(bounded(j, plan.statistics, plan.computed) <= LEFT for j in near):
            led.add(c.variable)
        return True

    for model, branch in zip(models, plan.branches, strict=True):
        bound = first = 0
        for step in branch.steps:
            v = step.component.variable
            i = model.index(v)
            left = math.prod(selectivity(j, plan.statistics, plan.computed) for j, _ in bounds_of(step.component))
            candidates = model.candidates(bound, i)
            if candidates >= SOME:
                select.add(v)
            if model.keeps(bound, first):
                keep.add(v)
            elif candidates >= MANY and left <= SELDOM and model.partial(bound) * candidates >= OFTEN * events[v]:
                sort.add(v)
            if bound:
                in_blocks(step.component, model.partial(bound), candidates)
            bound |= 1 << i
            first = first or bound
            for part in step.absent:
                (c,) = part.components
                candidates = model.beside(part, events[c.variable], bound)
                blocks = in_blocks(c, model.partial(bound), candidates)
                if not blocks and candidates >= SOME and model.keeps(bound, first):
                    select.add(c.variable)
                    keep.add(c.variable)
    return changed(
        plan,
        selected=frozenset(select),
        sorted=frozenset(sort),
        kept=frozenset(keep),
        abreast=frozenset(abreast),
        led=frozenset(led),
    )


def remembering(margin: float) -> Callable[[LazyChainPlan, Mapping[str, float]], LazyChainPlan]:
    """The plan to go on with from one that runs, for a stream that is looked at often.

    About the same counts are thought about once.
    """
    decided: dict[tuple[object, ...], LazyChainPlan] = {}

    def better(plan: LazyChainPlan, counts: Mapping[str, float]) -> LazyChainPlan:
        # Below a few events in a window, one more or less says nothing about rates.
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
    """The plan with those ways to search added that would pay with half as many events.

    None is given up, which would gain little, so that a stream changes them a few times at most.
    """
    more = with_searches(plan, {v: n / 2 for v, n in counts.items()})
    kept = plan.kept | more.kept
    return changed(
        plan,
        selected=plan.selected | more.selected,
        # What is kept for the first event is not searched for by value as well.
        sorted=(plan.sorted | more.sorted) - kept,
        kept=kept,
        abreast=plan.abreast | more.abreast,
        led=plan.led | more.led,
    )
