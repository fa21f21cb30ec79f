"""The states of lazy chains (paper 000): the conjuncts, keys and negated parts of each step of an evaluation order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from augury.ir.comparisons import MIRRORED, large_product
from augury.ir.predicate import Aggregate, Arithmetic, Compare, Conjunct, Element, Ref, variables, walk
from augury.plan import Absence, ChainBranch, ChainStep, Component, LazyChainPlan, Negation
from augury.plan.lazy_chain import Bound, Key, NearLists
from augury.planner.implied import without_implied
from augury.schema import Kind


def changed(plan: LazyChainPlan, orders: Sequence[tuple[str, ...]] | None = None, **how: Any) -> LazyChainPlan:
    """A copy of the plan with other evaluation orders and other fields, and with the steps that follow from them."""
    if orders is not None:
        how["branches"] = tuple(replace(b, evaluation=e) for b, e in zip(plan.branches, orders, strict=True))
    return with_steps(replace(plan, **how))


def with_steps(plan: LazyChainPlan) -> LazyChainPlan:
    """A copy of the plan with the steps of its branches, which are derived from its other fields."""
    return replace(plan, branches=tuple(_with_steps(plan, branch) for branch in plan.branches))


def _with_steps(plan: LazyChainPlan, branch: ChainBranch) -> ChainBranch:
    out: list[ChainStep] = []
    known: list[str] = []
    rest = list(branch.absent)
    for v in branch.evaluation:
        after = tuple(u for u in known if (u, v) in branch.order)
        before = tuple(u for u in known if (v, u) in branch.order)
        known.append(v)
        component = _component(plan, branch, branch[v], known)
        # A list is complete only when the whole chain is, so no search runs before.
        ready = [
            part
            for part in rest
            if plan.negation is Negation.FIRST_CHANCE and not branch[v].iterated and _decided(part, branch, known)
        ]
        rest = [part for part in rest if part not in ready]
        key = _key(plan, component, known) if plan.indexed else None
        bounds = _bounds(plan, component) if key is None and v in plan.sorted else ()
        near = _near(plan, component, known[0]) if key is None and not bounds else None
        searches = tuple(_search(plan, part, known) for part in ready)
        out.append(ChainStep(component, after, before, tuple(ready), key, bounds, near, searches))
    return replace(branch, steps=tuple(out), at_the_end=tuple(rest))


def _search(plan: LazyChainPlan, part: Absence, known: Sequence[str]) -> ChainStep:
    """The state that searches for a negated part of one event, once the variables `known` are bound."""
    (c,) = part.components
    c = _without_implied(plan, c, known)
    after, before = (tuple(u for u in known if u in side) for side in (part.after, part.before))
    return ChainStep(c, after, before, (), None, near=_near(plan, c, known[0]))


def _near(plan: LazyChainPlan, c: Component, first: str) -> NearLists | None:
    """The dot product by which candidates of a state, or of a negated part, are searched, if it has one.

    One with the list of the `first` event is preferred: it is computed once for each first event.
    """
    if c.variable not in plan.blocked or c.iterated or plan.query.partition_by:
        return None
    lists = {x.variable for b in plan.branches for x in b.components if x.iterated}
    found = [near for j in c.take if (near := near_of(j, c.variable)) and near.other.variable not in lists]
    if not found:
        return None
    return replace(min(found, key=lambda near: near.other.variable != first), led=c.variable in plan.led)


def _component(plan: LazyChainPlan, branch: ChainBranch, c: Component, known: Sequence[str]) -> Component:
    conjuncts = (*plan.conjuncts, *branch.spacing)
    mine = [j for j in conjuncts if c.variable in j.variables and set(j.variables) <= set(known)]
    whole = tuple(j for j in mine if c.variable in j.whole or c.variable in j.decided_at)
    unfinished = branch.partial and c == branch.in_sequence[-1]
    c = replace(c, take=tuple(j for j in mine if j not in whole), whole=() if unfinished else whole)
    return _without_implied(plan, c, [u for u in known if u != c.variable])


def _without_implied(plan: LazyChainPlan, c: Component, bound: Sequence[str]) -> Component:
    """The component without conjuncts that follow from its others, or from those already tested for events `bound`."""
    # A conjunct that the first event alone decides is tested once for each first event, if it can be: that is cheapest.
    first = {*bound[:1], c.variable} if c.variable in plan.kept else set()
    once = [j for j in c.take if first.issuperset(j.variables)]
    before = [j for j in plan.conjuncts if set(j.variables) <= set(bound)]
    needed = without_implied([j for j in c.take if not first.issuperset(j.variables)], [*before, *once])
    left = {*map(id, once), *map(id, needed)}
    return replace(c, take=tuple(j for j in c.take if id(j) in left))


def _key(plan: LazyChainPlan, c: Component, known: Sequence[str]) -> Key | None:
    """The first equality with a bound event, to look candidates up by; the partition is always indexed."""
    for j in c.take:
        if isinstance(j.expr, Compare) and j.expr.operator == "=" and not c.iterated:
            for mine, other in ((j.expr.left, j.expr.right), (j.expr.right, j.expr.left)):
                if (
                    isinstance(mine, Ref)
                    and isinstance(other, Ref)
                    and mine.element is other.element is Element.SINGLE
                    and mine.variable == c.variable
                    and other.variable in known
                    and other.variable != c.variable
                    and mine.type == other.type
                ):
                    return Key(mine.column, other.variable, other.column)
    return None


def _bounds(plan: LazyChainPlan, c: Component) -> tuple[Bound, ...]:
    """Comparisons of a numeric column of the step's event with values known by then, for a sorted search."""
    if c.iterated or plan.query.partition_by:
        return ()
    return tuple(bound for _, bound in bounds_of(c))


