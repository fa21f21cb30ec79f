"""Estimated cost of whole plans per window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from augury.ir.predicate import Aggregate, Conjunct, walk
from augury.plan import Absence, Component, Computed, EagerNfaPlan, LazyChainPlan, NfaBranch, StreamStatistics
from augury.planner.cost import MAX_EXPECTED, RANGE_SEARCH_COST, ChainModel, branch_models, chain_model
from augury.planner.expected import all_events, selectivity, window_events
from augury.planner.near import near_pairs

RUN_VISIT_COST = 3.0
"""Cost of visiting a run in a linked list, in tests of a candidate, which are adjacent in memory."""

RUN_STEP_COST = 10.0
"""Cost of starting, moving or splitting a run: its cells and a node of the match buffer are written."""

WRITE_EVENT_COST = 2.0
"""Cost of writing an event of a match by walking back through the match buffer; a chain writes it directly."""

LATE_SEARCH_FACTOR = 2.0
"""How many times more a search for a negated part costs once a match is complete, when no range was narrowed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Operations in a window, and the partial matches that each step of each branch adds."""

    cost: float
    partial: tuple[tuple[float, ...], ...] = ()


def estimate_chain(plan: LazyChainPlan) -> Estimate:
    """The estimate of a lazy plan: its steps, and the searches for negated parts where they are made.

    A partial match counts at a step once it has passed the searches there.
    """
    names = [v.name for v in plan.query.variables]
    events = window_events(plan.query, plan.statistics, names)
    total = all_events(plan.query, plan.statistics, events)
    counts: list[tuple[float, ...]] = []
    for branch, model in zip(plan.branches, branch_models(plan, events), strict=True):
        steps, at_the_end = branch.steps, branch.at_the_end
        bound, passed = 0, 1.0
        reached: list[float] = []
        for step in steps:
            i = model.index(step.component.variable)
            total += passed * model.step(bound, i, 1 << model.index(steps[0].component.variable))
            bound |= 1 << i
            for part in step.absent:
                searched, passes = _search(part, model, bound, events, plan.statistics, plan.computed)
                total += passed * model.partial(bound) * searched
                passed *= passes
            reached.append(passed * model.partial(bound))
        for part in sorted(at_the_end, key=lambda part: -max(events[c.variable] for c in part.components)):
            searched, passes = _search(part, model, bound, events, plan.statistics, plan.computed)
            total += passed * model.partial(bound) * LATE_SEARCH_FACTOR * searched
            passed *= passes
        total += passed * model.partial(bound) * len(steps)
        counts.append(tuple(reached))
    return Estimate(min(MAX_EXPECTED, total), tuple(counts))


def _search(
    part: Absence,
    model: ChainModel,
    bound: int,
    events: Mapping[str, float],
    statistics: StreamStatistics,
    computed: tuple[Computed, ...],
) -> tuple[float, float]:
    """Cost of one search for a negated part, and the probability that it finds nothing."""
    cost, occurrences = RANGE_SEARCH_COST, 1.0
    for c in part.components:
        near = model.beside(part, events[c.variable], bound)
        true = _true(c, model, statistics, computed)
        # The search stops at the first event that fits.
        cost += min(near, -math.expm1(-near * true) / true) if true else near
        occurrences *= near * true
    for inner in part.inner:
        searched, passes = _search(inner, model, bound, events, statistics, computed)
        cost, occurrences = cost + searched, occurrences * passes
    return cost, math.exp(-occurrences)


def _true(c: Component, model: ChainModel, statistics: StreamStatistics, computed: tuple[Computed, ...]) -> float:
    """Probability that the conditions on an event of a negated part hold."""
    bit = {x.variable: 1 << i for i, x in enumerate(model.components)}
    found, near = 1.0, dict[int, float]()
    conjuncts = (*c.take, *c.whole)
    for j, is_near in zip(conjuncts, near_pairs(conjuncts), strict=True):
        true = selectivity(j, statistics, computed)
        other = next((bit[v] for v in j.variables if v in bit), None) if is_near else None
        if other is None:
            found *= true
        else:
            near[other] = near.get(other, 1.0) * true
    return found * model.all_near(near)


def estimate_eager(plan: EagerNfaPlan, statistics: StreamStatistics, *, compressed: bool = False) -> Estimate | None:
    """The estimate of eager automata, where every event visits all live runs of its partition.

    None for strategies that select events, and for groups, whose number of rounds is unknown. Runs that merge are
    counted once. Matches that are not written out cost nothing if their runs are merged.
    """
    if not plan.query.declarative or plan.names:
        return None
    events = window_events(plan.query, statistics, [v.name for v in plan.query.variables])
    total = all_events(plan.query, statistics, events)
    cost = total
    for branch in plan.branches:
        conjuncts = [j for c in branch.components for j in (*c.take, *c.whole)]
        apart = _model(plan, branch.components, conjuncts, statistics, events)
        # A merged run is identified by its last event and by the values that later conditions read.
        known = [c if _summed(c, conjuncts) else replace(c, iterated=False) for c in branch.components]
        merged = _model(plan, known, conjuncts, statistics, events)
        bound = 0
        for j, c in enumerate(branch.components):
            bound |= 1 << apart.index(c.variable)
            added, size = apart.partial(bound), j + 1
            if plan.merge:
                held = _held(branch, j)
                added = min(added, merged.partial(sum(1 << merged.index(v) for v in held)))
                size = len(held)
            if j + 1 < len(branch.components) or c.iterated:
                live = added if apart.whole_stream else added / size
                cost += RUN_VISIT_COST * total * live * apart.partition + RUN_STEP_COST * added
        found = apart.partial(bound)
        if not (compressed and plan.merge):
            cost += WRITE_EVENT_COST * len(branch.components) * found
        for part in branch.absent:
            searched, passes = _search(part, apart, bound, events, statistics, plan.computed)
            cost += found * LATE_SEARCH_FACTOR * searched
            found *= passes
    return Estimate(min(MAX_EXPECTED, cost))


def _model(
    plan: EagerNfaPlan,
    components: list[Component] | tuple[Component, ...],
    conjuncts: list[Conjunct],
    statistics: StreamStatistics,
    events: Mapping[str, float],
) -> ChainModel:
    names = [c.variable for c in components]
    order = frozenset((u, v) for i, u in enumerate(names) for v in names[i + 1 :])
    true = [selectivity(j, statistics, plan.computed) for j in conjuncts]
    return chain_model(plan.query, components, order, conjuncts, true, events, statistics, indexed=False)


def _summed(c: Component, conjuncts: list[Conjunct]) -> bool:
    """Whether the value of a list depends on all its elements."""
    return any(isinstance(e, Aggregate) and e.variable == c.variable for j in conjuncts for e in walk(j.expr))


def _held(branch: NfaBranch, j: int) -> set[str]:
    """The variables whose values tell apart the runs that have bound components 0 to j."""
    prefix = {c.variable for c in branch.components[: j + 1]}
    later = [k for c in branch.components[j + 1 :] for k in (*c.take, *c.whole)]
    own = [k for k in (*branch.components[j].take, *branch.components[j].whole) if branch.components[j].iterated]
    return {branch.components[j].variable} | {v for k in (*later, *own) for v in k.variables if v in prefix}
