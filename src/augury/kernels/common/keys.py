"""Numbers for the values of a key, by first appearance: partitions, and the values that an index looks up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.jit.tier import Tier
from augury.native.cells import CELLS, KeyCell
from augury.runtime.batch import Integers
from augury.runtime.checks import MAX_COUNT, ArraySpec, read_arrays, require
from augury.runtime.columns import ColumnSpec
from augury.runtime.events import EventStore
from augury.runtime.memory import empty_array, zero_array
from augury.schema import Kind

FIRST_KEYS = 64
"""For how many keys there is room at first; a power of two."""

NO_PLACES = np.empty(0, dtype=np.int64)


class KeyNumbers:
    """A hash table from keys of `width` 64-bit words to their numbers, with how often each has been seen."""

    def __init__(self, width: int, *, coded: bool = False) -> None:
        """`coded` says that the only word of each key is the code of a string."""
        self.width, self.coded = width, coded
        self.nums = np.zeros(CELLS, dtype=np.int64)
        self.table = np.full((2 * FIRST_KEYS, 2), -1, dtype=np.int64)
        self.keys = np.zeros((FIRST_KEYS, max(1, width)), dtype=np.int64)
        self.counts = np.zeros(FIRST_KEYS, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.nums[KeyCell.KEYS])

    def number(
        self, support: Tier, words: Integers, null: npt.NDArray[np.uint8], numbers: Integers, places: Integers
    ) -> None:
        """Write the number of each event's key, -1 for null, and unless `places` is empty how many had it before."""
        at, n = 0, words.shape[1]
        if self.width == 0:
            self.number_all(numbers, places)
            return
        while at < n:
            arrays = (self.nums, self.table, self.keys, self.counts, numbers, places)
            at = support("number", at, n, words, null, *arrays)
            if at < n:
                self._grow(2 * len(self))
                support("index_keys", self.nums, self.keys, self.table)

    def number_all(self, numbers: Integers, places: Integers) -> None:
        """The same where there is no key: all events are in the one partition."""
        numbers[:] = 0
        self.nums[KeyCell.KEYS] = 1
        if len(places):
            places[:] = np.arange(self.counts[0], self.counts[0] + len(places))
            self.counts[0] += len(places)

    def _grow(self, least: int) -> None:
        """Enlarge the table to at least `least` keys; it is left empty."""
        count = len(self.counts)
        while count < least:
            count *= 2
        keys, counts = np.zeros((count, self.keys.shape[1]), dtype=np.int64), np.zeros(count, dtype=np.int64)
        keys[: len(self.keys)], counts[: len(self.counts)] = self.keys, self.counts
        self.keys, self.counts = keys, counts
        self.table = np.full((2 * count, 2), -1, dtype=np.int64)

    def words(self, k: int) -> Integers:
        """The k-th word of every key."""
        return self.keys[: len(self), k]

    def take(self, support: Tier, kept: Integers) -> KeyNumbers:
        """Keep only the keys of the numbers `kept`, numbered anew in that order."""
        fewer = KeyNumbers(self.width)
        fewer._fill(support, self.keys[kept], self.counts[kept])
        return fewer

    def recode(self, support: Tier, places: Sequence[int], codes: Integers) -> None:
        """Replace the words at these `places` of each key, codes of strings, by `codes` of them."""
        for k in places:
            self.words(k)[:] = codes[self.words(k)]
        if places:
            self.table[:] = -1
            support("index_keys", self.nums, self.keys, self.table)

    def _fill(self, support: Tier, keys: Integers, counts: Integers) -> None:
        """Take over keys with their counts, in the order of their numbers."""
        known = len(counts)
        self._grow(known)
        self.nums[KeyCell.KEYS] = known
        self.keys[:known], self.counts[:known] = keys, counts
        support("index_keys", self.nums, self.keys, self.table)

    def to_table(self) -> pa.Table:
        known = len(self)
        return pa.table(
            {"count": self.counts[:known], **{f"key_{k}": column for k, column in enumerate(self.keys[:known].T)}}
        )

    def restore(self, support: Tier, tables: Mapping[str, pa.Table], name: str = "partitions") -> None:
        """Take over what `to_table` wrote."""
        words = [f"key_{k}" for k in range(self.keys.shape[1])]
        counts = ArraySpec("count", low=0, below=MAX_COUNT)
        saved = read_arrays(tables, name, [counts, *(ArraySpec(word) for word in words)])
        known = len(saved["count"])
        keys = np.stack([saved[word] for word in words], axis=1)
        if self.width:
            require(len(np.unique(keys, axis=0)) == known, "a key has two numbers")
        else:
            require(known <= 1, "there are several keys of a query without any")
        self._fill(support, keys, saved["count"])

    def check_places(self, events: EventStore) -> None:
        """Refuse events whose places among those of their key do not ascend, or go beyond how many there were."""
        place, partition = events.view("place"), events.view("partition")
        if not len(place):
            return
        order = np.argsort(partition, kind="stable")
        order = order[partition[order] >= 0]
        place, partition = place[order], partition[order]
        again = partition[1:] == partition[:-1]
        require(place[1:][again] > place[:-1][again], "the events of a key are not counted one after the other")
        require(place < self.counts[partition], "a key has had fewer events than there are")


def key_words(
    arrays: Mapping[str, npt.NDArray[Any]], length: int, keys: Sequence[ColumnSpec]
) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """The columns of a key as 64-bit words that are equal iff the values are, and which events lack one."""
    words = empty_array((len(keys), length)) if keys else zero_array((1, length))
    null = zero_array(length, np.uint8)
    for k, spec in enumerate(keys):
        values = arrays.get(spec.name)
        match spec.kind:
            case Kind.FLOAT:
                assert values is not None
                null |= np.isnan(values)
                # Adding zero makes minus zero the same word as zero.
                words[k] = (values + 0.0).view(np.int64)
            case Kind.STRING:
                assert values is not None
                words[k] = values
                null |= values < 0
            case Kind.NULL | Kind.OTHER | Kind.LIST:
                words[k], null[:] = 0, 1
            case _:
                assert values is not None
                words[k] = values
                null |= arrays[f"{spec.name}_null"]
    return words, null
