# PATTERN SEQ(A a, NOT(N n), B b, C c)
# WHERE   [symbol] AND a.price < b.price AND a.volume < c.volume
# WITHIN  10 minutes
# OUTPUT  COVER
#
# linked chains; OUTPUT COVER
# component 0: a
# component 1: b
# component 2: c


@kernel
def occurs_0(m, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    first = M_events[M_offsets[m]]
    last = M_events[M_offsets[m + 1] - 1]
    lo_v1_n = 0
    hi_v1_n = rank.shape[0]
    lo_v1_n = max(lo_v1_n, upper_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[0, m + 1] - 1]]))  # after a
    hi_v1_n = min(hi_v1_n, lower_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[1, m]]]))  # before b
    hi_v1_n = min(hi_v1_n, lower_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[2, m]]]))  # before c
    lo_v1_n = max(lo_v1_n, lower_bound(time, 0, rank.shape[0], time[last] - 600000))  # WITHIN
    hi_v1_n = min(hi_v1_n, upper_bound(time, 0, rank.shape[0], time[first] + 600000))  # WITHIN
    j_v1_n = lower_bound(C_part, C_start[0], C_start[1], part[first])
    z_v1_n = upper_bound(C_part, j_v1_n, C_start[1], part[first])
    j_v1_n = lower_bound(C_event, j_v1_n, z_v1_n, lo_v1_n)
    z_v1_n = lower_bound(C_event, j_v1_n, z_v1_n, hi_v1_n)
    while j_v1_n < z_v1_n:
        e_v1_n = C_event[j_v1_n]
        j_v1_n += 1
        if contains(M_events, M_offsets[m], M_offsets[m + 1], e_v1_n):  # an event of the match
            continue
        return True
    return False


