"""Numbers values by first appearance, and encodes strings as the codes that kernels compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.nouns import per_batch
from augury.runtime.arrow_numbers import to_arrow, to_numpy
from augury.runtime.batch import Integers
from augury.runtime.checks import inconsistent, require
from augury.runtime.memory import empty_array

K = TypeVar("K", bound=Hashable)

Codes = npt.NDArray[np.int32]

_DICTIONARY_ENCODE = pc.get_function("dictionary_encode")
# Looked up once: the method of arrays does so at every call, which is slow for small batches.


SAVED = pa.schema([("string", pa.large_binary())])
"""Schema of saved strings: bytes, since a literal may hold a lone surrogate, which Arrow's strings cannot."""

MAX_PLAIN_EVENTS = 1 << 7
"""Events up to which a Python dict finds distinct values as fast as a call of Arrow."""

FIRST_SCAN_EVENTS = 1 << 12
"""Events that are searched for all keys first."""


class _Store(Generic[K]):
    """The storage that versions of one numbering share: append-only, by one version at a time."""

    __slots__ = ("keys", "lock", "numbers")

    def __init__(self, keys: Iterable[K]) -> None:
        self.keys = list(keys)
        self.numbers = {key: i for i, key in enumerate(self.keys)}
        self.lock = Lock()
        assert len(self.numbers) == len(self.keys), "a key is numbered twice"


@dataclass(frozen=True, slots=True, eq=False)
class Numbering(Generic[K]):
    """Keys numbered 0, 1, ... by first appearance; immutable, `number` returns a longer one.

    Growing costs only the new keys: versions share their storage, of which each sees its first `size` keys. A second,
    different continuation of a version copies the storage.

    >>> numbers, longer = Numbering.of(["a"]).number(["b", "a", "b"])
    >>> numbers, longer.keys
    ([1, 0, 1], ['a', 'b'])
    """

    _store: _Store[K]
    size: int

    @classmethod
    def of(cls, keys: Iterable[K]) -> Numbering[K]:
        """A numbering of distinct keys in their order."""
        store = _Store(keys)
        return cls(store, len(store.keys))

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return Numbering.of, (self.keys,)

    @property
    def keys(self) -> list[K]:
        return self._store.keys[: self.size]

    def find(self, keys: Sequence[K]) -> list[int] | None:
        """The numbers of `keys`; None if one of them has no number."""
        known = self._store.numbers.get
        numbers = [known(key, -1) for key in keys]
        # A later version may have added keys to the shared storage.
        return numbers if not numbers or (min(numbers) >= 0 and max(numbers) < self.size) else None

    def number(self, keys: Sequence[K]) -> tuple[list[int], Numbering[K]]:
        """The numbers of `keys`, and a numbering that has all of them."""
        numbers = self.find(keys)
        if numbers is not None:
            return numbers, self
        longer = self._with(keys)
        known = longer._store.numbers
        return [known[key] for key in keys], longer

    def _with(self, keys: Sequence[K]) -> Numbering[K]:
        store = self._store
        with store.lock:
            if len(store.keys) != self.size:
                store = _Store(store.keys[: self.size])
            for key in keys:
                if key not in store.numbers:
                    store.numbers[key] = len(store.keys)
                    store.keys.append(key)
            return Numbering(store, len(store.keys))


class _SortOrder:
    """The codes of a dictionary's first strings, sorted by string, and the rank of each code.

    Both are one attribute, so that threads never see one without the other.
    """

    __slots__ = ("known",)

    def __init__(self, known: tuple[list[int], Integers]) -> None:
        self.known = known


