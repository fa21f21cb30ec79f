"""Correlations as dot products."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.predicate import Call, Expr, conjunct, map_children
from augury.ir.query import BoundQuery
from augury.schema import FLOAT, list_of


def corr_to_dot_product(query: BoundQuery) -> BoundQuery:
    """corr(a.h, b.h) > 0.9  ->  dot(standardise(a.h), standardise(b.h)) > 0.9: a list is standardised once an event"""
    changed = (conjunct(_dot(c.expr), query.pattern_order) for c in query.conjuncts)
    return replace(query, conjuncts=tuple(changed))


def _dot(expr: Expr) -> Expr:
    e = map_children(_dot, expr)
    match e:
        case Call("corr", (left, right)):
            standardised = (Call("standardise", (x,), list_of(FLOAT), span=x.span) for x in (left, right))
            return Call("dot", tuple(standardised), FLOAT, span=e.span)
        case _:
            return e
