"""Arrival queues and score tables: what the kernels of lossy streams do alike (paper 004, sections 4.1 and 5.1).

A slot is one queue of one partition. Its entries are linked from the oldest (TAIL) to the youngest (HEAD): QE is the
event, QO the entry before, QY the one after. Probabilistic queues also link the entries that no younger one surpasses
in its bound QU (MO, MY), so that the greatest bound of a queue is that of the first of these (MF); MB is the last.
Only what Numba compiles belongs here; the functions of the prelude are there by name.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import upper_bound


def push(
    s: int,
    i: int,
    nums: NDArray[Any],
    QE: NDArray[Any],
    QO: NDArray[Any],
    QY: NDArray[Any],
    FREE: NDArray[Any],
    HEAD: NDArray[Any],
    TAIL: NDArray[Any],
) -> int:
    """Enqueue event i in slot s; its entry. The caller has seen to it that there is a free one."""
    nums[1] -= 1
    q = FREE[nums[1]]
    QE[q] = i
    QO[q] = HEAD[s]
    QY[q] = -1
    if HEAD[s] >= 0:
        QY[HEAD[s]] = q
    else:
        TAIL[s] = q
    HEAD[s] = q
    return int(q)


def rank_bound(
    s: int,
    q: int,
    u: float,
    QU: NDArray[Any],
    MO: NDArray[Any],
    MY: NDArray[Any],
    MF: NDArray[Any],
    MB: NDArray[Any],
) -> None:
    """Give entry q, the youngest of slot s, its bound; entries that it surpasses can no longer be the greatest."""
    QU[q] = u
    last = MB[s]
    while last >= 0 and QU[last] <= u:
        last = MO[last]
    if last < 0:
        MF[s] = q
    else:
        MY[last] = q
    MO[q] = last
    MY[q] = -1
    MB[s] = q


def expire(
    s: int,
    since: int,
    nums: NDArray[Any],
    time: NDArray[Any],
    QE: NDArray[Any],
    QO: NDArray[Any],
    QY: NDArray[Any],
    MO: NDArray[Any],
    MY: NDArray[Any],
    FREE: NDArray[Any],
    HEAD: NDArray[Any],
    TAIL: NDArray[Any],
    MF: NDArray[Any],
    MB: NDArray[Any],
) -> None:
    """Dequeue what is earlier than `since`."""
    q = TAIL[s]
    while q >= 0 and time[QE[q]] < since:
        after = QY[q]
        TAIL[s] = after
        if after < 0:
            HEAD[s] = -1
        else:
            QO[after] = -1
        if MF[s] == q:
            MF[s] = MY[q]
            if MY[q] < 0:
                MB[s] = -1
            else:
                MO[MY[q]] = -1
        FREE[nums[1]] = q
        nums[1] += 1
        q = after


def sweep(
    since: int,
    nums: NDArray[Any],
    time: NDArray[Any],
    QE: NDArray[Any],
    QO: NDArray[Any],
    QY: NDArray[Any],
    MO: NDArray[Any],
    MY: NDArray[Any],
    FREE: NDArray[Any],
    HEAD: NDArray[Any],
    TAIL: NDArray[Any],
    MF: NDArray[Any],
    MB: NDArray[Any],
) -> None:
    """Dequeue what is earlier than `since` from all queues, also those of partitions that get no more events."""
    for s in range(HEAD.shape[0]):
        expire(s, since, nums, time, QE, QO, QY, MO, MY, FREE, HEAD, TAIL, MF, MB)


def score_of(edge: int, length: int, S_first: NDArray[Any], S_start: NDArray[Any], S_coef: NDArray[Any]) -> float:
    """The score of a gap: a Chebyshev series for each stretch of lengths, of which column 0 is the end."""
    k = max(S_first[edge], upper_bound(S_start, S_first[edge], S_first[edge + 1], length) - 1)
    x = (2.0 * length - S_start[k] - S_coef[k, 0]) / (S_coef[k, 0] - S_start[k])
    b1, b2 = 0.0, 0.0
    for n in range(S_coef.shape[1] - 1, 1, -1):
        b1, b2 = S_coef[k, n] + 2.0 * x * b1 - b2, b1
    return float(S_coef[k, 1] + x * b1 - b2)


def latest(
    w: int,
    after: int,
    n: int,
    base: int,
    QN: NDArray[Any],
    HEAD: NDArray[Any],
    B: NDArray[Any],
    QB: NDArray[Any],
) -> int:
    """The entry of watched queue w that was the youngest when the next observed component of the path arrived."""
    for k in range(after, n):
        if B[k] >= 0:
            return int(QN[QB[k], w]) if QB[k] >= 0 else int(HEAD[base + n + w])
    return -1


def later_event(i: int, after: int, n: int, B: NDArray[Any]) -> int:
    """The event of the next observed component of the path."""
    for k in range(after, n):
        if B[k] >= 0:
            return int(B[k])
    return i


def earlier_rank(before: int, rank: NDArray[Any], B: NDArray[Any]) -> int:
    """The rank of the event of the observed component before a place of the path, -1 if there is none."""
    for k in range(before - 1, -1, -1):
        if B[k] >= 0:
            return int(rank[B[k]])
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
    QE: NDArray[Any],
    QO: NDArray[Any],
    QN: NDArray[Any],
    HEAD: NDArray[Any],
    B: NDArray[Any],
    QB: NDArray[Any],
) -> bool:
    """Whether watched queue w holds an event between the events of the path around its place."""
    q = latest(w, after, n, base, QN, HEAD, B, QB)
    event = later_event(i, after, n, B)
    above = earlier_rank(before, rank, B)
    while q >= 0:
        e = QE[q]
        # An entry that has expired may have been used again, for a later event.
        if e >= event or rank[e] <= above or time[e] < time[i] - window:
            return False
        if rank[e] < rank[event]:
            return True
        q = QO[q]
    return False


def most_of(edge: int, length: int, scale: float, S_most: NDArray[Any]) -> float:
    """At least the score of any gap up to that length."""
    return float(S_most[edge, min(S_most.shape[1] - 1, int(length * scale))])
