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
def seen_3(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was r observed where the path has none?
    q = latest(0, 1, 3, base, entry_watched, queue_youngest, path_event, path_entry)
    event = later_event(i, 1, 3, path_event)
    above = earlier_rank(1, rank, path_event)
    while q >= 0:
        e = entry_event[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - int_values[0]:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            path_event[3] = e
            ok = True
            if ok:  # r.symbol = e.symbol   (query 2:79)
                ok = (c1_symbol[path_event[3]] == c1_symbol[path_event[2]] and c1_symbol[path_event[3]] >= 0 and c1_symbol[path_event[2]] >= 0)
            if ok and path_event[0] >= 0:  # r.volume = s.volume[0]   (query 3:56)
                ok = (not ((c2_volume_null[path_event[3]] != 0) or (c2_volume_null[path_event[0]] != 0)) and c2_volume[path_event[3]] == c2_volume[path_event[0]])
            if ok and path_event[0] < 0:  # r.volume = s.volume[0]   (query 3:56)
                ok = (not (c2_volume_null[path_event[3]] != 0) and c2_volume[path_event[3]] == int_values[1])
            path_event[3] = -1
            if ok:
                return True
        q = entry_older[q]
    return False


@kernel
def seen_0(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was s observed where the path has none?
    q = latest(1, 1, 3, base, entry_watched, queue_youngest, path_event, path_entry)
    event = later_event(i, 1, 3, path_event)
    above = earlier_rank(0, rank, path_event)
    while q >= 0:
        e = entry_event[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - int_values[0]:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            path_event[0] = e
            ok = True
            if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                ok = (c1_symbol[path_event[0]] == c1_symbol[path_event[2]] and c1_symbol[path_event[0]] >= 0 and c1_symbol[path_event[2]] >= 0)
            if ok and path_event[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[path_event[0]] <= c0_price[path_event[1]])
            if ok and path_event[1] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[path_event[0]] <= c0_price[path_event[0]])
            path_event[0] = -1
            if ok:
                return True
        q = entry_older[q]
    return False


@kernel
def seen_1(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null):  # was g observed where the path has none?
    q = latest(2, 2, 3, base, entry_watched, queue_youngest, path_event, path_entry)
    event = later_event(i, 2, 3, path_event)
    above = earlier_rank(1, rank, path_event)
    while q >= 0:
        e = entry_event[q]
        if e >= event or rank[e] <= above or time[e] < time[i] - int_values[0]:
            return False  # before the gap, or an entry that has expired and been used again
        if rank[e] < rank[event]:
            path_event[1] = e
            ok = True
            if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                ok = (c1_symbol[path_event[1]] == c1_symbol[path_event[2]] and c1_symbol[path_event[1]] >= 0 and c1_symbol[path_event[2]] >= 0)
            if ok and path_event[0] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[path_event[0]] <= c0_price[path_event[1]])
            if ok and path_event[0] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                ok = (c0_price[path_event[1]] <= c0_price[path_event[1]])
            path_event[1] = -1
            if ok:
                return True
        q = entry_older[q]
    return False


@kernel
def advance(i0, n, nums, time, rank, type_, part, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null, entry_event, entry_bound, entry_older, entry_younger, entry_watched, best_older, best_younger, free_entries, queue_youngest, queue_oldest, queue_best, queue_last_best, table_first, stretch_start, stretch_series, table_most, edge_table, lead_table, tail_table, tail_score, path_event, path_entry, arrival_bound, stack_component, stack_before, stack_entry, stack_score, match_events, match_score):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        fit_0 = (type_[i] == type_codes[0])  # s
        fit_1 = (type_[i] == type_codes[1])  # g
        fit_2 = (type_[i] == type_codes[2])  # e
        fit_3 = (type_[i] == type_codes[3])  # r
        if not (fit_0 or fit_1 or fit_2 or fit_3):
            continue
        if nums[1] < 6:
            return i  # the caller makes room and comes back
        t = time[i]
        base = g * 6
        for k in range(base, base + 6):  # WITHIN
            if queue_oldest[k] >= 0 and time[entry_event[queue_oldest[k]]] < t - int_values[0]:
                expire(k, t - int_values[0], nums, time, entry_event, entry_older, entry_younger, best_older, best_younger, free_entries, queue_youngest, queue_oldest, queue_best, queue_last_best)
        u = 0.0
        if fit_0:  # s
            u = float_values[2]  # nothing before it was observed
        arrival_bound[0] = u
        u = 0.0
        if fit_1:  # g
            u = float_values[3]  # nothing before it was observed
            if queue_best[base + 0] >= 0:  # from s
                u = max(u, entry_bound[queue_best[base + 0]] * most_of(2, t - time[entry_event[queue_oldest[base + 0]]], float_values[4], table_most))
        arrival_bound[1] = u
        u = 0.0
        if fit_2:  # e
            u = float_values[5]  # nothing before it was observed
            if queue_best[base + 0] >= 0:  # from s
                u = max(u, entry_bound[queue_best[base + 0]] * most_of(3, t - time[entry_event[queue_oldest[base + 0]]], float_values[4], table_most))
            if queue_best[base + 1] >= 0:  # from g
                u = max(u, entry_bound[queue_best[base + 1]])
        arrival_bound[2] = u
        before = nums[0]
        for l in range(3):
            if arrival_bound[l] * tail_score[l] < float_values[1]:
                continue
            for k in range(4):  # a match may end here
                path_event[k] = -1
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
                    path_event[a] = e
                    path_entry[a] = q
                    ok = True
                    if a == 0:  # s observed
                        if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                            ok = (c1_symbol[path_event[0]] == c1_symbol[path_event[2]] and c1_symbol[path_event[0]] >= 0 and c1_symbol[path_event[2]] >= 0)
                        if ok and path_event[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[path_event[0]] <= c0_price[path_event[1]])
                        if ok and path_event[1] < 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[path_event[0]] <= c0_price[path_event[0]])
                        if ok and depth >= 0 and j >= 1:  # r in the gap
                            ok = not seen_3(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and depth >= 0 and j >= 2:  # g in the gap
                            ok = not seen_1(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null)
                    elif a == 1:  # g observed
                        if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                            ok = (c1_symbol[path_event[1]] == c1_symbol[path_event[2]] and c1_symbol[path_event[1]] >= 0 and c1_symbol[path_event[2]] >= 0)
                    if ok:
                        depth += 1
                        stack_component[depth] = a
                        stack_score[depth] = s
                        stack_before[depth] = a - 1
                        stack_entry[depth] = queue_youngest[base + a - 1] if a > 0 and edge_table[a - 1, a] > -2 else -1
                if depth < 0:
                    break
                j = stack_component[depth]
                a = stack_before[depth]
                if a < 0:  # no component is left to try before it
                    if lead_table[j] > -2:
                        s = stack_score[depth]
                        room = int_values[0] - (t - time[path_event[j]])
                        if lead_table[j] >= 0:
                            s *= score_of(lead_table[j], room, table_first, stretch_start, stretch_series)
                        if tail_table[l] >= 0:
                            s *= score_of(tail_table[l], room, table_first, stretch_start, stretch_series)
                        ok = s >= float_values[0]
                        if ok and j >= 1:  # r in a gap
                            ok = not seen_3(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and j >= 1:  # s in a gap
                            ok = not seen_0(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok and j >= 2:  # g in a gap
                            ok = not seen_1(i, base, nums, time, rank, entry_event, entry_older, entry_watched, queue_youngest, path_event, path_entry, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null)
                        if ok:
                            if nums[0] < match_events.shape[0]:
                                match_events[nums[0], 0] = path_event[0]
                                match_events[nums[0], 1] = path_event[1]
                                match_events[nums[0], 2] = path_event[2]
                                match_score[nums[0]] = min(1.0, s)
                            nums[0] += 1
                    depth -= 1
                    continue
                q = stack_entry[depth]
                if q < 0 or time[entry_event[q]] < t - int_values[0]:  # no event is left: it is missing
                    path_event[a] = -1
                    ok = True
                    if a == 0:  # s missing
                        if ok:  # s.symbol[e.symbol] = e.symbol   (query 2:11)
                            ok = (c1_symbol[path_event[2]] == c1_symbol[path_event[2]] and c1_symbol[path_event[2]] >= 0 and c1_symbol[path_event[2]] >= 0)
                        if ok and path_event[1] >= 0:  # s.price[g.price] <= g.price[s.price]   (query 3:15)
                            ok = (c0_price[path_event[1]] <= c0_price[path_event[1]])
                    elif a == 1:  # g missing
                        if ok:  # g.symbol[e.symbol] = e.symbol   (query 2:45)
                            ok = (c1_symbol[path_event[2]] == c1_symbol[path_event[2]] and c1_symbol[path_event[2]] >= 0 and c1_symbol[path_event[2]] >= 0)
                    elif a == 2:  # e missing
                        ok = False  # it is never lost
                    if ok:
                        stack_before[depth] = a - 1
                        stack_entry[depth] = queue_youngest[base + a - 1] if a > 0 and edge_table[a - 1, j] > -2 else -1
                    else:
                        depth -= 1
                    continue
                stack_entry[depth] = entry_older[q]
                e = entry_event[q]
                if rank[e] < rank[path_event[j]]:
                    s = stack_score[depth]
                    if edge_table[a, j] >= 0:
                        s *= score_of(edge_table[a, j], time[path_event[j]] - time[e], table_first, stretch_start, stretch_series)
                    binds = s * entry_bound[q] * tail_score[l] >= float_values[1]
        if nums[0] > match_events.shape[0]:
            nums[3] = nums[0]  # how many there is no place for
            nums[0] = before
            return i
        if arrival_bound[0] * float_values[6] >= float_values[1]:
            q = push(base + 0, i, nums, entry_event, entry_older, entry_younger, free_entries, queue_youngest, queue_oldest)
            rank_bound(base + 0, q, arrival_bound[0], entry_bound, best_older, best_younger, queue_best, queue_last_best)
            entry_watched[q, 0] = queue_youngest[base + 3]
            entry_watched[q, 1] = queue_youngest[base + 4]
            entry_watched[q, 2] = queue_youngest[base + 5]
        if arrival_bound[1] * float_values[7] >= float_values[1]:
            q = push(base + 1, i, nums, entry_event, entry_older, entry_younger, free_entries, queue_youngest, queue_oldest)
            rank_bound(base + 1, q, arrival_bound[1], entry_bound, best_older, best_younger, queue_best, queue_last_best)
            entry_watched[q, 0] = queue_youngest[base + 3]
            entry_watched[q, 1] = queue_youngest[base + 4]
            entry_watched[q, 2] = queue_youngest[base + 5]
        if fit_3:  # r observed
            push(base + 3, i, nums, entry_event, entry_older, entry_younger, free_entries, queue_youngest, queue_oldest)
        if fit_0:  # s observed
            push(base + 4, i, nums, entry_event, entry_older, entry_younger, free_entries, queue_youngest, queue_oldest)
        if fit_1:  # g observed
            push(base + 5, i, nums, entry_event, entry_older, entry_younger, free_entries, queue_youngest, queue_oldest)
    return n


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
def later_event(i: int, after: int, n: int, path_event: NDArray[Any]) -> int:
    """The event of the next observed component of the path."""
    for k in range(after, n):
        if path_event[k] >= 0:
            return int(path_event[k])
    return i


@kernel
def earlier_rank(before: int, rank: NDArray[Any], path_event: NDArray[Any]) -> int:
    """The rank of the event of the observed component before a place of the path, -1 if there is none."""
    for k in range(before - 1, -1, -1):
        if path_event[k] >= 0:
            return int(rank[path_event[k]])
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


@kernel
def most_of(edge: int, length: int, scale: float, table_most: NDArray[Any]) -> float:
    """At least the score of any gap up to that length."""
    return float(table_most[edge, min(table_most.shape[1] - 1, int(length * scale))])
