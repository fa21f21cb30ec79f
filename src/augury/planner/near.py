"""Conjuncts that require two events to be near one another: two near a third one are often near, too."""

from __future__ import annotations

from collections.abc import Sequence

from augury.ir.comparisons import sides
from augury.ir.predicate import Arithmetic, Conjunct, Element, Expr, Literal, Ref, walk
from augury.planner.chain_steps import near_of

MIN_CORRELATION = 0.5
"""Correlation from which on two lists count as near one another."""


def near_pairs(conjuncts: Sequence[Conjunct]) -> list[bool]:
    """A flag for each conjunct: whether it requires two events to be near one another.

    Their lists are correlated, or their values in one column differ by at most a constant either way, which takes two
    comparisons.
    """
    ascending = [_ascending(j) for j in conjuncts]
    known = set(ascending)
    return [
        _lists_near(j) or (pair is not None and (pair[1], pair[0], pair[2]) in known)
        for j, pair in zip(conjuncts, ascending, strict=True)
    ]


def _lists_near(j: Conjunct) -> bool:
    near = near_of(j, j.variables[0]) if j.variables else None
    return near is not None and near.sign > 0 and near.least >= MIN_CORRELATION


def _ascending(j: Conjunct) -> tuple[str, str, str] | None:
    """The lower and the greater variable whose values in a column a conjunct compares, up to constants."""
    found = sides(j)
    below, above = (None, None) if found is None else (_attribute(found[0]), _attribute(found[1]))
    if below is None or above is None or below.column != above.column or below.variable == above.variable:
        return None
    return below.variable, above.variable, below.column


def _attribute(e: Expr) -> Ref | None:
    """The only attribute in an expression that adds or subtracts nothing but constants."""
    parts = list(walk(e))
    refs = [part for part in parts if isinstance(part, Ref)]
    if len(refs) != 1 or refs[0].element is not Element.SINGLE:
        return None
    shifts = all(isinstance(x, Ref | Literal) or (isinstance(x, Arithmetic) and x.operator in "+-") for x in parts)
    return refs[0] if shifts else None
