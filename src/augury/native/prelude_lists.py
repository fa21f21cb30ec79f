"""The part of the prelude that compares lists, many at a time."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augury.native.prelude import INT_MIN, dot, inf, isnan, nan, natural

ABREAST = 64
"""Lists that lie in one block, turned on their side; `augury.native.abreast` compares them with one more."""

LEADS = 8
"""Coefficients by which lists are bounded, `LEADING` of `augury.runtime.cosines`."""

UNIT = 1.0 + 2.0**-20
"""What the squares of a standardised list sum up to at most."""


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
    """Put the lists of `events[lo:hi]` into their blocks; NaN, which decides nothing, unless they are as expected."""
    for at in range(natural(lo), hi):
        i = natural(events[at])
        first = natural(offsets[i])
        place = natural((at - at % ABREAST) * width + at % ABREAST)
        size = offsets[i + 1] - first
        # Not a number, if the list is null.
        squares = dot(offsets, values, null, i, offsets, values, null, i)
        if size == width and squares <= UNIT:
            for k in range(width):
                rows[place + ABREAST * k] = values[first + k]
        else:
            for k in range(width):
                rows[place + ABREAST * k] = nan


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
    """`turn` for what leads the lists: their coefficients and the length of the rest; `led` has room for one list."""
    for at in range(natural(lo), hi):
        i = natural(events[at])
        place = natural((at - at % ABREAST) * (LEADS + 1) + at % ABREAST)
        squares = dot(offsets, values, null, i, offsets, values, null, i)
        if offsets[i + 1] - offsets[i] == width and squares <= UNIT:
            rest = rest_of(squares, coefficients(values, offsets[i], width, cosines, 1.0, led, 0), width)
            for k in range(LEADS):
                rows[place + ABREAST * k] = led[k]
            rows[place + ABREAST * LEADS] = rest
        else:
            for k in range(LEADS + 1):
                rows[place + ABREAST * k] = nan


def rest_of(squares: float, led: float, width: int) -> float:
    """The length of what coefficients leave of a list; `squares` are its own, `led` theirs.

    It is rounded up: sums of `width` squares are less than `width * 2^-48` off where they are about 1.
    """
    return sqrt(max(squares - led, 0.0) + width * 2.0**-48)


def coefficients(
    values: NDArray[Any], first: int, width: int, cosines: NDArray[Any], sign: float, led: NDArray[Any], at: int
) -> float:
    """Put the products of a list with each column of `cosines`, times `sign`, into `led` from `at` on.

    Returned is what their squares sum up to. Compiled kernels have vector instructions in its place
    (`augury.native.abreast`).
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
    """A product of 32 bit floats below which no product of standardised lists is `least` or more.

    With u = 2^-24, the products of `width` elements that were rounded once, added up in any order, are less than
    `(width + 3) * u` off, relative to the sizes of both lists, which are at most 1: about half of what is allowed for
    here. A list of another `size`, or with greater `squares`, is no such list: anything may be near. Nothing is near
    a null.

    >>> 0.89999 < least_near(0.9, 1.0, 20, 20) < 0.9, least_near(0.9, nan, 20, 20), least_near(0.9, 1.0, 8, 20)
    (True, inf, -inf)
    """
    if isnan(squares):
        return inf
    if size != width or squares > UNIT:
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
    """Which lists of the block at `base`, of those in `[lo, hi)`, may have a product of `limit` with another, as bits.

    The other one is `values[first : first + width]`, times `sign`. Without a finite limit it is not read. Compiled
    kernels have vector instructions in its place (`augury.native.abreast`).
    """
    found = 0
    for lane in range(max(lo - base, 0), min(hi - base, ABREAST)):
        total = np.float32(0.0)
        if abs(limit) < inf:
            for k in range(width):
                total += np.float32(sign * values[first + k]) * rows[base * width + ABREAST * k + lane]
        if not total < np.float32(limit):
            found |= 1 << lane
    # As an integer of 64 bits with a sign.
    return found - (found >> 63 << 64)


def lowest(bits: int) -> int:
    """The place of the lowest bit that is set, of `bits` that are not all zero.

    >>> lowest(12), lowest(INT_MIN)
    (2, 63)
    """
    some = int(bits)
    return (some & -some).bit_length() - 1


def without_lowest(bits: int) -> int:
    """The other bits.

    >>> without_lowest(12), without_lowest(INT_MIN)
    (8, 0)
    """
    return 0 if bits == INT_MIN else bits & (bits - 1)


def places(base: int, lo: int, hi: int) -> int:
    """A bit for each place of the block at `base` that is in `[lo, hi)`; the block begins before `hi`.

    >>> places(64, 66, 69), places(64, 3, 128), places(64, 127, 500) == INT_MIN
    (28, -1, True)
    """
    bits = -1 << int(max(lo - base, 0))
    end = int(hi - base)
    return bits & ((1 << end) - 1) if end < ABREAST else bits
