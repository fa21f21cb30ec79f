"""Times of SQL: ticks, calendar arithmetic, and the functions on dates and timestamps."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from augury.ir.sql_scalar import BadValue, ScalarFunction, Types, always, compared, expect, quotient
from augury.ir.sql_types import (
    BIGINT,
    DAY_SECONDS,
    DOUBLE,
    TEMPORAL,
    TICKS,
    Family,
    family,
    plain,
)

EPOCH = dt.datetime(1970, 1, 1)
UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": DAY_SECONDS, "week": 7 * DAY_SECONDS}
FIELDS = ("year", "quarter", "month", "day", "hour", "minute", "second", "millisecond", "day_of_week", "day_of_year")


def ticks(value: int, type: pa.DataType, per_second: int) -> int:
    """A time or an interval in ticks of another unit, rounded down."""
    if family(type) is Family.DATE:
        return value * DAY_SECONDS * per_second
    return value * per_second // TICKS[type.unit]


def moment(value: int, type: pa.DataType) -> dt.datetime:
    """A date or a timestamp to the microsecond, in UTC if it has a zone."""
    try:
        return EPOCH + dt.timedelta(microseconds=ticks(value, type, 1_000_000))
    except OverflowError:
        raise BadValue("a time out of range") from None


def time_arithmetic(operator: str, values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    a, b = values
    left, right = (family(t) for t in types)
    if operator in "*/" and family(out) in (Family.INTERVAL, Family.MONTHS):
        if operator == "/" and b == 0:
            raise BadValue("division by zero")
        return int(a * b) if operator == "*" else int(a / b)
    if Family.MONTHS in (left, right) and left is not right:
        time, months = (a, b) if right is Family.MONTHS else (b, a)
        return _months_later(time, months if operator == "+" else -months, out)
    if family(out) is Family.MONTHS:
        return int(a + b if operator == "+" else a - b)
    per_second = TICKS[out.unit]
    x, y = ticks(a, types[0], per_second), ticks(b, types[1], per_second)
    return x + y if operator == "+" else x - y


def _months_later(time: int, months: int, type: pa.DataType) -> int:
    """The same day some months later, or the last day of that month if there is none."""
    day_ticks = 1 if family(type) is Family.DATE else DAY_SECONDS * TICKS[type.unit]
    days, rest = divmod(time, day_ticks)
    date = EPOCH.date() + dt.timedelta(days=days)
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise BadValue("a time out of range")
    last = calendar.monthrange(year, month + 1)[1]
    moved = date.replace(year=year, month=month + 1, day=min(date.day, last))
    return (moved - EPOCH.date()).days * day_ticks + rest


def _field(name: str) -> ScalarFunction:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
        time = moment(values[0], types[0])
        match name:
            case "quarter":
                return (time.month + 2) // 3
            case "day_of_week":
                return time.isoweekday()
            case "day_of_year":
                return time.timetuple().tm_yday
            case "millisecond":
                return time.microsecond // 1000
            case _:
                return int(getattr(time, name))

    return ScalarFunction(1, 1, always(BIGINT, *TEMPORAL), apply)


def _date_diff_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.STRING)
    expect(types[1:], *TEMPORAL)
    compared(types[1:])
    return BIGINT


def _date_diff(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    """The number of whole units from the first time to the second."""
    unit = values[0].lower()
    a, b = (ticks(v, t, 1_000_000) for v, t in zip(values[1:], types[1:], strict=True))
    if unit == "millisecond":
        return int((b - a) / 1000)
    if unit in UNIT_SECONDS:
        return quotient(b - a, UNIT_SECONDS[unit] * 1_000_000)
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if months is None:
        raise BadValue(f"`{values[0]}` is not a unit of time")
    first, second = moment(values[1], types[1]), moment(values[2], types[2])
    sign = 1 if second >= first else -1
    early, late = (first, second) if sign > 0 else (second, first)
    whole = (late.year - early.year) * 12 + late.month - early.month
    if (late.day, late.time()) < (early.day, early.time()):
        whole -= 1
    return sign * (whole // months)


def _date_trunc_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.STRING)
    expect(types[1:], *TEMPORAL)
    return plain(types[1])


def _date_trunc(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    unit = values[0].lower()
    day_ticks = 1 if family(out) is Family.DATE else DAY_SECONDS * TICKS[out.unit]
    if unit in ("second", "minute", "hour", "day"):
        step = max(1, day_ticks * UNIT_SECONDS[unit] // DAY_SECONDS)
        return int(values[1] // step * step)
    time = moment(values[1], types[1])
    match unit:
        case "week":
            start = time - dt.timedelta(days=time.weekday())
        case "month":
            start = time.replace(day=1)
        case "quarter":
            start = time.replace(month=(time.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            start = time.replace(month=1, day=1)
        case _:
            raise BadValue(f"`{values[0]}` is not a unit of time")
    return (start.date() - EPOCH.date()).days * day_ticks


def _unix_time(values: Sequence[Any], types: Types, out: pa.DataType) -> float:
    return ticks(values[0], types[0], 1_000_000) / 1_000_000


TIME_FUNCTIONS: dict[str, ScalarFunction] = {
    **{name: _field(name) for name in FIELDS},
    "date_diff": ScalarFunction(3, 3, _date_diff_type, _date_diff),
    "date_trunc": ScalarFunction(2, 2, _date_trunc_type, _date_trunc),
    "to_unixtime": ScalarFunction(1, 1, always(DOUBLE, *TEMPORAL), _unix_time),
}
"""Functions on dates and timestamps."""
