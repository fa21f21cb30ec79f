"""Numbers the keys of rows in the order of their first rows; null is a key like any other.

Integers of a small range and short strings are looked up by compiled functions, share by share of the rows on several
threads; Arrow encodes the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.threads import map_in_threads
from augury.jit.tier import Tier
from augury.runtime.memory import empty_array

Integers = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Numbers of keys or of rows, of 32 bits wherever those are enough."""

MIN_ROWS_TO_SHARE = 500_000
"""Rows from which on keys are numbered on several threads; fewer take less time than starting threads."""

MAX_SHORT_KEYS = 1 << 15
"""Distinct strings of a key that are numbered by their bytes; the hash table for them fits into the caches."""

MAX_RANGE_PER_ROW = 4
"""Largest range of an integer key per row, from the least to the greatest, for which a lookup array is used."""

COMPARED_ROWS = 1 << 16
"""Rows that `ascends` compares at a time: most columns that do not ascend are found out early."""

READ_BYTES = 16
"""Bytes that are read from the begin of a short string on, however long it is."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyShare:
    """Consecutive rows with numbers of their own for keys: number n stands for key `keys[n]`, and `counts[n]` rows."""

    numbers: Numbers
    keys: Integers
    counts: Integers


@dataclass(frozen=True, slots=True, eq=False)
class NumberedKeys:
    """The keys of rows, from 0 up to `count` in the order of their first rows, in shares that follow one another."""

    shares: tuple[KeyShare, ...]
    count: int

    def __len__(self) -> int:
        return sum(len(share.numbers) for share in self.shares)

    def numbers(self) -> Numbers:
        """The key of each row."""
        parts = [s.numbers if _counts_up(s.keys) else s.keys.take(s.numbers) for s in self.shares]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts).astype(number_type(len(self)), copy=False) if parts else np.zeros(0, np.int64)

    def rows_by_key(self) -> Integers:
        """How many rows each key has."""
        rows = np.zeros(self.count, np.int64)
        for share in self.shares:
            rows[share.keys] += share.counts
        return rows

    def ascend(self) -> bool:
        """Whether the rows of each key follow one another."""
        last = -1
        for share in self.shares:
            if len(share.numbers) and not (ascends(share.numbers) and ascends(share.keys) and share.keys[0] >= last):
                return False
            last = int(share.keys[share.numbers[-1]]) if len(share.numbers) else last
        return True


def number_type(size: int) -> type[np.signedinteger[Any]]:
    """The type for numbers below `size`."""
    return np.int32 if size < 2**31 else np.int64


def ascends(values: npt.NDArray[Any]) -> bool:
    """Whether no value is less than the one before it.

    >>> ascends(np.array([1, 2, 2])), ascends(np.array([2, 1]))
    (True, False)
    """
    for first in range(0, len(values) - 1, COMPARED_ROWS):
        part = values[first : first + COMPARED_ROWS + 1]
        if not (part[1:] >= part[:-1]).all():
            return False
    return True


def counted_keys(numbers: Numbers, count: int) -> NumberedKeys:
    """The keys of rows that are numbered already, below `count`.

    >>> counted_keys(np.array([0, 1, 0]), 2).rows_by_key().tolist()
    [2, 1]
    """
    return NumberedKeys((KeyShare(numbers, np.arange(count), np.bincount(numbers, minlength=count)),), count)


def number_keys(
    columns: Sequence[pa.ChunkedArray], rows: int, threads: int = 1, support: Tier | None = None
) -> NumberedKeys | None:
    """The keys of rows by the values of some columns; None without columns."""
    if not columns:
        return None
    keys = _numbered(columns[0], threads, support)
    for column in columns[1:]:
        other = _numbered(column, threads, support)
        combined = pa.array(keys.numbers().astype(np.int64) * other.count + other.numbers())
        keys = _numbered(pa.chunked_array([combined]), threads, support)
    return keys


def key_numbers(
    columns: Sequence[pa.ChunkedArray], rows: int, threads: int = 1, support: Tier | None = None
) -> Numbers | None:
    """The number of each row's key; None without columns.

    >>> key_numbers([pa.chunked_array([["b", "a", None, "a"]])], 4).tolist()
    [0, 1, 2, 1]
    """
    found = number_keys(columns, rows, threads, support)
    return None if found is None else found.numbers()


def _numbered(column: pa.ChunkedArray, threads: int, support: Tier | None) -> NumberedKeys:
    """The keys of rows by the values of a column."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if support is not None and not support.plain and len(column) and not column.null_count:
        found = _looked_up(column, support, threads)
        if found is not None:
            return found
    numbers = _encoded(column, threads)
    return counted_keys(numbers, int(numbers.max(initial=-1)) + 1)


