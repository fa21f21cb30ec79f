"""Sorting of matches into report order: by end, then start, then the events of the variables.

Matches with the same end are sorted by 64 bit keys: their start and their words, packed into as many bits as differ,
and their position. What does not fit is compared by words. Chains find most matches in order, or in runs that only
have to be merged; matches already in order are written directly. This module holds only what Numba compiles, as in
`augury.native.buffer`.
"""

from __future__ import annotations

import numpy as np

from augury.native.kinds import Ints, Ints2, Offsets2
from augury.native.prelude import INT_MAX, natural


def spell(
    offsets: Ints,
    events: Ints,
    codes: Ints,
    variable_of: Ints,
    variables: int,
    starts: Ints,
    words: Ints,
) -> None:
    """Write each match as words that sort as matches do: the events of each variable, followed by -1.

    The words of match m are `words[starts[m]:starts[m + 1]]`. No match's words are a prefix of another's.
    """
    at = np.empty(variables, np.int64)
    starts[0] = 0
    w = 0
    for m in range(offsets.shape[0] - 1):
        begin, variable = w, 0
        for e in range(offsets[m], offsets[m + 1]):
            v = variable_of[natural(codes[e])]
            if v < variable:
                # Events are not in the order of the variables, so they are counted first.
                variable = -1
                break
            while variable < v:
                words[natural(w)] = -1
                w += 1
                variable += 1
            words[natural(w)] = events[e]
            w += 1
        if variable >= 0:
            while variable < variables:
                words[natural(w)] = -1
                w += 1
                variable += 1
            starts[m + 1] = w
            continue
        w = begin
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
    ends: Ints,
    first: Ints,
    starts: Ints,
    stops: Ints,
    words: Ints,
    keys: Ints,
    groups: Ints2,
) -> int:
    """Write a key for each match, and the end and the position bits of each group of matches with equal `ends`.

    Returns the number of such groups, -1 if ends descend. The words of match m are `words[starts[m]:stops[m]]`; `first`
    is compared before them, unless it is empty. There is always room, since neither matches nor events reach 2**31.
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
        here, begins, ends_of = keys[lo:hi], starts[lo:hi], stops[lo:hi]
        for k in range(size):
            here[k] = 0
        if size > 1 and first.shape[0] > 0:
            least = most = first[lo]
            for k in range(lo, hi):
                least, most = min(least, first[k]), max(most, first[k])
            for k in range(size):
                here[k] = first[lo + k] - least
            room -= width_of(most - least)
        longest = 0
        if size > 1:
            for k in range(lo, hi):
                longest = max(longest, stops[k] - starts[k])
        for f in range(longest):
            least, most = INT_MAX, -1
            for k in range(size):
                if begins[k] + f < ends_of[k]:
                    word = words[natural(begins[k] + f)]
                    if word >= 0:
                        least, most = min(least, word), max(most, word)
            # 0 stands for the end of a list, and for words beyond the end of a match.
            wide = width_of(most - least + 1) if most >= 0 else 0
            if wide > room:
                break
            room -= wide
            if wide > 0:
                for k in range(size):
                    digit = 0
                    if begins[k] + f < ends_of[k]:
                        word = words[natural(begins[k] + f)]
                        if word >= 0:
                            digit = word - least + 1
                    here[k] = (here[k] << wide) | digit
        for k in range(size):
            here[k] = (here[k] << width) | k
        lo = hi
    return groups_so_far


def width_of(x: int) -> int:
    """The number of bits of a non-negative number.

    >>> width_of(0), width_of(1), width_of(8)
    (0, 1, 4)
    """
    width = 0
    while x >> width:
        width += 1
    return width


def comes_before(x: int, y: int, by_words: int, width: int, lo: int, starts: Ints, stops: Ints, words: Ints) -> bool:
    """Whether the match of key x comes before that of y, by keys or also by words."""
    if by_words == 0:
        return bool(x < y)
    return precedes(x, y, width, lo, starts, stops, words)


def precedes(x: int, y: int, width: int, lo: int, starts: Ints, stops: Ints, words: Ints) -> bool:
    """Whether the match of key x comes before that of y, in the group that begins at `lo`."""
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
    groups: Ints2,
    all_keys: Ints,
    starts: Ints,
    stops: Ints,
    words: Ints,
    order: Ints,
) -> None:
    """Sort the keys of each group by merging its runs, and write the matches they belong to.

    Keys are sorted as numbers. Where positions break ties, they are merged once more by words.
    """
    scratch, bounds = np.empty_like(order), np.empty(order.shape[0] + 1, np.int64)
    lo = 0
    for g in range(count):
        hi, width = groups[g, 0], groups[g, 1]
        n = hi - lo
        keys, other = all_keys[lo:hi], scratch[:n]
        for by_words in range(2):
            if by_words:
                decided = True
                for k in range(1, n):
                    decided &= keys[k] >> width != keys[k - 1] >> width
                if decided:
                    break
            runs, left = 0, 0
            bounds[0] = 0
            while left < n:
                right = left + 1
                while right < n and comes_before(
                    keys[right - 1], keys[right], by_words, width, lo, starts, stops, words
                ):
                    right += 1
                # A short run is extended by insertion, which is less work than merging.
                while right < min(left + 8, n):
                    key, at = keys[right], right
                    while at > left and comes_before(key, keys[at - 1], by_words, width, lo, starts, stops, words):
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
                        if comes_before(keys[i], keys[j], by_words, width, lo, starts, stops, words):
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


def write_words(order: Ints, starts: Ints, words: Ints, rows: Ints, out_offsets: Ints2, out_rows: Ints) -> None:
    """Write matches given as words in `order`, variable by variable: the rows of their events, and their offsets.

    The first of `out_offsets`, where the events of a variable begin, are already set.
    """
    variables = out_offsets.shape[0]
    at = out_offsets[:, 0].copy()
    for k in range(order.shape[0]):
        w = natural(starts[natural(order[k])])
        for v in range(variables):
            to = natural(at[v])
            while words[w] >= 0:
                out_rows[to] = rows[natural(words[w])]
                to += 1
                w += 1
            at[v] = to
            out_offsets[v, k + 1] = to
            w += 1


def write_rows(
    order: Ints,
    columns: Ints,
    events: Ints2,
    time: Ints,
    rows: Ints,
    out: Ints2,
    start: Ints,
    end: Ints,
) -> None:
    """Write matches with one event per variable in `order`; the events of a variable are a column of `events`.

    Where `start` has no room, times are not written.
    """
    size, dated = events.shape[1], start.shape[0] > 0
    for k in range(order.shape[0]):
        m = natural(order[k])
        first = last = events[m, 0]
        for v in range(size):
            event = events[m, columns[v]]
            first, last = min(first, event), max(last, event)
            out[v, k] = rows[natural(event)]
        if dated:
            start[k] = time[natural(first)]
            end[k] = time[natural(last)]


def write_ordered_rows(
    columns: Ints,
    events: Ints2,
    rank: Ints,
    time: Ints,
    rows: Ints,
    out: Ints2,
    start: Ints,
    end: Ints,
) -> bool:
    """Write matches as `write_rows` does while they are in order; returns whether all of them are."""
    size, begun, ended, dated = events.shape[1], -1, -1, start.shape[0] > 0
    for m in range(events.shape[0]):
        first = last = events[m, 0]
        for v in range(1, size):
            first, last = min(first, events[m, v]), max(last, events[m, v])
        begins, ends = rank[natural(first)], rank[natural(last)]
        if ends <= ended:
            if ends < ended or begins < begun:
                return False
            if begins == begun:
                for v in range(size):
                    here, before = events[m, columns[v]], events[m - 1, columns[v]]
                    if here < before:
                        return False
                    if here > before:
                        break
        begun, ended = begins, ends
        for v in range(size):
            out[v, m] = rows[natural(events[m, columns[v]])]
        if dated:
            start[m] = time[natural(first)]
            end[m] = time[natural(last)]
    return True


def write_ordered_lists(
    offsets: Ints,
    events: Ints,
    codes: Ints,
    variable_of: Ints,
    rank: Ints,
    time: Ints,
    rows: Ints,
    begins: Ints,
    out_offsets: Offsets2,
    out_rows: Ints,
    start: Ints,
    end: Ints,
) -> bool:
    """Write matches of lists variable by variable while they are in order; returns whether all of them are.

    The events of each match are in the order of time, and of the variables. Rows of variable v begin at `begins[v]`,
    from where its `out_offsets` count. Where `start` has no room, times are not written.
    """
    variables, dated = begins.shape[0], start.shape[0] > 0
    for v in range(variables):
        begins[v] = 0
    # Code by code: vector comparisons take less time than adding to one of several counters.
    for code in range(variable_of.shape[0]):
        count = 0
        for e in range(offsets[-1]):
            count += codes[natural(e)] == code
        begins[natural(variable_of[code])] += count
    total = 0
    for v in range(variables):
        total, begins[v] = total + begins[v], total
        out_offsets[v, 0] = 0
    at = begins.copy()
    began, ended = -1, -1
    for m in range(offsets.shape[0] - 1):
        lo, hi = natural(offsets[m]), natural(offsets[m + 1])
        first, last = natural(events[lo]), natural(events[hi - 1])
        if rank[last] <= ended:
            if rank[last] < ended or rank[first] < began:
                return False
            if rank[first] == began and not follows(m, offsets, events, codes, variable_of):
                return False
        began, ended = rank[first], rank[last]
        before, e = 0, lo
        while e < hi:
            code = codes[natural(e)]
            v = natural(variable_of[natural(code)])
            if v < before:
                return False
            # A list is written as a whole, so that its end is not loaded and stored for each event.
            before, to = v, natural(at[v])
            while e < hi and codes[natural(e)] == code:
                out_rows[natural(to)] = rows[natural(events[natural(e)])]
                to += 1
                e += 1
            at[v] = to
        for v in range(variables):
            out_offsets[v, m + 1] = at[v] - begins[v]
        if dated:
            start[m] = time[first]
            end[m] = time[last]
    return True


def follows(m: int, offsets: Ints, events: Ints, codes: Ints, variable_of: Ints) -> bool:
    """Whether match m does not come before match m - 1, compared by the events of the variables."""
    i, j = natural(offsets[natural(m)]), natural(offsets[natural(m - 1)])
    last, stop = i, natural(offsets[natural(m + 1)])
    while i < stop and j < last:
        if events[i] != events[j] or codes[i] != codes[j]:
            v, u = variable_of[natural(codes[i])], variable_of[natural(codes[j])]
            if v != u:
                # The list that ends first comes first.
                return bool(v < u)
            if events[i] != events[j]:
                return bool(events[i] > events[j])
        i += 1
        j += 1
    return bool(j == last)
