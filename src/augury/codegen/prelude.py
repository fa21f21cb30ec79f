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
    return math.nan if y == 0 or math.isinf(x) or isnan(x) or isnan(y) else math.fmod(x, y)


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
    """The sum of the products of two lists' elements, from left to right; NaN for a null or unequal lengths."""
    i, j = a_offsets[a], b_offsets[b]
    n = a_offsets[a + 1] - i
    if a_null[a] != 0 or b_null[b] != 0 or b_offsets[b + 1] - j != n:
        return math.nan
    total = 0.0
    for k in range(n):
        total += a_values[i + k] * b_values[j + k]
    return total


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


def number(
    i0: int,
    n: int,
    words: NDArray[Any],
    null: NDArray[Any],
    nums: NDArray[Any],
    TABLE: NDArray[Any],
    KEYS: NDArray[Any],
    COUNT: NDArray[Any],
    part: NDArray[Any],
    place: NDArray[Any],
) -> int:
    """Give each event the number of its key, by first appearance, and count the events of that number before it.

    `nums[6]` is how many keys there are. When one more would not fit, the event to come back to is returned.
    """
    for i in range(i0, n):
        if null[i] != 0:
            part[i] = -1
            continue
        h = 0
        for k in range(words.shape[0]):
            h = mix(h ^ words[k, i])
        h = h & (TABLE.shape[0] - 1)
        p = -1
        while TABLE[h] >= 0:
            p = TABLE[h]
            for k in range(words.shape[0]):
                if KEYS[p, k] != words[k, i]:
                    p = -1
                    break
            if p >= 0:
                break
            h = (h + 1) & (TABLE.shape[0] - 1)
        if p < 0:
            p = nums[6]
            if p >= KEYS.shape[0]:
                return i
            nums[6] = p + 1
            TABLE[h] = p
            for k in range(words.shape[0]):
                KEYS[p, k] = words[k, i]
            COUNT[p] = 0
        part[i] = p
        if place.shape[0] > 0:
            place[i] = COUNT[p]
        COUNT[p] += 1
    return n


def expand(
    f0: int,
    nf: int,
    OUT: NDArray[Any],
    NE: NDArray[Any],
    NP: NDArray[Any],
    NC: NDArray[Any],
    NT: NDArray[Any],
    NM: NDArray[Any],
    XN: NDArray[Any],
    XX: NDArray[Any],
    start: NDArray[Any],
    window: int,
    state: NDArray[Any],
    stack: NDArray[Any],
    cursor: NDArray[Any],
    offsets: NDArray[Any],
    events: NDArray[Any],
    codes: NDArray[Any],
) -> int:
    """Write out the matches that end at the nodes `OUT[f0:nf]`, one for each way back to a start inside the window.

    `state` holds the depth of the walk, the number of matches and of their events; when an array is full, the index of
    the node to come back to is returned, and the walk goes on where it stopped.
    """
    for f in range(f0, nf):
        if state[0] == 0:
            stack[0] = OUT[f]
            cursor[0] = -2
            state[0] = 1
        limit = start[NE[OUT[f]]] - window
        while state[0] > 0:
            depth = state[0]
            node = stack[depth - 1]
            at = cursor[depth - 1]
            if at == -1:
                state[0] = depth - 1
                continue
            before = NP[node] if at == -2 else XN[at]
            if before == -1 and (window < 0 or start[NE[node]] >= limit):
                m, n = state[1], state[2]
                if m + 1 >= offsets.shape[0] or n + depth > events.shape[0]:
                    return f
                for d in range(depth - 1, -1, -1):
                    # A node without a component only joins histories.
                    if NC[stack[d]] >= 0:
                        events[n] = NE[stack[d]]
                        codes[n] = NC[stack[d]]
                        n += 1
                offsets[m + 1] = n
                state[1] = m + 1
                state[2] = n
            cursor[depth - 1] = NM[node] if at == -2 else XX[at]
            if before >= 0 and (window < 0 or NT[before] >= limit):
                stack[depth] = before
                cursor[depth] = -2
                state[0] = depth + 1
    return nf


