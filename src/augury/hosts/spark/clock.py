"""Spark's watermark, in milliseconds, and the engine's, in ticks."""

from __future__ import annotations

from augury.runtime.state import LONG_AGO
from augury.schema import UNITS, EventSchema

MILLISECOND = 1_000_000
"""Nanoseconds."""


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
