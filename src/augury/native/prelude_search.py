"""The part of the prelude that lazy chains search their input buffers with."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import inf

SEARCH_VECTOR = 16
"""Values compared at once by a search; as many may be read beyond the end of the array that it searches."""


def below(a: NDArray[Any], lo: int, v: int) -> int:
    """Number of elements less than `v` among the next 16 from `lo` on, up to the first that is not.

    Compiled kernels have vector instructions in its place (`augury.native.compress`).

    >>> import numpy as np
    >>> below(np.array([1, 3, 3, 7, 2]), 1, 7)
    2
    """
    n = 0
    while n < SEARCH_VECTOR and lo + n < len(a) and a[lo + n] < v:
        n += 1
    return n


def up_to(a: NDArray[Any], lo: int, v: int) -> int:
    """Number of elements less than or equal to `v`, counted as by `below`."""
    n = 0
    while n < SEARCH_VECTOR and lo + n < len(a) and a[lo + n] <= v:
        n += 1
    return n


def next_lower(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`lower_bound` of integers in a padded array, fast where the answer is near `lo`.

    >>> import numpy as np
    >>> next_lower(np.array([1, 3, 3, 7]), 1, 4, 4)
    3
    """
    width = SEARCH_VECTOR
    while lo < hi:
        n = below(a, lo, v)
        if n < SEARCH_VECTOR or lo + SEARCH_VECTOR >= hi:
            return min(lo + n, hi)
        at = lo + width
        if at >= hi or a[at] >= v:
            return within_lower(a, lo + SEARCH_VECTOR, min(at, hi), v)
        lo = at
        width += width
    return lo


def next_upper(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`upper_bound` of integers in a padded array, fast where the answer is near `lo`."""
    width = SEARCH_VECTOR
    while lo < hi:
        n = up_to(a, lo, v)
        if n < SEARCH_VECTOR or lo + SEARCH_VECTOR >= hi:
            return min(lo + n, hi)
        at = lo + width
        if at >= hi or a[at] > v:
            return within_upper(a, lo + SEARCH_VECTOR, min(at, hi), v)
        lo = at
        width += width
    return lo


def within_lower(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`lower_bound` of integers in a padded array.

    >>> import numpy as np
    >>> within_lower(np.array([1, 3, 3, 7]), 1, 4, 4)
    3
    """
    while hi - lo > SEARCH_VECTOR:
        middle = (lo + hi) >> 1
        if a[middle] < v:
            lo = middle + 1
        else:
            hi = middle
    return min(lo + below(a, lo, v), hi) if lo < hi else lo


def within_upper(a: NDArray[Any], lo: int, hi: int, v: int) -> int:
    """`upper_bound` of integers in a padded array."""
    while hi - lo > SEARCH_VECTOR:
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
    """Append the event at `at` of a buffer to the list of its key `g`; null keys have no list."""
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
    """Sort the events of one match into stream order, together with their codes."""
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
    """Write `lo + k` into `found` for each k of `size` where the mask is set; returns their number.

    The mask is padded to a multiple of 64, and `found` needs room for eight more. Compiled kernels have vector
    instructions in its place (`augury.native.compress`).

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


SORTED_BLOCK_EVENTS = 128
"""Events in a sorted block of a buffer."""

BLOCK_SEARCH_STEPS = 7
"""Comparisons of a binary search in a block."""

MIN_SORTED_EVENTS = 16
"""Events of a block in the range from which on its sorted copy is searched; fewer are compared one by one."""

MAX_ROUNDING_ERROR = 2.0**-50
"""Upper bound of the relative rounding error of a sum and a difference of two floats."""


def looked_at(complete: int, lo: int, hi: int) -> int:
    """Number of values that `sorted_between` compares before those it finds: seven in a sorted block.

    >>> looked_at(1_280, 0, 256), looked_at(1_280, 1_270, 1_300)
    (14, 30)
    """
    n = 0
    p = lo
    while p < hi:
        end = (p // SORTED_BLOCK_EVENTS + 1) * SORTED_BLOCK_EVENTS
        last = min(end, hi)
        n += BLOCK_SEARCH_STEPS if end <= complete and last - p >= MIN_SORTED_EVENTS else last - p
        p = last
    return n


def least_with(value: float, shift: float) -> float:
    """A lower bound, as tight as rounding allows, of the x with `x + shift >= value`.

    >>> 0.0 <= 1.1 - 0.1 - least_with(1.1, 0.1) < 1e-14
    True
    """
    x = value - shift - (abs(value) + abs(shift)) * MAX_ROUNDING_ERROR
    return x if x == x else -inf


def most_with(value: float, shift: float) -> float:
    """An upper bound of the x with `x + shift <= value`."""
    x = value - shift + (abs(value) + abs(shift)) * MAX_ROUNDING_ERROR
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
    """Write the positions in `[lo, hi)` with `low <= x <= high` into `found`; returns their number.

    The first `complete` positions are sorted by x in blocks, as `order` says. Null is in no range. There must be
    room for one position more than are found.

    >>> import numpy as np
    >>> found = np.zeros(4, np.int64)
    >>> found[: sorted_between(np.array([5.0, 1.0, 4.0]), np.arange(3), 0, 0, 3, 2.0, inf, found)].tolist()
    [0, 2]
    """
    n = 0
    p = lo
    while p < hi:
        begin = p // SORTED_BLOCK_EVENTS * SORTED_BLOCK_EVENTS
        end = begin + SORTED_BLOCK_EVENTS
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
                # The first and the last block may extend beyond the range.
                n += p <= order[a] < last
                a += 1
        else:
            for k in range(p, last):
                if low <= x[k] <= high:
                    found[n] = k
                    n += 1
        p = last
    return n
