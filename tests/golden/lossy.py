# PATTERN   SEQ(Shelf s, NOT(Register r), Gate g, Exit e)
# WHERE     s.symbol[e.symbol] = e.symbol AND g.symbol[e.symbol] = e.symbol AND r.symbol = e.symbol
#           AND s.price[g.price] <= g.price[s.price] AND r.volume = s.volume[0]
# WITHIN    12 hours
# THRESHOLD 0.2
#
# posterior scores; queues by symbol
# component 0: s
# component 1: g
# component 2: e
# table 0: from the start of the window to g, s missing, no r; at most 0.901
# table 1: from the start of the window to e, s missing, g missing, no r; at most 0.234
# table 2: from s to g, no r; at most 1
# table 3: from s to e, g missing, no r; at most 0.953


@kernel
def seen_3(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was r observed where the path has none?
    q = latest(0, 1, 3, base, QN, HEAD, B, QB)
    event = later_event(i, 1, 3, B)
    above = earlier_rank(1, rank, B)
    while q >= 0:
        e = QE[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - 43200000:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            B[3] = e
            ok = True
            if ok:  # r.symbol = e.symbol   (query 2:79)
                ok = (c1_symbol[B[3]] == c1_symbol[B[2]] and c1_symbol[B[3]] >= 0 and c1_symbol[B[2]] >= 0)
            if ok and B[0] >= 0:  # r.volume = s.volume[0]   (query 3:56)
                ok = (not ((c2_volume_null[B[3]] != 0) or (c2_volume_null[B[0]] != 0)) and c2_volume[B[3]] == c2_volume[B[0]])
            if ok and B[0] < 0:  # r.volume = s.volume[0]   (query 3:56)
                ok = (not (c2_volume_null[B[3]] != 0) and c2_volume[B[3]] == 0)
            B[3] = -1
            if ok:
                return True
        q = QO[q]
    return False


@kernel
def seen_0(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was s observed where the path has none?
    q = latest(1, 1, 3, base, QN, HEAD, B, QB)
    event = later_event(i, 1, 3, B)
    above = earlier_rank(0, rank, B)
    while q >= 0:
        e = QE[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - 43200000:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            B[0] = e
            ok = True
            if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                ok = (c1_symbol[B[0]] == c1_symbol[B[2]] and c1_symbol[B[0]] >= 0 and c1_symbol[B[2]] >= 0)
            if ok and B[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[B[0]] <= c0_price[B[1]])
            if ok and B[1] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[B[0]] <= c0_price[B[0]])
            B[0] = -1
            if ok:
                return True
        q = QO[q]
    return False


@kernel
def seen_1(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was g observed where the path has none?
    q = latest(2, 2, 3, base, QN, HEAD, B, QB)
    event = later_event(i, 2, 3, B)
    above = earlier_rank(1, rank, B)
    while q >= 0:
        e = QE[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - 43200000:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            B[1] = e
            ok = True
            if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                ok = (c1_symbol[B[1]] == c1_symbol[B[2]] and c1_symbol[B[1]] >= 0 and c1_symbol[B[2]] >= 0)
            if ok and B[0] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[B[0]] <= c0_price[B[1]])
            if ok and B[0] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[B[1]] <= c0_price[B[1]])
            B[1] = -1
            if ok:
                return True
        q = QO[q]
    return False


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null, QE, QU, QO, QY, QN, MO, MY, FREE, HEAD, TAIL, MF, MB, S_first, S_start, S_coef, S_most, S_edge, S_lead, S_tail, S_end, B, QB, U, PC, PA, PX, PS, OUT, OUT_score):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        fit_0 = (type_[i] == 0)  # s
        fit_1 = (type_[i] == 1)  # g
        fit_2 = (type_[i] == 2)  # e
        fit_3 = (type_[i] == 3)  # r
        if not (fit_0 or fit_1 or fit_2 or fit_3):
            continue
        if nums[1] < 6:
            return i  # the caller makes room and comes back
        t = time[i]
        base = g * 6
        for k in range(base, base + 6):  # WITHIN
            if TAIL[k] >= 0 and time[QE[TAIL[k]]] < t - 43200000:
                expire(k, t - 43200000, nums, time, QE, QO, QY, MO, MY, FREE, HEAD, TAIL, MF, MB)
        u = 0.0
        if fit_0:  # s
            u = 1.0  # nothing before it was observed
        U[0] = u
        u = 0.0
        if fit_1:  # g
            u = 0.901083  # nothing before it was observed
            if MF[base + 0] >= 0:  # from s
                u = max(u, QU[MF[base + 0]] * most_of(2, t - time[QE[TAIL[base + 0]]], 5.925925788751718e-06, S_most))
        U[1] = u
        u = 0.0
        if fit_2:  # e
            u = 0.233937  # nothing before it was observed
            if MF[base + 0] >= 0:  # from s
                u = max(u, QU[MF[base + 0]] * most_of(3, t - time[QE[TAIL[base + 0]]], 5.925925788751718e-06, S_most))
            if MF[base + 1] >= 0:  # from g
                u = max(u, QU[MF[base + 1]])
        U[2] = u
        before = nums[0]
        for l in range(3):
            if U[l] * S_end[l] < 0.199999998:
                continue
            for k in range(4):  # a match may end here
                B[k] = -1
            depth = -1
            a = l
            j = l
            e = i
            q = -1
            s = 1.0
            binds = True
            while nums[0] <= nums[2] and not stopped(nums):
                if binds:
                    binds = False
                    B[a] = e
                    QB[a] = q
                    ok = True
                    if a == 0:  # s observed
                        if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                            ok = (c1_symbol[B[0]] == c1_symbol[B[2]] and c1_symbol[B[0]] >= 0 and c1_symbol[B[2]] >= 0)
                        if ok and B[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[B[0]] <= c0_price[B[1]])
                        if ok and B[1] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[B[0]] <= c0_price[B[0]])
                        if ok and depth >= 0 and j >= 1:  # r in the gap
                            ok = not seen_3(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and depth >= 0 and j >= 2:  # g in the gap
                            ok = not seen_1(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null)
                    elif a == 1:  # g observed
                        if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                            ok = (c1_symbol[B[1]] == c1_symbol[B[2]] and c1_symbol[B[1]] >= 0 and c1_symbol[B[2]] >= 0)
                    if ok:
                        depth += 1
                        PC[depth] = a
                        PS[depth] = s
                        PA[depth] = a - 1
                        PX[depth] = HEAD[base + a - 1] if a > 0 and S_edge[a - 1, a] > -2 else -1
                if depth < 0:
                    break
                j = PC[depth]
                a = PA[depth]
                if a < 0:  # no component is left to try before it
                    if S_lead[j] > -2:
                        s = PS[depth]
                        room = 43200000 - (t - time[B[j]])
                        if S_lead[j] >= 0:
                            s *= score_of(S_lead[j], room, S_first, S_start, S_coef)
                        if S_tail[l] >= 0:
                            s *= score_of(S_tail[l], room, S_first, S_start, S_coef)
                        ok = s >= 0.199999999
                        if ok and j >= 1:  # r in a gap
                            ok = not seen_3(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and j >= 1:  # s in a gap
                            ok = not seen_0(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and j >= 2:  # g in a gap
                            ok = not seen_1(i, base, nums, time, rank, QE, QO, QN, HEAD, B, QB, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok:
                            if nums[0] < OUT.shape[0]:
                                OUT[nums[0], 0] = B[0]
                                OUT[nums[0], 1] = B[1]
                                OUT[nums[0], 2] = B[2]
                                OUT_score[nums[0]] = min(1.0, s)
                            nums[0] += 1
                    depth -= 1
                    continue
                q = PX[depth]
                if q < 0 or time[QE[q]] < t - 43200000:  # no event is left: it is missing
                    B[a] = -1
                    ok = True
                    if a == 0:  # s missing
                        if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                            ok = (c1_symbol[B[2]] == c1_symbol[B[2]] and c1_symbol[B[2]] >= 0 and c1_symbol[B[2]] >= 0)
                        if ok and B[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[B[1]] <= c0_price[B[1]])
                    elif a == 1:  # g missing
                        if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                            ok = (c1_symbol[B[2]] == c1_symbol[B[2]] and c1_symbol[B[2]] >= 0 and c1_symbol[B[2]] >= 0)
                    elif a == 2:  # e missing
                        ok = False  # it is never lost
                    if ok:
                        PA[depth] = a - 1
                        PX[depth] = HEAD[base + a - 1] if a > 0 and S_edge[a - 1, j] > -2 else -1
                    else:
                        depth -= 1
                    continue
                PX[depth] = QO[q]
                e = QE[q]
                if rank[e] < rank[B[j]]:
                    s = PS[depth]
                    if S_edge[a, j] >= 0:
                        s *= score_of(S_edge[a, j], time[B[j]] - time[e], S_first, S_start, S_coef)
                    binds = s * QU[q] * S_end[l] >= 0.199999998
        if nums[0] > OUT.shape[0]:
            nums[2 + 1] = nums[0]  # how many there is no place for
            nums[0] = before
            return i
        if U[0] * 1.000001 >= 0.199999998:
            q = push(base + 0, i, nums, QE, QO, QY, FREE, HEAD, TAIL)
            rank_bound(base + 0, q, U[0], QU, MO, MY, MF, MB)
            QN[q, 0] = HEAD[base + 3]
            QN[q, 1] = HEAD[base + 4]
            QN[q, 2] = HEAD[base + 5]
        if U[1] * 1.0 >= 0.199999998:
            q = push(base + 1, i, nums, QE, QO, QY, FREE, HEAD, TAIL)
            rank_bound(base + 1, q, U[1], QU, MO, MY, MF, MB)
            QN[q, 0] = HEAD[base + 3]
            QN[q, 1] = HEAD[base + 4]
            QN[q, 2] = HEAD[base + 5]
        if fit_3:  # r observed
            push(base + 3, i, nums, QE, QO, QY, FREE, HEAD, TAIL)
        if fit_0:  # s observed
            push(base + 4, i, nums, QE, QO, QY, FREE, HEAD, TAIL)
        if fit_1:  # g observed
            push(base + 5, i, nums, QE, QO, QY, FREE, HEAD, TAIL)
    return n


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
def score_of(edge: int, length: int, S_first: NDArray[Any], S_start: NDArray[Any], S_coef: NDArray[Any]) -> float:
    """The score of a gap: a Chebyshev series for each stretch of lengths, of which column 0 is the end."""
    k = max(S_first[edge], upper_bound(S_start, S_first[edge], S_first[edge + 1], length) - 1)
    x = (2.0 * length - S_start[k] - S_coef[k, 0]) / (S_coef[k, 0] - S_start[k])
    b1, b2 = 0.0, 0.0
    for n in range(S_coef.shape[1] - 1, 1, -1):
        b1, b2 = S_coef[k, n] + 2.0 * x * b1 - b2, b1
    return float(S_coef[k, 1] + x * b1 - b2)


@kernel
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


@kernel
def later_event(i: int, after: int, n: int, B: NDArray[Any]) -> int:
    """The event of the next observed component of the path."""
    for k in range(after, n):
        if B[k] >= 0:
            return int(B[k])
    return i


@kernel
def earlier_rank(before: int, rank: NDArray[Any], B: NDArray[Any]) -> int:
    """The rank of the event of the observed component before a place of the path, -1 if there is none."""
    for k in range(before - 1, -1, -1):
        if B[k] >= 0:
            return int(rank[B[k]])
    return -1


@kernel
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


@kernel
def most_of(edge: int, length: int, scale: float, S_most: NDArray[Any]) -> float:
    """At least the score of any gap up to that length."""
    return float(S_most[edge, min(S_most.shape[1] - 1, int(length * scale))])
