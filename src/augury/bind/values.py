"""Constants: times, durations and the values of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real

import numpy as np

from augury.ir.durations import numpy_nanoseconds
from augury.ir.predicate import Literal
from augury.schema import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, UNITS, ColumnType, duration, list_of, timestamp
from augury.source import Span

_FRACTION = re.compile(r"[.,](\d+)")
_EPOCH = datetime(1970, 1, 1)


def coarsest(nanoseconds: int, units: Sequence[str] = ("s", "ms", "us", "ns")) -> tuple[int, str]:
    """A span of time in the coarsest unit that is exact.

    >>> coarsest(90_000_000_000), coarsest(1_500_000)
    ((90, 's'), (1500, 'us'))
    """
    unit = next(unit for unit in units if nanoseconds % UNITS[unit] == 0)
    return nanoseconds // UNITS[unit], unit


def duration_literal(nanoseconds: int, span: Span) -> Literal | None:
    """A duration as a constant, or None if it does not fit 64 bits in any unit."""
    ticks, unit = coarsest(nanoseconds)
    return Literal(ticks, duration(unit), span) if fits(ticks) else None


def timestamp_literal(text: str, span: Span) -> Literal | None:
    """An ISO 8601 time as a constant, or None if it is invalid; one with an offset is converted to UTC.

    >>> timestamp_literal("1970-01-01T01:00:00.5+01:00", Span(0, 0))
    Literal(value=500, type=ColumnType(kind=<Kind.TIMESTAMP: 'timestamp'>, unit='ms', item=None))
    """
    # Python parses fractions to the microsecond only and drops the rest, so they are parsed here.
    fraction = _FRACTION.search(text)
    digits = fraction.group(1) if fraction else ""
    if len(digits.rstrip("0")) > 9:
        return None
    try:
        moment = datetime.fromisoformat(text[: fraction.start()] + text[fraction.end() :] if fraction else text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    since = moment - _EPOCH
    ticks, unit = coarsest((since.days * 86_400 + since.seconds) * UNITS["s"] + int(digits[:9].ljust(9, "0")))
    return Literal(ticks, timestamp(unit), span)


def fits(ticks: int) -> bool:
    """Whether an integer fits 64 bits."""
    return INT_MIN <= ticks <= INT_MAX


def length_of(value: timedelta) -> int:
    """The nanoseconds of a Python or pandas duration."""
    beyond: int = getattr(value, "nanoseconds", 0)
    return (value.days * 86_400 + value.seconds) * UNITS["s"] + value.microseconds * UNITS["us"] + beyond


def parameter_literal(value: object, span: Span) -> Literal | None:
    """The value of a parameter as a constant, or None if queries have no such type."""
    match value:
        case bool():
            return Literal(value, BOOL, span)
        case str():
            # A subclass could override comparisons.
            return Literal(str.__str__(value), STRING, span)
        case timedelta():
            return duration_literal(length_of(value), span)
        case date():
            return timestamp_literal(value.isoformat(), span)
        case np.datetime64() if not np.isnat(value):
            return timestamp_literal(str(value), span)
        case np.timedelta64() if not np.isnat(value):
            length = numpy_nanoseconds(value)
            return None if length is None else duration_literal(length, span)
        case np.bool_():
            return Literal(bool(value), BOOL, span)
        case list() | tuple():
            return _list_literal(value, span)
        case _:
            number = _number(value)
            return None if number is None else Literal(number, INT if isinstance(number, int) else FLOAT, span)


def _list_literal(values: Sequence[object], span: Span) -> Literal | None:
    numbers = [_number(value) for value in values]
    known = tuple(n for n in numbers if n is not None)
    if len(known) < len(numbers):
        return None
    item: ColumnType = INT if all(isinstance(n, int) for n in known) else FLOAT
    return Literal(known, list_of(item), span)


def _number(value: object) -> int | float | None:
    """A Python or NumPy number as a value that a query can hold."""
    match value:
        case bool():
            return None
        case Integral():
            return int(value) if fits(int(value)) else None
        case Real():
            return None if math.isnan(float(value)) else float(value)
        case _:
            return None
