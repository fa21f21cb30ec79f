"""The part of the prelude that lazy chains search their input buffers with."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import inf

AHEAD = 16
"""Places that a search looks at together; behind the end of what it searches, as many may be read."""


def below(a: NDArray[Any], lo: int, v: int) -> int:
    """How many of the next 16 elements from `lo` on are less than `v`, before the first that is not.

    Compiled kernels have vector instructions in its place (`augury.native.compress`).

    >>> import numpy as np
    >>> below(np.array([1, 3, 3, 7, 2]), 1, 7)
    2
    """
    n = 0
    while n < AHEAD and lo + n < len(a) and a[lo + n] < v:
        n += 1
    return n


def up_to(a: NDArray[Any], lo: int, v: int) -> int:
    """How many of them are less than `v` or equal to it."""
    n = 0
    while n < AHEAD and lo + n < len(a) and a[lo + n] <= v:
        n += 1
    return n


def next_lower(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`lower_bound` of integers with room behind them, where the answer may be near `lo`.

    >>> import numpy as np
    >>> next_lower(np.array([1, 3, 3, 7]), 1, 4, 4)
    3
    """
    width = AHEAD
    while lo < hi:
        n = below(a, lo, v)
        if n < AHEAD or lo + AHEAD >= hi:
            return min(lo + n, hi)
        at = lo + width
        if at >= hi or a[at] >= v:
            return within_lower(a, lo + AHEAD, min(at, hi), v)
        lo = at
        width += width
    return lo


def next_upper(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`upper_bound` likewise."""
    width = AHEAD
    while lo < hi:
        n = up_to(a, lo, v)
        if n < AHEAD or lo + AHEAD >= hi:
            return min(lo + n, hi)
        at = lo + width
        if at >= hi or a[at] > v:
            return within_upper(a, lo + AHEAD, min(at, hi), v)
        lo = at
        width += width
    return lo


def within_lower(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`lower_bound` of integers with room behind them.

    >>> import numpy as np
    >>> within_lower(np.array([1, 3, 3, 7]), 1, 4, 4)
    3
    """
    while hi - lo > AHEAD:
        middle = (lo + hi) >> 1
        if a[middle] < v:
            lo = middle + 1
        else:
            hi = middle
    return min(lo + below(a, lo, v), hi) if lo < hi else lo


def within_upper(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`upper_bound` likewise."""
    while hi - lo > AHEAD:
        middle = (lo + hi) >> 1
        if v < a[middle]:
            hi = middle
        else:
            lo = middle + 1
    return min(lo + up_to(a, lo, v), hi) if lo < hi else lo


def chain(
    at: int,
    g: int,
    ids: NDArray[Any],
    following: NDArray[Any],
    previous: NDArray[Any],
    first: NDArray[Any],
    last: NDArray[Any],
) -> None:
    """Put the event at `at` of a buffer at the end of the list of its key `g`; a null key has none."""
    ids[at] = g
    following[at] = -1
    previous[at] = -1
    if g >= 0:
        before = last[g]
        previous[at] = before
        if before >= 0:
            following[before] = at
        else:
            first[g] = at
        last[g] = at


def first_of(first: NDArray[Any], g: int) -> int:
    """The first event with key `g`, -1 if there is none."""
    return int(first[g]) if g >= 0 else -1


def sort_match(events: NDArray[Any], codes: NDArray[Any], lo: int, hi: int) -> None:
    """Put the events of one match into stream order, each with its code."""
    for k in range(lo + 1, hi):
        event, code = events[k], codes[k]
        at = k
        while at > lo and events[at - 1] > event:
            events[at] = events[at - 1]
            codes[at] = codes[at - 1]
            at -= 1
        events[at] = event
        codes[at] = code


def marked(mask: NDArray[Any], size: int, lo: int, found: NDArray[Any]) -> int:
    """Write `lo + k` into `found` for each k of `size` where the mask is set; how many these are.

    The mask is as long as the next multiple of 64, and there is room for eight more than are found. Compiled kernels
    have vector instructions in its place (`augury.native.compress`).

    >>> import numpy as np
    >>> found = np.zeros(10, np.int64)
    >>> found[: marked(np.array([0, 1, 1, 1], np.uint8), 3, 5, found)].tolist()
    [6, 7]
    """
    n = 0
    for k in range(size):
        if mask[k] != 0:
            found[n] = lo + k
            n += 1
    return n


BLOCK = 128
"""Events of a buffer that are sorted together."""

STEPS = 7
"""Comparisons that find a place among so many."""

MIN_SORTED_EVENTS = 16
"""From so many events of a block on, its sorted copy is searched; of fewer each is looked at."""

ROUNDING = 2.0**-50
"""More than what a sum and a difference of two floats are rounded by, relative to their sizes."""


def looked_at(complete: int, lo: int, hi: int) -> int:
    """How many values `sorted_between` compares before those that it finds: seven in a block that is sorted.

    >>> looked_at(1_280, 0, 256), looked_at(1_280, 1_270, 1_300)
    (14, 30)
    """
    n = 0
    p = lo
    while p < hi:
        end = (p // BLOCK + 1) * BLOCK
        last = min(end, hi)
        n += STEPS if end <= complete and last - p >= MIN_SORTED_EVENTS else last - p
        p = last
    return n


def least_with(value: float, shift: float) -> float:
    """A number below which no x has `x + shift` above or at `value`, as close to that as rounding allows.

    >>> 0.0 <= 1.1 - 0.1 - least_with(1.1, 0.1) < 1e-14
    True
    """
    x = value - shift - (abs(value) + abs(shift)) * ROUNDING
    return x if x == x else -inf


def most_with(value: float, shift: float) -> float:
    """A number above which no x has `x + shift` below or at `value`."""
    x = value - shift + (abs(value) + abs(shift)) * ROUNDING
    return x if x == x else inf


def sorted_between(
    x: NDArray[Any],
    order: NDArray[Any],
    complete: int,
    lo: int,
    hi: int,
    low: float,
    high: float,
    found: NDArray[Any],
) -> int:
    """Write the positions in `[lo, hi)` with `low <= x <= high` into `found`; how many they are.

    The first `complete` positions are sorted by x in blocks, `order` says how. Null is in no range. There must be
    room for one position more than are found.

    >>> import numpy as np
    >>> found = np.zeros(4, np.int64)
    >>> found[: sorted_between(np.array([5.0, 1.0, 4.0]), np.arange(3), 0, 0, 3, 2.0, inf, found)].tolist()
    [0, 2]
    """
    n = 0
    p = lo
    while p < hi:
        begin = p // BLOCK * BLOCK
        end = begin + BLOCK
        last = min(end, hi)
        if end <= complete and last - p >= MIN_SORTED_EVENTS:
            a, b = begin, end
            while a < b:
                middle = (a + b) >> 1
                if x[order[middle]] < low:
                    a = middle + 1
                else:
                    b = middle
            while a < end and x[order[a]] <= high:
                found[n] = order[a]
                # The first and the last block may reach beyond the range.
                n += p <= order[a] < last
                a += 1
        else:
            for k in range(p, last):
                if low <= x[k] <= high:
                    found[n] = k
                    n += 1
        p = last
    return n
