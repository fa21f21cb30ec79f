"""The part of the prelude that compares one list with many at once."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augury.native.prelude import INT_MIN, dot, inf, isnan, nan, natural

BLOCK_LISTS = 64
"""Lists in one transposed block; `augury.native.list_blocks` compares a further list with all of them."""

LEADS = 8
"""Leading coefficients per list, by which products are bounded; `LEADING` of `augury.runtime.cosines`."""

MAX_UNIT_SQUARES = 1.0 + 2.0**-20
"""Upper bound of the sum of squares of a standardised list."""


def turn(
    lo: int,
    hi: int,
    events: NDArray[Any],
    rows: NDArray[Any],
    width: int,
    offsets: NDArray[Any],
    values: NDArray[Any],
    null: NDArray[Any],
) -> None:
    """Store the lists of `events[lo:hi]` in their blocks; NaN, which decides nothing, for those of another form."""
    for at in range(natural(lo), hi):
        i = natural(events[at])
        first = natural(offsets[i])
        place = natural((at - at % BLOCK_LISTS) * width + at % BLOCK_LISTS)
        size = offsets[i + 1] - first
        # NaN if the list is null.
        squares = dot(offsets, values, null, i, offsets, values, null, i)
        if size == width and squares <= MAX_UNIT_SQUARES:
            for k in range(width):
                rows[place + BLOCK_LISTS * k] = values[first + k]
        else:
            for k in range(width):
                rows[place + BLOCK_LISTS * k] = nan


def turn_leads(
    lo: int,
    hi: int,
    events: NDArray[Any],
    rows: NDArray[Any],
    width: int,
    cosines: NDArray[Any],
    led: NDArray[Any],
    offsets: NDArray[Any],
    values: NDArray[Any],
    null: NDArray[Any],
) -> None:
    """Store the leading coefficients of lists and the norm of the rest, as `turn` does; `led` has room for one list."""
    for at in range(natural(lo), hi):
        i = natural(events[at])
        place = natural((at - at % BLOCK_LISTS) * (LEADS + 1) + at % BLOCK_LISTS)
        squares = dot(offsets, values, null, i, offsets, values, null, i)
        if offsets[i + 1] - offsets[i] == width and squares <= MAX_UNIT_SQUARES:
            rest = rest_of(squares, coefficients(values, offsets[i], width, cosines, 1.0, led, 0), width)
            for k in range(LEADS):
                rows[place + BLOCK_LISTS * k] = led[k]
            rows[place + BLOCK_LISTS * LEADS] = rest
        else:
            for k in range(LEADS + 1):
                rows[place + BLOCK_LISTS * k] = nan


def rest_of(squares: float, led: float, width: int) -> float:
    """The norm of a list without its leading coefficients; `squares` is the sum of its squares, `led` of theirs.

    It is rounded up: sums of `width` squares are less than `width * 2^-48` off where they are about 1.
    """
    return sqrt(max(squares - led, 0.0) + width * 2.0**-48)


def coefficients(
    values: NDArray[Any], first: int, width: int, cosines: NDArray[Any], sign: float, led: NDArray[Any], at: int
) -> float:
    """Store the products of a list with each column of `cosines`, times `sign`, in `led` from `at` on.

    Returns the sum of their squares. Compiled kernels have vector instructions in its place
    (`augury.native.list_blocks`).
    """
    squares = 0.0
    for k in range(LEADS):
        total = 0.0
        for j in range(width):
            total += sign * values[first + j] * cosines[LEADS * j + k]
        led[at + k] = total
        squares += total * total
    return squares


def least_near(least: float, squares: float, size: int, width: int) -> float:
    """A threshold for products of 32 bit floats: below it, no product of standardised lists is `least` or more.

    With u = 2^-24, the products of `width` elements that were rounded once, added up in any order, are less than
    `(width + 3) * u` off, relative to the norms of both lists, which are at most 1: about half of what is allowed for
    here. A list of another `size`, or with greater `squares`, is not standardised, so any list may be near it. No list
    is near a null.

    >>> 0.89999 < least_near(0.9, 1.0, 20, 20) < 0.9, least_near(0.9, nan, 20, 20), least_near(0.9, 1.0, 8, 20)
    (True, inf, -inf)
    """
    if isnan(squares):
        return inf
    if size != width or squares > MAX_UNIT_SQUARES:
        return -inf
    return least - (width + 8) * 2.0**-23


def near(
    rows: NDArray[Any],
    width: int,
    base: int,
    lo: int,
    hi: int,
    values: NDArray[Any],
    first: int,
    sign: float,
    limit: float,
) -> int:
    """The lists of the block at `base` in `[lo, hi)` whose product with another may reach `limit`, as bits.

    The other one is `values[first : first + width]`, times `sign`. It is not read unless the limit is finite. Compiled
    kernels have vector instructions in its place (`augury.native.list_blocks`).
    """
    found = 0
    for lane in range(max(lo - base, 0), min(hi - base, BLOCK_LISTS)):
        total = np.float32(0.0)
        if abs(limit) < inf:
            for k in range(width):
                total += np.float32(sign * values[first + k]) * rows[base * width + BLOCK_LISTS * k + lane]
        if not total < np.float32(limit):
            found |= 1 << lane
    # As a signed integer of 64 bits.
    return found - (found >> 63 << 64)


def lowest(bits: int) -> int:
    """The position of the lowest set bit of `bits`, which are not zero.

    >>> lowest(12), lowest(INT_MIN)
    (2, 63)
    """
    some = int(bits)
    return (some & -some).bit_length() - 1


def without_lowest(bits: int) -> int:
    """`bits` without the lowest set bit.

    >>> without_lowest(12), without_lowest(INT_MIN)
    (8, 0)
    """
    return 0 if bits == INT_MIN else bits & (bits - 1)


def places(base: int, lo: int, hi: int) -> int:
    """A bit for each place in `[lo, hi)` of the block at `base`; the block begins before `hi`.

    >>> places(64, 66, 69), places(64, 3, 128), places(64, 127, 500) == INT_MIN
    (28, -1, True)
    """
    bits = -1 << int(max(lo - base, 0))
    end = int(hi - base)
    return bits & ((1 << end) - 1) if end < BLOCK_LISTS else bits
