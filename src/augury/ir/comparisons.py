"""What comparisons say: their sides in ascending order, whether they need no function, bounds of dot products."""

from __future__ import annotations

from math import isfinite

from augury.ir.predicate import Arithmetic, Call, Compare, Conjunct, Expr, Literal, Negate, Ref, walk
from augury.schema import Kind

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons, and what they are with their sides exchanged."""


def sides(j: Conjunct) -> tuple[Expr, Expr, bool] | None:
    """The lower side of a comparison, the upper one, and whether they differ."""
    match j.expr:
        case Compare("<" | "<=" as operator, low, high) | Compare(">" | ">=" as operator, high, low):
            return low, high, "=" not in operator
        case _:
            return None


def vectorises(j: Conjunct) -> bool:
    """Whether a conjunct is a comparison of numbers, without anything that may call a function or branch."""
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
    """Two lists, and what their dot product has to be at least: once, or -1 times the product."""
    match e:
        case Compare(operator, Call("dot", (left, right)), bound) if operator in TURNED:
            pass
        case Compare(operator, bound, Call("dot", (left, right))) if operator in TURNED:
            operator = TURNED[operator]
        case _:
            return None
    value, sign = _constant(bound), 1 if ">" in operator else -1
    return None if value is None else (left, right, sign * value, sign)


def _constant(e: Expr) -> float | None:
    """The number that is written there."""
    match e:
        case Literal(value=int() | float() as value) if not isinstance(value, bool) and isfinite(value):
            return float(value)
        case Negate(operand):
            positive = _constant(operand)
            return None if positive is None else -positive
        case _:
            return None
