"""Comparisons that others decide: with a < b and b < c there is no need to ask whether a < c."""

from __future__ import annotations

from collections.abc import Sequence

from augury.ir.predicate import Compare, Conjunct, Element, Expr, Ref, walk
from augury.schema import Kind


def without_implied(tested: Sequence[Conjunct], known: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """What is left of `tested` when none follows from the others and from those `known` to hold; earlier ones go first.

    Only floats are compared, as in the conjuncts themselves: an integer may be rounded in one comparison and not in
    another. Where all of a chain hold, no value in it is null.
    """
    rest = list(tested)
    for j in tested:
        others = [other for other in (*known, *rest) if other is not j]
        if _follows(j, others):
            rest.remove(j)
    return tuple(rest)


def _follows(j: Conjunct, others: Sequence[Conjunct]) -> bool:
    asked = _ascending(j)
    if asked is None:
        return False
    low, high, strict = asked
    steps = [step for other in others if (step := _ascending(other)) is not None]
    reached = {(low, False)}
    grows = True
    while grows:
        further = {(y, over or less) for x, y, less in steps for at, over in reached if at == x}
        grows = not further <= reached
        reached |= further
    return (high, True) in reached or (not strict and (high, False) in reached)


def _ascending(j: Conjunct) -> tuple[Expr, Expr, bool] | None:
    """What `sides` tells, of floats of single events."""
    found = sides(j)
    if found is None or not all(e.element is Element.SINGLE for e in walk(j.expr) if isinstance(e, Ref)):
        return None
    low, high, _ = found
    return found if low.type.kind is high.type.kind is Kind.FLOAT else None


def sides(j: Conjunct) -> tuple[Expr, Expr, bool] | None:
    """The lower side of a comparison, the upper one, and whether they differ."""
    match j.expr:
        case Compare("<" | "<=" as operator, low, high) | Compare(">" | ">=" as operator, high, low):
            return low, high, "=" not in operator
        case _:
            return None