def _encoded(column: pa.ChunkedArray, threads: int) -> Numbers:
    """The number of each value, by the dictionaries of Arrow."""
    if threads > 1 and len(column) >= MIN_ROWS_TO_SHARE and not column.null_count:
        parts = [column[share] for share in shares_of(len(column), threads)]
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
    return np.ascontiguousarray(encoded.indices.to_numpy(zero_copy_only=False))


def shares_of(rows: int, threads: int) -> list[slice]:
    """Consecutive ranges of rows: one per thread if there are many rows, else a single one."""
    size = rows if rows < MIN_ROWS_TO_SHARE else -(-rows // threads)
    return [slice(first, min(first + size, rows)) for first in range(0, rows, max(size, 1))]


def _counts_up(keys: Integers) -> bool:
    return len(keys) == 0 or bool(keys[-1] == len(keys) - 1 and (keys == np.arange(len(keys))).all())


def _looked_up(column: pa.ChunkedArray, support: Tier, threads: int) -> NumberedKeys | None:
    """The keys of integers of a small range, or of short strings, by fast lookup; None for other values."""
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return _of_integers(column, support, threads)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _of_strings(column, support, threads)
    return None


def _of_integers(column: pa.ChunkedArray, support: Tier, threads: int) -> NumberedKeys | None:
    bounds = pc.min_max(column)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    size = greatest - least + 1
    if size > MAX_RANGE_PER_ROW * len(column):
        return None
    values = column.cast(pa.int64()).to_numpy()

    # On one thread: a look-up array for each would cost more to make agree than the look-ups do.
    seen = np.full(size, -1, number_type(len(column)))
    count, out = 0, []
    for share in shares_of(len(column), threads if size * threads <= len(column) else 1):
        numbers, counts = empty_array(share.stop - share.start, seen.dtype), np.zeros(size, np.int64)
        count = support("number_integers", values[share], least, seen, count, numbers, counts)
        out.append(KeyShare(numbers, np.arange(count), counts[:count]))
    return NumberedKeys(tuple(out), count)


def _of_strings(column: pa.ChunkedArray, support: Tier, threads: int) -> NumberedKeys | None:
    shares = shares_of(len(column), threads)
    known: dict[tuple[int, ...], int] = {}
    out: list[KeyShare] = []
    for found in map_in_threads(lambda share: _spelled(column[share], support), shares, len(shares)):
        if found is None:
            return None
        numbers, spelled, counts = found
        keys = [known.setdefault(tuple(words), len(known)) for words in spelled.tolist()]
        out.append(KeyShare(numbers, np.array(keys, np.int64), counts))
    return NumberedKeys(tuple(out), len(known))


def _spelled(column: pa.ChunkedArray, support: Tier) -> tuple[Numbers, Integers, Integers] | None:
    """Number short strings by first appearance: the numbers, what each stands for, and its rows.

    None if a string is too long or there are too many.
    """
    table, spelled = np.full(2 * MAX_SHORT_KEYS, -1, np.int32), np.empty((MAX_SHORT_KEYS, 3), np.int64)
    numbers, counts = empty_array(len(column), number_type(len(column))), np.zeros(MAX_SHORT_KEYS, np.int64)
    count = at = 0
    for chunk in column.chunks:
        for begins, words in _readable(chunk) if len(chunk) else ():
            end = at + len(begins) - 1
            count = support("number_words", begins, words, table, spelled, count, numbers[at:end], counts)
            if count < 0:
                return None
            at = end
    return numbers, spelled[:count], counts[:count]


def _readable(chunk: pa.Array) -> list[tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
    """Strings as offsets and the 8 bytes from each byte on; those near the end of the buffer are a padded copy."""
    _, offsets, data = chunk.buffers()
    width: Any = np.int32 if pa.types.is_string(chunk.type) else np.int64
    begins = np.frombuffer(offsets, width, len(chunk) + 1, chunk.offset * np.dtype(width).itemsize)
    size = 0 if data is None else data.size
    direct = int(np.searchsorted(begins[:-1], size - READ_BYTES, side="right"))
    out = []
    if direct:
        out.append((begins[: direct + 1], _words(data, size)))
    if direct < len(chunk):
        low, high = int(begins[direct]), int(begins[-1])
        padded = np.zeros(high - low + READ_BYTES, np.uint8)
        if high > low:
            padded[: high - low] = np.frombuffer(data, np.uint8, high - low, low)
        moved = (begins[direct:] - low).astype(width)
        moved.flags.writeable = False
        out.append((moved, _words(padded.tobytes(), len(padded))))
    return out


def _words(data: Any, size: int) -> npt.NDArray[np.int64]:
    """The 8 bytes from each byte of a buffer on, as integers."""
    return np.ndarray((size - 7,), np.int64, data, strides=(1,))
