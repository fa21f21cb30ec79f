"""Sorts the rows of a table by key, and within a key by ORDER BY; null is a key like any other.

Keys come in the order of their first rows. Rows are grouped by a counting sort, which is stable, and sorted by ORDER BY
only if they are not in that order already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.row_patterns.keys import (
    Integers,
    NumberedKeys,
    Numbers,
    ascends,
    counted_keys,
    number_keys,
    number_type,
    shares_of,
)
from augury.engine.threads import map_in_threads
from augury.ir.row_pattern import BoundRowPattern, Order
from augury.jit.tier import Tier
from augury.runtime.memory import empty_array


@dataclass(frozen=True, slots=True)
class SortedTable:
    """The sort order of a table's rows: row numbers, or None if they are in order as they are, from row `first` on.

    Partition p is the sorted rows from `starts[p]` up to `starts[p + 1]`. `place` may hold the inverse of `order`: the
    place of each row in it, since scattering values is faster than gathering them.
    """

    table: pa.Table
    order: Numbers | None
    starts: Integers
    first: int = 0
    place: Numbers | None = None

    def __len__(self) -> int:
        return int(self.starts[-1])

    def rows(self, sorted_rows: Integers) -> Numbers:
        """The row numbers in the table of rows given by their place in the order."""
        return sorted_rows + self.first if self.order is None else self.order[sorted_rows]

    def sorted_numbers(self, column: pa.ChunkedArray, support: Tier) -> npt.NDArray[Any]:
        """64-bit numbers without nulls, brought into the order chunk by chunk; needs `place`."""
        assert self.place is not None
        dtype, at = column.type.to_pandas_dtype(), 0
        out = empty_array(len(column))
        for chunk in column.chunks:
            values = chunk.to_numpy().view(np.int64)
            support("scatter", values, self.place[at : at + len(values)], out)
            at += len(values)
        return out.view(dtype)

    def sorted(self, values: npt.NDArray[Any], support: Tier) -> npt.NDArray[Any]:
        """Values of the table's rows, brought into the order."""
        if self.order is None:
            return values[self.first : self.first + len(self)]
        if self.place is None or values.dtype.hasobject:
            return values.take(self.order)
        # Values of any type are single bytes or 8-byte words.
        whole = np.ascontiguousarray(values).view(np.int64 if values.itemsize == 8 else np.uint8)
        out = empty_array(len(whole), whole.dtype)
        support("scatter", whole, self.place, out)
        return out.view(values.dtype)

    def portions(self, rows: int) -> list[SortedTable]:
        """Cut into runs of whole partitions with at least this many rows each, except for the last one."""
        out, begin, starts = [], 0, self.starts
        while begin < len(starts) - 1:
            end = min(int(np.searchsorted(starts, starts[begin] + rows)), len(starts) - 1)
            low, high = int(starts[begin]), int(starts[end])
            order = None if self.order is None else self.order[low:high]
            out.append(SortedTable(self.table, order, starts[begin : end + 1] - low, self.first + low))
            begin = end
        return out

    def partition(self, number: int) -> pa.Table:
        """The rows of one partition, in order."""
        low, high = int(self.starts[number]), int(self.starts[number + 1])
        if self.order is None:
            return self.table.slice(self.first + low, high - low)
        return self.table.take(pa.array(self.order[low:high]))


def sort_table(bound: BoundRowPattern, table: pa.Table, support: Tier, threads: int = 1) -> SortedTable:
    """The order in which the rows of a table are searched."""
    keys = number_keys([table.column(c) for c in bound.partition_by], table.num_rows, threads, support)
    if keys is None:
        starts = np.array([0, table.num_rows] if table.num_rows else [0], np.int64)
        return SortedTable(table, _sorted(table, bound.order_by), starts)
    return sort_by_key(bound, table, keys, support, threads)


def sort_by_key(
    bound: BoundRowPattern, table: pa.Table, keys: NumberedKeys, support: Tier, threads: int = 1
) -> SortedTable:
    """The order in which rows are searched."""
    starts = np.zeros(keys.count + 1, np.int64)
    np.cumsum(keys.rows_by_key(), out=starts[1:])
    order, place = (None, None) if keys.ascend() else _grouped(keys, starts, support)
    in_order = _ascends_whole(table, bound.order_by, threads) or _is_sorted(table, bound.order_by, order, starts)
    if not in_order:
        rows = _sorted(table, bound.order_by)
        if rows is None:
            order, place = _grouped(keys, starts, support)
        else:
            found, _ = _grouped(counted_keys(keys.numbers()[rows], keys.count), starts, support)
            order, place = rows[found], None
    return SortedTable(table, order, starts, place=place)


