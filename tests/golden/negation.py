# PATTERN SEQ(Shelf s, NOT(Register r), Exit e)
# WHERE   skip_till_any_match { [symbol] AND e.price >= s.price AND r.volume = s.volume }
# WITHIN  12 hours
#
# skip_till_any_match; runs not merged
# state 0: waiting for e
# run_floats[:, 0]: first of s price


@kernel
def advance(i0, n, nums, time, rank, type_, part, int_values, type_codes, c0_price, run_state, run_node, run_start, run_rank, run_next, run_floats, free_runs, first_run, live_runs, node_event, node_before, node_component, node_start, node_edge, edge_node, final_node):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)
    for event in range(i0, n):
        i = natural(event)
        g = part[i]
        if g < 0:
            continue
        r = first_run[g]
        need = 1 if r < 0 else 3 * live_runs[g] + 1
        room -= need
        if room < 0:
            room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found) - need
            if room < 0 or stopped(nums):
                nums[0] = nodes
                nums[1] = edges
                nums[2] = free
                nums[3] = found
                nums[4] = runs
                nums[5] = stamp
                return i  # the caller makes room and comes back
        t = time[i]
        k = rank[i]
        fit_0 = (type_[i] == type_codes[0])  # s
        fit_1 = (type_[i] == type_codes[1])  # e
        link = -1  # the run before r
        while r >= 0:
            after = run_next[r]
            later = k > run_rank[r]  # than the last event of the run
            if t - run_start[r] > int_values[0]:  # WITHIN
                if link < 0:
                    first_run[g] = after
                else:
                    run_next[link] = after
                live_runs[g] -= 1
                free_runs[free] = r
                free += 1
                runs -= 1
            else:  # waiting for e
                took = fit_1
                took = took and later
                took = took and (c0_price[i] >= run_floats[r, 0])  # e.price >= s.price   (query 2:44)
                if took:
                    node = natural(nodes)
                    nodes = node + 1
                    node_event[node] = i
                    node_before[node] = run_node[r]
                    node_component[node] = 1
                    node_start[node] = run_start[r]
                    node_edge[node] = -1
                    final_node[natural(found)] = node  # a match
                    found += 1
                link = r
            r = after
        go = fit_0  # begin with s
        if go:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = t
            run_floats[q, 0] = c0_price[i]
            run_state[q] = 0
            run_rank[q] = k
            node = natural(nodes)
            nodes = node + 1
            node_event[node] = i
            node_before[node] = run_node[q]
            node_component[node] = 0
            node_start[node] = run_start[q]
            node_edge[node] = -1
            run_node[q] = node
            run_next[q] = first_run[g]
            first_run[g] = q
            live_runs[g] += 1
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
    return n


@kernel
def occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    first = M_events[M_offsets[m]]
    last = M_events[M_offsets[m + 1] - 1]
    lo_v1_r = 0
    hi_v1_r = rank.shape[0]
    lo_v1_r = max(lo_v1_r, upper_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[0, m + 1] - 1]]))  # after s
    hi_v1_r = min(hi_v1_r, lower_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[1, m]]]))  # before e
    lo_v1_r = max(lo_v1_r, lower_bound(time, 0, rank.shape[0], time[last] - int_values[0]))  # WITHIN
    hi_v1_r = min(hi_v1_r, upper_bound(time, 0, rank.shape[0], time[first] + int_values[0]))  # WITHIN
    j_v1_r = lower_bound(C_part, C_start[0], C_start[1], part[first])
    z_v1_r = upper_bound(C_part, j_v1_r, C_start[1], part[first])
    j_v1_r = lower_bound(C_event, j_v1_r, z_v1_r, lo_v1_r)
    z_v1_r = lower_bound(C_event, j_v1_r, z_v1_r, hi_v1_r)
    while j_v1_r < z_v1_r:
        e_v1_r = C_event[j_v1_r]
        j_v1_r += 1
        if contains(M_events, M_offsets[m], M_offsets[m + 1], e_v1_r):  # an event of the match
            continue
        ok = True  # r.volume = s.volume
        ok = ok and (not ((c1_volume_null[e_v1_r] != 0) or (c1_volume_null[V_events[V_offsets[0, m]]] != 0)) and c1_volume[e_v1_r] == c1_volume[V_events[V_offsets[0, m]]])
        if not ok:
            continue
        return True
    return False


@kernel
def fits(c, n, keep, type_, part, type_codes):
    if c == 0:  # r
        for i in range(n):
            keep[i] = part[i] >= 0 and (type_[i] == type_codes[2])


@kernel
def absent(m0, n, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for m in range(m0, n):
        if stopped(nums):
            return
        keep[m] = 1
        if M_branch[m] == 0 and occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
            keep[m] = 0
