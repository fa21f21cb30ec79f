"""Numbers of SQL: arithmetic operators, which also apply to times, and numeric functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from augury.ir.sql_scalar import BadValue, ScalarFunction, Types, always, expect, first_of, quotient
from augury.ir.sql_times import time_arithmetic
from augury.ir.sql_types import (
    DOUBLE,
    NUMERIC,
    TEMPORAL,
    Family,
    arithmetic,
    family,
    integer_range,
    plain,
    sql_name,
)

DECIMAL_CONTEXT = Context(prec=76)
"""A decimal context with enough digits for the product of two decimals of 38 digits."""


def ranged(value: int, type: pa.DataType) -> int:
    """An integer, checked against the range of its type."""
    least, most = integer_range(type)
    if not least <= value <= most:
        raise BadValue(f"{sql_name(type)} overflow: {value}")
    return value


def rounded(value: Decimal, type: pa.DataType, how: str = ROUND_HALF_UP) -> Decimal:
    """A decimal rounded to the scale of its type, checked against its precision."""
    out = value.quantize(Decimal(1).scaleb(-type.scale), how, DECIMAL_CONTEXT)
    if len(out.as_tuple().digits) > type.precision and out != 0:
        raise BadValue(f"{sql_name(type)} overflow: {out}")
    return out


def _computed(sign: str) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        out = arithmetic(sign, types[0], types[1])
        if out is None:
            raise TypeError(f"cannot be applied to {sql_name(types[0])} and {sql_name(types[1])}")
        return out

    return result


def _arithmetic(sign: str) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        kinds = [family(t) for t in types]
        if any(k in TEMPORAL or k in (Family.INTERVAL, Family.MONTHS) for k in kinds):
            return time_arithmetic(sign, values, types, out)
        match family(out):
            case Family.INTEGER:
                return ranged(_integer(sign, int(values[0]), int(values[1])), out)
            case Family.DECIMAL:
                return _decimal(sign, Decimal(values[0]), Decimal(values[1]), out)
            case _:
                return _float(sign, float(values[0]), float(values[1]))

    return apply


_PYTHON = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""Operators that mean for integers and floats what they mean in Python."""


def _integer(sign: str, a: int, b: int) -> int:
    if sign in _PYTHON:
        return int(_PYTHON[sign](a, b))
    whole = quotient(a, b)
    return whole if sign == "/" else a - b * whole


def _decimal(sign: str, a: Decimal, b: Decimal, out: pa.DataType) -> Decimal:
    match sign:
        case "+":
            value = DECIMAL_CONTEXT.add(a, b)
        case "-":
            value = DECIMAL_CONTEXT.subtract(a, b)
        case "*":
            value = DECIMAL_CONTEXT.multiply(a, b)
        case "/":
            if b == 0:
                raise BadValue("division by zero")
            value = DECIMAL_CONTEXT.divide(a, b)
        case _:
            if b == 0:
                raise BadValue("division by zero")
            value = DECIMAL_CONTEXT.remainder(a, b)
    return rounded(value, out)


def _float(sign: str, a: float, b: float) -> float:
    if sign in _PYTHON:
        return float(_PYTHON[sign](a, b))
    if sign == "/":
        if b == 0:
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
        return a / b
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


def _negated(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return ranged(-values[0], out) if family(out) is Family.INTEGER else -values[0]


def _real(apply: Callable[..., float], count: int = 1) -> ScalarFunction:
    def checked(values: Sequence[Any], types: Types, out: pa.DataType) -> float:
        try:
            return apply(*map(float, values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    return ScalarFunction(count, count, always(DOUBLE, *NUMERIC), checked)


def _whole(how: Callable[[Any], int]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        value = values[0]
        match family(out):
            case Family.INTEGER:
                return value
            case Family.DECIMAL:
                return rounded(Decimal(how(value)), out)
            case _:
                return float(how(value)) if math.isfinite(value) else value

    return apply


def _round(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    value, digits = values[0], values[1] if len(values) > 1 else 0
    if family(out) is Family.FLOAT and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    moved = exact.quantize(Decimal(1).scaleb(-max(-40, min(digits, 40))), ROUND_HALF_UP, DECIMAL_CONTEXT)
    match family(out):
        case Family.INTEGER:
            return ranged(int(moved), out)
        case Family.DECIMAL:
            return rounded(moved, out)
        case _:
            return float(moved)


def _round_type(types: Types) -> pa.DataType:
    expect(types[:1], *NUMERIC)
    expect(types[1:], Family.INTEGER)
    return plain(types[0])


def _absolute(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return ranged(abs(values[0]), out) if family(out) is Family.INTEGER else abs(values[0])


ARITHMETIC: dict[str, ScalarFunction] = {
    **{op: ScalarFunction(2, 2, _computed(op), _arithmetic(op)) for op in "+-*/%"},
    "mod": ScalarFunction(2, 2, _computed("%"), _arithmetic("%")),
    "negate": ScalarFunction(1, 1, first_of(*NUMERIC, Family.INTERVAL, Family.MONTHS), _negated),
}
"""Arithmetic operators, including those on times and intervals."""

NUMBER_FUNCTIONS: dict[str, ScalarFunction] = {
    "abs": ScalarFunction(1, 1, first_of(*NUMERIC), _absolute),
    "ceil": ScalarFunction(1, 1, first_of(*NUMERIC), _whole(math.ceil)),
    "ceiling": ScalarFunction(1, 1, first_of(*NUMERIC), _whole(math.ceil)),
    "floor": ScalarFunction(1, 1, first_of(*NUMERIC), _whole(math.floor)),
    "truncate": ScalarFunction(
        1, 1, first_of(*NUMERIC), _whole(lambda v: int(Decimal(v).to_integral_value(ROUND_DOWN)))
    ),
    "round": ScalarFunction(1, 2, _round_type, _round),
    "sign": ScalarFunction(
        1, 1, first_of(*NUMERIC), lambda values, types, out: type(values[0])((values[0] > 0) - (values[0] < 0))
    ),
    "sqrt": _real(math.sqrt),
    "exp": _real(math.exp),
    "ln": _real(math.log),
    "log10": _real(math.log10),
    "log2": _real(math.log2),
    "power": _real(math.pow, 2),
    "pow": _real(math.pow, 2),
}
"""Functions on numbers."""