def _grouped(keys: NumberedKeys, starts: Integers, support: Tier) -> tuple[Numbers, Numbers | None]:
    """Row numbers in a stable order by key, and the place of each row in it if that costs nothing more.

    Each share of the rows is placed by a thread of its own.
    """
    if support.plain:
        return np.argsort(keys.numbers(), kind="stable"), None
    dtype = number_type(len(keys))
    order, place = empty_array(len(keys), dtype), empty_array(len(keys), dtype)
    ends, begin = [], starts[:-1].astype(dtype)
    for share in keys.shares:
        ends.append(begin[share.keys])
        begin[share.keys] += share.counts.astype(dtype)
    firsts = np.cumsum([0, *(len(share.numbers) for share in keys.shares)]).tolist()

    def one(number: int) -> None:
        share, first = keys.shares[number], firsts[number]
        support("place_by_key", share.numbers, first, ends[number], order, place[first : firsts[number + 1]])

    for _ in map_in_threads(one, range(len(keys.shares)), max(len(keys.shares), 1)):
        pass
    return order, place


def _plain_values(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any] | None:
    """Numbers with the order of the column's values; None if it has nulls or NaN, or no cheap conversion."""
    type = column.type
    if column.null_count:
        return None
    if pa.types.is_timestamp(type) or pa.types.is_duration(type):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(type):
        column = column.cast(pa.int32())
    elif not (pa.types.is_integer(type) or pa.types.is_floating(type)):
        return None
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return None if values.dtype.kind == "f" and np.isnan(values).any() else values


def _ascends_whole(table: pa.Table, by: tuple[Order, ...], threads: int = 1) -> bool:
    """Whether all rows ascend by the only column of ORDER BY, as they do where they come as they happened.

    Then the rows of a key do as well, and need not be brought together to be compared.
    """
    if len(by) != 1 or by[0].descending or not table.num_rows:
        return False
    column = table.column(by[0].column)
    shares = shares_of(table.num_rows, threads)
    parts = [chunk for share in shares for chunk in column[share].chunks if len(chunk)]

    def ends_of(part: pa.Array) -> tuple[Any, Any] | None:
        values = _plain_values(part)
        return None if values is None or not ascends(values) else (values[0], values[-1])

    last = None
    for ends in map_in_threads(ends_of, parts, len(shares)):
        if ends is None or (last is not None and last > ends[0]):
            return False
        last = ends[1]
    return True


def _is_sorted(table: pa.Table, by: tuple[Order, ...], order: Numbers | None, starts: Integers) -> bool:
    """Whether each partition is already sorted by these columns."""
    if not by or not table.num_rows:
        return True
    tied: npt.NDArray[np.bool_] = np.ones(table.num_rows - 1, np.bool_)
    # Nothing is required between the last row of a partition and the first row of the next.
    between = starts[1:-1]
    tied[between[(between > 0) & (between < table.num_rows)] - 1] = False
    for item in by:
        values = _plain_values(table.column(item.column))
        if values is None:
            return False
        values = values if order is None else values.take(order)
        before, after = (values[1:], values[:-1]) if item.descending else (values[:-1], values[1:])
        if (tied & (before > after)).any():
            return False
        tied &= before == after
    return True


def _sorted(table: pa.Table, by: tuple[Order, ...]) -> Integers | None:
    """Row numbers in a stable order by these columns; None if the rows are sorted already.

    NaN is greater than every number.
    """
    if _ascends_whole(table, by) or _is_sorted(table, by, None, np.array([0, table.num_rows])):
        return None
    keys: dict[str, Any] = {}
    directions: list[tuple[str, str]] = []

    def add(column: Any, descending: bool) -> None:
        name = str(len(keys))
        keys[name] = column
        directions.append((name, "descending" if descending else "ascending"))

    for item in by:
        column = table.column(item.column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.null_count:
            add(pc.is_null(column), item.nulls_first)
        if pa.types.is_floating(column.type):
            add(pc.is_nan(column), item.descending)
        add(column, item.descending)
    add(pa.array(np.arange(table.num_rows)), False)
    found = pc.sort_indices(pa.table(keys), sort_keys=directions)
    return np.asarray(found).astype(np.int64)
