"""Events as columns, in order."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import HostError
from augury.nouns import per_batch
from augury.runtime.arrow_numbers import to_numpy
from augury.schema import MAX_TICKS, UNITS, Kind

if TYPE_CHECKING:
    from augury.schema import EventSchema

Integers: TypeAlias = npt.NDArray[np.int64]

_NO_BAD_TIMES = np.zeros(0, dtype=bool)


@per_batch
class EventBatch:
    """Events sorted by their order key, concurrent ones by arrival.

    `rows` are the positions at which the events arrived, counted from 0 over the whole stream; `time` is in ticks of
    the schema's time unit and has no nulls. String columns may be dictionary-encoded. `texts` caches string columns by
    their distinct values, for all kernels that are given these events. `consecutive` says that the rows are known to be
    consecutive numbers.
    """

    table: pa.Table
    rows: Integers
    time: Integers
    texts: dict[str, Any] = field(default_factory=dict)
    consecutive: bool = False

    def __len__(self) -> int:
        return int(self.table.num_rows)


def ascends(numbers: Integers) -> bool:
    """Whether no number is less than the one before it."""
    return len(numbers) < 2 or not np.count_nonzero(numbers[1:] < numbers[:-1])


def time_ticks(table: pa.Table, schema: EventSchema, first_row: int = 0) -> Integers:
    """The time column in ticks; a null, NaN or out-of-range time is rejected with its row.

    >>> from augury.schema import EventSchema
    >>> events = pa.table({"ts": [1.5, 2.0]})
    >>> time_ticks(events, EventSchema.from_arrow(events.schema)).tolist()
    [1500000000, 2000000000]
    """
    return ticks_and_order(table, schema, first_row)[0]


def ticks_and_order(table: pa.Table, schema: EventSchema, first_row: int = 0) -> tuple[Integers, bool]:
    """The same, and whether the times ascend: then the first and the last of them tell whether all are in range."""
    column = table.column(schema.time)
    if column.num_chunks == 1:
        # Arrow is faster on an array than on a chunked array of one, which shows for small batches.
        column = column.chunk(0)
    if pa.types.is_int64(column.type) and not column.null_count:
        # The usual case: the column holds ticks already, and none is missing.
        ticks = to_numpy(column) if isinstance(column, pa.Array) else column.to_numpy(zero_copy_only=False)
        return _in_range(ticks, schema, first_row)
    kind = schema[schema.time].kind
    if kind is Kind.FLOAT:
        values = (column if pa.types.is_float64(column.type) else pc.cast(column, pa.float64())).to_numpy(
            zero_copy_only=False
        )
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.round(values * UNITS["s"])
        bad = ~(np.abs(scaled) < 2.0**63)
        ticks = np.where(bad, 0, scaled).astype(np.int64)
    else:
        bad = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else _NO_BAD_TIMES
        try:
            numbers = _as_int64(column)
            ticks = (numbers.fill_null(0) if column.null_count else numbers).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as e:
            raise HostError("A508", f"a time in column `{schema.time}` does not fit 64 bits: {e}") from e
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise HostError(
            "A509",
            f"{int(bad.sum())} of {len(bad)} events have no time: the first is row {first_row + row}, "
            f"where `{schema.time}` is {column[row].as_py()}",
            "drop or repair these rows: an event without a time has no place in the stream",
        )
    return _in_range(ticks, schema, first_row)


def _in_range(ticks: Integers, schema: EventSchema, first_row: int) -> tuple[Integers, bool]:
    """Check ticks and return them, and whether they ascend.

    One so far from 0 that differences may not fit 64 bits is rejected with its row.
    """
    if not len(ticks):
        return ticks, True
    ascending = ascends(ticks)
    least, greatest = (ticks.item(0), ticks.item(-1)) if ascending else (ticks.min(), ticks.max())
    if least > -MAX_TICKS and greatest < MAX_TICKS:
        return ticks, ascending
    row = int(np.flatnonzero((ticks <= -MAX_TICKS) | (ticks >= MAX_TICKS))[0])
    raise HostError(
        "A508",
        f"a time in column `{schema.time}` is out of range: {ticks[row]} {schema.time_unit} in row {first_row + row}",
        "times reach 2^62 ticks either way, 146 years of nanoseconds: cast the column to a coarser unit",
    )


def _as_int64(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Integers, timestamps and dates as 64-bit ticks."""
    if pa.types.is_int64(column.type):
        return column
    if pa.types.is_timestamp(column.type) and isinstance(column, pa.Array):
        # The same numbers, without a cast.
        return column.view(pa.int64())
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_date64(column.type):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    return column.cast(pa.int64())
