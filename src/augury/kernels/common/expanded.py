"""Matches by their events and the components that these are bound to, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from augury.runtime.batch import Integers

_ONE_ZERO, _NO_NUMBERS = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
_ONE_ZERO.setflags(write=False)


class Expanded:
    """Matches by their events: those of match m are `events[offsets[m]:offsets[m + 1]]`, bound to `codes`.

    If all are `alike`, each binds one event to every code from 0 to `size` - 1, in that order; else `size` is 0. Events
    are `in_time` order, unless matches that are alike bind theirs in another.

    >>> found = Expanded.alike(2, np.array([3, 5, 4, 7]))
    >>> found.offsets.tolist(), found.codes.tolist(), found.first.tolist(), found.last.tolist()
    ([0, 2, 4], [0, 1, 0, 1], [3, 4], [5, 7])
    >>> Expanded.alike(2, np.array([5, 3]), in_time=False).first.tolist()
    [3]
    """

    __slots__ = ("_codes", "_offsets", "events", "in_time", "size")

    def __init__(self, offsets: Integers, events: Integers, codes: Integers) -> None:
        self.events, self.size, self.in_time = events, 0, True
        self._offsets: Integers | None = offsets
        self._codes: Integers | None = codes

    @classmethod
    def none(cls) -> Expanded:
        return cls(_ONE_ZERO, _NO_NUMBERS, _NO_NUMBERS)

    @classmethod
    def alike(cls, size: int, events: Integers, *, in_time: bool = True) -> Expanded:
        """Matches of `size` events each; their offsets and codes are not made before somebody asks for them."""
        found = cls.__new__(cls)
        found.events, found.size, found.in_time, found._offsets, found._codes = events, size, in_time, None, None
        return found

    @property
    def offsets(self) -> Integers:
        if self._offsets is None:
            self._offsets = np.arange(0, len(self.events) + 1, self.size)
        return self._offsets

    @property
    def codes(self) -> Integers:
        if self._codes is None:
            self._codes = np.tile(np.arange(self.size), len(self))
        return self._codes

    @property
    def first(self) -> Integers:
        """The first event of each match."""
        if not self.in_time:
            first: Integers = self.events.reshape(-1, self.size).min(axis=1)
            return first
        return self.events[:: self.size] if self.size else self.events[self.offsets[:-1]]

    @property
    def last(self) -> Integers:
        """The last event of each match."""
        if not self.in_time:
            last: Integers = self.events.reshape(-1, self.size).max(axis=1)
            return last
        return self.events[self.size - 1 :: self.size] if self.size else self.events[self.offsets[1:] - 1]

    def __len__(self) -> int:
        return len(self.events) // self.size if self.size else len(self.offsets) - 1

    @classmethod
    def of(cls, parts: Sequence[Expanded]) -> Expanded:
        """The matches of all parts, in their order."""
        if len(parts) == 1:
            return parts[0]
        parts = [p for p in parts if len(p)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        events = np.concatenate([p.events for p in parts])
        size = parts[0].size
        if size and all(p.size == size for p in parts):
            return cls.alike(size, events, in_time=parts[0].in_time)
        before = np.cumsum([0, *(len(p.events) for p in parts)]).tolist()
        offsets = np.concatenate([_ONE_ZERO, *(p.offsets[1:] + n for p, n in zip(parts, before, strict=False))])
        return cls(offsets, events, np.concatenate([p.codes for p in parts]))

    def __add__(self, other: Expanded) -> Expanded:
        if not len(other):
            return self
        return Expanded.of([self, other]) if len(self) else other

    def copy(self) -> Expanded:
        """The same matches in arrays of their own."""
        if self.size:
            return Expanded.alike(self.size, self.events.copy(), in_time=self.in_time)
        return Expanded(self.offsets.copy(), self.events.copy(), self.codes.copy())

    def take(self, matches: Integers) -> Expanded:
        if self.size:
            events = self.events.reshape(-1, self.size)[matches].reshape(-1)
            return Expanded.alike(self.size, events, in_time=self.in_time)
        sizes = np.diff(self.offsets)[matches]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.offsets[:-1][matches] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Expanded(offsets, self.events[entries], self.codes[entries])

    def shifted(self, count: int) -> Expanded:
        """The same matches once the first `count` events, none of which is theirs, are forgotten."""
        events = self.events - count
        if self.size:
            return Expanded.alike(self.size, events, in_time=self.in_time)
        return Expanded(self.offsets, events, self.codes)

    def to_tables(self) -> dict[str, pa.Table]:
        return {
            "pending_offsets": pa.table({"": self.offsets}),
            "pending": pa.table({"events": self.events, "codes": self.codes}),
        }
