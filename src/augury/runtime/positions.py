"""Ranks of events in the order of the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.ir.predicate import Value
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.memory import ascending
from augury.runtime.values import plain, to_values
from augury.schema import EventSchema

LastKey: TypeAlias = "tuple[int, tuple[Value, ...]]"
"""The rank and the order key of the last event so far."""


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, without a copy if it has one chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type):
        # All chunks together may be too long for 32-bit offsets.
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def ranks_in_order(batch: EventBatch, schema: EventSchema, last: LastKey | None) -> tuple[Integers, LastKey | None]:
    """A rank for each event of a sorted batch, among all events of the stream; concurrent events share one.

    The columns of the order hold no nulls: the host has checked that.
    """
    size = len(batch)
    if not size:
        return np.empty(0, dtype=np.int64), last
    columns = [plain(one_array(batch.table[name])) for name in schema.order_by[1:]]
    key = _key(batch, columns, 0)
    first = 0 if last is None else last[0] + (last[1] != key)
    if size == 1:
        return np.array([first], dtype=np.int64), (first, key)
    differs = batch.time[1:] != batch.time[:-1]
    for column in columns:
        differs |= pc.not_equal(column.slice(1), column.slice(0, size - 1)).to_numpy(zero_copy_only=False)
    if np.count_nonzero(differs) == size - 1:
        # Most often no events are concurrent.
        ranks = ascending(first, size)
    else:
        ranks = np.full(size, first, dtype=np.int64)
        ranks[1:] += np.add.accumulate(differs, dtype=np.int64)
    return ranks, (int(ranks[-1]), _key(batch, columns, size - 1))


def _key(batch: EventBatch, columns: Sequence[pa.Array], i: int) -> tuple[Value, ...]:
    return (batch.time.item(i), *(to_values(column.slice(i, 1))[0] for column in columns))
