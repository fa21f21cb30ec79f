"""Analysis of comparisons: sides in ascending order, whether they vectorise, bounds of dot products."""

from __future__ import annotations

from math import isfinite

from augury.ir.predicate import Arithmetic, Call, Compare, Conjunct, Expr, Literal, Negate, Ref, walk
from augury.schema import Kind

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators of order with their sides exchanged."""


def mirrored(operator: str) -> str:
    """The comparison operator that holds of the same sides exchanged.

    >>> mirrored("<="), mirrored("=")
    ('>=', '=')
    """
    return MIRRORED.get(operator, operator)


def sides(j: Conjunct) -> tuple[Expr, Expr, bool] | None:
    """The lower and the upper side of a comparison, and whether it is strict."""
    match j.expr:
        case Compare("<" | "<=" as operator, low, high) | Compare(">" | ">=" as operator, high, low):
            return low, high, "=" not in operator
        case _:
            return None


def vectorises(j: Conjunct) -> bool:
    """Whether a conjunct is a comparison of numbers without function calls or branches."""
    return isinstance(j.expr, Compare) and all(map(_plain, walk(j.expr)))


def _plain(e: Expr) -> bool:
    match e:
        case Compare() | Literal():
            return True
        case Ref(type=type):
            return type.kind in (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION, Kind.NULL)
        case Arithmetic(operator, type=type):
            return operator in "+-*" and type.kind is Kind.FLOAT
        case _:
            return False


def large_product(e: Expr) -> tuple[Expr, Expr, float, int] | None:
    """Two lists and the lower bound of their dot product, times a sign of 1 or -1."""
    match e:
        case Compare(operator, Call("dot", (left, right)), bound) if operator in MIRRORED:
            pass
        case Compare(operator, bound, Call("dot", (left, right))) if operator in MIRRORED:
            operator = MIRRORED[operator]
        case _:
            return None
    value, sign = _constant(bound), 1 if ">" in operator else -1
    return None if value is None else (left, right, sign * value, sign)


def _constant(e: Expr) -> float | None:
    """The value of a constant number."""
    match e:
        case Literal(value=int() | float() as value) if not isinstance(value, bool) and isfinite(value):
            return float(value)
        case Negate(operand):
            positive = _constant(operand)
            return None if positive is None else -positive
        case _:
            return None