def bounds_of(c: Component) -> list[tuple[Conjunct, Bound]]:
    """The conjuncts that bound a numeric column of the component's event by other variables; all bound one column."""
    found = [(j, bound) for j in c.take if (bound := _bound(j, c.variable)) is not None]
    return [(j, bound) for j, bound in found if bound.column == found[0][1].column]


def _bound(j: Conjunct, variable: str) -> Bound | None:
    if not isinstance(j.expr, Compare) or j.expr.operator not in MIRRORED:
        return None
    sides = ((j.expr.left, j.expr.right, j.expr.operator), (j.expr.right, j.expr.left, MIRRORED[j.expr.operator]))
    for mine, value, operator in sides:
        if variable in variables(value) or not value.type.numeric:
            continue
        match mine:
            case Ref(column=column) if _own(mine, variable):
                return Bound(column, operator, value)
            case Arithmetic("+" | "-" as sign, Ref(column=column) as own, shift) if _own(own, variable):
                pass
            case Arithmetic("+" as sign, shift, Ref(column=column) as own) if _own(own, variable):
                pass
            case _:
                continue
        if variable not in variables(shift) and shift.type.numeric:
            return Bound(column, operator, value, shift, sign == "-")
    return None


def near_of(j: Conjunct, variable: str) -> NearLists | None:
    """The condition of `j` that a list of `variable` and a list of another have a large dot product, if it is one."""
    product = large_product(j.expr)
    if product is None:
        return None
    left, right, least, sign = product
    if not (isinstance(left, Ref) and isinstance(right, Ref)) or left.variable == right.variable:
        return None
    own, other = (left, right) if left.variable == variable else (right, left)
    if own.variable != variable or {own.element, other.element} != {Element.SINGLE}:
        return None
    return NearLists(j, own, other, least, sign)


def _own(e: Ref, variable: str) -> bool:
    return e.variable == variable and e.type.kind is Kind.FLOAT


def _decided(part: Absence, branch: ChainBranch, known: Sequence[str]) -> bool:
    """Whether one search for one event decides `part` as soon as the variables `known` are bound."""
    if part.open or len(part.components) != 1 or part.inner or _looks_elsewhere(part):
        return False
    (c,) = part.components
    lists = {x.variable for x in branch.components if x.iterated}
    read = {v for j in c.take for v in variables(j.expr)} - {c.variable}
    needs = read | _nearest(part, branch)
    if lists & needs or any(isinstance(e, Aggregate) for j in c.take for e in walk(j.expr)):
        return False
    if not part.after or not part.before:
        # The last event of the match says how far back the search reaches.
        needs |= {c.variable for c in branch.components}
    for x in branch.components:
        # An event of the match is not the negated one, so variables that could bind it come first.
        beside = x.variable not in part.after | part.before
        if beside and (not x.types or not c.types or set(x.types) & set(c.types)):
            needs.add(x.variable)
    return needs <= set(known)


def _looks_elsewhere(part: Absence) -> bool:
    """Whether a part is searched for somewhere other than between its neighbours in the pattern."""
    return part.since is not None or part.silence is not None or part.among is not None


def _nearest(part: Absence, branch: ChainBranch) -> set[str]:
    """The variables directly next to a negated part; the order implies the rest."""
    after = {u for u in part.after if not any((u, v) in branch.order for v in part.after)}
    before = {u for u in part.before if not any((v, u) in branch.order for v in part.before)}
    return after | before
