"""Time columns whose values are valid unless they are null, so that nothing else about them has to be checked."""

from __future__ import annotations

import pyarrow as pa

from augury.schema import EventSchema


def times_are_exact(time: pa.DataType, schema: EventSchema) -> bool:
    """Whether every time of this type that is not null is valid, and events are ordered by nothing else.

    A float may be NaN, text may be no time, `uint64` may not fit 64 bits with a sign, `date64` may be no whole day.

    >>> table = pa.table({"ts": [1], "seq": [1]})
    >>> times_are_exact(pa.int64(), EventSchema.from_arrow(table.schema))
    True
    >>> times_are_exact(pa.int64(), EventSchema.from_arrow(table.schema, order_by=("ts", "seq")))
    False
    """
    exact = pa.types.is_signed_integer(time) or pa.types.is_timestamp(time) or pa.types.is_date32(time)
    return exact and len(schema.order_by) == 1
