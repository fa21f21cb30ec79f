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
def occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    first = M_events[M_offsets[m]]
    last = M_events[M_offsets[m + 1] - 1]
    lo_v1_n = 0
    hi_v1_n = rank.shape[0]
    lo_v1_n = max(lo_v1_n, upper_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[0, m + 1] - 1]]))  # after a
    hi_v1_n = min(hi_v1_n, lower_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[1, m]]]))  # before b
    hi_v1_n = min(hi_v1_n, lower_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[2, m]]]))  # before c
    lo_v1_n = max(lo_v1_n, lower_bound(time, 0, rank.shape[0], time[last] - int_values[1]))  # WITHIN
    hi_v1_n = min(hi_v1_n, upper_bound(time, 0, rank.shape[0], time[first] + int_values[1]))  # WITHIN
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
def fits(c, n, keep, type_, part, type_codes):
    if c == 0:  # n
        for i in range(n):
            keep[i] = part[i] >= 0 and (type_[i] == type_codes[0])


@kernel
def absent(m0, n, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for m in range(m0, n):
        if stopped(nums):
            return
        keep[m] = 1
        if M_branch[m] == 0 and occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
            keep[m] = 0


@kernel
def extend_1(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
    e1 = i  # b
    path_event[1] = i
    n0 = list_tail[L]
    while n0 >= 0:
        e0 = link_event[n0]  # a
        n0 = link_before[n0]
        if time[e1] - time[e0] > int_values[0]:  # WITHIN
            break  # those before it are earlier still
        if rank[e0] >= rank[e1]:
            continue
        if not (c0_price[e0] < c0_price[e1]):  # a.price < b.price   (query 2:22)
            continue
        path_event[0] = e0
        return True
    return False


@kernel
def extend_2(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    e2 = i  # c
    path_event[2] = i
    n1 = list_tail[L]
    while n1 >= 0:
        e1 = link_event[n1]  # b
        if stopped(nums):
            break
        n0 = link_above[n1]
        n1 = link_before[n1]
        if time[e2] - time[e1] > int_values[0]:  # WITHIN
            break  # those before it are earlier still
        if rank[e1] >= rank[e2]:
            continue
        path_event[1] = e1
        while n0 >= 0:
            e0 = link_event[n0]  # a
            n0 = link_before[n0]
            if time[e2] - time[e0] > int_values[0]:  # WITHIN
                break  # those before it are earlier still
            if rank[e0] >= rank[e1]:
                continue
            if not (c0_price[e0] < c0_price[e1]):  # a.price < b.price   (query 2:22)
                continue
            if not (not ((c1_volume_null[e0] != 0) or (c1_volume_null[e2] != 0)) and c1_volume[e0] < c1_volume[e2]):  # a.volume < c.volume   (query 2:44)
                continue
            path_event[0] = e0
            M_events[0] = e0
            V_events[0] = e0
            M_events[1] = e1
            V_events[1] = e1
            M_events[2] = e2
            V_events[2] = e2
            absent(0, 1, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event)
            if keep[0] == 0:
                continue
            return True
    return False


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, link_event, link_before, link_above, link_list, list_parent, list_chain, list_tail, list_next, list_child, list_depth, first_list, live_lists, growing, newest_chain, root_list, chain_last, final_parent, final_chain, final_given, final_events, path_event, keep, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        mask = 0
        if (type_[i] == type_codes[1]):  # a
            mask |= 1
        if (type_[i] == type_codes[2]):  # b
            mask |= 2
        if (type_[i] == type_codes[3]):  # c
            mask |= 4
        if mask == 0:  # no component could bind it: it breaks no chain
            continue
        if stopped(nums):
            return i
        need = live_lists[g] + 3
        if min(link_event.shape[0] - nums[0], list_parent.shape[0] - nums[1], chain_last.shape[0] - nums[2], final_given.shape[0] - nums[3]) < need:
            return i  # the caller makes room and comes back
        if mask & 1 != 0:
            if growing[g] & 1 == 0:  # a new chain of a
                newest_chain[0, g] = nums[2]
                nums[2] += 1
            chain_last[newest_chain[0, g]] = i
        if mask & 2 != 0:
            if growing[g] & 2 == 0:  # a new chain of b
                newest_chain[1, g] = nums[2]
                nums[2] += 1
            chain_last[newest_chain[1, g]] = i
        if mask & 4 != 0:
            if growing[g] & 4 == 0:  # a new chain of c
                newest_chain[2, g] = nums[2]
                nums[2] += 1
            chain_last[newest_chain[2, g]] = i
        growing[g] = mask
        if mask & 4 != 0:  # go on with c
            before = -1
            L = first_list[1, g]
            while L >= 0:
                after = list_next[L]
                if time[i] - time[link_event[list_tail[L]]] > int_values[0]:  # WITHIN has passed
                    if before < 0:
                        first_list[1, g] = after
                    else:
                        list_next[before] = after
                    list_next[L] = -2  # until its chain goes on
                    live_lists[g] -= 1
                    L = after
                    continue
                if extend_2(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
                    q = list_child[L]
                    if q < 0 or final_chain[q] != newest_chain[2, g]:  # another combination of chains
                        q = nums[3]
                        nums[3] += 1
                        final_parent[q] = L
                        final_chain[q] = newest_chain[2, g]
                        final_given[q] = 0
                        list_child[L] = q
                    final_events[q, 0] = path_event[0]  # the latest so far
                    final_events[q, 1] = path_event[1]
                    final_events[q, 2] = path_event[2]
                before = L
                L = after
        if mask & 2 != 0:  # go on with b
            before = -1
            L = first_list[0, g]
            while L >= 0:
                after = list_next[L]
                if time[i] - time[link_event[list_tail[L]]] > int_values[0]:  # WITHIN has passed
                    if before < 0:
                        first_list[0, g] = after
                    else:
                        list_next[before] = after
                    list_next[L] = -2  # until its chain goes on
                    live_lists[g] -= 1
                    L = after
                    continue
                if extend_1(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
                    q = list_child[L]
                    if q < 0 or list_chain[q] != newest_chain[1, g]:  # another chain
                        q = nums[1]
                        nums[1] += 1
                        list_parent[q] = L
                        list_chain[q] = newest_chain[1, g]
                        list_tail[q] = -1
                        list_child[q] = -1
                        list_depth[q] = 1
                        list_next[q] = first_list[1, g]
                        first_list[1, g] = q
                        live_lists[g] += 1
                        list_child[L] = q
                    if list_next[q] == -2:
                        list_next[q] = first_list[1, g]
                        first_list[1, g] = q
                        live_lists[g] += 1
                    link_event[nums[0]] = i
                    link_list[nums[0]] = q
                    link_above[nums[0]] = list_tail[L]
                    link_before[nums[0]] = list_tail[q]  # it covers the one before it in the chain
                    list_tail[q] = nums[0]
                    nums[0] += 1
                before = L
                L = after
        if mask & 1 != 0:  # begin with a
            q = root_list[g]
            if q < 0 or list_chain[q] != newest_chain[0, g]:
                q = nums[1]
                nums[1] += 1
                list_parent[q] = -1
                list_chain[q] = newest_chain[0, g]
                list_tail[q] = -1
                list_child[q] = -1
                list_depth[q] = 0
                list_next[q] = first_list[0, g]
                first_list[0, g] = q
                live_lists[g] += 1
                root_list[g] = q
            if list_next[q] == -2:
                list_next[q] = first_list[0, g]
                first_list[0, g] = q
                live_lists[g] += 1
            link_event[nums[0]] = i
            link_list[nums[0]] = q
            link_above[nums[0]] = -1
            link_before[nums[0]] = list_tail[q]  # it covers the one before it in the chain
            list_tail[q] = nums[0]
            nums[0] += 1
    return n
