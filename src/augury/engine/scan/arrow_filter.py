"""Translates conditions of a query to Arrow expressions, so that rows that cannot matter are filtered while reading."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.scan.needed import ComponentFilter
from augury.engine.scan.translating import COMPARISONS, component_tests, joined
from augury.ir.predicate import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Expr,
    InRound,
    IsNull,
    ListLength,
    Literal,
    Member,
    Negate,
    Not,
    Or,
    Ref,
)
from augury.schema import EventSchema, Kind

_COMPARED = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.STRING: pa.string(), Kind.BOOL: pa.bool_()}


def read_filter(relevant: tuple[ComponentFilter, ...], schema: EventSchema) -> pc.Expression | None:
    """An expression that is true for every row that can matter; None if it would be true for all rows.

    Conditions that cannot be translated are left out: the engine tests all conditions again.
    """

    def of_types(one: ComponentFilter) -> pc.Expression | None:
        if schema.type is None or schema[schema.type].kind is not Kind.STRING:
            return None
        return pc.field(schema.type).isin(list(one.types))

    choices = component_tests(relevant, of_types, expression)
    return None if choices is None else reduce(or_, choices)


def only_types(relevant: tuple[ComponentFilter, ...], schema: EventSchema) -> frozenset[str] | None:
    """The types of the events that can matter, if Arrow can test nothing else about them; else None."""
    if schema.type is None or schema[schema.type].kind is not Kind.STRING:
        return None
    if any(not one.types or any(expression(c.expr) is not None for c in one.conjuncts) for one in relevant):
        return None
    return frozenset(name for one in relevant for name in one.types)


def expression(e: Expr) -> pc.Expression | None:
    """An Arrow expression that is true wherever `e` is, or None.

    It may also be true for NaN, which is null in queries: such a row is kept and dropped later.
    """
    match e:
        case Compare(operator, left, right) if left.type.kind is right.type.kind and left.type.kind in _COMPARED:
            comparison, sides = COMPARISONS.get(operator), (_value(left), _value(right))
            return None if comparison is None or any(s is None for s in sides) else comparison(*sides)
        case And(operands):
            return joined(and_, map(expression, operands))
        case Or(operands):
            return joined(or_, map(expression, operands))
        case Not(operand):
            inner = expression(operand)
            return None if inner is None else ~inner
        case Member(operand, items, listed):
            among = [_among(operand, listed)] if listed else []
            return joined(or_, [*among, *([_member(operand, items)] if items else [])])
        case IsNull(Ref(default=None, type=type) as operand) if type.kind in _COMPARED:
            value = _value(operand)
            return None if value is None else value.is_null(nan_is_null=True)
        case Compare() | IsNull() | Literal() | Ref() | ListLength() | InRound() | Aggregate():
            return None
        case Arithmetic() | Negate() | Call():
            return None
        case _:
            assert_never(e)


def _value(e: Expr) -> pc.Expression | None:
    match e:
        case Ref(default=None, type=type, column=name) if type.kind in _COMPARED:
            return pc.field(name).cast(_COMPARED[type.kind])
        case Literal(value, type) if type.kind in _COMPARED and not isinstance(value, list | tuple):
            return pc.scalar(pa.scalar(value, _COMPARED[type.kind]))
        case _:
            return None


def _among(operand: Expr, listed: tuple[Literal, ...]) -> pc.Expression | None:
    value = _value(operand)
    known = [item.value for item in listed if item.value is not None]
    if value is None or len(known) < len(listed) or any(i.type.kind is not operand.type.kind for i in listed):
        return None
    return value.isin(pa.array(known, _COMPARED[operand.type.kind]))


def _member(operand: Expr, items: tuple[Expr, ...]) -> pc.Expression | None:
    value = _value(operand)
    if value is None or any(item.type.kind is not operand.type.kind for item in items):
        return None
    choices = map(_value, items)
    return joined(or_, (None if choice is None else value == choice for choice in choices))
