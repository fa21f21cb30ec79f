"""Sequences restricted only by order and window: counted and written out from the input buffers.

Compiled once for all queries, like `augury.native.buffer`; the functions of the prelude are there by name.
"""

from __future__ import annotations

from augury.native.counting import plus, times
from augury.native.kinds import Ints, Ints2
from augury.native.prelude import lower_bound, stopped


def count_sequences(
    stop: Ints,
    i0: int,
    mask: Ints,
    rank: Ints,
    clock: Ints,
    span: int,
    newer: Ints2,
    product: Ints2,
    fitting: Ints,
    older: Ints2,
    each: Ints,
) -> int:
    """Count the sequences, of one event per bit of `mask`, that end with event `i0` or a later one.

    `each` gets their number for each event, OVERFLOWED for numbers that are too great.

    A group of concurrent events is a matrix that leads from "the first j are bound" to one more; the product over the
    groups of a window is the number of sequences. The window slides as a queue made of two stacks: `older` has, for
    each group of the older half, the first row of the product from it to the middle, `newer` is the product of the
    newer half.
    """
    n, k = mask.shape[0], newer.shape[0]
    lo, middle, at, total = 0, 0, 0, 0
    for s in range(k):
        for q in range(k):
            newer[s, q] = 1 if s == q else 0
    while at < n and not stopped(stop):
        end = at + 1
        while end < n and rank[end] == rank[at]:
            end += 1
        while span >= 0 and lo < at and clock[lo] < clock[at] - span:
            lo += 1
        if lo >= middle:
            # The older half is used up, so the newer half becomes the older one.
            middle = at
            for s in range(k):
                for q in range(k):
                    newer[s, q] = 1 if s == q else 0
                    product[s, q] = 1 if s == q else 0
            x = at - 1
            while x >= lo:
                first = x
                while first > lo and rank[first - 1] == rank[x]:
                    first -= 1
                for s in range(k):
                    fitting[s] = 0
                    for e in range(first, x + 1):
                        fitting[s] += (mask[e] >> s) & 1
                for s in range(k - 1):
                    for q in range(k):
                        product[s, q] = plus(product[s, q], times(fitting[s], product[s + 1, q]))
                for e in range(first, x + 1):
                    for q in range(k):
                        older[e, q] = product[0, q]
                x = first - 1
        for s in range(k):
            fitting[s] = 0
            for e in range(at, end):
                fitting[s] += (mask[e] >> s) & 1
        ends = 0
        for e in range(max(at, i0), end):
            ends += (mask[e] >> (k - 1)) & 1
        if ends > 0:
            ways = 0
            for s in range(k):
                start = older[lo, s] if lo < middle else (1 if s == 0 else 0)
                ways = plus(ways, times(start, newer[s, k - 1]))
            total = plus(total, times(ways, ends))
            for e in range(max(at, i0), end):
                each[e] = ways * ((mask[e] >> (k - 1)) & 1)
        for q in range(k - 1, 0, -1):
            for s in range(k):
                newer[s, q] = plus(newer[s, q], times(newer[s, q - 1], fitting[q - 1]))
        at = end
    return total


def write_sequences(
    stop: Ints,
    starts: Ints,
    events: Ints,
    ranks: Ints,
    times: Ints,
    span: int,
    at: Ints,
    out: Ints2,
) -> int:
    """Write sequences of one event per buffer into the rows of `out`, from the last component backwards.

    Buffer b is `[starts[b]:starts[b + 1]]`. `at[:k]` are the positions of the current sequence, the last component
    first, and `at[k]` is how many of them are set, to resume when `out` was full. It is -1 when there are no more.
    """
    k = starts.shape[0] - 1
    rows = 0
    depth = at[k]
    while depth >= 0:
        b = k - 1 - depth
        if depth == 0:
            if at[0] >= starts[b + 1]:
                depth = -1
                break
        elif at[depth] < starts[b] or (span >= 0 and times[at[depth]] < times[at[0]] - span):
            depth -= 1
            at[depth] += 1 if depth == 0 else -1
            if stopped(stop):
                break
            continue
        if depth < k - 1:
            # Continue with the component before, at its latest event of a lower rank.
            depth += 1
            at[depth] = lower_bound(ranks, starts[b - 1], starts[b], ranks[at[depth - 1]]) - 1
            continue
        if rows == out.shape[0]:
            break
        for d in range(k):
            out[rows, k - 1 - d] = events[at[d]]
        rows += 1
        at[depth] += 1 if depth == 0 else -1
    at[k] = depth
    return rows
