"""Which share of the keys an event belongs to: the same in every task, whatever process works it out."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.runtime.dictionary import codes_of, distinct
from augury.runtime.positions import one_array

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern in its bits: multiplied by it, numbers that are close are far apart."""

HALF = np.uint64(32)


def shares_of(events: pa.Table, key: Sequence[str], shares: int, *, within: bool = False) -> npt.NDArray[np.int32]:
    """The share of each event; events with equal keys are in the same one.

    Shares `within` are those of a share, whatever number of them there were: of other bits of the same numbers.

    >>> shares_of(pa.table({"k": ["a", "b", "a"]}), ["k"], 8).tolist()
    [5, 3, 5]
    """
    if len(key) == 1 and pa.types.is_dictionary(events.schema.field(key[0]).type):
        # The keys of the dictionary are fewer than the events.
        column = one_array(events[key[0]])
        each = shares_of(pa.table({key[0]: column.dictionary}), key, shares, within=within)
        return np.append(each, np.int32(0)).take(codes_of(column), mode="wrap")
    mixed = np.zeros(events.num_rows, dtype=np.uint64)
    for name in key:
        mixed = (mixed ^ _words(one_array(events[name]))) * MIX
        mixed ^= mixed >> HALF
    if within:
        mixed = (mixed * MIX) >> HALF
    return (mixed % np.uint64(shares)).astype(np.int32)


def _words(column: pa.Array) -> npt.NDArray[np.uint64]:
    """Numbers that are equal where values are; nulls, which agree with nothing, have any."""
    if pa.types.is_dictionary(column.type):
        return np.append(_words(column.dictionary), np.uint64(0)).take(codes_of(column), mode="wrap")
    if pa.types.is_floating(column.type):
        # Adding zero makes minus zero the same word as zero.
        values = np.asarray(column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)) + 0.0
        return values.view(np.uint64)
    if pa.types.is_integer(column.type):
        values = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(values).view(np.uint64)
    found = distinct(column)
    words = [crc32(repr(value).encode()) for value in found.keys]
    return np.array([*words, 0], dtype=np.uint64).take(found.positions, mode="wrap")
