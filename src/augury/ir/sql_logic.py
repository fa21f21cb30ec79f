"""Comparisons, three-valued logic, and functions that choose among values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from augury.ir.sql_cast import convert
from augury.ir.sql_scalar import ScalarFunction, Types, always, compared, expect, one_type
from augury.ir.sql_times import ticks
from augury.ir.sql_types import (
    BOOLEAN,
    NULL,
    TICKS,
    Family,
    common,
    family,
    plain,
)


def comparable(value: Any, type: pa.DataType, both: pa.DataType) -> Any:
    """A value converted to the common type of a comparison."""
    match family(both):
        case Family.FLOAT:
            return float(value)
        case Family.TIMESTAMP:
            return ticks(value, type, TICKS[both.unit])
        case Family.INTERVAL:
            return value * TICKS[both.unit] // TICKS[type.unit]
        case Family.LIST:
            return [None if v is None else comparable(v, type.value_type, both.value_type) for v in value]
        case _:
            return value


def _comparison(operator: Callable[[Any, Any], object]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
        both = common(types[0], types[1])
        assert both is not None
        return bool(operator(comparable(values[0], types[0], both), comparable(values[1], types[1], both)))

    return apply


def equal(a: Any, b: Any, types: Types) -> bool | None:
    """Whether two values are equal; null if either is null."""
    if a is None or b is None:
        return None
    both = common(types[0], types[1])
    assert both is not None
    return bool(comparable(a, types[0], both) == comparable(b, types[1], both))


def _and(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    return False if False in values else None if None in values else True


def any_true(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    """OR: null if no value is true and some are null."""
    return True if True in values else None if None in values else False


def _in(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    found = [equal(values[0], v, (types[0], t)) for v, t in zip(values[1:], types[1:], strict=True)]
    return any_true(found, types, out)


def _in_list(types: Types) -> pa.DataType:
    for arrow in types[1:]:
        compared((types[0], arrow))
    return BOOLEAN


def _distinct(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
    a, b = values
    if a is None or b is None:
        return (a is None) != (b is None)
    return not equal(a, b, types)


def _coalesce(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    for value, type in zip(values, types, strict=True):
        if value is not None:
            return convert(value, type, out)
    return None


def _nullif(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return None if equal(values[0], values[1], types) else values[0]


def _case_type(types: Types) -> pa.DataType:
    """Conditions and values alternate, followed by the value of ELSE."""
    expect(types[:-1:2], Family.BOOLEAN)
    return one_type([*types[1::2], types[-1]])


def _case(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    for k in range(0, len(values) - 1, 2):
        if values[k]:
            return None if values[k + 1] is None else convert(values[k + 1], types[k + 1], out)
    return None if values[-1] is None else convert(values[-1], types[-1], out)


def _extreme(choose: Callable[[Any], Any]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        return choose([convert(v, t, out) for v, t in zip(values, types, strict=True)])

    return apply


LOGIC_FUNCTIONS: dict[str, ScalarFunction] = {
    "=": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a == b)),
    "<>": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a != b)),
    "<": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a < b)),
    "<=": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a <= b)),
    ">": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a > b)),
    ">=": ScalarFunction(2, 2, compared, _comparison(lambda a, b: a >= b)),
    "and": ScalarFunction(2, None, always(BOOLEAN, Family.BOOLEAN), _and, sees_nulls=True),
    "or": ScalarFunction(2, None, always(BOOLEAN, Family.BOOLEAN), any_true, sees_nulls=True),
    "not": ScalarFunction(1, 1, always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: not values[0]),
    "in": ScalarFunction(1, None, _in_list, _in, sees_nulls=True),
    "is null": ScalarFunction(1, 1, always(BOOLEAN), lambda values, types, out: values[0] is None, sees_nulls=True),
    "is true": ScalarFunction(
        1, 1, always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: values[0] is True, sees_nulls=True
    ),
    "is false": ScalarFunction(
        1, 1, always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: values[0] is False, sees_nulls=True
    ),
    "is distinct from": ScalarFunction(2, 2, compared, _distinct, sees_nulls=True),
    "case": ScalarFunction(3, None, _case_type, _case, sees_nulls=True),
    "if": ScalarFunction(3, 3, _case_type, _case, sees_nulls=True),
    "coalesce": ScalarFunction(1, None, one_type, _coalesce, sees_nulls=True),
    "nullif": ScalarFunction(
        2, 2, lambda types: plain(types[0]) if compared(types) else NULL, _nullif, sees_nulls=True
    ),
    "greatest": ScalarFunction(1, None, one_type, _extreme(max)),
    "least": ScalarFunction(1, None, one_type, _extreme(min)),
}
"""Comparisons, operators of logic, and functions that choose among values."""
