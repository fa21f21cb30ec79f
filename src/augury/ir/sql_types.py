"""Arrow types in SQL: families, common types, and result types of arithmetic."""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa

BOOLEAN, INTEGER, BIGINT, DOUBLE, VARCHAR = pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.string()
NULL = pa.null()
INTERVAL = pa.duration("us")
MONTHS = pa.month_day_nano_interval()
"""The type of INTERVAL '1' MONTH; its values are whole months."""

MAX_DIGITS = 38
"""Digits of the widest decimal type."""

TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Ticks per second of each time unit."""

DAY_SECONDS = 86_400


class Family(StrEnum):
    """Groups of types whose values can be compared and combined with each other."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "double"
    STRING = "varchar"
    TIMESTAMP = "timestamp"
    DATE = "date"
    INTERVAL = "interval"
    MONTHS = "interval of months"
    LIST = "array"
    NULL = "unknown"
    OTHER = "other"


NUMERIC = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)
TEMPORAL = (Family.TIMESTAMP, Family.DATE)


def family(arrow: pa.DataType) -> Family:
    """The family of an Arrow type.

    >>> family(pa.large_string())
    <Family.STRING: 'varchar'>
    """
    types = pa.types
    if types.is_dictionary(arrow):
        return family(arrow.value_type)
    if types.is_boolean(arrow):
        return Family.BOOLEAN
    if types.is_integer(arrow):
        return Family.INTEGER
    if types.is_decimal(arrow):
        return Family.DECIMAL
    if types.is_floating(arrow):
        return Family.FLOAT
    if types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow):
        return Family.STRING
    if types.is_timestamp(arrow):
        return Family.TIMESTAMP
    if types.is_date32(arrow):
        return Family.DATE
    if types.is_duration(arrow):
        return Family.INTERVAL
    if arrow == MONTHS:
        return Family.MONTHS
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        return Family.LIST
    if types.is_null(arrow):
        return Family.NULL
    return Family.OTHER


def sql_name(arrow: pa.DataType) -> str:
    """A type as SQL writes it, for messages.

    >>> sql_name(pa.int64()), sql_name(pa.decimal128(10, 2)), sql_name(pa.list_(pa.string()))
    ('bigint', 'decimal(10, 2)', 'array(varchar)')
    """
    words = {
        "int8": "tinyint",
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "float": "real",
        "double": "double",
        "bool": "boolean",
        "date32[day]": "date",
        "null": "unknown",
    }
    match family(arrow):
        case Family.STRING:
            return "varchar"
        case Family.DECIMAL:
            return f"decimal({arrow.precision}, {arrow.scale})"
        case Family.TIMESTAMP:
            return "timestamp" if arrow.tz is None else "timestamp with time zone"
        case Family.INTERVAL:
            return "interval"
        case Family.MONTHS:
            return "interval of months"
        case Family.LIST:
            return f"array({sql_name(arrow.value_type)})"
        case _:
            return words.get(str(arrow), str(arrow))


