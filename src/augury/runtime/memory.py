"""Large arrays, in memory that is kept for the next ones.

When an array of more than 128 KB is dropped, the C library gives its memory back to the system. Each page of the next
one is a fault then, of one to three microseconds: for the arrays of a call, that is longer than its kernel takes. The
pool that Arrow reads files into keeps its memory for some milliseconds, so larger arrays are taken from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

POOLED_BYTES = 1 << 17
"""Size from which on an array is taken from the pool of Arrow."""

ASCENDING_BLOCK = 1 << 12
"""Numbers in a row of `ascending`, which are written as the sum of a row and a column."""


def empty_array(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """A new array that holds anything.

    >>> empty_array((2, 3)).shape, empty_array(1 << 20, np.uint8).flags.writeable
    ((2, 3), True)
    """
    kind = np.dtype(dtype)
    size = prod(shape) if isinstance(shape, tuple) else shape
    if size * kind.itemsize < POOLED_BYTES:
        return np.empty(shape, kind)
    return np.frombuffer(pa.allocate_buffer(size * kind.itemsize), kind).reshape(shape)


def zero_array(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """A new array of zeros.

    >>> int(zero_array(1 << 20).sum())
    0
    """
    array = empty_array(shape, dtype)
    array[...] = 0
    return array


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One-dimensional arrays of one type, one after the other.

    >>> joined([np.array([1]), np.array([2, 3])]).tolist()
    [1, 2, 3]
    """
    return np.concatenate(parts, out=empty_array(sum(map(len, parts)), parts[0].dtype))


def ascending(first: int, count: int) -> npt.NDArray[np.int64]:
    """The `count` numbers from `first` on.

    >>> ascending(5, 3).tolist(), ascending(5, 10_000).tolist() == list(range(5, 10_005))
    ([5, 6, 7], True)
    """
    if count < 2 * ASCENDING_BLOCK:
        return np.arange(first, first + count)
    blocks = -(-count // ASCENDING_BLOCK)
    array = empty_array((blocks, ASCENDING_BLOCK))
    np.add(np.arange(first, first + count, ASCENDING_BLOCK)[:, None], np.arange(ASCENDING_BLOCK), out=array)
    return array.reshape(-1)[:count]
