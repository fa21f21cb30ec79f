"""Matches of one event per variable packed into 64 bit numbers, which are sorted and unpacked.

From the highest bits on, a number holds the rank of the last event; the distance to the first event, larger ones first;
and the event of each variable, counted from the first event of that rank. Each part is as wide as the matches at hand
need, so numbers compare as matches do: by end, by start, by the events of the variables. In a sequence without
concurrent events the first and the last variable take no bits: the last one is counted from the first event of its own
rank. This module holds only what Numba compiles, as in `augury.native.buffer`.
"""

from __future__ import annotations

from augury.native.kinds import Ints, Ints2
from augury.native.prelude import natural


def measure_rows(
    matches: Ints2, columns: Ints, low: int, rank: Ints, firsts: Ints, sequential: bool, most: Ints
) -> None:
    """Measure the greatest value of each part: `most[0]` is the number of ranks in a match, then one for each variable.

    The event of variable v is in column `columns[v]`, and event `low` is the first one of `rank`, which begins with 0
    and has no gaps; `firsts` are the first events of all ranks, counted from `low` as well.
    """
    size = matches.shape[1]
    for k in range(most.shape[0]):
        most[k] = 0
    from_start = size - 1 if sequential else size
    for m in range(matches.shape[0]):
        least, last = matches[m, 0] - low, matches[m, size - 1] - low
        if not sequential:
            for v in range(size):
                event = matches[m, v] - low
                least, last = min(least, event), max(last, event)
        begin, end = rank[natural(least)], rank[natural(last)]
        most[0] = max(most[0], end - begin)
        base = firsts[natural(begin)]
        for v in range(from_start):
            most[v + 1] = max(most[v + 1], matches[m, columns[v]] - low - base)
        if sequential:
            most[size] = max(most[size], last - firsts[natural(end)])


def pack_rows(
    matches: Ints2,
    columns: Ints,
    low: int,
    rank: Ints,
    firsts: Ints,
    sequential: bool,
    longest: int,
    shifts: Ints,
    keys: Ints,
) -> None:
    """Write the number of each match; `longest` is the most ranks that one spans, `shifts` are the bits of its parts.

    Parts are in the order of `most` in `measure_rows`: the length of the match, then each variable. The rank of the
    last event is shifted by `shifts[-1]` bits.
    """
    size = matches.shape[1]
    from_start = size - 1 if sequential else size
    for m in range(matches.shape[0]):
        least, last = matches[m, 0] - low, matches[m, size - 1] - low
        if not sequential:
            for v in range(size):
                event = matches[m, v] - low
                least, last = min(least, event), max(last, event)
        begin, end = rank[natural(least)], rank[natural(last)]
        base = firsts[natural(begin)]
        key = (end << shifts[size + 1]) | ((longest - (end - begin)) << shifts[0])
        for v in range(from_start):
            key |= (matches[m, columns[v]] - low - base) << shifts[v + 1]
        if sequential:
            key |= (last - firsts[natural(end)]) << shifts[size]
        keys[m] = key


def sort_packed(keys: Ints, digit_bits: int, counts: Ints2, other: Ints) -> bool:
    """Radix sort of numbers with the buffer `other`; returns whether the result is in `other`.

    `counts` are zeros, a row for each digit and a cell for each value of one.
    """
    n, digits, mask = keys.shape[0], counts.shape[0], (1 << digit_bits) - 1
    ascending, before = True, 0
    for k in range(n):
        key = keys[k]
        ascending &= key >= before
        before = key
        for d in range(digits):
            counts[d, natural((key >> (d * digit_bits)) & mask)] += 1
    moved = False
    if ascending:
        return moved
    for d in range(digits):
        shift, at, most = d * digit_bits, 0, 0
        for digit in range(mask + 1):
            count = counts[d, digit]
            most = max(most, count)
            counts[d, digit] = at
            at += count
        if most == n:
            continue
        for k in range(n):
            key = keys[k]
            digit = natural((key >> shift) & mask)
            to = natural(counts[d, digit])
            counts[d, digit] = to + 1
            other[to] = key
        keys, other = other, keys
        moved = not moved
    return moved


def write_packed(
    keys: Ints,
    longest: int,
    shifts: Ints,
    widths: Ints,
    sequential: bool,
    firsts: Ints,
    time: Ints,
    rows: Ints,
    out: Ints2,
    start: Ints,
    end: Ints,
) -> None:
    """Write the matches of sorted numbers: the rows of their events by variable, and the times they span.

    `widths` are those of the parts at `shifts`; `time` and `rows` are of the events from the first rank on. Where
    `start` has no room, times are not written.
    """
    size, dated = out.shape[0], start.shape[0] > 0
    from_start = size - 1 if sequential else size
    lengths = (1 << widths[0]) - 1
    for k in range(keys.shape[0]):
        key = keys[k]
        last = key >> shifts[size + 1]
        begin = last - (longest - ((key >> shifts[0]) & lengths))
        base, ends = firsts[natural(begin)], firsts[natural(last)]
        if dated:
            start[k] = time[natural(base)]
            end[k] = time[natural(ends)]
        for v in range(from_start):
            event = base + ((key >> shifts[v + 1]) & ((1 << widths[v + 1]) - 1))
            out[v, k] = rows[natural(event)]
        if sequential:
            event = ends + ((key >> shifts[size]) & ((1 << widths[size]) - 1))
            out[size - 1, k] = rows[natural(event)]
