"""Spark's watermark, in milliseconds, and the engine's, in ticks."""

from __future__ import annotations

import math
import re

from augury.runtime.state import LONG_AGO
from augury.schema import UNITS, EventSchema

MILLISECOND = 1_000_000
"""Nanoseconds."""

_LENGTHS = {
    "microsecond": 0.001,
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}


def delay_milliseconds(text: str | None) -> int | None:
    """The delay of a watermark, or None for one that only Spark can read.

    >>> delay_milliseconds("10 minutes"), delay_milliseconds("1 hour 5 minutes")
    (600000, None)
    """
    parts = re.fullmatch(r"\s*(?:interval\s+)?(\d+)\s+([a-z]+?)s?\s*", text or "", re.IGNORECASE)
    if parts is None or parts[2].lower() not in _LENGTHS:
        return None
    return math.ceil(int(parts[1]) * _LENGTHS[parts[2].lower()])


def watermark_ticks(milliseconds: int, schema: EventSchema) -> int:
    """The first tick that is not earlier than Spark's watermark, which is 0 until there is one.

    >>> import pyarrow as pa
    >>> watermark_ticks(1_500, EventSchema.from_arrow(pa.schema([("ts", pa.int64())])))
    2
    """
    if milliseconds <= 0:
        return LONG_AGO
    return -(-milliseconds * MILLISECOND // UNITS[schema.time_unit])


def first_millisecond_after(tick: int, schema: EventSchema) -> int:
    """The first watermark of Spark that is past a tick."""
    return (tick + 1) * UNITS[schema.time_unit] // MILLISECOND + 1


def milliseconds(tick: int, schema: EventSchema) -> int:
    """The millisecond in which a tick begins: that is how Spark counts it."""
    return tick * UNITS[schema.time_unit] // MILLISECOND
