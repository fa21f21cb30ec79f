"""Parsing of durations as people write them."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

from augury.ir.text import UNITS
from augury.schema import INT_MAX
from augury.schema import UNITS as TICKS

SHORT_UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "sec": "second", "s": "second"}
SHORT_UNITS |= {"min": "minute", "h": "hour", "d": "day", "w": "week"}
"""Abbreviations of units of time."""

MAX_TEXT_CHARACTERS = 100
"""Characters of a duration at most; a longer text is not parsed."""

NUMPY_UNITS = {**TICKS, "m": 60 * TICKS["s"], "h": 3_600 * TICKS["s"], "W": 7 * TICKS["D"]}
"""Nanoseconds in NumPy's units of fixed length."""

_PART = re.compile(r"(\d{1,19}(?:\.\d{1,19})?)\s*([a-z]+)", re.IGNORECASE)
_WHOLE = re.compile(rf"(?:interval\s+)?{_PART.pattern}(?:(?:\s*,\s*|\s+and\s+|\s*){_PART.pattern})*", re.IGNORECASE)


def unit_size(word: str) -> int | None:
    """The nanoseconds of a unit of time, or None for a word that is not a unit.

    >>> unit_size("minutes"), unit_size("MS"), unit_size("moons")
    (60000000000, 1000000, None)
    """
    word = word.lower()
    one = word.removesuffix("s")
    return UNITS.get(SHORT_UNITS.get(word) or SHORT_UNITS.get(one) or one)


def duration_nanoseconds(text: str) -> int | None:
    """The length of a duration written as "10 minutes" or "1 hour 30 minutes", or None for other text.

    It must be a whole number of nanoseconds that fits 64 bits.

    >>> duration_nanoseconds("1.5 seconds"), duration_nanoseconds("interval 1 min, 2 s"), duration_nanoseconds("soon")
    (1500000000, 62000000000, None)
    """
    text = text.strip()
    if len(text) > MAX_TEXT_CHARACTERS or _WHOLE.fullmatch(text) is None:
        return None
    total = Fraction(0)
    for number, word in _PART.findall(text):
        size = unit_size(word)
        if size is None:
            return None
        total += Fraction(Decimal(number)) * size
    return int(total) if total.denominator == 1 and total <= INT_MAX else None


def numpy_nanoseconds(value: np.timedelta64) -> int | None:
    """The length of a NumPy duration, or None for one without a fixed length, such as months.

    >>> numpy_nanoseconds(np.timedelta64(2, "m")), numpy_nanoseconds(np.timedelta64(2, "M"))
    (120000000000, None)
    """
    unit, count = np.datetime_data(value.dtype)
    if np.isnat(value) or unit not in NUMPY_UNITS:
        return None
    return int(value.astype(np.int64)) * count * NUMPY_UNITS[unit]
