"""Scalar functions of SQL: argument types, result types and computation.

Values are Python's: integers, floats, `Decimal`, strings, booleans, lists; times and intervals are whole ticks of their
type's unit, dates are days since 1970. Unless a function says otherwise, null in gives null out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from augury.ir.sql_types import (
    BOOLEAN,
    NULL,
    Family,
    common,
    family,
    plain,
    sql_name,
)


class BadValue(Exception):
    """Raised for a value that a function cannot use: division by zero, overflow, a string that is not a number."""


Types = Sequence[pa.DataType]


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """The typing and the computation of a function.

    `result` returns the type for argument types, or raises `TypeError` with the reason. `apply` gets the values, then
    the argument types and the result type. A function that `sees_nulls` is applied to nulls too.
    """

    least: int
    most: int | None
    result: Callable[[Types], pa.DataType]
    apply: Callable[[Sequence[Any], Types, pa.DataType], Any]
    sees_nulls: bool = False


def expect(types: Types, *families: Family) -> None:
    for arrow in types:
        if family(arrow) not in (*families, Family.NULL):
            raise TypeError(f"takes {' or '.join(families)}, not {sql_name(arrow)}")


def always(type: pa.DataType, *families: Family) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        if families:
            expect(types, *families)
        return type

    return result


def first_of(*families: Family) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        expect(types[:1], *families)
        return plain(types[0])

    return result


def one_type(types: Types) -> pa.DataType:
    out: pa.DataType = NULL
    for arrow in types:
        both = common(out, arrow)
        if both is None:
            raise TypeError(f"takes values of one type, not {sql_name(out)} and {sql_name(arrow)}")
        out = both
    return out


def compared(types: Types) -> pa.DataType:
    if common(types[0], types[1]) is None:
        raise TypeError(f"cannot compare {sql_name(types[0])} with {sql_name(types[1])}")
    return BOOLEAN


def quotient(a: int, b: int) -> int:
    """The quotient of two integers, rounded towards zero."""
    if b == 0:
        raise BadValue("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