@dataclass(frozen=True, slots=True, eq=False)
class StringDictionary:
    """The strings of a stream, coded by first appearance after the literals of the plan, which are 0, 1, ...

    One dictionary serves all string columns of a kernel, so equal strings have equal codes wherever they stand.
    """

    numbering: Numbering[str]
    _sorted: _SortOrder = field(default_factory=lambda: _SortOrder(([], np.empty(0, dtype=np.int64))), repr=False)

    @classmethod
    def of(cls, literals: Iterable[str] = ()) -> StringDictionary:
        """The dictionary before any event: the distinct strings of the plan, in their order."""
        return cls(Numbering.of(literals))

    def __len__(self) -> int:
        return len(self.numbering)

    @property
    def strings(self) -> list[str]:
        return self.numbering.keys

    def code(self, strings: Sequence[str]) -> tuple[list[int], StringDictionary]:
        """The codes of strings, and a dictionary that has all of them."""
        codes, numbering = self.numbering.number(strings)
        if numbering is self.numbering:
            return codes, self
        # The longer dictionary inherits the sort order of its first strings.
        return codes, StringDictionary(numbering, _SortOrder(self._sorted.known))

    def to_table(self) -> pa.Table:
        """The strings in the order of their codes."""
        data = [s.encode("utf-8", "surrogatepass") for s in self.strings]
        return pa.table([pa.array(data, pa.large_binary())], schema=SAVED)

    @classmethod
    def from_table(cls, table: pa.Table | None, literals: Sequence[str] = ()) -> StringDictionary:
        """Read what `to_table` wrote, for a plan that names these `literals`."""
        if table is None or table.schema != SAVED or table["string"].null_count:
            raise inconsistent("it does not say what the codes of strings stand for")
        try:
            strings = [s.decode("utf-8", "surrogatepass") for s in table["string"].to_pylist()]
        except UnicodeDecodeError as e:
            raise inconsistent("one of its strings is no text") from e
        # The codes of literals are compiled into the kernel.
        require(strings[: len(literals)] == list(literals), "its strings are not those of this query")
        require(len(set(strings)) == len(strings), "a string has two codes")
        return cls.of(strings)


def ranks(dictionary: StringDictionary) -> Integers:
    """The rank of each code by the code-point order of the strings: `<` of ranks is `<` of strings.

    Cached per dictionary; a longer one merges its new strings into the order of the earlier ones.

    >>> ranks(StringDictionary.of(["b", "a", "c"])).tolist()
    [1, 0, 2]
    """
    codes, order = dictionary._sorted.known
    size = len(dictionary)
    if len(codes) < size:
        string = dictionary.strings.__getitem__
        # `sorted` merges the two runs, which are sorted already.
        codes = sorted([*codes, *sorted(range(len(codes), size), key=string)], key=string)
        order = np.empty(size, dtype=np.int64)
        order[codes] = np.arange(size, dtype=np.int64)
        dictionary._sorted.known = codes, order
    return order


@per_batch
class Distinct(Generic[K]):
    """A column by its distinct values, in the order of appearance: event i has `keys[positions[i]]`, null at -1."""

    positions: npt.NDArray[np.signedinteger[Any]]
    keys: list[K]

    def first_events(self) -> list[int]:
        """The first event that has each key."""
        first = np.full(len(self.keys) + 1, -1, dtype=np.int64)
        stop = 0
        # Most often the first events have all keys.
        while stop < len(self.positions) and (not stop or first[:-1].min(initial=0) < 0):
            stop = max(FIRST_SCAN_EVENTS, 4 * stop)
            some = self.positions[:stop]
            # Written backwards, so that the first event of each key remains; nulls go to the place after the keys.
            first[some[::-1]] = np.arange(len(some) - 1, -1, -1)
        events: list[int] = first[:-1].tolist()
        return events


