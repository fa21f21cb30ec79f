"""Converts Arrow columns to the Python values that expressions compute with, and back."""

from __future__ import annotations

import math
from typing import Any, cast

import pyarrow as pa

from augury.errors import HostError
from augury.ir.predicate import Value
from augury.schema import INT_MAX, INT_MIN, UNITS, ColumnType, Kind, column_type, duration

DAY_SECONDS = UNITS["D"] // UNITS["s"]
"""Seconds in a day."""


def plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """The column without dictionary encoding.

    >>> plain(pa.array(["a", "b", "a"]).dictionary_encode()).to_pylist()
    ['a', 'b', 'a']
    """
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def to_values(column: pa.ChunkedArray | pa.Array) -> list[Value]:
    """One value per row: times and durations in ticks, decimals as floats, NaN as null.

    >>> to_values(pa.array([1.5, float("nan"), None]))
    [1.5, None, None]
    """
    column = plain(column)
    match column_type(column.type).kind:
        case Kind.TIMESTAMP | Kind.DURATION:
            if pa.types.is_date(column.type):
                column = column.cast(pa.date32()).cast(pa.int32())
            return cast("list[Value]", column.cast(pa.int64()).to_pylist())
        case Kind.FLOAT:
            return [_number(v) for v in column.cast(pa.float64()).to_pylist()]
        case Kind.LIST:
            return [None if v is None else [_number(x) for x in v] for v in _objects(column)]
        case _:
            return cast("list[Value]", _objects(column))


def _objects(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (pa.ArrowException, ValueError, OverflowError) as e:
        help = "leave out events with such times, or do not use the column in the query"
        raise beyond_python(f"a value of type {column.type}", e, help) from e


def beyond_python(value: str, reason: Exception, help: str) -> HostError:
    """The error for a value that Arrow can hold and Python cannot."""
    return HostError("A615", f"{value} is none that Python can hold: {reason}", help)


def _number(value: Value) -> Value:
    return None if isinstance(value, float) and math.isnan(value) else value


def stored_type(type: ColumnType) -> ColumnType:
    """The type of an expression once its values are in a column: Arrow has no durations in days.

    >>> str(stored_type(duration("D"))), str(stored_type(duration("ms")))
    ('duration[s]', 'duration[ms]')
    """
    return duration("s") if type == duration("D") else type


def arrow_type(type: ColumnType) -> pa.DataType:
    """The Arrow type that holds the values of an expression."""
    match type.kind:
        case Kind.BOOL:
            return pa.bool_()
        case Kind.INT:
            return pa.int64()
        case Kind.FLOAT:
            return pa.float64()
        case Kind.STRING:
            return pa.string()
        case Kind.TIMESTAMP:
            return pa.date32() if type.unit == "D" else pa.timestamp(type.unit)
        case Kind.DURATION:
            return pa.duration(stored_type(type).unit)
        case Kind.LIST:
            assert type.item is not None
            return pa.list_(arrow_type(type.item))
        case Kind.NULL | Kind.OTHER:
            return pa.null()


def from_values(values: list[Value], type: ColumnType) -> pa.Array:
    """The column of an expression's values.

    >>> from_values([0, None], ColumnType(Kind.TIMESTAMP, "s")).type
    TimestampType(timestamp[s])
    """
    target = arrow_type(type)
    if target == pa.date32():
        return pa.array(values, type=pa.int32()).cast(target)
    if type != stored_type(type):
        values = [_seconds(cast("int | None", v)) for v in values]
    return pa.array(values, type=target)


def _seconds(days: int | None) -> int | None:
    """Days as seconds, null where they do not fit 64 bits."""
    return days * DAY_SECONDS if days is not None and INT_MIN <= days * DAY_SECONDS <= INT_MAX else None