def plain(arrow: pa.DataType) -> pa.DataType:
    """The type of a column's values in computations: without dictionaries and views.

    >>> plain(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    match family(arrow):
        case Family.STRING:
            return VARCHAR
        case Family.LIST:
            return pa.list_(plain(arrow.value_type))
        case _:
            return plain(arrow.value_type) if pa.types.is_dictionary(arrow) else arrow


def as_decimal(arrow: pa.DataType) -> tuple[int, int]:
    """Precision and scale of a number as a decimal."""
    if pa.types.is_decimal(arrow):
        return arrow.precision, arrow.scale
    return {8: 3, 16: 5, 32: 10}.get(arrow.bit_width, 19), 0


def common(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The common type to which both can be converted, or None.

    >>> common(pa.int32(), pa.decimal128(4, 2))
    Decimal128Type(decimal128(12, 2))
    """
    left, right = plain(left), plain(right)
    if left == right:
        return left
    a, b = family(left), family(right)
    if a is Family.NULL:
        return right
    if b is Family.NULL:
        return left
    if a in NUMERIC and b in NUMERIC:
        if Family.FLOAT in (a, b):
            reals = all(t == pa.float32() or family(t) is Family.INTEGER for t in (left, right))
            return pa.float32() if reals else DOUBLE
        if Family.DECIMAL in (a, b):
            (p, s), (q, t) = as_decimal(left), as_decimal(right)
            scale = max(s, t)
            return pa.decimal128(min(MAX_DIGITS, max(p - s, q - t) + scale), scale)
        return _wider(left, right)
    if a in TEMPORAL and b in TEMPORAL:
        stamps = [t for t in (left, right) if pa.types.is_timestamp(t)]
        zones = {t.tz for t in stamps}
        if len({zone is None for zone in zones}) > 1:
            return None
        unit = max((t.unit for t in stamps), key=TICKS.__getitem__)
        return pa.timestamp(unit, stamps[0].tz)
    if a is b is Family.INTERVAL:
        return pa.duration(max((left.unit, right.unit), key=TICKS.__getitem__))
    if a is b is Family.LIST:
        item = common(left.value_type, right.value_type)
        return None if item is None else pa.list_(item)
    return None


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The integer type that holds both: 64 bits for a signed and an unsigned type of the same width."""
    signed = [t for t in (left, right) if pa.types.is_signed_integer(t)]
    unsigned = [t for t in (left, right) if not pa.types.is_signed_integer(t)]
    width = max(t.bit_width for t in (left, right))
    if not signed:
        return {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32()}.get(width, pa.uint64())
    if unsigned:
        width = max(width, 2 * max(t.bit_width for t in unsigned))
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(width, BIGINT)


def arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type of `left operator right`, or None if there is no such operation.

    >>> arithmetic("/", pa.int32(), pa.int64()), arithmetic("-", pa.timestamp("ms"), pa.timestamp("us"))
    (DataType(int64), DurationType(duration[us]))
    """
    left, right = plain(left), plain(right)
    a, b = family(left), family(right)
    if Family.NULL in (a, b):
        return right if a is Family.NULL else left
    if a in NUMERIC and b in NUMERIC:
        if a is b is Family.INTEGER or Family.FLOAT in (a, b):
            return common(left, right)
        return _decimal(operator, as_decimal(left), as_decimal(right))
    if a in TEMPORAL and b in TEMPORAL and operator == "-":
        both = common(left, right)
        if both is None:
            return None
        return INTERVAL if family(both) is Family.DATE else pa.duration(both.unit)
    if operator in "+-" and a in TEMPORAL and b in (Family.INTERVAL, Family.MONTHS):
        return _moved(left, right)
    if operator == "+" and b in TEMPORAL and a in (Family.INTERVAL, Family.MONTHS):
        return _moved(right, left)
    if operator in "+-" and a is b and a in (Family.INTERVAL, Family.MONTHS):
        return common(left, right)
    if operator in "*/" and a in (Family.INTERVAL, Family.MONTHS) and b in NUMERIC:
        return left
    if operator == "*" and b in (Family.INTERVAL, Family.MONTHS) and a in NUMERIC:
        return right
    return None


def _moved(time: pa.DataType, by: pa.DataType) -> pa.DataType:
    """The type of a time plus an interval; a date plus hours becomes a timestamp."""
    if family(time) is Family.DATE:
        return pa.timestamp(by.unit) if family(by) is Family.INTERVAL else time
    if family(by) is Family.MONTHS:
        return time
    return pa.timestamp(max((time.unit, by.unit), key=TICKS.__getitem__), time.tz)


def _decimal(operator: str, left: tuple[int, int], right: tuple[int, int]) -> pa.DataType:
    (p, s), (q, t) = left, right
    match operator:
        case "+" | "-":
            scale = max(s, t)
            digits = max(p - s, q - t) + scale + 1
        case "*":
            digits, scale = p + q, s + t
        case "/":
            digits, scale = p + t + max(t - s, 0), max(s, t)
        case _:
            scale = max(s, t)
            digits = min(p - s, q - t) + scale
    scale = min(scale, MAX_DIGITS)
    return pa.decimal128(min(MAX_DIGITS, max(digits, scale, 1)), scale)


def integer_range(arrow: pa.DataType) -> tuple[int, int]:
    """The least and the greatest integer of a type.

    >>> integer_range(pa.int8())
    (-128, 127)
    """
    bits = arrow.bit_width
    if pa.types.is_signed_integer(arrow):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1
