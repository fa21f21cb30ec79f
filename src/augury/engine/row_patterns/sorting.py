"""Sorts the rows of a table by key, and within a key by ORDER BY; null is a key like any other.

Keys come in the order of their first rows. Rows are grouped by a counting sort, which is stable, and sorted by ORDER BY
only if they are not in that order already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.threads import map_in_threads
from augury.ir.row_pattern import BoundRowPattern, Order
from augury.jit.tier import Tier

Integers = npt.NDArray[np.int64]

MIN_ROWS_TO_SHARE = 500_000
"""Rows from which on keys are numbered on several threads; fewer take less time than starting threads."""

MAX_SHORT_KEYS = 1 << 15
"""Distinct strings of a key that are numbered by their bytes; the hash table for them fits into the caches."""

MAX_RANGE_PER_ROW = 4
"""Largest range of an integer key per row, from the least to the greatest, for which a lookup array is used."""


@dataclass(frozen=True, slots=True)
class SortedTable:
    """The sort order of a table's rows: row numbers, or None if they are in order as they are, from row `first` on.

    Partition p is the sorted rows from `starts[p]` up to `starts[p + 1]`. `place` may hold the inverse of `order`: the
    place of each row in it, since scattering values is faster than gathering them.
    """

    table: pa.Table
    order: Integers | None
    starts: Integers
    first: int = 0
    place: Integers | None = None

    def __len__(self) -> int:
        return int(self.starts[-1])

    def rows(self, sorted_rows: Integers) -> Integers:
        """The row numbers in the table of rows given by their place in the order."""
        return sorted_rows + self.first if self.order is None else self.order[sorted_rows]

    def sorted(self, values: npt.NDArray[Any], support: Tier) -> npt.NDArray[Any]:
        """Values of the table's rows, brought into the order."""
        if self.order is None:
            return values[self.first : self.first + len(self)]
        if self.place is None or values.dtype.hasobject:
            return values.take(self.order)
        # Values of any type are single bytes or 8-byte words.
        whole = np.ascontiguousarray(values).view(np.int64 if values.itemsize == 8 else np.uint8)
        out = np.empty_like(whole)
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
    found = key_numbers([table.column(c) for c in bound.partition_by], table.num_rows, threads, support)
    if found is None:
        starts = np.array([0, table.num_rows] if table.num_rows else [0], np.int64)
        return SortedTable(table, _sorted(table, bound.order_by), starts)
    return sort_by_key(bound, table, found, int(found.max()) + 1 if len(found) else 0, support, threads)


def sort_by_key(
    bound: BoundRowPattern, table: pa.Table, keys: Integers, count: int, support: Tier, threads: int = 1
) -> SortedTable:
    """The order in which rows are searched; `keys` are the numbers of their keys, of which there are `count`."""
    shares = _shares(len(keys), threads if count * threads <= len(keys) else 1)
    counts = list(map_in_threads(lambda share: np.bincount(keys[share], minlength=count), shares, threads))
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(sum(counts, np.zeros(count, np.int64)), out=starts[1:])

    def grouped(keys: Integers, counts: Sequence[Integers]) -> tuple[Integers, Integers | None]:
        return _grouped(keys, starts, shares, counts, support)

    order, place = (None, None) if _ascends(keys) else grouped(keys, counts)
    if not _is_sorted(table, bound.order_by, order, starts):
        rows = _sorted(table, bound.order_by)
        if rows is None:
            order, place = grouped(keys, counts)
        else:
            keys = keys[rows]
            counts = [np.bincount(keys[share], minlength=count) for share in shares]
            order, place = rows[grouped(keys, counts)[0]], None
    return SortedTable(table, order, starts, place=place)


