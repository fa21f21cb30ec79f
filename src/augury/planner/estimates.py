"""What whole plans are expected to do in a window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from augury.ir.predicate import Aggregate, Conjunct, walk
from augury.plan import Absence, Component, Computed, EagerNfaPlan, LazyChainPlan, NfaBranch, StreamStatistics
from augury.planner.cost import MOST, SEARCH, ChainModel, branch_models, chain_model
from augury.planner.expected import all_events, selectivity, window_events
from augury.planner.near import near_pairs

VISIT = 3.0
"""What it costs to look at a run, one of a linked list, in tests of a candidate, which stand side by side."""

RUN = 10.0
"""What it costs to begin, move or split a run: its cells and a node of the match buffer are written."""

WALK = 2.0
"""What it costs to write out an event of a match by walking back through the match buffer; a chain just writes it."""

LATE = 2.0
"""How much more a search for a negated part costs once a match is complete: it is written, and nothing narrowed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Operations in a window, and the partial matches that each step of each branch adds."""

    cost: float
    partial: tuple[tuple[float, ...], ...] = ()


def estimate_chain(plan: LazyChainPlan) -> Estimate:
    """A lazy plan: what its steps cost, and the searches for negated parts where it makes them.

    A partial match is counted at a step when it has passed the searches there.
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
            total += passed * model.partial(bound) * LATE * searched
            passed *= passes
        total += passed * model.partial(bound) * len(steps)
        counts.append(tuple(reached))
    return Estimate(min(MOST, total), tuple(counts))


def _search(
    part: Absence,
    model: ChainModel,
    bound: int,
    events: Mapping[str, float],
    statistics: StreamStatistics,
    computed: tuple[Computed, ...],
) -> tuple[float, float]:
    """What one search for a negated part costs, and how likely it finds nothing."""
    cost, occurrences = SEARCH, 1.0
    for c in part.components:
        near = model.beside(part, events[c.variable], bound)
        true = _true(c, model, statistics, computed)
        # The search ends with the first event that fits.
        cost += min(near, -math.expm1(-near * true) / true) if true else near
        occurrences *= near * true
    for inner in part.inner:
        searched, passes = _search(inner, model, bound, events, statistics, computed)
        cost, occurrences = cost + searched, occurrences * passes
    return cost, math.exp(-occurrences)


def _true(c: Component, model: ChainModel, statistics: StreamStatistics, computed: tuple[Computed, ...]) -> float:
    """How often the conditions on an event of a negated part hold."""
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
    """Eager automata: every event visits all live runs of its partition.

    None for strategies that select events, and for groups, of which it is not known how many rounds there are.
    Runs that merge are counted once. Matches that are not to be written out cost nothing if their runs are merged.
    """
    if not plan.query.declarative or plan.names:
        return None
    events = window_events(plan.query, statistics, [v.name for v in plan.query.variables])
    total = all_events(plan.query, statistics, events)
    cost = total
    for branch in plan.branches:
        conjuncts = [j for c in branch.components for j in (*c.take, *c.whole)]
        apart = _model(plan, branch.components, conjuncts, statistics, events)
        # A merged run is known by its last event and by the values that are still read.
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
                cost += VISIT * total * live * apart.partition + RUN * added
        found = apart.partial(bound)
        if not (compressed and plan.merge):
            cost += WALK * len(branch.components) * found
        for part in branch.absent:
            searched, passes = _search(part, apart, bound, events, statistics, plan.computed)
            cost += found * LATE * searched
            found *= passes
    return Estimate(min(MOST, cost))


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
    """The variables that tell apart the runs that have bound components 0 to j."""
    prefix = {c.variable for c in branch.components[: j + 1]}
    later = [k for c in branch.components[j + 1 :] for k in (*c.take, *c.whole)]
    own = [k for k in (*branch.components[j].take, *branch.components[j].whole) if branch.components[j].iterated]
    return {branch.components[j].variable} | {v for k in (*later, *own) for v in k.variables if v in prefix}
