"""Conversions between Spark's watermark in milliseconds and the engine's in ticks."""

from __future__ import annotations

from augury.ir.durations import duration_nanoseconds
from augury.runtime.state import LONG_AGO
from augury.schema import UNITS, EventSchema

MILLISECOND_NS = 1_000_000
"""Nanoseconds in a millisecond."""


def delay_milliseconds(text: str | None) -> int | None:
    """The delay of a watermark in milliseconds, None if the frame has a watermark of its own.

    >>> delay_milliseconds("10 minutes"), delay_milliseconds("1 hour 5 minutes"), delay_milliseconds(None)
    (600000, 3900000, None)
    """
    length = None if text is None else duration_nanoseconds(text)
    return None if length is None else -(-length // MILLISECOND_NS)


def watermark_ticks(milliseconds: int, schema: EventSchema) -> int:
    """The first tick not earlier than Spark's watermark, which is 0 at first.

    >>> import pyarrow as pa
    >>> watermark_ticks(1_500, EventSchema.from_arrow(pa.schema([("ts", pa.int64())])))
    2
    """
    if milliseconds <= 0:
        return LONG_AGO
    return -(-milliseconds * MILLISECOND_NS // UNITS[schema.time_unit])


def first_millisecond_after(tick: int, schema: EventSchema) -> int:
    """The first watermark of Spark that is later than a tick."""
    return (tick + 1) * UNITS[schema.time_unit] // MILLISECOND_NS + 1


def milliseconds(tick: int, schema: EventSchema) -> int:
    """The millisecond that contains a tick, as Spark counts it."""
    return tick * UNITS[schema.time_unit] // MILLISECOND_NS
