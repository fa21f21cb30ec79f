"""Functions that every generated kernel may call by name; each kernel gets a copy of its own, compiled into it.

Only what Numba compiles belongs here: loops over arrays and scalars, no imports of ours, no classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def lower_bound(a: NDArray[Any], lo: int, hi: int, v: Any) -> int:
    """The first index in `[lo, hi)` of the ascending `a` with `a[index] >= v`, else `hi`.

    >>> import numpy as np
    >>> lower_bound(np.array([1, 3, 3, 7]), 0, 4, 3)
    1
    """
    while lo < hi:
        middle = (lo + hi) >> 1
        if a[middle] < v:
            lo = middle + 1
        else:
            hi = middle
    return lo


def upper_bound(a: NDArray[Any], lo: int, hi: int, v: Any) -> int:
    """The first index in `[lo, hi)` of the ascending `a` with `a[index] > v`, else `hi`.

    >>> import numpy as np
    >>> upper_bound(np.array([1, 3, 3, 7]), 0, 4, 3)
    3
    """
    while lo < hi:
        middle = (lo + hi) >> 1
        if v < a[middle]:
            hi = middle
        else:
            lo = middle + 1
    return lo


# -- null and numbers: NaN is the null of floats; integers come with a flag --------------------------------------------

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
nan = math.nan
inf = math.inf


def natural(x: int) -> int:
    """`x`, which is not negative: compiled code that knows this need not look whether an index counts from the end.

    >>> natural(3)
    3
    """
    return x & INT_MAX


def isnan(x: float) -> bool:
    return x != x


def to_float(x: int, null: bool) -> float:
    """An integer that may be null, as a float.

    >>> to_float(3, False), to_float(3, True)
    (3.0, nan)
    """
    return math.nan if null else float(x)


def add_overflows(x: int, y: int) -> bool:
    return x > INT_MAX - y if y > 0 else x < INT_MIN - y


def subtract_overflows(x: int, y: int) -> bool:
    return x < INT_MIN + y if y > 0 else x > INT_MAX + y


def multiply_overflows(x: int, y: int) -> bool:
    """Whether `x * y` leaves 64 bits.

    >>> multiply_overflows(3, 4), multiply_overflows(-1, INT_MIN)
    (False, True)
    """
    if x == 0 or y == 0:
        return False
    # Magnitudes without a sign, since that of the least integer has no positive counterpart.
    a = np.uint64(-(x + 1)) + np.uint64(1) if x < 0 else np.uint64(x)
    b = np.uint64(-(y + 1)) + np.uint64(1) if y < 0 else np.uint64(y)
    most = np.uint64(2**63 - 1) if (x < 0) == (y < 0) else np.uint64(2**63)
    return bool(a > most // b)


def remainder(x: int, y: int) -> int:
    """With the sign of the dividend; 0 for a divisor of 0, whose result is null.

    >>> remainder(-7, 3), remainder(7, -3)
    (-1, 1)
    """
    if y in (0, -1):
        return 0
    r = x % y
    return r - y if r != 0 and (x < 0) != (y < 0) else r


def float_remainder(x: float, y: float) -> float:
    return math.nan if y == 0 or math.isinf(x) or isnan(x) or isnan(y) else float(np.fmod(x, y))


def divide(x: float, y: float) -> float:
    return math.nan if y == 0 else x / y


def not_whole(x: float) -> bool:
    """Whether `x` has no integer part of 64 bits."""
    return not -9223372036854775808.0 <= x < 9223372036854775808.0


def whole(x: float) -> int:
    """`x` cut off towards zero; 0 where there is no such integer.

    >>> whole(-1.5), whole(math.nan)
    (-1, 0)
    """
    return 0 if not_whole(x) else int(x)


def sqrt_or_nan(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def exp_or_nan(x: float) -> float:
    return math.inf if x > 709.782712893384 else math.exp(x)


def ln_or_nan(x: float) -> float:
    return math.log(x) if x > 0 else math.nan


def floor_or_nan(x: float) -> float:
    return float(np.floor(x))


def ceil_or_nan(x: float) -> float:
    return float(np.ceil(x))


def round_float(x: float, places: int) -> float:
    """Half away from zero.

    >>> round_float(-2.5, 0), round_float(1.25, 1)
    (-3.0, 1.3)
    """
    if isnan(x) or math.isinf(x) or places > 308:
        return x
    if places < -308:
        return math.copysign(0.0, x)
    scale = 10.0 ** abs(places)
    scaled = abs(x) * scale if places >= 0 else abs(x) / scale
    if math.isinf(scaled):
        return x
    below = np.floor(scaled)
    nearest = below + 1.0 if scaled - below >= 0.5 else below
    return math.copysign(nearest / scale if places >= 0 else nearest * scale, x)


def round_integer(x: int, places: int) -> int:
    if places >= 0:
        return x
    if places < -18:
        return 0
    step = 1
    for _ in range(-places):
        step *= 10
    rest = remainder(x, step)
    base = x - rest
    if abs(rest) >= step - abs(rest):
        base += step if x > 0 else -step
    return base


def round_overflows(x: int, places: int) -> bool:
    """Whether rounding `x` leaves 64 bits: up from near the greatest integers, at 19 places up from half of all."""
    if places >= 0:
        return False
    if places < -18:
        return places == -19 and (x >= 5000000000000000000 or x <= -5000000000000000000)
    rounded = round_integer(x, places)
    return (x > 0 and rounded < 0) or (x < 0 and rounded > 0)


def float_least(x: float, y: float) -> float:
    return y if isnan(x) or y < x else x


def float_greatest(x: float, y: float) -> float:
    return y if isnan(x) or y > x else x


def float_coalesce(x: float, y: float) -> float:
    return y if isnan(x) else x


def integer_least(x: int, x_null: bool, y: int, y_null: bool) -> int:
    return y if x_null or (not y_null and y < x) else x


def integer_greatest(x: int, x_null: bool, y: int, y_null: bool) -> int:
    return y if x_null or (not y_null and y > x) else x


def integer_coalesce(x: int, x_null: bool, y: int, y_null: bool) -> int:
    return y if x_null else x


def dot(
    a_offsets: NDArray[Any],
    a_values: NDArray[Any],
    a_null: NDArray[Any],
    a: int,
    b_offsets: NDArray[Any],
    b_values: NDArray[Any],
    b_null: NDArray[Any],
    b: int,
) -> float:
    """The sum of the products of two lists' elements as `augury.ir.functions.dot`; NaN for a null or unequal lengths.

    Compiled kernels have vector instructions in its place, which add in the same order (`augury.codegen.lanes`).
    """
    i, j = a_offsets[a], b_offsets[b]
    n = a_offsets[a + 1] - i
    if a_null[a] != 0 or b_null[b] != 0 or b_offsets[b + 1] - j != n:
        return math.nan
    lanes = [0.0] * 8
    for k in range(n):
        lanes[k & 7] += float(a_values[i + k]) * float(b_values[j + k])
    even = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6])
    odd = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7])
    return even + odd


def stddev(n: int, squares: float) -> float:
    """Of a sample of `n`, whose squared distances from the mean sum up to `squares`."""
    return math.nan if n < 2 else math.sqrt(squares / (n - 1))


# -- runs and their buffer ---------------------------------------------------------------------------------------------


def gather(
    head: int, component: int, NE: NDArray[Any], NP: NDArray[Any], NC: NDArray[Any], events: NDArray[Any]
) -> int:
    """Write the events that the history of `head` binds to `component` into `events`, in order; how many they are."""
    n = 0
    node = head
    while node >= 0:
        if NC[node] == component:
            events[n] = NE[node]
            n += 1
        node = NP[node]
    for k in range(n // 2):
        events[k], events[n - 1 - k] = events[n - 1 - k], events[k]
    return n


def tied(
    head: int, first: int, k: int, rank: NDArray[Any], NE: NDArray[Any], NP: NDArray[Any], NC: NDArray[Any]
) -> int:
    """The components, as bits from `first` on, to which the history of `head` binds events of rank `k`, its latest."""
    mask = 0
    node = head
    while node >= 0 and rank[NE[node]] == k:
        mask |= 1 << (NC[node] - first)
        node = NP[node]
    return mask


def contains(a: NDArray[Any], lo: int, hi: int, v: int) -> bool:
    """Whether the ascending `a[lo:hi]` holds `v`."""
    at = lower_bound(a, lo, hi, v)
    return bool(at < hi and a[at] == v)


def mix(h: int) -> int:
    """A number whose low bits depend on all bits of `h`."""
    h = (h ^ (h >> 29)) & 0x7FFFFFFFFFFFFFFF
    return (h * 0x5851F42D4C957F2D) & 0x7FFFFFFFFFFFFFFF


def bits(x: float) -> int:
    """A number that is the same for the same float."""
    return whole(x * 4096.0)


def same(x: Any, y: Any) -> bool:
    """Whether two values are equal or both null."""
    return bool(x == y or (x != x and y != y))


# -- lazy chains -------------------------------------------------------------------------------------------------------


AHEAD = 16
"""Places that a search looks at together; behind the end of what it searches, as many may be read."""


def below(a: NDArray[Any], lo: int, v: int) -> int:
    """How many of the next 16 elements from `lo` on are less than `v`, before the first that is not.

    Compiled kernels have vector instructions in its place (`augury.codegen.compress`).

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
    have vector instructions in its place (`augury.codegen.compress`).

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

FEW = 16
"""Of so many of them, each is looked at."""

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
        n += STEPS if end <= complete and last - p >= FEW else last - p
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
    >>> found[: sorted_between(np.array([5.0, 1.0, 4.0]), np.arange(3), 0, 0, 3, 2.0, math.inf, found)].tolist()
    [0, 2]
    """
    n = 0
    p = lo
    while p < hi:
        begin = p // BLOCK * BLOCK
        end = begin + BLOCK
        last = min(end, hi)
        if end <= complete and last - p >= FEW:
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


# -- lists compared many at a time -------------------------------------------------------------------------------------

ABREAST = 64
"""Lists that lie in one block, turned on their side; `augury.codegen.abreast` compares them with one more."""

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
    kernels have vector instructions in its place (`augury.codegen.abreast`).
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
