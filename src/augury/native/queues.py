"""Arrival queues and score tables for kernels of lossy streams (paper 004, sections 4.1 and 5.1).

The arrays are those of `augury.codegen.lossy.arrays`. A queue links its entries from the oldest to the youngest;
probabilistic ones also link the entries whose bound no younger one exceeds, so that the first of these has the greatest
bound of the queue. This module holds only what Numba compiles; it calls the functions of the prelude by name.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.cells import QueueCell
from augury.native.prelude import upper_bound


def push(
    s: int,
    i: int,
    nums: NDArray[Any],
    entry_event: NDArray[Any],
    entry_older: NDArray[Any],
    entry_younger: NDArray[Any],
    free_entries: NDArray[Any],
    queue_youngest: NDArray[Any],
    queue_oldest: NDArray[Any],
) -> int:
    """Enqueue event i in slot s; its entry. The caller has seen to it that there is a free one."""
    nums[QueueCell.FREE] -= 1
    q = free_entries[nums[QueueCell.FREE]]
    entry_event[q] = i
    entry_older[q] = queue_youngest[s]
    entry_younger[q] = -1
    if queue_youngest[s] >= 0:
        entry_younger[queue_youngest[s]] = q
    else:
        queue_oldest[s] = q
    queue_youngest[s] = q
    return int(q)


def rank_bound(
    s: int,
    q: int,
    u: float,
    entry_bound: NDArray[Any],
    best_older: NDArray[Any],
    best_younger: NDArray[Any],
    queue_best: NDArray[Any],
    queue_last_best: NDArray[Any],
) -> None:
    """Give entry q, the youngest of slot s, its bound; entries that it surpasses can no longer be the greatest."""
    entry_bound[q] = u
    last = queue_last_best[s]
    while last >= 0 and entry_bound[last] <= u:
        last = best_older[last]
    if last < 0:
        queue_best[s] = q
    else:
        best_younger[last] = q
    best_older[q] = last
    best_younger[q] = -1
    queue_last_best[s] = q


def expire(
    s: int,
    since: int,
    nums: NDArray[Any],
    time: NDArray[Any],
    entry_event: NDArray[Any],
    entry_older: NDArray[Any],
    entry_younger: NDArray[Any],
    best_older: NDArray[Any],
    best_younger: NDArray[Any],
    free_entries: NDArray[Any],
    queue_youngest: NDArray[Any],
    queue_oldest: NDArray[Any],
    queue_best: NDArray[Any],
    queue_last_best: NDArray[Any],
) -> None:
    """Dequeue what is earlier than `since`."""
    q = queue_oldest[s]
    while q >= 0 and time[entry_event[q]] < since:
        after = entry_younger[q]
        queue_oldest[s] = after
        if after < 0:
            queue_youngest[s] = -1
        else:
            entry_older[after] = -1
        if queue_best[s] == q:
            queue_best[s] = best_younger[q]
            if best_younger[q] < 0:
                queue_last_best[s] = -1
            else:
                best_older[best_younger[q]] = -1
        free_entries[nums[QueueCell.FREE]] = q
        nums[QueueCell.FREE] += 1
        q = after


def sweep(
    since: int,
    nums: NDArray[Any],
    time: NDArray[Any],
    entry_event: NDArray[Any],
    entry_older: NDArray[Any],
    entry_younger: NDArray[Any],
    best_older: NDArray[Any],
    best_younger: NDArray[Any],
    free_entries: NDArray[Any],
    queue_youngest: NDArray[Any],
    queue_oldest: NDArray[Any],
    queue_best: NDArray[Any],
    queue_last_best: NDArray[Any],
) -> None:
    """Dequeue what is earlier than `since` from all queues, also those of partitions that get no more events."""
    for s in range(queue_youngest.shape[0]):
        expire(
            s,
            since,
            nums,
            time,
            entry_event,
            entry_older,
            entry_younger,
            best_older,
            best_younger,
            free_entries,
            queue_youngest,
            queue_oldest,
            queue_best,
            queue_last_best,
        )


def score_of(
    edge: int, length: int, table_first: NDArray[Any], stretch_start: NDArray[Any], stretch_series: NDArray[Any]
) -> float:
    """The score of a gap: a Chebyshev series for each stretch of lengths, of which column 0 is the end."""
    k = max(table_first[edge], upper_bound(stretch_start, table_first[edge], table_first[edge + 1], length) - 1)
    x = (2.0 * length - stretch_start[k] - stretch_series[k, 0]) / (stretch_series[k, 0] - stretch_start[k])
    b1, b2 = 0.0, 0.0
    for n in range(stretch_series.shape[1] - 1, 1, -1):
        b1, b2 = stretch_series[k, n] + 2.0 * x * b1 - b2, b1
    return float(stretch_series[k, 1] + x * b1 - b2)


def latest(
    w: int,
    after: int,
    n: int,
    base: int,
    entry_watched: NDArray[Any],
    queue_youngest: NDArray[Any],
    path_event: NDArray[Any],
    path_entry: NDArray[Any],
) -> int:
    """The entry of watched queue w that was the youngest when the next observed component of the path arrived."""
    for k in range(after, n):
        if path_event[k] >= 0:
            return int(entry_watched[path_entry[k], w]) if path_entry[k] >= 0 else int(queue_youngest[base + n + w])
    return -1


def later_event(i: int, after: int, n: int, path_event: NDArray[Any]) -> int:
    """The event of the next observed component of the path."""
    for k in range(after, n):
        if path_event[k] >= 0:
            return int(path_event[k])
    return i


def earlier_rank(before: int, rank: NDArray[Any], path_event: NDArray[Any]) -> int:
    """The rank of the event of the observed component before a place of the path, -1 if there is none."""
    for k in range(before - 1, -1, -1):
        if path_event[k] >= 0:
            return int(rank[path_event[k]])
    return -1


def observed(
    w: int,
    before: int,
    after: int,
    n: int,
    window: int,
    i: int,
    base: int,
    time: NDArray[Any],
    rank: NDArray[Any],
    entry_event: NDArray[Any],
    entry_older: NDArray[Any],
    entry_watched: NDArray[Any],
    queue_youngest: NDArray[Any],
    path_event: NDArray[Any],
    path_entry: NDArray[Any],
) -> bool:
    """Whether watched queue w holds an event between the events of the path around its place."""
    q = latest(w, after, n, base, entry_watched, queue_youngest, path_event, path_entry)
    event = later_event(i, after, n, path_event)
    above = earlier_rank(before, rank, path_event)
    while q >= 0:
        e = entry_event[q]
        # An entry that has expired may have been used again, for a later event.
        if e >= event or rank[e] <= above or time[e] < time[i] - window:
            return False
        if rank[e] < rank[event]:
            return True
        q = entry_older[q]
    return False


def most_of(edge: int, length: int, scale: float, table_most: NDArray[Any]) -> float:
    """At least the score of any gap up to that length."""
    return float(table_most[edge, min(table_most.shape[1] - 1, int(length * scale))])