def codable(type: pa.DataType) -> bool:
    """Whether `distinct` and the dictionary take columns of this type: strings, encoded or not."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def distinct(array: pa.Array) -> Distinct[Any]:
    """The distinct values of a column of strings or integers, which may be encoded already.

    >>> distinct(pa.array(["b", None, "a", "b"]))
    Distinct(positions=array([ 0, -1,  1,  0], dtype=int32), keys=['b', 'a'])
    """
    if pa.types.is_dictionary(array.type):
        return _in_use(array)
    if len(array) <= MAX_PLAIN_EVENTS:
        return _numbered(array.to_pylist())
    encoded = _DICTIONARY_ENCODE.call([array])
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    return Distinct(to_numpy(indices), encoded.dictionary.to_pylist())


class _Places(dict[Any, int]):
    """The place of each value by first appearance; null has -1."""

    def __missing__(self, value: Any) -> int:
        place = self[value] = len(self) - 1
        return place


def _numbered(values: list[Any]) -> Distinct[Any]:
    """The distinct values of a short column, without Arrow."""
    places = _Places({None: -1})
    positions = np.fromiter(map(places.__getitem__, values), np.int32, len(values))
    return Distinct(positions, [*places][1:])


def codes_of(array: pa.DictionaryArray) -> Codes:
    """The codes of a dictionary-encoded column, -1 for null."""
    indices = array.indices if pa.types.is_int32(array.indices.type) else array.indices.cast(pa.int32())
    codes: Codes = to_numpy(indices.fill_null(-1) if indices.null_count else indices)
    return codes


def _in_use(array: pa.DictionaryArray) -> Distinct[Any]:
    """The distinct values of an encoded column, whose dictionary may hold unused values, and values twice."""
    codes, size = codes_of(array), len(array.dictionary)
    present = np.flatnonzero(_occurring(codes, size))
    if len(present) == size:
        found = distinct(array.dictionary)
        if len(found.keys) == size:
            # No entry is null or a duplicate, so the codes are the positions.
            return Distinct(codes, found.keys)
    else:
        found = distinct(array.dictionary.take(to_arrow(present)))
    places = np.full(size + 1, -1, dtype=np.int32)
    places[present] = found.positions
    return Distinct(places.take(codes, mode="wrap"), found.keys)


def _occurring(codes: Codes, size: int) -> npt.NDArray[np.bool_]:
    """A mask of the codes below `size` that occur."""
    found = np.zeros(size, dtype=bool)
    # Most often the first events have all of them.
    start, stop = 0, max(FIRST_SCAN_EVENTS, 4 * size)
    while start < len(codes) and not found.all():
        # Code -1, which stands for null, is counted by the first place.
        found |= np.bincount(codes[start:stop] + 1, minlength=size + 1)[1:] > 0
        start, stop = stop, 4 * stop
    return found


def spread(column: Distinct[int], dtype: type[np.signedinteger[Any]] = np.int64) -> npt.NDArray[Any]:
    """The number of each event, from the numbers of distinct values; -1 for null.

    >>> spread(Distinct(np.array([1, -1, 0]), [7, 9])).tolist()
    [9, -1, 7]
    """
    # Position -1 is the last place of the table, which stands for null.
    numbers = empty_array(len(column.positions), dtype)
    return np.array([*column.keys, -1], dtype=dtype).take(column.positions, mode="wrap", out=numbers)


def encode_strings(
    columns: Sequence[Distinct[str]], dictionary: StringDictionary
) -> tuple[list[Distinct[int]], StringDictionary]:
    """Encode string columns of one batch; Python loops over distinct strings only.

    New strings get codes in the order of events, then columns, so that batch boundaries do not matter.

    >>> columns = [distinct(pa.array(["b", "d"])), distinct(pa.array(["a", "c"]))]
    >>> [c.keys for c in encode_strings(columns, StringDictionary.of(["a"]))[0]]
    [[1, 2], [0, 3]]
    """
    strings = [string for column in columns for string in column.keys]
    codes = dictionary.numbering.find(strings)
    if codes is None:
        events = [event for column in columns for event in column.first_events()]
        # The sort is stable: strings that appear first in the same event stay in the order of the columns.
        _, dictionary = dictionary.code([strings[i] for i in sorted(range(len(strings)), key=events.__getitem__)])
        codes, dictionary = dictionary.code(strings)
    encoded, start = [], 0
    for column in columns:
        end = start + len(column.keys)
        encoded.append(Distinct(column.positions, codes[start:end]))
        start = end
    return encoded, dictionary
