"""Ranges of time that a stream without a key is matched in, each by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.engine.cut.chunks import Chunks
from augury.runtime.batch import Integers
from augury.runtime.state import FOREVER, LONG_AGO


@dataclass(frozen=True, slots=True)
class Ranges:
    """Time cut into ranges of `length` ticks: range k holds the times from k * length on.

    An event takes part in every range that comes within `reach` of it.

    >>> ranges = Ranges(100, 10)
    >>> ranges.chunk(2).limits(1), ranges.over(2)
    ((200, 300), 310)
    """

    length: int
    reach: int

    def chunk(self, number: int) -> Chunks:
        """A range as the middle one of three chunks."""
        return Chunks((number * self.length, (number + 1) * self.length), self.reach)

    def over(self, number: int) -> int:
        """The last time that matters to a range."""
        return (number + 1) * self.length + self.reach

    def home(self, time: Integers) -> Integers:
        """The range that each event is in.

        >>> Ranges(100, 10).home(np.array([-1, 0, 99]))
        array([-1,  0,  0])
        """
        return time // self.length

    def copies(self, time: Integers) -> tuple[Integers, Integers]:
        """Each event once for every range that it takes part in: its position, and the range.

        >>> Ranges(100, 10).copies(np.array([50, 95]))
        (array([0, 1, 1]), array([0, 0, 1]))
        """
        first = self.home(np.maximum(time, LONG_AGO + self.reach) - self.reach)
        last = self.home(np.minimum(time, FOREVER - self.reach) + self.reach)
        times = last - first + 1
        position = np.repeat(np.arange(len(time)), times)
        nth = np.arange(len(position)) - np.repeat(np.cumsum(times) - times, times)
        return position, first[position] + nth
