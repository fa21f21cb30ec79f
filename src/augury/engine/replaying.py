"""Consuming events again, to rebuild a state whose matches have been reported before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from augury.errors import AuguryError, NotEnoughMemory, TooManyMatches
from augury.runtime.batch import Integers

T = TypeVar("T")


class ReplayedStep(NamedTuple):
    """The events from `start` up to `stop`, with the watermark after them."""

    start: int
    stop: int
    watermark: int


def replayed(time: Integers, watermark: int, consume: Callable[[Iterator[ReplayedStep]], T]) -> T:
    """Give events of these times, in order, to `consume`, in steps that are as long as its limits allow.

    Limits hold for one step, and the events came in several: if all of them at once exceed one, `consume` is called
    again with steps of half the length, at last of single events, which are no longer than the steps they came in.

    >>> import numpy as np
    >>> replayed(np.array([1, 4, 4]), 9, list)
    [ReplayedStep(start=0, stop=3, watermark=9)]
    """
    size = max(1, len(time))
    while True:
        try:
            return consume(_steps(time, watermark, size))
        except AuguryError as error:
            if size == 1 or not holds_for_a_step(error):
                raise
            size = (size + 1) // 2


def _steps(time: Integers, watermark: int, size: int) -> Iterator[ReplayedStep]:
    for start in range(0, max(1, len(time)), size):
        stop = min(start + size, len(time))
        # No event that is still to come is earlier than the next one.
        yield ReplayedStep(start, stop, watermark if stop == len(time) else min(watermark, int(time[stop])))


def holds_for_a_step(error: AuguryError) -> bool:
    """Whether an error is that of a limit which holds for each step: on matches or memory, not on time."""
    return isinstance(error, TooManyMatches | NotEnoughMemory)