def count(
    nf: int,
    OUT: NDArray[Any],
    NE: NDArray[Any],
    NP: NDArray[Any],
    NT: NDArray[Any],
    NM: NDArray[Any],
    XN: NDArray[Any],
    XX: NDArray[Any],
    start: NDArray[Any],
    window: int,
    stack: NDArray[Any],
    cursor: NDArray[Any],
    total: NDArray[Any],
    value: NDArray[Any],
    stamp: NDArray[Any],
) -> int:
    """How many matches end at the nodes `OUT[:nf]`, without writing them out; 2**61 stands for that many or more.

    The number of ways back from a node is the sum over its predecessors, each of which is visited once a final node.
    """
    most = 2**61
    result = 0
    for f in range(nf):
        limit = start[NE[OUT[f]]] - window
        depth = 0
        stack[0] = OUT[f]
        cursor[0] = -2
        total[0] = 0
        while depth >= 0:
            node = stack[depth]
            at = cursor[depth]
            if at == -1:
                value[node] = total[depth]
                stamp[node] = f
                depth -= 1
                if depth >= 0:
                    total[depth] = min(most, total[depth] + value[node])
                continue
            before = NP[node] if at == -2 else XN[at]
            cursor[depth] = NM[node] if at == -2 else XX[at]
            if before == -1:
                if window < 0 or start[NE[node]] >= limit:
                    total[depth] += 1
            elif before >= 0 and (window < 0 or NT[before] >= limit):
                if stamp[before] == f:
                    total[depth] = min(most, total[depth] + value[before])
                else:
                    depth += 1
                    stack[depth] = before
                    cursor[depth] = -2
                    total[depth] = 0
        result = min(most, result + value[OUT[f]])
    return result


def split(
    order: NDArray[Any],
    offsets: NDArray[Any],
    events: NDArray[Any],
    codes: NDArray[Any],
    variable_of: NDArray[Any],
    rows: NDArray[Any],
    out_offsets: NDArray[Any],
    out_rows: NDArray[Any],
) -> None:
    """Write the matches `order` variable by variable: the rows of each one's events, and where those of a match are."""
    variables = out_offsets.shape[0]
    at = np.zeros(variables, np.int64)
    for k in range(order.shape[0]):
        m = order[k]
        for e in range(offsets[m], offsets[m + 1]):
            at[variable_of[codes[e]]] += 1
        for v in range(variables):
            out_offsets[v, k + 1] = at[v]
    base = 0
    for v in range(variables):
        total = at[v]
        for k in range(order.shape[0]):
            out_offsets[v, k + 1] += base
        out_offsets[v, 0] = base
        at[v] = base
        base += total
    for k in range(order.shape[0]):
        m = order[k]
        for e in range(offsets[m], offsets[m + 1]):
            v = variable_of[codes[e]]
            out_rows[at[v]] = rows[events[e]]
            at[v] += 1


def comes_first(a: int, b: int, offsets: NDArray[Any], events: NDArray[Any]) -> bool:
    """Whether match `a` stands before `b`: by the events of each variable in turn, a list before its extensions."""
    for v in range(offsets.shape[0]):
        i, j = offsets[v, a], offsets[v, b]
        n, m = offsets[v, a + 1] - i, offsets[v, b + 1] - j
        for k in range(min(n, m)):
            if events[i + k] != events[j + k]:
                return bool(events[i + k] < events[j + k])
        if n != m:
            return bool(n < m)
    return True


