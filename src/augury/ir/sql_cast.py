"""CAST between types of SQL."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

from augury.ir.sql_numbers import ranged, rounded
from augury.ir.sql_scalar import BadValue
from augury.ir.sql_times import EPOCH, ticks
from augury.ir.sql_types import (
    DAY_SECONDS,
    NUMERIC,
    TEMPORAL,
    TICKS,
    Family,
    family,
)


def castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether CAST supports these types."""
    a, b = family(source), family(target)
    if Family.OTHER in (a, b):
        return bool(source == target)
    if a is Family.LIST and b is Family.LIST:
        return castable(source.value_type, target.value_type)
    if Family.LIST in (a, b):
        return a is Family.NULL
    if a is b or a is Family.NULL or b is Family.STRING or a is Family.STRING:
        return b not in (Family.INTERVAL, Family.MONTHS) or a in (b, Family.NULL)
    if a in (*NUMERIC, Family.BOOLEAN) and b in (*NUMERIC, Family.BOOLEAN):
        return True
    return a in TEMPORAL and b in TEMPORAL


def convert(value: Any, source: pa.DataType, target: pa.DataType) -> Any:
    """CAST of a non-null value."""
    a, b = family(source), family(target)
    match b:
        case Family.STRING:
            return as_text(value, source)
        case Family.BOOLEAN:
            return _to_boolean(value, a)
        case Family.INTEGER:
            return ranged(_to_integer(value, a), target)
        case Family.DECIMAL:
            return _to_decimal(value, a, target)
        case Family.FLOAT:
            return _to_float(value, a)
        case Family.TIMESTAMP:
            if a is Family.STRING:
                return _parse_time(value, target)
            return ticks(value, source, TICKS[target.unit])
        case Family.DATE:
            if a is Family.STRING:
                return _parse_time(value, pa.timestamp("us")) // (DAY_SECONDS * 1_000_000)
            return value if a is Family.DATE else value // (DAY_SECONDS * TICKS[source.unit])
        case Family.INTERVAL:
            return value * TICKS[target.unit] // TICKS[source.unit]
        case Family.LIST:
            return [None if v is None else convert(v, source.value_type, target.value_type) for v in value]
        case _:
            return value


def _to_boolean(value: Any, source: Family) -> bool:
    if source is Family.STRING:
        word = value.strip().lower()
        if word not in ("true", "t", "1", "false", "f", "0"):
            raise BadValue(f"`{value}` is not a boolean")
        return word in ("true", "t", "1")
    return bool(value)


def _to_integer(value: Any, source: Family) -> int:
    if source is Family.STRING:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
            raise BadValue(f"`{value}` is not an integer")
        return int(value)
    if source is Family.FLOAT and not math.isfinite(value):
        raise BadValue(f"{value} is not an integer")
    if source in (Family.FLOAT, Family.DECIMAL):
        return int(Decimal(value).to_integral_value(ROUND_HALF_UP))
    return int(value)


def _to_decimal(value: Any, source: Family, target: pa.DataType) -> Decimal:
    if source is Family.STRING and not re.fullmatch(r"\s*[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})\s*", value):
        raise BadValue(f"`{value}` is not a decimal")
    if source is Family.FLOAT and not math.isfinite(value):
        raise BadValue(f"{value} is not a decimal")
    return rounded(Decimal(value.strip() if source is Family.STRING else value), target)


def _to_float(value: Any, source: Family) -> float:
    try:
        return float(value)
    except ValueError:
        raise BadValue(f"`{value}` is not a number") from None


def _parse_time(text: str, type: pa.DataType) -> int:
    """An ISO 8601 time in ticks; in UTC if the type has a zone."""
    try:
        time = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadValue(f"`{text}` is not a time") from None
    if time.tzinfo is not None:
        time = time.astimezone(dt.UTC).replace(tzinfo=None)
    since = time - EPOCH
    micros = (since.days * DAY_SECONDS + since.seconds) * 1_000_000 + since.microseconds
    return micros * TICKS[type.unit] // 1_000_000


def as_text(value: Any, source: pa.DataType) -> str:
    """A value as CAST(... AS varchar) formats it."""
    match family(source):
        case Family.BOOLEAN:
            return "true" if value else "false"
        case Family.FLOAT:
            return _float_text(value)
        case Family.DATE:
            return (EPOCH.date() + dt.timedelta(days=value)).isoformat()
        case Family.TIMESTAMP:
            per_second = TICKS[source.unit]
            whole, rest = divmod(value, per_second)
            digits = len(str(per_second)) - 1
            fraction = f".{rest:0{digits}d}" if digits else ""
            return f"{EPOCH + dt.timedelta(seconds=whole)}{fraction}" + ("" if source.tz is None else " UTC")
        case _:
            return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, _, exponent = f"{Decimal(repr(value)):E}".partition("E")
    if "." not in mantissa:
        mantissa += ".0"
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}0E{int(exponent)}" if mantissa.endswith(".") else f"{mantissa}E{int(exponent)}"