def _shares(rows: int, threads: int) -> list[slice]:
    """Consecutive ranges of rows: one per thread if there are many rows, else a single one."""
    size = rows if rows < MIN_ROWS_TO_SHARE else -(-rows // threads)
    return [slice(first, min(first + size, rows)) for first in range(0, rows, max(size, 1))]


def _grouped(
    keys: Integers, starts: Integers, shares: Sequence[slice], counts: Sequence[Integers], support: Tier
) -> tuple[Integers, Integers | None]:
    """Row numbers in a stable order by key, and the place of each row in it if that costs nothing more.

    Each share of the rows is placed by a thread of its own; `counts` are its rows per key.
    """
    if support.plain:
        return np.argsort(keys, kind="stable"), None
    order, place = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    ends, begin = [], starts[:-1]
    for counted in counts:
        ends.append(begin.copy())
        begin = begin + counted

    def one(number: int) -> None:
        share = shares[number]
        support("place_by_key", keys[share], share.start, ends[number], order, place[share])

    for _ in map_in_threads(one, range(len(shares)), max(len(shares), 1)):
        pass
    return order, place


COMPARED_ROWS = 1 << 16
"""Rows that `_ascends` compares at a time: most columns that do not ascend are found out early."""


def _ascends(values: npt.NDArray[Any]) -> bool:
    for first in range(0, len(values) - 1, COMPARED_ROWS):
        part = values[first : first + COMPARED_ROWS + 1]
        if not (part[1:] >= part[:-1]).all():
            return False
    return True


def key_numbers(
    columns: Sequence[pa.ChunkedArray], rows: int, threads: int = 1, support: Tier | None = None
) -> Integers | None:
    """The number of each row's key; keys are numbered in the order of their first rows."""
    if not columns:
        return None
    keys = _numbers(columns[0], threads, support)
    for column in columns[1:]:
        other = _numbers(column, threads, support)
        combined = pa.array(keys * (int(other.max(initial=0)) + 1) + other)
        keys = _numbers(pa.chunked_array([combined]), threads, support)
    return keys


def _numbers(column: pa.ChunkedArray, threads: int, support: Tier | None) -> Integers:
    """A number for each value, equal for equal values and for nulls, from 0 on in the order of first appearance."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if support is not None and not support.plain and len(column) and not column.null_count:
        found = _looked_up(column, support, threads)
        if found is not None:
            return found
    if threads > 1 and len(column) >= MIN_ROWS_TO_SHARE and not column.null_count:
        size = -(-len(column) // threads)
        parts = [column.slice(first, size) for first in range(0, len(column), size)]
        shares = map_in_threads(lambda part: part.combine_chunks().dictionary_encode(), parts, threads)
        encoded = pa.chunked_array([c for s in shares for c in (s.chunks if isinstance(s, pa.ChunkedArray) else [s])])
    else:
        encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        if not encoded.num_chunks:
            return np.zeros(0, np.int64)
        encoded = encoded.chunk(0)
    return np.ascontiguousarray(encoded.indices.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _looked_up(column: pa.ChunkedArray, support: Tier, threads: int) -> Integers | None:
    """The numbers of integers of a small range, or of short strings, by fast lookup; None for other values."""
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        bounds = pc.min_max(column)
        least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
        if greatest - least >= MAX_RANGE_PER_ROW * len(column):
            return None
        values = column.cast(pa.int64()).to_numpy()
        numbers = np.empty(len(column), np.int64)
        support("number_integers", values, least, np.full(greatest - least + 1, -1, np.int64), numbers)
        return numbers
    return _of_strings(column, support, threads) if pa.types.is_string(column.type) else None


def _of_strings(column: pa.ChunkedArray, support: Tier, threads: int) -> Integers | None:
    """The numbers of short strings: threads number their shares of the rows, then the numbers are made to agree."""
    numbers = np.empty(len(column), np.int64)
    shares = _shares(len(column), threads)
    spelled = list(
        map_in_threads(lambda s: _spelled(column[s.start : s.stop], support, numbers[s]), shares, max(len(shares), 1))
    )
    known: dict[tuple[int, ...], int] = {}
    renumbered: list[Integers] = []
    for words in spelled:
        if words is None:
            return None
        renumbered.append(np.array([known.setdefault(tuple(w), len(known)) for w in words.tolist()], np.int64))

    def renumber(k: int) -> None:
        if (renumbered[k] != np.arange(len(renumbered[k]))).any():
            numbers[shares[k]] = renumbered[k].take(numbers[shares[k]])

    for _ in map_in_threads(renumber, range(len(shares)), max(len(shares), 1)):
        pass
    return numbers


def _spelled(column: pa.ChunkedArray, support: Tier, numbers: Integers) -> Integers | None:
    """Number short strings by first appearance; the bytes each number stands for, or None if too long or too many."""
    table, spelled = np.full(2 * MAX_SHORT_KEYS, -1, np.int64), np.empty((MAX_SHORT_KEYS, 3), np.int64)
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        return None
    _, offsets, data = array.buffers()
    begins = np.frombuffer(offsets, np.int32, len(array) + 1, 4 * array.offset)
    # A string is read as two adjacent words, so there is one word of padding after the last one.
    low, high = int(begins[0]), int(begins[-1])
    words = np.zeros((high - low) // 8 + 2, np.int64)
    if data is not None:
        words.view(np.uint8)[: high - low] = np.frombuffer(data, np.uint8, high - low, low)
    count = support("number_words", begins - low, words, table, spelled, numbers)
    return None if count < 0 else spelled[:count]


def _plain_values(column: pa.ChunkedArray) -> npt.NDArray[Any] | None:
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
    values: npt.NDArray[Any] = column.to_numpy()
    return None if values.dtype.kind == "f" and np.isnan(values).any() else values


def _is_sorted(table: pa.Table, by: tuple[Order, ...], order: Integers | None, starts: Integers) -> bool:
    """Whether each partition is already sorted by these columns."""
    if not by or not table.num_rows:
        return True
    tied = np.ones(table.num_rows - 1, np.bool_)
    # Nothing is required between the last row of a partition and the first row of the next.
    between = starts[1:-1]
    tied[between[(between > 0) & (between < table.num_rows)] - 1] = False
    for item in by:
        values = _plain_values(table.column(item.column))
        if values is None:
            return False
        if len(by) == 1 and not item.descending and _ascends(values):
            # Rows of one key keep their order, and need not be brought together to be compared.
            return True
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
    if _is_sorted(table, by, None, np.array([0, table.num_rows])):
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