def order_ties(
    order: NDArray[Any],
    first: NDArray[Any],
    last: NDArray[Any],
    offsets: NDArray[Any],
    events: NDArray[Any],
    other: NDArray[Any],
) -> None:
    """Put matches that share start and end into the order of their events, by merging ever longer runs of `order`."""
    n = order.shape[0]
    lo = 0
    while lo < n:
        hi = lo + 1
        while hi < n and first[order[hi]] == first[order[lo]] and last[order[hi]] == last[order[lo]]:
            hi += 1
        width = 1
        while width < hi - lo:
            for left in range(lo, hi, 2 * width):
                middle, right = min(left + width, hi), min(left + 2 * width, hi)
                i, j = left, middle
                for k in range(left, right):
                    if i < middle and (j >= right or comes_first(order[i], order[j], offsets, events)):
                        other[k] = order[i]
                        i += 1
                    else:
                        other[k] = order[j]
                        j += 1
            for k in range(lo, hi):
                order[k] = other[k]
            width *= 2
        lo = hi


def sweep(
    nums: NDArray[Any],
    now: int,
    window: int,
    by_count: bool,
    COUNT: NDArray[Any],
    RT: NDArray[Any],
    RX: NDArray[Any],
    FREE: NDArray[Any],
    P_head: NDArray[Any],
    P_live: NDArray[Any],
) -> None:
    """Free the runs whose window has passed, also those of partitions that get no more events.

    A window is measured in time, or `by_count` in the events that a partition has had.
    """
    for g in range(P_head.shape[0]):
        r = P_head[g]
        P_head[g] = -1
        P_live[g] = 0
        while r >= 0:
            after = RX[r]
            if (COUNT[g] if by_count else now) - RT[r] > window:
                FREE[nums[2]] = r
                nums[2] += 1
                nums[4] -= 1
            else:
                RX[r] = P_head[g]
                P_head[g] = r
                P_live[g] += 1
            r = after


def collect(
    nums: NDArray[Any],
    RN: NDArray[Any],
    RX: NDArray[Any],
    P_head: NDArray[Any],
    NE: NDArray[Any],
    NP: NDArray[Any],
    NC: NDArray[Any],
    NT: NDArray[Any],
    NM: NDArray[Any],
    XN: NDArray[Any],
    XX: NDArray[Any],
    place: NDArray[Any],
    X2: NDArray[Any],
    limit: int,
) -> int:
    """Keep the nodes and edges that a run can reach and that start no earlier than `limit`; the least event kept.

    A node comes after those it leads back to, so one pass backwards marks them and one forwards moves them.
    """
    n = nums[0]
    for node in range(n):
        place[node] = -1
    for g in range(P_head.shape[0]):
        r = P_head[g]
        while r >= 0:
            place[RN[r]] = 0
            r = RX[r]
    for node in range(n - 1, -1, -1):
        if place[node] == 0:
            before = NP[node]
            if before >= 0 and NT[before] >= limit:
                place[before] = 0
            edge = NM[node]
            while edge >= 0:
                before = XN[edge]
                if before >= 0 and NT[before] >= limit:
                    place[before] = 0
                edge = XX[edge]
    kept, edges, least = 0, 0, INT_MAX
    for node in range(n):
        if place[node] < 0:
            continue
        place[node] = kept
        NE[kept] = NE[node]
        NC[kept] = NC[node]
        NT[kept] = NT[node]
        least = min(least, NE[node])
        before = NP[node]
        NP[kept] = before if before < 0 else (place[before] if place[before] >= 0 else -3)
        edge = NM[node]
        NM[kept] = -1
        while edge >= 0:
            before = XN[edge]
            if before == -1 or (before >= 0 and place[before] >= 0):
                # Into a second array: the edges of one node do not lie together.
                X2[0, edges] = before if before < 0 else place[before]
                X2[1, edges] = NM[kept]
                NM[kept] = edges
                edges += 1
            edge = XX[edge]
        kept += 1
    for edge in range(edges):
        XN[edge] = X2[0, edge]
        XX[edge] = X2[1, edge]
    for g in range(P_head.shape[0]):
        r = P_head[g]
        while r >= 0:
            RN[r] = place[RN[r]]
            r = RX[r]
    nums[0] = kept
    nums[1] = edges
    return least
