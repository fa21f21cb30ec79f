"""Times and durations as arguments."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

from augury.arguments import shown, whole
from augury.engine.sources.iso_times import parse_times
from augury.errors import HostError
from augury.ir.durations import duration_nanoseconds, numpy_nanoseconds
from augury.runtime.batch import time_ticks
from augury.schema import UNITS, EventSchema


def length_nanoseconds(given: object) -> int | None:
    """The nanoseconds of a duration: text such as "10 minutes", or one of Python, pandas or NumPy; None for others.

    >>> length_nanoseconds("10 minutes") == length_nanoseconds(dt.timedelta(minutes=10)) == 600 * 10**9
    True
    """
    match given:
        case str():
            return duration_nanoseconds(given)
        case dt.timedelta():
            # pandas counts nanoseconds beside what Python knows; NaT is a timedelta of neither.
            beyond = getattr(given, "nanoseconds", 0)
            if given != given or not isinstance(beyond, int):
                return None
            return (given.days * 86_400 + given.seconds) * UNITS["s"] + given.microseconds * UNITS["us"] + beyond
        case np.timedelta64():
            return numpy_nanoseconds(given)
        case _:
            return None


def lateness_ticks(lateness: object, schema: EventSchema, name: str = "lateness") -> int | None:
    """A lateness in ticks of the time column, rounded up: holding events back longer loses none."""
    if lateness is None:
        return None
    number = _ticks(lateness)
    if number is None:
        length = length_nanoseconds(lateness)
        number = None if length is None else -(-length // UNITS[schema.time_unit])
    if number is None or not 0 <= number < 2**63:
        raise _no_lateness(lateness, name)
    return number


def lateness_milliseconds(lateness: object, schema: EventSchema) -> int | None:
    """A lateness in whole milliseconds, rounded up."""
    if lateness is None:
        return None
    number = _ticks(lateness)
    length = length_nanoseconds(lateness) if number is None else number * UNITS[schema.time_unit]
    if length is None or not 0 <= length < 2**63:
        raise _no_lateness(lateness)
    return -(-length // UNITS["ms"])


def _ticks(lateness: object) -> int | None:
    """A whole number of ticks, or None for a duration and everything else."""
    return None if isinstance(lateness, np.timedelta64) else whole(lateness)


def _no_lateness(given: object, name: str = "lateness") -> HostError:
    return HostError(
        "A525",
        f"{name} is a duration or a whole number of ticks, neither of them negative, not {shown(given)}",
        'write it as "10 minutes", as timedelta(minutes=10), or as a number of ticks of the time column',
    )


def moment_ticks(given: object, arrow: pa.DataType, schema: EventSchema) -> int:
    """A value of the time column in ticks: a time of Python, pandas or NumPy, an ISO 8601 string, or a number."""
    name = schema.time
    numeric = schema[name].numeric
    try:
        if isinstance(given, str) and not numeric:
            column = parse_times(pa.chunked_array([pa.array([given], pa.string())]), name)
            _same_zone(column.type.tz is not None, arrow)
            column = column.cast(arrow)
        elif isinstance(given, dt.date):
            if isinstance(given, dt.datetime):
                _same_zone(given.tzinfo is not None, arrow)
            column = pa.array([given], arrow)
        elif isinstance(given, np.datetime64):
            coarse = np.datetime_data(given.dtype)[0] not in UNITS
            column = pa.array([given.astype("datetime64[s]") if coarse else given]).cast(arrow)
        else:
            number = whole(given)
            if number is None and not isinstance(given, float | np.floating):
                raise pa.ArrowTypeError("another kind of value")
            column = pa.array([given if number is None else number]).cast(arrow)
        if numeric == isinstance(given, str | dt.date | np.datetime64):
            raise pa.ArrowTypeError("another kind of value")
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise HostError(
            "A526",
            f"the watermark {shown(given) if not isinstance(given, dt.date) else repr(given)} is not a time of column "
            f"`{name}`, which holds {arrow}",
            "give a value of the time column, or an ISO 8601 string for one of timestamps",
        ) from e
    return int(time_ticks(pa.table({name: column}), schema)[0])


def _same_zone(zoned: bool, arrow: pa.DataType) -> None:
    if zoned != (getattr(arrow, "tz", None) is not None):
        raise pa.ArrowTypeError("one of them has a time zone and the other has not")
