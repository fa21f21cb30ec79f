"""Functions for row patterns besides the search: rows by partition, the reach of WITHIN, aggregates over matches.

This module holds only what Numba compiles, as in `augury.native.buffer`. Aggregates are computed at points: point e
covers the values from `begin[e]` up to `end[e]`, and continues from the point before it if both begin at one value.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import mix


def place_by_key(keys: NDArray[Any], first: int, ends: NDArray[Any], order: NDArray[Any], place: NDArray[Any]) -> None:
    """Row numbers from row `first` on, grouped by key in stable order, and the place of each row in that order.

    `ends[k]` is the place of the first of these rows of key k, and is advanced.
    """
    for row in range(keys.shape[0]):
        key = keys[row]
        order[ends[key]] = row + first
        place[row] = ends[key]
        ends[key] += 1


def scatter(values: NDArray[Any], place: NDArray[Any], out: NDArray[Any]) -> None:
    """Permute values, each to its place: reads are sequential, and writes are sequential within a key."""
    for row in range(values.shape[0]):
        out[place[row]] = values[row]


def number_integers(
    values: NDArray[Any], least: int, seen: NDArray[Any], count: int, numbers: NDArray[Any], counts: NDArray[Any]
) -> int:
    """Number integers by first appearance, and count them; returns how many differ by now.

    `seen` are the numbers of possible values from `least` on, -1 if they have none yet; `count` are known from calls
    before.
    """
    for row in range(values.shape[0]):
        at = values[row] - least
        number = seen[at]
        if number < 0:
            number = count
            seen[at] = number
            count += 1
        numbers[row] = number
        counts[number] += 1
    return count


def number_words(
    offsets: NDArray[Any],
    words: NDArray[Any],
    table: NDArray[Any],
    spelled: NDArray[Any],
    count: int,
    numbers: NDArray[Any],
    counts: NDArray[Any],
) -> int:
    """Number strings of at most 16 bytes by first appearance, and count them; returns how many differ by now.

    String r is the bytes from `offsets[r]` up to `offsets[r + 1]`; `words[b]` are the 8 bytes from b on, for 16 bytes
    from the begin of each string on. `table` is a hash table of numbers, empty places are -1; its size is a power of
    two and at least twice the number of strings that `spelled` has room for. `count` strings are known from calls
    before. If there are more strings than there is room for, or a longer one, -1 is returned.
    """
    mask = table.shape[0] - 1
    for row in range(numbers.shape[0]):
        begin = offsets[row]
        length = offsets[row + 1] - begin
        first = words[begin]
        second = 0
        if length < 8:
            first &= (1 << (8 * length)) - 1
            place = mix(int(first ^ (length << 56)))
        elif length <= 16:
            if length > 8:
                second = words[begin + 8]
                if length < 16:
                    second &= (1 << (8 * (length - 8))) - 1
            place = mix(int(first ^ mix(int(second ^ length))))
        else:
            return -1
        place = (place >> 32) & mask
        while True:
            number = table[place]
            if number < 0:
                if count >= spelled.shape[0]:
                    return -1
                number = count
                table[place] = number
                spelled[number, 0] = first
                spelled[number, 1] = second
                spelled[number, 2] = length
                count += 1
                break
            if spelled[number, 0] == first and spelled[number, 1] == second and spelled[number, 2] == length:
                break
            place = (place + 1) & mask
        numbers[row] = number
        counts[number] += 1
    return count


MARKED_ROWS = 4096
"""Rows whose bits are set at a time: they stay in the nearest cache while one condition after the other is read."""


def mark_rows(true: NDArray[Any], masks: NDArray[Any], always: int, words: int, word: int, bits: NDArray[Any]) -> None:
    """In one word of every row, set the bits of `always`, and those of `masks[k]` if condition k is true.

    `true` are bytes, 0 or 1: of booleans the compiler would make branches, and which way they go cannot be foreseen.
    """
    for first in range(0, true.shape[1], MARKED_ROWS):
        # Slices of their own: the compiler does not work on many rows at once where an index might be negative.
        told = true[:, first : first + MARKED_ROWS]
        size = told.shape[1]
        if words == 1:
            held = bits[first : first + size]
            held[:] = always
            for k in range(masks.shape[0]):
                mask = masks[k]
                condition = told[k]
                for row in range(size):
                    held[row] |= -int(condition[row]) & mask
        else:
            for row in range(size):
                together = always
                for k in range(masks.shape[0]):
                    together |= -int(told[k, row]) & masks[k]
                bits[(first + row) * words + word] = together


def window_sums(
    values: NDArray[Any],
    codes: NDArray[Any],
    shifts: NDArray[Any],
    most: float,
    totals: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """For each row, the sum of the known values `shifts` rows from it, in this order.

    `out` gets their number, or -1 where one has failed or their absolute values add up to more than `most`.
    """
    size = values.shape[0]
    for row in range(size):
        count = 0
        total = values[row]
        distance = 0.0
        failed = False
        for k in range(shifts.shape[0]):
            at = row + shifts[k]
            if at >= 0 and at < size:
                if codes[at] == 0:
                    value = values[at]
                    total = total + value if count > 0 else value
                    distance += abs(float(value))
                    count += 1
                elif codes[at] == 2:
                    failed = True
        totals[row] = total
        out[row] = -1 if failed or distance > most else count


def window_extremes(
    values: NDArray[Any],
    codes: NDArray[Any],
    shifts: NDArray[Any],
    greatest: bool,
    found: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """For each row, the least or greatest of the known values `shifts` rows from it; `out` as for sums."""
    size = values.shape[0]
    for row in range(size):
        count = 0
        best = values[row]
        failed = False
        for k in range(shifts.shape[0]):
            at = row + shifts[k]
            if at >= 0 and at < size:
                if codes[at] == 0:
                    value = values[at]
                    if count == 0 or (value > best if greatest else value < best):
                        best = value
                    count += 1
                elif codes[at] == 2:
                    failed = True
        found[row] = best
        out[row] = -1 if failed else count


def window_counts(codes: NDArray[Any], shifts: NDArray[Any], out: NDArray[Any]) -> None:
    """For each row, the number of known values `shifts` rows from it; -1 where one has failed."""
    size = codes.shape[0]
    for row in range(size):
        count = 0
        failed = False
        for k in range(shifts.shape[0]):
            at = row + shifts[k]
            if at >= 0 and at < size:
                if codes[at] == 0:
                    count += 1
                elif codes[at] == 2:
                    failed = True
        out[row] = -1 if failed else count


def reach_of(
    times: NDArray[Any], known: NDArray[Any], starts: NDArray[Any], distance: float, reach: NDArray[Any]
) -> None:
    """For each row, the first later row that is farther than `distance`; a null is far from every other row."""
    for partition in range(starts.shape[0] - 1):
        high = starts[partition + 1]
        end = starts[partition]
        for row in range(starts[partition], high):
            end = max(end, row + 1)
            while end < high and known[row] and known[end] and abs(times[end] - times[row]) <= distance:
                end += 1
            reach[row] = end


def labelled_rows(
    states: NDArray[Any], wanted: NDArray[Any], offset: NDArray[Any], last: bool, nth: int, place: NDArray[Any]
) -> None:
    """For each match, the number of a mapped row in a `wanted` state: `nth` from the first or the last; -1 if none.

    The mapped rows of match m are numbers `offset[m]` up to `offset[m + 1]`.
    """
    for match in range(place.shape[0]):
        at = offset[match + 1] - 1 if last else offset[match]
        step = -1 if last else 1
        left = nth
        found = -1
        for _ in range(offset[match + 1] - offset[match]):
            if wanted[states[at]]:
                if left == 0:
                    found = at
                    break
                left -= 1
            at += step
        place[match] = found


def add_up(
    values: NDArray[Any], codes: NDArray[Any], begin: NDArray[Any], end: NDArray[Any], zero: Any, totals: NDArray[Any]
) -> None:
    """Sums of the known values, from left to right; `zero` has their type."""
    total = zero
    at = 0
    for e in range(begin.shape[0]):
        if e == 0 or begin[e] != begin[e - 1] or end[e] < at:
            at = begin[e]
            total = zero
        while at < end[e]:
            if codes[at] == 0:
                total += values[at]
            at += 1
        totals[e] = total


def extremes(
    values: NDArray[Any],
    codes: NDArray[Any],
    begin: NDArray[Any],
    end: NDArray[Any],
    greatest: bool,
    found: NDArray[Any],
) -> None:
    """The least or greatest of the known values; among equal ones, and with NaN, the first."""
    at = 0
    seen = False
    best = values[0]
    for e in range(begin.shape[0]):
        if e == 0 or begin[e] != begin[e - 1] or end[e] < at:
            at = begin[e]
            seen = False
        while at < end[e]:
            if codes[at] == 0:
                value = values[at]
                if not seen or (value > best if greatest else value < best):
                    best = value
                seen = True
            at += 1
        found[e] = best


def moments(
    values: NDArray[Any], codes: NDArray[Any], begin: NDArray[Any], end: NDArray[Any], squares: NDArray[Any]
) -> None:
    """Sums of squared differences from the mean of the known values, by Welford's update."""
    at = 0
    count = 0
    mean = 0.0
    square = 0.0
    for e in range(begin.shape[0]):
        if e == 0 or begin[e] != begin[e - 1] or end[e] < at:
            at = begin[e]
            count = 0
            mean = 0.0
            square = 0.0
        while at < end[e]:
            if codes[at] == 0:
                value = float(values[at])
                delta = value - mean
                count += 1
                mean += delta / count
                square += delta * (value - mean)
            at += 1
        squares[e] = square
