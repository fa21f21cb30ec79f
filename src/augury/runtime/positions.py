"""Where each event stands in the stream: its rank in the order, its partition, its place in the partition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.ir.predicate import Value
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.dictionary import Distinct, Numbering, distinct, spread
from augury.runtime.values import to_values
from augury.schema import EventSchema

LastKey: TypeAlias = "tuple[int, tuple[Value, ...]]"
"""The rank and the order key of the last event so far."""

Key: TypeAlias = "tuple[int, ...]"
"""The values of the partition attributes, each as one 64-bit word."""

PartitionIndex: TypeAlias = "Numbering[Key]"
"""The partitions of a stream, numbered by the first event of each."""


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece, without a copy when it is in one piece already."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type):
        # All pieces together may be longer than 32-bit offsets reach.
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def order_ranks(batch: EventBatch, schema: EventSchema, last: LastKey | None) -> tuple[Integers, LastKey | None]:
    """A number for each event of a sorted batch that orders it among all events; concurrent ones share theirs.

    The host has made sure that the columns of the order hold no nulls.
    """
    size = len(batch)
    if not size:
        return np.empty(0, dtype=np.int64), last
    columns = [one_array(batch.table[name]) for name in schema.order_by[1:]]
    advances = np.empty(size, dtype=np.int64)
    np.not_equal(batch.time[1:], batch.time[:-1], out=advances[1:], casting="unsafe")
    for column in columns:
        differs = pc.not_equal(column.slice(1), column.slice(0, size - 1))
        advances[1:] |= differs.to_numpy(zero_copy_only=False)
    advances[0] = 0 if last is None else last[0] + (last[1] != _key(batch, columns, 0))
    ranks = np.cumsum(advances)
    return ranks, (int(ranks[-1]), _key(batch, columns, size - 1))


def _key(batch: EventBatch, columns: Sequence[pa.Array], i: int) -> tuple[Value, ...]:
    return (int(batch.time[i]), *(to_values(column.slice(i, 1))[0] for column in columns))


def words(values: Integers, null: npt.NDArray[np.uint8]) -> Distinct[int]:
    """The distinct values of an integer column with its null mask."""
    return distinct(pa.array(values, mask=null.view(np.bool_)) if null.any() else pa.array(values))


def float_words(values: npt.NDArray[np.float64]) -> Distinct[int]:
    """The distinct values of a float column by their bits, where -0.0 is 0.0 and NaN is null.

    >>> float_words(np.array([0.0, -0.0, np.nan])).positions.tolist()
    [0, 0, -1]
    """
    # Adding zero turns -0.0 into 0.0 and changes no other number.
    return words((values + 0.0).view(np.int64), np.isnan(values).view(np.uint8))


def partition_ids(columns: Sequence[Distinct[int]], index: PartitionIndex) -> tuple[Integers, PartitionIndex]:
    """The partition of each event, -1 when one of its attributes is null.

    Python touches only the distinct keys of the batch.

    >>> symbol = words(np.array([7, 9, 7]), np.zeros(3, np.uint8))
    >>> partition_ids([symbol], Numbering.of([(9,)]))[0].tolist()
    [1, 0, 1]
    """
    singles: list[Distinct[Key]] = [Distinct(column.positions, [(key,) for key in column.keys]) for column in columns]
    keys = reduce(_pairs, singles)
    numbers, index = index.number(keys.keys)
    return spread(Distinct(keys.positions, numbers)), index


def _pairs(left: Distinct[Key], right: Distinct[Key]) -> Distinct[Key]:
    """The distinct pairs of two columns."""
    width = len(right.keys)
    # There are no more distinct values than events, so a pair fits 64 bits.
    pairs = left.positions.astype(np.int64) * width + right.positions
    null = (left.positions < 0) | (right.positions < 0)
    found = words(pairs, null.view(np.uint8))
    return Distinct(found.positions, [left.keys[pair // width] + right.keys[pair % width] for pair in found.keys])


def places(partitions: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """How many events of the same partition came before each event, and the counts after the batch.

    `counts[p + 1]` is the number of events of partition p so far, `counts[0]` of those in no partition (-1), which are
    counted together. The counts are copied, so a batch costs time in the number of partitions too.

    >>> [a.tolist() for a in places(np.array([0, 1, 0, -1]), np.array([0, 5]))]
    [[5, 0, 6, 0], [1, 7, 1]]
    """
    groups = partitions + 1
    sizes = np.bincount(groups, minlength=len(counts))
    before = np.zeros(len(sizes), dtype=np.int64)
    before[: len(counts)] = counts
    # NumPy sorts 16-bit numbers by radix, several times faster.
    order = np.argsort(groups.astype(np.int16) if len(sizes) < 2**15 else groups, kind="stable")
    result = np.empty(len(groups), dtype=np.int64)
    result[order] = np.arange(len(groups))
    # Sorted by partition, the events of one start where those of the partitions before it end.
    after = before + sizes
    result += (after - np.cumsum(sizes))[groups]
    return result, after
