"""Partitioning a stream by key: the key that all events of a match agree on, and the hash partition of an event.

Hashes are the same in every process, so that tasks on different machines agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.compiler import CompiledProgram
from augury.ir.predicate import Ref
from augury.ir.query import BoundQuery
from augury.runtime.dictionary import codes_of, distinct
from augury.runtime.positions import one_array

MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash: odd and without a pattern in its bits, so that close numbers end up far apart."""

HALF_WORD_BITS = np.uint64(32)


def shared_key(program: CompiledProgram) -> tuple[str, ...]:
    """The columns on which all events of a match agree, for every query of the program.

    Derived events must keep the key, or a later query would look for them in another partition.
    """
    return tuple(
        name
        for name in program.queries[0].rewritten.key
        if all(name in q.rewritten.key and (q is program.last or _carries(q.bound, name)) for q in program.queries)
    )


def _carries(query: BoundQuery, name: str) -> bool:
    """Whether derived events have the same value in this column as the events they are made of."""
    return any(
        item.name == name and isinstance(item.expr, Ref) and item.expr.default is None and item.expr.column == name
        for item in query.returns
    )


def key_shares(events: pa.Table, key: Sequence[str], shares: int, *, nested: bool = False) -> npt.NDArray[np.int32]:
    """The share of the keys (hash partition) of each event, a number below `shares`; equal keys have the same.

    `nested` shares split one share further: they use other bits of the same hash, so that none stays empty.

    >>> key_shares(pa.table({"k": ["a", "b", "a"]}), ["k"], 8).tolist()
    [5, 3, 5]
    """
    if len(key) == 1 and pa.types.is_dictionary(events.schema.field(key[0]).type):
        # Hash each key of the dictionary once: there are fewer than events.
        column = one_array(events[key[0]])
        each = key_shares(pa.table({key[0]: column.dictionary}), key, shares, nested=nested)
        return np.append(each, np.int32(0)).take(codes_of(column), mode="wrap")
    hashes = key_hashes(events, key)
    if nested:
        hashes = (hashes * MIX) >> HALF_WORD_BITS
    return (hashes % np.uint64(shares)).astype(np.int32)


def key_hashes(events: pa.Table, key: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash for each event, equal for equal keys."""
    hashes = np.zeros(events.num_rows, dtype=np.uint64)
    for name in key:
        hashes = _mixed(hashes, _words(one_array(events[name])))
    return hashes


def mixed(hashes: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Hashes of keys extended by one more number each."""
    return _mixed(hashes.view(np.uint64), numbers.view(np.uint64)).view(np.int64)


def _mixed(hashes: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    together = (hashes ^ words) * MIX
    return together ^ (together >> HALF_WORD_BITS)


def _words(column: pa.Array) -> npt.NDArray[np.uint64]:
    """A 64-bit word for each value, equal for equal values; nulls, which equal nothing, may have any."""
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
