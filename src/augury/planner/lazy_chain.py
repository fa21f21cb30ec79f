"""BoundQuery -> LazyChainPlan, for any pattern under skip_till_any_match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.ir.branches import Branch, branches
from augury.ir.pattern import variable_of
from augury.ir.predicate import Aggregate, Conjunct, walk
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode, Strategy
from augury.plan import ChainBranch, LazyChainPlan, Negation, StreamStatistics, Unsupported
from augury.planner.components import Cannot, absence, compiled_conjuncts, component

FAMILY = "lazy-chain"


def build_lazy_chain(query: BoundQuery, statistics: StreamStatistics) -> LazyChainPlan | Unsupported:
    """One chain for each branch; Unsupported for the strategies that consume events one by one."""
    try:
        return _build(query, statistics)
    except Cannot as e:
        return Unsupported(FAMILY, e.reason, e.span)


def _build(query: BoundQuery, statistics: StreamStatistics) -> LazyChainPlan:
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise Cannot(f"{query.strategy} selects events in the order they arrive, a chain does not")
    if query.threshold is not None:
        raise Cannot("a lossy stream needs the scores of the lossy plan")
    if query.output not in (OutputMode.ALL, OutputMode.NONOVERLAP):
        raise Cannot(f"a chain enumerates matches; OUTPUT {query.output} is not among ALL and NONOVERLAP")
    conjuncts, computed = compiled_conjuncts(query)
    found = [b for b in branches(query.pattern) if b.components]
    plans = tuple(_branch(b, conjuncts) for b in found)
    names = [frozenset(b.variables) for b in found]
    if len(set(names)) < len(names) and any(part.open for plan in plans for part in plan.absent):
        raise Cannot("alternatives that bind the same variables, one of which waits for a NOT", query.pattern.span)
    positive = {v.name for v in query.variables if not v.negated}
    several = tuple(
        j for j in conjuncts if j.variables and set(j.variables) <= positive and not (_unary(j) and j.one_event)
    )
    plan = LazyChainPlan(query, plans, several, computed, Negation.FIRST_CHANCE, statistics)
    for branch in plan.branches:
        for step in plan.steps(branch)[0]:
            _check(step.component.variable, (*step.component.take, *step.component.whole))
    return plan


def _unary(j: Conjunct) -> bool:
    return len(j.variables) == 1


def _branch(branch: Branch, conjuncts: Sequence[Conjunct]) -> ChainBranch:
    components = [component(c, [variable_of(c)], conjuncts) for c in branch.components]
    # What reads no event at all is tested with the first one.
    constant = tuple(j for j in conjuncts if not j.variables)
    components[0] = replace(components[0], alone=(*constant, *components[0].alone))
    bare = tuple(replace(c, take=(), whole=()) for c in components)
    absent = tuple(absence(p, branch.variables, conjuncts) for p in branch.absent)
    evaluation = (*(c.variable for c in bare if not c.iterated), *(c.variable for c in bare if c.iterated))
    return ChainBranch(bare, branch.order, absent, evaluation)


def _check(v: str, conjuncts: Sequence[Conjunct]) -> None:
    for j in conjuncts:
        for e in walk(j.expr):
            if isinstance(e, Aggregate) and e.running and (e.variable != v or v in j.whole):
                raise Cannot("a running aggregate of a list that is already complete", e.span)
