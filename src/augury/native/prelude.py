"""Functions that every generated kernel may call by name; each kernel gets a copy of its own, compiled into it.

This module holds only what Numba compiles: loops over arrays and scalars, without imports from augury or classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augury.native.cells import Cell


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
    """`x`, asserted to be non-negative: compiled code then need not check for an index from the end.

    >>> natural(3)
    3
    """
    return x & INT_MAX


def stopped(nums: NDArray[Any]) -> bool:
    """Whether the kernel should return at once, because of Ctrl-C or a timeout (`augury.budget.STOP`).

    Compiled code has an instruction in its place that loads the cell at each call.
    """
    return bool(nums[Cell.STOP] != 0)


def isnan(x: float) -> bool:
    return x != x


def to_float(x: int, null: bool) -> float:
    """An integer that may be null, as a float with NaN for null.

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
    # Unsigned magnitudes, since that of the least integer has no positive counterpart.
    a = np.uint64(-(x + 1)) + np.uint64(1) if x < 0 else np.uint64(x)
    b = np.uint64(-(y + 1)) + np.uint64(1) if y < 0 else np.uint64(y)
    most = np.uint64(2**63 - 1) if (x < 0) == (y < 0) else np.uint64(2**63)
    return bool(a > most // b)


def remainder(x: int, y: int) -> int:
    """The remainder with the sign of the dividend; 0 for a divisor of 0, whose result is null.

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
    """Whether the integer part of `x` does not fit in 64 bits, or `x` has none."""
    return not -9223372036854775808.0 <= x < 9223372036854775808.0


def whole(x: float) -> int:
    """`x` truncated towards zero; 0 where there is no such integer.

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
    """`x` rounded to some decimal places, half away from zero.

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

    Compiled kernels have vector instructions in its place, which add in the same order (`augury.native.lanes`).
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
    """The standard deviation of a sample of `n`, whose squared distances from the mean add up to `squares`."""
    return math.nan if n < 2 else math.sqrt(squares / (n - 1))


# -- runs and their buffer ---------------------------------------------------------------------------------------------


def gather(
    head: int,
    component: int,
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    events: NDArray[Any],
) -> int:
    """Write the events that the history of `head` binds to `component` into `events`, in order; return their number."""
    n = 0
    node = head
    while node >= 0:
        if node_component[node] == component:
            events[n] = node_event[node]
            n += 1
        node = node_before[node]
    for k in range(n // 2):
        events[k], events[n - 1 - k] = events[n - 1 - k], events[k]
    return n


def tied(
    head: int,
    first: int,
    k: int,
    rank: NDArray[Any],
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
) -> int:
    """The components to which the history of `head` binds events of its latest rank `k`, as bits from `first` on."""
    mask = 0
    node = head
    while node >= 0 and rank[node_event[node]] == k:
        mask |= 1 << (node_component[node] - first)
        node = node_before[node]
    return mask


def contains(a: NDArray[Any], lo: int, hi: int, v: int) -> bool:
    """Whether the ascending `a[lo:hi]` holds `v`."""
    at = lower_bound(a, lo, hi, v)
    return bool(at < hi and a[at] == v)


def in_set(a: NDArray[Any], lo: int, hi: int, v: Any) -> bool:
    """Whether `v` is one of the ascending numbers `a[lo:hi]`; NaN never is.

    >>> import numpy as np
    >>> in_set(np.array([1, 4, 9]), 0, 3, 4), in_set(np.array([1, 4, 9]), 0, 1, 4)
    (True, False)
    """
    at = lower_bound(a, lo, hi, v)
    return bool(at < hi and a[at] == v)


def mix(h: int) -> int:
    """A hash of `h`: its low bits depend on all bits of `h`."""
    h = (h ^ (h >> 29)) & 0x7FFFFFFFFFFFFFFF
    return (h * 0x5851F42D4C957F2D) & 0x7FFFFFFFFFFFFFFF


def bits(x: float) -> int:
    """An integer that is equal for equal floats."""
    return whole(x * 4096.0)


def same(x: Any, y: Any) -> bool:
    """Whether two values are equal or both null."""
    return bool(x == y or (x != x and y != y))
