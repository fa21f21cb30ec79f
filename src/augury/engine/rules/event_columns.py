"""Columns of events in the forms in which an index over rules looks them up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.cut.by_key import key_hashes, mixed
from augury.runtime.batch import Integers
from augury.runtime.dictionary import codes_of

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

MIN_EVENTS_BY_VALUE = 1 << 12
"""Events from which on numbers are looked up once for each distinct one, and places by key are tabulated."""

MAX_PLACES = 1 << 23
"""Cells of a table of places by key; with more keys places are searched for."""


@dataclass(slots=True, eq=False)
class EventColumns:
    """Columns of events in the form in which an index looks them up, converted on demand."""

    table: pa.Table
    time: Integers
    type: str | None
    _numbers: dict[str, Floats] = field(default_factory=dict)
    _codes: dict[tuple[str, tuple[str, ...]], Integers] = field(default_factory=dict)
    _keys: dict[tuple[str, ...], Integers] = field(default_factory=dict)
    _distinct: dict[str, tuple[Floats, Integers]] = field(default_factory=dict)
    _by_key: dict[tuple[tuple[str, ...], bool], EventsByKey] = field(default_factory=dict)
    _types: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.time)

    def numbers(self, name: str) -> Floats:
        """A column as floats, with NaN for null."""
        if name not in self._numbers:
            column = self.table[name].cast(pa.float64(), safe=False)
            self._numbers[name] = column.to_numpy()
        return self._numbers[name]

    def codes(self, name: str, texts: tuple[str, ...]) -> Integers:
        """The position of each string of a column in `texts`, -1 where it is not among them."""
        if (name, texts) not in self._codes:
            column = self.table[name].combine_chunks()
            wanted = pa.array(texts, pa.string())
            if pa.types.is_dictionary(column.type):
                of_each = pc.index_in(column.dictionary.cast(pa.string()), value_set=wanted).fill_null(-1).to_numpy()
                # Null has the code -1, which takes the last place.
                found = np.append(of_each, -1).take(codes_of(column), mode="wrap")
            else:
                found = pc.index_in(column.cast(pa.string()), value_set=wanted).fill_null(-1).to_numpy()
            self._codes[name, texts] = found.astype(np.int64)
        return self._codes[name, texts]

    def keys(self, names: tuple[str, ...]) -> Integers:
        """A hash of these columns for each event; zeros without columns."""
        if names not in self._keys:
            self._keys[names] = key_hashes(self.table, names).view(np.int64) if names else np.zeros(len(self), np.int64)
        return self._keys[names]

    def looked_up(self, name: str, find: Callable[[Floats], Integers]) -> Integers:
        """The result of `find` for each number of a column; of many numbers only distinct ones are looked up."""
        if len(self) < MIN_EVENTS_BY_VALUE:
            return find(self.numbers(name))
        if name not in self._distinct:
            distinct, places = np.unique(self.numbers(name), return_inverse=True)
            self._distinct[name] = distinct, places.reshape(-1).astype(np.int32)
        distinct, places = self._distinct[name]
        return find(distinct)[places]

    @property
    def types(self) -> tuple[str, ...]:
        """All types that the events may have, each once."""
        if self._types is None:
            column = self.table[str(self.type)].combine_chunks()
            values = column.dictionary if pa.types.is_dictionary(column.type) else column
            self._types = tuple(pc.unique(values.cast(pa.string())).drop_null().to_pylist())
        return self._types

    def by_key(self, names: tuple[str, ...], *, typed: bool) -> EventsByKey:
        """The events by their key, or by their key and type."""
        if (names, typed) not in self._by_key:
            keys = self.keys(names)
            if typed:
                keys = mixed(keys, self.codes(str(self.type), self.types))
            self._by_key[names, typed] = EventsByKey.of(keys)
        return self._by_key[names, typed]


@dataclass(frozen=True, slots=True, eq=False)
class EventsByKey:
    """Events by their key: those of the k-th of the `distinct` keys are at positions `by_key[begins[k]:begins[k + 1]]`.

    `table` has for each key and each position the place in `by_key` from which on its events are not before that
    position; None where these are searched for in `searched`.
    """

    by_key: Integers
    distinct: Integers
    searched: Integers
    table: npt.NDArray[np.int32] | None

    @classmethod
    def of(cls, keys: Integers) -> EventsByKey:
        """The events that have these keys."""
        count = len(keys)
        by_key = np.argsort(keys, kind="stable")
        new = first_of_each(keys[by_key])
        distinct = keys[by_key][new]
        numbers = np.cumsum(new) - 1
        table = None
        if count >= MIN_EVENTS_BY_VALUE and len(distinct) * (count + 1) <= MAX_PLACES:
            table = np.zeros((len(distinct), count + 1), dtype=np.int32)
            table[numbers, by_key + 1] = 1
            table[:, 0] = np.flatnonzero(new)
            np.cumsum(table, axis=1, out=table)
        return cls(by_key, distinct, numbers * (count + 1) + by_key, table)

    def find(self, wanted: Integers) -> tuple[Integers, Mask]:
        """The number of each wanted key, and whether there is such a key."""
        if not len(self.distinct):
            return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
        there = np.minimum(np.searchsorted(self.distinct, wanted), len(self.distinct) - 1)
        return there, self.distinct[there] == wanted

    def places(self, key: Integers, position: Integers) -> Integers:
        """The place in `by_key` from which on the events of a key, by its number, are not before a position."""
        if self.table is not None:
            return self.table[key, position].astype(np.int64)
        return np.searchsorted(self.searched, key * (len(self.by_key) + 1) + position)


def first_of_each(ascending: Integers) -> Mask:
    """A mask of the numbers that differ from the one before them."""
    first = np.ones(len(ascending), dtype=bool)
    first[1:] = ascending[1:] != ascending[:-1]
    return first
