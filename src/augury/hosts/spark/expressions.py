"""Conditions of a query as Spark expressions, so that irrelevant rows stay in the JVM."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from augury.engine.scan.needed import ComponentFilter
from augury.engine.scan.translating import COMPARISONS, component_tests, joined
from augury.hosts.spark.releases import microseconds_since_epoch
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

_COMPARABLE = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING)


def row_filter(relevant: tuple[ComponentFilter, ...], schema: EventSchema) -> Column | None:
    """A condition that is true for every row that can affect matches; None if Spark cannot exclude any.

    Conditions without an exact translation are left out: the engine tests all of them again.
    """

    def of_types(one: ComponentFilter) -> Column | None:
        if schema.type is None or schema[schema.type].kind not in (Kind.STRING, Kind.INT):
            return None
        return column(schema.type).cast("string").isin(*one.types)

    choices = component_tests(relevant, of_types, expression)
    # Null is not true; without `coalesce`, an unknown alternative would hide one that holds.
    return None if choices is None else reduce(or_, (F.coalesce(c, F.lit(False)) for c in choices))


def column(name: str) -> Column:
    """The column of exactly this name, even with dots in it."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """A name quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"


def expression(e: Expr) -> Column | None:
    """The expression in Spark, or None where Spark's semantics differ or might."""
    match e:
        case Literal(value, type):
            return F.lit(value) if type.kind in _COMPARABLE and not isinstance(value, list | tuple) else None
        case Ref(default=None, type=type, column=name):
            if type.kind is Kind.FLOAT:
                # NaN is a value in Spark, but null here.
                number = column(name).cast("double")
                return F.when(~F.isnan(number), number)
            return column(name) if type.kind in _COMPARABLE else None
        case Compare(operator, left, right):
            return _compare(operator, expression(left), expression(right))
        case And(operands):
            return joined(and_, map(expression, operands))
        case Or(operands):
            return joined(or_, map(expression, operands))
        case Not(operand):
            inner = expression(operand)
            return None if inner is None else ~inner
        case Member(operand, items, listed):
            # A comparison for each of many values would be as many levels of a plan.
            among = [_among(operand, listed)] if listed else []
            return joined(or_, [*among, *(_compare("=", expression(operand), expression(item)) for item in items)])
        case IsNull(operand):
            inner = expression(operand)
            return None if inner is None else inner.isNull()
        case Ref() | ListLength() | InRound() | Aggregate() | Arithmetic() | Negate() | Call():
            # Spark raises where Augury returns null: overflow, division by zero, logarithm of zero.
            return None
        case _:
            assert_never(e)


def _among(operand: Expr, listed: tuple[Literal, ...]) -> Column | None:
    """Whether a value is one of those listed; with a null among them, an absent value is unknown, as in SQL."""
    value = expression(operand)
    if value is None or not all(item.type.kind is operand.type.kind or item.value is None for item in listed):
        return None
    return value.isin(*(item.value for item in listed))


def _compare(operator: str, left: Column | None, right: Column | None) -> Column | None:
    if left is None or right is None:
        return None
    comparison = COMPARISONS.get(operator)
    return None if comparison is None else comparison(left, right)


def ticks(schema: EventSchema, name: str) -> Column:
    """The time of an event in the ticks of the engine."""
    time = column(name)
    match schema[name].kind:
        case Kind.TIMESTAMP if schema.time_unit == "D":
            return F.unix_date(time).cast("long")
        case Kind.TIMESTAMP:
            return F.when(F.typeof(time) == "timestamp_ntz", microseconds_since_epoch(quoted(name))).otherwise(
                F.unix_micros(time.cast("timestamp"))
            )
        case Kind.FLOAT:
            return F.round(time.cast("double") * F.lit(1e9)).cast("long")
        case _:
            return time.cast("long")