@kernel
def fits(c, n, keep, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    if c == 0:  # n
        for i in range(n):
            keep[i] = part[i] >= 0 and (type_[i] == 3)


@kernel
def absent(m0, n, keep, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for m in range(m0, n):
        if stopped(nums):
            return
        keep[m] = 1
        if M_branch[m] == 0 and occurs_0(m, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
            keep[m] = 0


@kernel
def extend_1(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    e1 = i  # b
    M[1] = i
    n0 = L_tail[L]
    while n0 >= 0:
        e0 = N_event[n0]  # a
        n0 = N_prev[n0]
        if time[e1] - time[e0] > 600000:  # WITHIN
            break  # those before it are earlier still
        if rank[e0] >= rank[e1]:
            continue
        if not (c0_price[e0] < c0_price[e1]):  # a.price < b.price   (query 2:22)
            continue
        M[0] = e0
        return True
    return False


@kernel
def extend_2(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    e2 = i  # c
    M[2] = i
    n1 = L_tail[L]
    while n1 >= 0:
        e1 = N_event[n1]  # b
        if stopped(nums):
            break
        n0 = N_up[n1]
        n1 = N_prev[n1]
        if time[e2] - time[e1] > 600000:  # WITHIN
            break  # those before it are earlier still
        if rank[e1] >= rank[e2]:
            continue
        M[1] = e1
        while n0 >= 0:
            e0 = N_event[n0]  # a
            n0 = N_prev[n0]
            if time[e2] - time[e0] > 600000:  # WITHIN
                break  # those before it are earlier still
            if rank[e0] >= rank[e1]:
                continue
            if not (c0_price[e0] < c0_price[e1]):  # a.price < b.price   (query 2:22)
                continue
            if not (not ((c1_volume_null[e0] != 0) or (c1_volume_null[e2] != 0)) and c1_volume[e0] < c1_volume[e2]):  # a.volume < c.volume   (query 2:44)
                continue
            M[0] = e0
            M_events[0] = e0
            V_events[0] = e0
            M_events[1] = e1
            V_events[1] = e1
            M_events[2] = e2
            V_events[2] = e2
            absent(0, 1, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event)
            if KEEP[0] == 0:
                continue
            return True
    return False


@kernel
def advance(i0, n, quiet, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, N_event, N_prev, N_up, N_list, L_parent, L_chain, L_tail, L_next, L_child, L_depth, HEAD, LIVE, REL, CH, ROOT, C_last, F_parent, F_chain, F_next, F_up, F_own, F_events, M, BEST, KEEP, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        mask = 0
        if (type_[i] == 0):  # a
            mask |= 1
        if (type_[i] == 1):  # b
            mask |= 2
        if (type_[i] == 2):  # c
            mask |= 4
        if mask == 0:  # no component could bind it: it breaks no chain
            continue
        if stopped(nums):
            return i
        need = LIVE[g] + 3
        if min(N_event.shape[0] - nums[0], L_parent.shape[0] - nums[1], C_last.shape[0] - nums[2], F_next.shape[0] - nums[3]) < need:
            return i  # the caller makes room and comes back
        if mask & 1 != 0:
            if REL[g] & 1 == 0:  # a new chain of a
                CH[0, g] = nums[2]
                nums[2] += 1
            C_last[CH[0, g]] = i
        if mask & 2 != 0:
            if REL[g] & 2 == 0:  # a new chain of b
                CH[1, g] = nums[2]
                nums[2] += 1
            C_last[CH[1, g]] = i
        if mask & 4 != 0:
            if REL[g] & 4 == 0:  # a new chain of c
                CH[2, g] = nums[2]
                nums[2] += 1
            C_last[CH[2, g]] = i
        REL[g] = mask
        if mask & 4 != 0:  # go on with c
            before = -1
            L = HEAD[1, g]
            while L >= 0:
                after = L_next[L]
                if time[i] - time[N_event[L_tail[L]]] > 600000:  # WITHIN has passed
                    if before < 0:
                        HEAD[1, g] = after
                    else:
                        L_next[before] = after
                    L_next[L] = -2  # until its chain goes on
                    LIVE[g] -= 1
                    L = after
                    continue
                if extend_2(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
                    q = L_child[L]
                    if q < 0 or F_chain[q] != CH[2, g]:  # another combination of chains
                        q = nums[3]
                        nums[3] += 1
                        F_parent[q] = L
                        F_chain[q] = CH[2, g]
                        F_next[q] = 0
                        L_child[L] = q
                    F_events[q, 0] = M[0]  # the latest so far
                    F_events[q, 1] = M[1]
                    F_events[q, 2] = M[2]
                before = L
                L = after
        if mask & 2 != 0:  # go on with b
            before = -1
            L = HEAD[0, g]
            while L >= 0:
                after = L_next[L]
                if time[i] - time[N_event[L_tail[L]]] > 600000:  # WITHIN has passed
                    if before < 0:
                        HEAD[0, g] = after
                    else:
                        L_next[before] = after
                    L_next[L] = -2  # until its chain goes on
                    LIVE[g] -= 1
                    L = after
                    continue
                if extend_1(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
                    q = L_child[L]
                    if q < 0 or L_chain[q] != CH[1, g]:  # another chain
                        q = nums[1]
                        nums[1] += 1
                        L_parent[q] = L
                        L_chain[q] = CH[1, g]
                        L_tail[q] = -1
                        L_child[q] = -1
                        L_depth[q] = 1
                        L_next[q] = HEAD[1, g]
                        HEAD[1, g] = q
                        LIVE[g] += 1
                        L_child[L] = q
                    if L_next[q] == -2:
                        L_next[q] = HEAD[1, g]
                        HEAD[1, g] = q
                        LIVE[g] += 1
                    N_event[nums[0]] = i
                    N_list[nums[0]] = q
                    N_up[nums[0]] = L_tail[L]
                    N_prev[nums[0]] = L_tail[q]  # it covers the one before it in the chain
                    L_tail[q] = nums[0]
                    nums[0] += 1
                before = L
                L = after
        if mask & 1 != 0:  # begin with a
            q = ROOT[g]
            if q < 0 or L_chain[q] != CH[0, g]:
                q = nums[1]
                nums[1] += 1
                L_parent[q] = -1
                L_chain[q] = CH[0, g]
                L_tail[q] = -1
                L_child[q] = -1
                L_depth[q] = 0
                L_next[q] = HEAD[0, g]
                HEAD[0, g] = q
                LIVE[g] += 1
                ROOT[g] = q
            if L_next[q] == -2:
                L_next[q] = HEAD[0, g]
                HEAD[0, g] = q
                LIVE[g] += 1
            N_event[nums[0]] = i
            N_list[nums[0]] = q
            N_up[nums[0]] = -1
            N_prev[nums[0]] = L_tail[q]  # it covers the one before it in the chain
            L_tail[q] = nums[0]
            nums[0] += 1
    return n
