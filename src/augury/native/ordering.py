"""Matches in the order in which they are reported: by end, then start, then the events of the variables.

Matches that share their end are sorted by keys of 64 bits: their start and their words, each as many bits wide as they
differ in, and last their places. What does not fit is read from the words. Chains find most matches in order or in runs
that only have to be merged. Only what Numba compiles belongs here, as in `augury.native.buffer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augury.native.prelude import INT_MAX, natural


def spell(
    offsets: NDArray[Any],
    events: NDArray[Any],
    codes: NDArray[Any],
    variable_of: NDArray[Any],
    variables: int,
    starts: NDArray[Any],
    words: NDArray[Any],
) -> None:
    """Write each match as words that compare as it does: the events of each variable, and -1 after those of each.

    The words of match m are `words[starts[m]:starts[m + 1]]`. None are the beginning of another's.
    """
    at = np.empty(variables, np.int64)
    starts[0] = 0
    w = 0
    for m in range(offsets.shape[0] - 1):
        for v in range(variables):
            at[v] = 0
        for e in range(offsets[m], offsets[m + 1]):
            at[variable_of[codes[e]]] += 1
        for v in range(variables):
            size = at[v]
            at[v] = w
            w += size + 1
            words[w - 1] = -1
        for e in range(offsets[m], offsets[m + 1]):
            v = variable_of[codes[e]]
            words[at[v]] = events[e]
            at[v] += 1
        starts[m + 1] = w


def pack_keys(
    ends: NDArray[Any],
    first: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    words: NDArray[Any],
    keys: NDArray[Any],
    groups: NDArray[Any],
) -> int:
    """Write a key for each match and, for those of equal `ends`, where they end and the width of places in their keys.

    How many such groups there are, -1 if ends descend. The words of match m are `words[starts[m]:stops[m]]`; `first` is
    what comes before them, if there is anything. There is always room for it, since neither matches nor events are
    2**31 many.
    """
    n, groups_so_far, lo = ends.shape[0], 0, 0
    while lo < n:
        hi = lo + 1
        while hi < n and ends[hi] == ends[lo]:
            hi += 1
        if hi < n and ends[hi] < ends[lo]:
            return -1
        size = hi - lo
        width = width_of(size - 1)
        groups[groups_so_far, 0] = hi
        groups[groups_so_far, 1] = width
        groups_so_far += 1
        room = 63 - width
        here, begins = keys[lo:hi], starts[lo:hi]
        for k in range(size):
            here[k] = 0
        if size > 1 and first.shape[0] > 0:
            least = most = first[lo]
            for k in range(lo, hi):
                least, most = min(least, first[k]), max(most, first[k])
            for k in range(size):
                here[k] = first[lo + k] - least
            room -= width_of(most - least)
        shared = INT_MAX if size > 1 else 0
        for k in range(lo, hi):
            shared = min(shared, stops[k] - starts[k])
        for f in range(shared):
            least = most = words[begins[0] + f]
            for k in range(size):
                word = words[natural(begins[k] + f)]
                least, most = min(least, word), max(most, word)
            wide = width_of(most - least)
            if wide > room:
                break
            room -= wide
            if wide > 0:
                for k in range(size):
                    here[k] = (here[k] << wide) | (words[natural(begins[k] + f)] - least)
        for k in range(size):
            here[k] = (here[k] << width) | k
        lo = hi
    return groups_so_far


def width_of(x: int) -> int:
    """How many bits a number that is not negative takes.

    >>> width_of(0), width_of(1), width_of(8)
    (0, 1, 4)
    """
    width = 0
    while x >> width:
        width += 1
    return width


def precedes(
    x: int, y: int, width: int, lo: int, starts: NDArray[Any], stops: NDArray[Any], words: NDArray[Any]
) -> bool:
    """Whether the match of key x comes before that of y, both of the group that begins at `lo`."""
    if x >> width != y >> width:
        return bool(x < y)
    mask = (1 << width) - 1
    a, b = lo + (x & mask), lo + (y & mask)
    i, j = starts[a], starts[b]
    while i < stops[a]:
        if words[i] != words[j]:
            return bool(words[i] < words[j])
        i += 1
        j += 1
    return bool(x < y)


def merge_keys(
    count: int,
    groups: NDArray[Any],
    all_keys: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    words: NDArray[Any],
    order: NDArray[Any],
) -> None:
    """Sort the keys of each group by merging its runs, and write down which matches they are of."""
    scratch, bounds = np.empty_like(order), np.empty(order.shape[0] + 1, np.int64)
    lo = 0
    for g in range(count):
        hi, width = groups[g, 0], groups[g, 1]
        n = hi - lo
        keys, other = all_keys[lo:hi], scratch[:n]
        runs, left = 0, 0
        bounds[0] = 0
        while left < n:
            right = left + 1
            while right < n and precedes(keys[right - 1], keys[right], width, lo, starts, stops, words):
                right += 1
            # A run of a few takes in what follows, which is less work than merging.
            while right < min(left + 8, n):
                key, at = keys[right], right
                while at > left and precedes(key, keys[at - 1], width, lo, starts, stops, words):
                    keys[at] = keys[at - 1]
                    at -= 1
                keys[at] = key
                right += 1
            runs += 1
            bounds[runs] = right
            left = right
        while runs > 1:
            for r in range(0, runs, 2):
                left, middle, right = bounds[r], bounds[r + 1], bounds[min(r + 2, runs)]
                i, j, k = natural(left), natural(middle), natural(left)
                while i < middle and j < right:
                    if precedes(keys[i], keys[j], width, lo, starts, stops, words):
                        other[k] = keys[i]
                        i += 1
                    else:
                        other[k] = keys[j]
                        j += 1
                    k += 1
                for rest in range(i, middle):
                    other[k] = keys[rest]
                    k += 1
                for rest in range(j, right):
                    other[k] = keys[rest]
                    k += 1
                bounds[r // 2 + 1] = right
            runs = (runs + 1) // 2
            keys, other = other, keys
        mask = (1 << width) - 1
        for k in range(n):
            order[lo + k] = lo + (keys[k] & mask)
        lo = hi


def write_rows(
    order: NDArray[Any],
    columns: NDArray[Any],
    events: NDArray[Any],
    time: NDArray[Any],
    rows: NDArray[Any],
    out: NDArray[Any],
    start: NDArray[Any],
    end: NDArray[Any],
) -> None:
    """Write matches of one event a variable in `order`: rows by variable, which is one of the columns of `events`."""
    size = events.shape[1]
    for k in range(order.shape[0]):
        m = natural(order[k])
        start[k] = time[natural(events[m, 0])]
        end[k] = time[natural(events[m, size - 1])]
        for v in range(size):
            out[v, k] = rows[natural(events[m, columns[v]])]
