"""Predicates as a conjunction of small conjuncts.

Which conjuncts are tested at a state decides which events a run selects (paper 001, section 3.2). So they are derived
once, for the reference and for the rewrite rules: negations are pushed inwards, then AND is split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from augury.ir.predicate import And, Compare, Conjunct, Expr, Literal, Not, Or, conjunct, map_children, walk

OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negation_normal_form(e: Expr) -> Expr:
    """`NOT (p OR x < 1)` as `NOT p AND x >= 1`; equivalent also for null values."""
    match e:
        case Not(And(operands)):
            return Or(tuple(negation_normal_form(Not(o, span=o.span)) for o in operands), span=e.span)
        case Not(Or(operands)):
            return And(tuple(negation_normal_form(Not(o, span=o.span)) for o in operands), span=e.span)
        case Not(Not(operand)):
            return negation_normal_form(operand)
        case Not(Compare(operator) as comparison):
            return replace(comparison, operator=OPPOSITE[operator])
        case Not(Literal(bool(value)) as literal):
            return replace(literal, value=not value)
        case _:
            return map_children(negation_normal_form, e)


def split(e: Expr) -> Iterator[Expr]:
    """The parts joined by AND, from left to right."""
    if isinstance(e, And):
        for operand in e.operands:
            yield from split(operand)
    else:
        yield e


def normal_conjuncts(conjuncts: Iterable[Conjunct], pattern_order: tuple[str, ...]) -> tuple[Conjunct, ...]:
    """The conjuncts in normal form, with their variables in `pattern_order`."""
    return tuple(part for c in conjuncts for part in _parts(c, pattern_order))


def _parts(c: Conjunct, pattern_order: tuple[str, ...]) -> Iterable[Conjunct]:
    # Most conjuncts contain nothing to push inwards or to split.
    if not isinstance(c.expr, And) and not any(isinstance(e, Not) for e in walk(c.expr)):
        return (c,)
    return [conjunct(part, pattern_order) for part in split(negation_normal_form(c.expr))]
